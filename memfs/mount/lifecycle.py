"""Which directory may carry a mount, how a mount is found dead or hung, and how it is taken away.

The kernel's list of mounts is asked first: a question to the mount itself may never be answered,
and ``stat`` of a dead one is answered from the kernel's cache as if it lived. Mounting is
``session``'s; what is recorded about mounts is the command line's.
"""

from __future__ import annotations

import errno
import os
import shlex
import shutil
import stat
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from enum import StrEnum
from typing import TypeVar

from memfs.places import FILESYSTEM_TYPE, expanded, memfs_mount_above, mount_points, resolve

T = TypeVar("T")

PROBE_SECONDS = 2.0
DETACH_SECONDS = 10.0
MOST_STACKED = 8
"""Dead mounts one above the other, as somebody may leave who mounts over a dead one."""
PREFERRED = "/memories"
"""Where an agent's memory tool believes its files to be."""
REPORT = ".memfs/status"
MOST_REPORTED = 1 << 20


class MountpointError(Exception):
    """A directory cannot be mounted on, or a mount not be taken away: a sentence that says what to do."""


class Unfit(MountpointError):
    """The directory will carry no mount before somebody changes it, or names another; time mends nothing."""


class Busy(MountpointError):
    """A program is in the mount, or has a file of it open."""


class NoAnswer(Exception):
    """What was asked has not answered in time."""


class Health(StrEnum):
    """What a mount answers."""

    ALIVE = "alive"
    DEAD = "dead"
    HUNG = "hung"
    DENIED = "denied"


def default_mountpoint() -> str:
    """``/memories`` where it is the user's or can be made, else ``~/memories``; free of links."""
    preferred = resolve(PREFERRED)  # it may be a link, say to a mount that no longer answers
    if is_mounted(preferred):
        usable = probe(preferred) is not Health.DENIED
    else:
        try:
            status = os.stat(preferred)
        except FileNotFoundError:
            usable = os.access("/", os.W_OK)
        except OSError:
            usable = False
        else:
            own = stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()
            usable = own and os.access(preferred, os.W_OK)
    return preferred if usable else resolve(expanded("~/memories"))


def prepare(mountpoint: str) -> bool:
    """Make sure that *mountpoint* (absolute, free of links) can be mounted on; whether it was made here.

    A missing directory is made for the user alone. A dead memfs mount is left, for :func:`clear` to take
    away. Raises MountpointError for everything else that is not an empty directory of the user's.
    """
    outer = memfs_mount_above(os.path.dirname(mountpoint))
    if outer is not None:  # before anything is asked below it
        raise Unfit(f"{mountpoint} lies inside the memfs mount {outer}; name a directory outside.")
    if _is_dead_mount(mountpoint):
        return False
    made = _make_where_missing(mountpoint)
    check_directory(mountpoint)
    return made


def check_directory(mountpoint: str) -> None:
    """Refuse (MountpointError, mostly Unfit) what is not an empty directory of the user's."""
    try:
        status = os.lstat(mountpoint)
        if not stat.S_ISDIR(status.st_mode):
            raise Unfit(f"{mountpoint} is not a directory; name an empty one.")
        # fusermount3 asks for both; the superuser may mount anywhere.
        if os.geteuid() and status.st_uid != os.geteuid():
            raise Unfit(f"{mountpoint} belongs to another user; name a directory of your own.")
        if not os.access(mountpoint, os.R_OK | os.W_OK | os.X_OK):
            raise Unfit(f"{mountpoint} is not writable for you; run `chmod u+rwx` on it.")
        with os.scandir(mountpoint) as entries:
            entry = next(entries, None)
    except OSError as error:
        raise MountpointError(f"{mountpoint} cannot be used: {error.strerror}.") from None
    if entry is not None:  # libfuse would mount over it, and nobody would see these files any more
        raise Unfit(f"{mountpoint} is not empty (it holds {entry.name!a}); name an empty directory.")


def clear(mountpoint: str) -> None:
    """Take away the dead memfs mounts on *mountpoint*, as the last thing before a new one is made.

    As long as a dead one is there, programs get errors; without it they would write into the directory
    beneath, and believe it kept. Raises MountpointError.
    """
    for _ in range(MOST_STACKED):
        if not _is_dead_mount(mountpoint):
            break
        try:
            detach(mountpoint)
        except Busy:  # by programs that only get errors from it
            detach(mountpoint, lazy=True)
    check_directory(mountpoint)


def check_apart(mountpoint: str, what: str, directory: str) -> None:
    """Refuse a mount that would cover *directory*, or keep its own data in a mount."""
    if f"{directory}/".startswith(mountpoint.rstrip("/") + "/"):
        raise Unfit(f"{mountpoint} would cover {what}, {directory}; mount on another directory.")
    outer = memfs_mount_above(directory)
    if outer is not None:
        raise Unfit(f"{what.capitalize()}, {directory}, lies inside the memfs mount {outer}.")


def times_mounted(mountpoint: str) -> int:
    """How many mounts, of whatever filesystem, lie one above the other on *mountpoint*."""
    return sum(mount.path == mountpoint for mount in mount_points())


def is_mounted(mountpoint: str) -> bool:
    """Whether a memfs mount, in whatever health, is on top of *mountpoint*."""
    return _filesystem_on(mountpoint) == FILESYSTEM_TYPE


def probe(mountpoint: str) -> Health:
    """Ask a mount for its limits, which the kernel never answers from its cache."""
    try:
        in_time(lambda: os.statvfs(mountpoint), PROBE_SECONDS)
    except NoAnswer:
        return Health.HUNG
    except OSError as error:
        if error.errno in (errno.ENOTCONN, errno.ECONNABORTED):
            return Health.DEAD
        return Health.DENIED if error.errno in (errno.EACCES, errno.EPERM) else Health.ALIVE
    return Health.ALIVE


def in_time(ask: Callable[[], T], seconds: float) -> T:
    """What *ask* finds out from a mount or a disk; raises what it raises, or NoAnswer after *seconds*."""
    answers: list[T | Exception] = []

    def run() -> None:
        try:
            answers.append(ask())
        except Exception as error:  # noqa: BLE001 - it is raised again, where somebody waits for it
            answers.append(error)

    # A thread, for a question to a hung mount does not return; it is left behind and ends with the process.
    asking = threading.Thread(target=run, daemon=True)
    asking.start()
    asking.join(seconds)
    if not answers:
        raise NoAnswer
    answer = answers[0]
    if isinstance(answer, Exception):
        raise answer
    return answer


def answers(mountpoint: str, seconds: float) -> bool:
    """Whether the mount on *mountpoint*, which may be this process's own, answers in time.

    Another process asks: a thread of ours that waits for an answer of ours could not be killed.
    """
    return _run(["stat", "-f", "-c", "", "--", mountpoint], seconds) is None


def own_report(mountpoint: str) -> bytes | None:
    """What a mount says about itself, in JSON; None where it does not answer, or not in time."""

    def read() -> bytes:
        with open(os.path.join(mountpoint, REPORT), "rb") as file:
            return file.read(MOST_REPORTED)

    try:
        return in_time(read, PROBE_SECONDS)
    except (NoAnswer, OSError):
        return None


def detach(mountpoint: str, lazy: bool = False) -> None:
    """Have the system unmount *mountpoint*; *lazy*: also while programs are in it.

    Raises Busy, or MountpointError where it is refused for another reason or is not done in time.
    """
    reason = "fusermount3 is missing; install the package fuse3"
    for command in _detach_commands(mountpoint, lazy):
        failure = _run(command)
        if failure is None:
            return
        if "busy" in failure:
            raise Busy(f"{mountpoint} is in use.")
        reason = failure
    raise MountpointError(f"{mountpoint} cannot be unmounted: {reason}.")


def hung(mountpoint: str) -> MountpointError:
    """What to say about a mount that does not answer."""
    forced = shlex.join(["umount", "-f", mountpoint] if os.geteuid() == 0 else _lazy_command(mountpoint))
    return MountpointError(f"The mount on {mountpoint} does not answer; end its daemon, or run `{forced}`.")


def holders(mountpoint: str) -> list[str]:
    """The programs that are in a mount or have files of it open, as far as ``/proc`` shows them."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        if int(pid) != os.getpid() and any(
            f"{path}/".startswith(mountpoint + "/") for path in _paths_of(pid)
        ):
            try:
                with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as name:
                    found.append(f"{name.read().strip()} (process {pid})")
            except OSError:
                continue
    return found


def _is_dead_mount(mountpoint: str) -> bool:
    """Whether a memfs mount without a daemon is on *mountpoint*; MountpointError for any other mount."""
    filesystem = _filesystem_on(mountpoint)
    if filesystem is None:
        return False
    if filesystem != FILESYSTEM_TYPE:
        raise Unfit(
            f"{mountpoint} is where another filesystem ({filesystem}) is mounted; name a directory in it."
        )
    health = probe(mountpoint)
    if health is Health.HUNG:
        raise hung(mountpoint)
    if health is Health.DENIED:
        raise MountpointError(f"{mountpoint} is a memfs mount of another user; name another directory.")
    if health is Health.ALIVE:
        raise MountpointError(f"{mountpoint} is already a memfs mount; `memfs unmount` ends it.")
    return True


def _make_where_missing(mountpoint: str) -> bool:
    try:
        os.mkdir(mountpoint, 0o700)
    except FileExistsError:
        return False
    except FileNotFoundError:
        raise MountpointError(
            f"{mountpoint} cannot be made, for {os.path.dirname(mountpoint)} does not exist; make that first."
        ) from None
    except OSError as error:
        raise MountpointError(f"{mountpoint} cannot be made: {error.strerror}.") from None
    return True


def _filesystem_on(mountpoint: str) -> str | None:
    """The type of the topmost filesystem mounted on exactly *mountpoint*: the last one listed."""
    on_top = None
    for mount in mount_points():
        if mount.path == mountpoint:
            on_top = mount.filesystem
    return on_top


def _detach_commands(mountpoint: str, lazy: bool) -> Iterator[list[str]]:
    if shutil.which("fusermount3"):
        yield _lazy_command(mountpoint) if lazy else ["fusermount3", "-u", "--", mountpoint]
    if os.geteuid() == 0:  # who mounts without fusermount3, too
        yield ["umount", *(["-l"] if lazy else []), "--", mountpoint]


def _lazy_command(mountpoint: str) -> list[str]:
    return ["fusermount3", "-u", "-z", "--", mountpoint]


def _run(command: list[str], seconds: float = DETACH_SECONDS) -> str | None:
    """Run *command* for so many *seconds* at most; None, or what it said when it failed."""
    try:
        process = subprocess.Popen(  # noqa: S603 - fixed programs, and no shell
            command,
            cwd="/",
            env={**os.environ, "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
    except OSError as error:
        return f"{command[0]}: {error.strerror}"
    try:
        _, said = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()  # and not waited for: where the kernel hangs it, SIGKILL does nothing
        return f"{command[0]} did not return within {seconds:.0f} s"
    if process.returncode == 0:
        return None
    last = said.decode(errors="replace").strip().splitlines()[-1:] or [f"status {process.returncode}"]
    return last[0].removesuffix(".")


def _paths_of(pid: str) -> Iterator[str]:
    """Every path that a process holds: where it is, what it has open, what it has mapped."""
    links = [f"/proc/{pid}/{name}" for name in ("cwd", "root", "exe")]
    with suppress(OSError):
        links += [f"/proc/{pid}/fd/{descriptor}" for descriptor in os.listdir(f"/proc/{pid}/fd")]
    for link in links:
        try:
            yield os.readlink(link)
        except OSError:
            continue
    try:
        with open(f"/proc/{pid}/maps", encoding="utf-8", errors="surrogateescape") as maps:
            for line in maps:
                yield "/" + line.rstrip("\n").partition("/")[2]
    except OSError:
        return
