"""What a command says and returns when it does not do what it was asked."""

from __future__ import annotations


class Status:
    """Exit statuses. The first four are the contract of the port's six commands."""

    DONE = 0
    REFUSED = 1
    USAGE = 2
    STORE_FAILED = 3
    OUR_FAULT = 70
    CONFIGURATION = 78
    INTERRUPTED = 130
    READER_GONE = 141


class Complaint(Exception):
    """One sentence for a person, and the exit status that goes with it."""

    def __init__(self, sentence: str, status: int = Status.REFUSED) -> None:
        super().__init__(sentence)
        self.status = status
