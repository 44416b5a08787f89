"""The process that serves a mount: made by one fork, and heard until the mount answers.

The fork comes before pyfuse3 and trio are loaded, and while there is one thread: one start of
the interpreter serves both, and no lock of another thread is inherited locked.
"""

from __future__ import annotations

import faulthandler
import json
import logging
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import NoReturn, Protocol, TypeAlias

from memfs.cli.complaint import Complaint, Status, explain
from memfs.places import open_ordinary

READY_SECONDS = 60.0
END_SECONDS = 5.0
LOG_BYTES = 1 << 20
"""Of one log file; the one before it is kept too."""
_STOPPING = (signal.SIGTERM, signal.SIGINT)

log = logging.getLogger(__name__)


class Herald(Protocol):
    """Who is told how a mount is getting on."""

    def ready(self, answers: Callable[[float], bool], status: Callable[[], str]) -> None:
        """The mount is there. *answers* asks it, in so many seconds; *status* is one line about it."""

    def ending(self) -> None:
        """The mount is going; what is left is being stored."""


Serve: TypeAlias = Callable[[Herald], None]
"""Serves a mount, tells how it is getting on, and returns at its end."""


def serve_in_background(serve: Serve, log_file: Path, kept: int) -> None:
    """Have a process of its own call *serve*; return when *serve* says that it is ready.

    The process holds no descriptor of ours but *kept*, and writes to *log_file*. Raises a Complaint
    with the reason where the mount did not come about.
    """
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    hearing, telling = os.pipe()
    child = os.fork()
    if child == 0:
        _become_daemon(serve, log_file, {kept, telling}, telling)
    os.close(telling)
    try:
        said = _hear(hearing)
    except BaseException:  # Ctrl-C
        _end(child)
        raise
    if said is None:
        _end(child)
        raise Complaint(f"The mount did not answer within {READY_SECONDS:.0f} s; its log is {log_file}.")
    if not said:
        _, ended = os.waitpid(child, 0)
        code = os.waitstatus_to_exitcode(ended)
        how = f"signal {-code}" if code < 0 else f"status {code}"
        raise Complaint(f"The mount's process ended without a word ({how}); its log is {log_file}.")
    report = json.loads(said)
    if report["status"] != Status.DONE:
        os.waitpid(child, 0)  # so that whoever tries again finds nothing in the way
        raise Complaint(report["sentence"], report["status"])


def serve_in_foreground(serve: Serve) -> None:
    """Call *serve* here, with the log on standard error, and for a service manager in its journal."""
    from memfs.cli.journal import JournalHandler, is_standard_error
    from memfs.cli.supervisor import Supervisor

    if is_standard_error():
        logging.basicConfig(level=logging.INFO, handlers=[JournalHandler()])
    else:
        logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
    faulthandler.enable(file=2, all_threads=True)  # the watchdog's SIGABRT, too, says where it was stuck
    faulthandler.register(signal.SIGUSR1, file=2, all_threads=True)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # nohup
        signal.signal(signal.SIGHUP, lambda *_: os.kill(os.getpid(), signal.SIGTERM))
    serve(Supervisor.from_environment())


@contextmanager
def stopping_held_back() -> Iterator[Callable[[], None]]:
    """Hold SIGTERM and SIGINT back until what is given here is called, and ignore them at the end.

    A mount listens to them while it serves. A moment too early they would leave it dead; and while it
    commits what is left, a second one (a service manager sends it after its own unmount) must not kill it.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, _STOPPING)
    for number in _STOPPING:  # not SIG_IGN, which drops one that came already, and is inherited
        signal.signal(number, _ignore)

    def let_through() -> None:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOPPING)

    try:
        yield let_through
    finally:
        let_through()


class _Parent:
    """The process that is waiting for the mount, at the other end of the pipe *telling*."""

    def __init__(self, telling: int) -> None:
        self._telling = telling
        self.is_told = False

    def ready(self, _answers: Callable[[float], bool], _status: Callable[[], str]) -> None:
        os.dup2(1, 2)  # until now the terminal has seen what libfuse and fusermount3 print
        self.tell(Status.DONE, "")

    def ending(self) -> None:
        """It has long gone."""

    def tell(self, status: int, sentence: str) -> None:
        self.is_told = True
        os.write(self._telling, json.dumps({"status": status, "sentence": sentence}).encode())
        os.close(self._telling)


def _become_daemon(serve: Serve, log_file: Path, kept: set[int], telling: int) -> NoReturn:
    status: int = Status.OUR_FAULT
    parent = _Parent(telling)
    try:
        os.setsid()
        os.chdir("/")
        os.umask(0o077)
        _redirect(log_file, kept)
        _start_log(log_file)
        faulthandler.register(signal.SIGUSR1, file=2, all_threads=True)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        serve(parent)
        status = Status.DONE
    except BaseException as error:  # whatever ends this process must be told or logged
        sentence, status = explain(error)
        if parent.is_told or status == Status.OUR_FAULT:
            log.critical("the mount has ended: %s", sentence, exc_info=error)
        elif logging.getLogger().handlers:  # there may be no log yet
            log.error("not mounted: %s", sentence)
        if not parent.is_told:
            parent.tell(status, sentence)
    finally:
        logging.shutdown()
        os._exit(status)


def _ignore(_number: int, _frame: FrameType | None) -> None:
    """What is asked for is under way."""


def _hear(hearing: int) -> bytes | None:
    """All that the child says before it ends or is ready; None where it takes too long."""
    if not select.select([hearing], [], [], READY_SECONDS)[0]:
        return None
    with os.fdopen(hearing, "rb") as stream:
        return stream.read()


def _end(child: int) -> None:
    """End a child that is not wanted any more: as a stop where it listens, else at once."""
    os.kill(child, signal.SIGTERM)
    deadline = time.monotonic() + END_SECONDS
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
            return
        time.sleep(0.02)


def _redirect(log_file: Path, kept: set[int]) -> None:
    """Standard input from nowhere, output to the log, and nothing but standard error kept open.

    A pipe that stays open in a daemon keeps whoever reads it waiting for as long as the daemon lives.
    """
    nowhere = os.open(os.devnull, os.O_RDONLY)
    output = open_ordinary(log_file, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(nowhere, 0)
    os.dup2(output, 1)
    for descriptor in map(int, os.listdir("/proc/self/fd")):
        if descriptor > 2 and descriptor not in kept:
            try:
                os.close(descriptor)
            except OSError:  # the one that listed them
                continue


def _start_log(log_file: Path) -> None:
    from logging.handlers import RotatingFileHandler

    logging.basicConfig(
        level=logging.INFO,
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
        handlers=[
            RotatingFileHandler(
                log_file, maxBytes=LOG_BYTES, backupCount=1, encoding="utf-8", errors="backslashreplace"
            )
        ],
    )
