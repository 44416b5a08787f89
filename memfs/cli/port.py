"""``memfs port``: the memory port over standard input and output, for a program in any language.

One JSON command a line in, one JSON result a line out. A command may carry a precondition
(``"expected"``) and a ``"reason"`` for the history, beside the fields of the contract. Nothing that a
line holds ends the process; the end of the input, SIGTERM, or a reader that has gone does.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from argparse import Namespace
from collections.abc import Iterator
from types import FrameType
from typing import Any

from memfs.cli.choose import choose_with_rules
from memfs.cli.complaint import Status
from memfs.cli.streams import read_some, write
from memfs.opening import open_with
from memfs.port.errors import ErrorCode, PortError
from memfs.port.memory import Memory
from memfs.port.receipts import Failure, Result

LONGEST_LINE = 64 << 20
"""In bytes; more in a scope that takes larger files. A longer line is not kept, only refused."""
_EXAMPLE = '{"command": "view", "path": "/memories"}'
_MOST_DIGITS = 4000  # Python refuses to convert some more; no limit or line number comes near


def run(options: Namespace) -> int:
    """Answer line by line until the input ends."""
    stop = _Stop()
    signal.signal(signal.SIGTERM, stop.signalled)
    chosen, rules = choose_with_rules(options)
    with open_with(chosen.store, chosen.scope, rules, actor=options.actor) as memory:
        # A text is at most six times as long in JSON; a replacement carries two.
        longest = max(LONGEST_LINE, 16 * memory.policy.limits.max_file_bytes)
        try:
            for line in _lines(longest, stop):
                write(json.dumps(_answer(memory, line, longest).to_wire()).encode() + b"\n")
        except BrokenPipeError:
            pass  # nobody reads the answers any more; the one that was lost is as good as killed with us
        except _Stopped:
            pass
    return Status.DONE


class _Stopped(Exception):
    """SIGTERM came while the process waited for a line."""


class _Stop:
    """Ends the process at SIGTERM: at once while it waits, else after the answer that is under way."""

    def __init__(self) -> None:
        self.waiting = False
        self.asked = False

    def signalled(self, _number: int, _frame: FrameType | None) -> None:
        self.asked = True
        if self.waiting:
            raise _Stopped

    def read(self, most: int) -> bytes:
        """As ``read_some``; raises :class:`_Stopped` at SIGTERM, also at an earlier one."""
        self.waiting = True
        try:
            if self.asked:
                raise _Stopped
            return read_some(most)
        finally:
            self.waiting = False


def _lines(longest: int, stop: _Stop) -> Iterator[bytes | None]:
    """The lines of standard input without their ``\\n``, the last also without one; None for one too long."""
    pieces: list[bytes] = []
    have = 0
    while chunk := stop.read(1 << 16):
        *ended, rest = chunk.split(b"\n")
        for end in ended:
            yield b"".join([*pieces, end]) if have + len(end) <= longest else None
            pieces, have = [], 0
        have += len(rest)
        if rest and have <= longest:
            pieces.append(rest)
        elif have > longest:
            pieces = []
    if have:
        yield b"".join(pieces) if have <= longest else None


def _answer(memory: Memory, line: bytes | None, longest: int) -> Result:
    command = f"has more than {longest} bytes" if line is None else _parsed(line)
    if isinstance(command, str):
        message = f"The line {command}; send one JSON object a line, such as {_EXAMPLE}."
        return Failure("unknown", PortError(ErrorCode.INVALID_COMMAND, message))
    try:
        return memory.execute(command)
    except Exception as error:  # noqa: BLE001  a fault of ours must not take the other commands along
        if os.environ.get("MEMFS_DEBUG"):
            sys.excepthook(type(error), error, error.__traceback__)
        name = command.get("command")
        return Failure(
            name if isinstance(name, str) else "unknown",
            PortError(ErrorCode.STORAGE_ERROR, f"memfs itself is at fault here ({type(error).__name__})."),
        )


def _parsed(line: bytes) -> dict[str, Any] | str:
    """The JSON object in *line*, or what is wrong with it."""
    try:
        # Decoded here: json.loads would also take UTF-16 and UTF-32.
        value: object = json.loads(line.decode(), parse_constant=_refuse_constant, parse_int=_bounded_integer)
    except UnicodeDecodeError as error:
        return f"is not UTF-8 at byte {error.start}"
    except json.JSONDecodeError as error:
        return f"is no JSON at character {error.pos}"
    except _NoJson as error:
        return str(error)
    except (RecursionError, MemoryError):
        return "is nested too deeply"
    return value if isinstance(value, dict) else "is no JSON object"


class _NoJson(Exception):
    """What Python's parser takes and JSON does not have."""


def _refuse_constant(name: str) -> float:
    raise _NoJson(f"holds {name}, which is no JSON")


def _bounded_integer(digits: str) -> int:
    return int(digits[:_MOST_DIGITS])
