"""The folder itself: every step relative to an open directory, and through no link.

A *place* is a path relative to the folder, such as ``projects/x.md``. What stands in the way of one, or
is no plain file of its own, is :class:`LeftAlone`: it is never opened for writing, moved or removed.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from memfs.nofollow import READ, InTheWayError, open_folder, write_all
from memfs.port.errors import StoreError, UnsafeStorage

META = ".meta"
STAGED = "staged"
"""In ``.meta``: files on their way into the folder, or out of it."""

UNFINISHED = "unfinished-"
"""How the names of files in ``.meta/staged`` begin that are still being written."""

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_NOREPLACE, _EXCHANGE = 1, 2
_PIECE = 1 << 20

_libc = ctypes.CDLL(None, use_errno=True)
_renameat2 = _libc.renameat2
_renameat2.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint]
_OPENAT2 = 437
_BENEATH, _NO_SYMLINKS, _NO_OTHER_MOUNT = 0x08, 0x04, 0x01


class _OpenHow(ctypes.Structure):
    _fields_ = [("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64)]


_HOW = _OpenHow(_DIRECTORY, 0, _BENEATH | _NO_SYMLINKS | _NO_OTHER_MOUNT)


class Signature(NamedTuple):
    """What stat(2) says of a file; as long as it is the same, nobody has changed the bytes.

    Two changes within one tick of the clock are one to it: see ``pages.Page.fresh``.
    """

    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int

    @classmethod
    def of(cls, found: os.stat_result) -> Signature:
        return cls(found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


class Reading(NamedTuple):
    """A plain file's bytes, and how it looked when they were read.

    ``settled``: nobody wrote meanwhile, so that the two belong together.
    """

    signature: Signature
    content: bytes
    settled: bool


class LeftAlone(Exception):
    """What lies at a place is not memfs's to touch; the message is a clause that says what it is.

    ``place`` is set where it is not the one that was asked for, but above it.
    """

    def __init__(self, what: str, place: str = "") -> None:
        super().__init__(what)
        self.place = place


class Folder:
    """The open folder. Raises OSError, :class:`LeftAlone`, and at opening StoreError."""

    def __init__(self, path: Path) -> None:
        """Open *path* and its ``.meta``, and make what is missing, for the user alone."""
        self.path = path
        self.root = self.meta = self.staged = -1
        self._ours: list[tuple[int, str, os.stat_result]] = []
        try:
            self.root = os.open(path, _DIRECTORY | os.O_NOFOLLOW)
            self._device = os.fstat(self.root).st_dev
            self.meta = self._made(self.root, META)
            self.staged = self._made(self.meta, STAGED)
            self._ours = [
                (parent, name, os.fstat(opened))
                for parent, name, opened in ((self.root, META, self.meta), (self.meta, STAGED, self.staged))
            ]
        except InTheWayError as reason:
            self.close()
            raise StoreError(f"{path}/{META} cannot be used, for it is or holds {reason}.") from None
        except OSError as error:
            self.close()
            raise StoreError(f"The folder {path} cannot be used: {error.strerror}.") from error

    def close(self) -> None:
        """Close what is open."""
        for descriptor in (self.staged, self.meta, self.root):
            if descriptor >= 0:
                os.close(descriptor)

    def check_meta(self) -> None:
        """Raise UnsafeStorage where ``.meta`` is not the one that was opened: others use what is there."""
        for parent, name, opened in self._ours:
            try:
                there = os.stat(name, dir_fd=parent, follow_symlinks=False)
            except FileNotFoundError:
                there = None
            if there is None or not os.path.samestat(there, opened):
                raise UnsafeStorage(
                    f"{self.path / META} was removed or replaced while it was open; open the memory again."
                )

    @contextmanager
    def holder(self, place: str, made: list[str] | None = None) -> Iterator[tuple[int, str]]:
        """The open directory that holds *place*, and the name there.

        With a list *made*, missing directories are made, and their places appended to it.
        """
        *directories, name = place.split("/")
        at, walked = self.root, ""
        if directories and (opened := _open_beneath(at, "/".join(directories))) is not None:
            at, directories = opened, []
        try:
            for directory in directories:
                walked = f"{walked}/{directory}" if walked else directory
                below = self._opened(at, directory, walked, made)
                if at != self.root:
                    os.close(at)
                at = below
            yield at, name
        finally:
            if at != self.root:
                os.close(at)

    @contextmanager
    def directory(self, place: str) -> Iterator[int]:
        """The open directory at *place*; empty is the folder."""
        with self.holder(f"{place}/." if place else ".") as (descriptor, _):
            yield descriptor

    def opened(self, place: str) -> int:
        """A descriptor of the directory at *place*, which is the caller's."""
        with self.directory(place) as descriptor:
            return os.dup(descriptor)

    def walk(
        self,
        place: str,
        entering: Callable[[str, int], None] | None = None,
        leaving_out: Callable[[str, LeftAlone], None] | None = None,
    ) -> Iterator[tuple[str, os.stat_result]]:
        """All that lies below the directory at *place* and is neither hidden nor a directory.

        *entering* is called with each directory and a descriptor of it before it is read, *leaving_out*
        with one that may not be read.
        """
        pending = [place]
        while pending:
            at = pending.pop()
            try:
                with self.directory(at) as descriptor:
                    if entering is not None:
                        entering(at, descriptor)
                    for name in os.listdir(descriptor):
                        if name.startswith("."):  # .meta, and what other programs hide
                            continue
                        below = f"{at}/{name}" if at else name
                        try:
                            found = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
                        except FileNotFoundError:
                            continue
                        if not stat.S_ISDIR(found.st_mode):
                            yield below, found
                        elif found.st_dev == self._device:
                            pending.append(below)
                        elif leaving_out is not None:
                            leaving_out(below, LeftAlone("another file system"))
            except (FileNotFoundError, LeftAlone):
                continue  # it has changed meanwhile; the directory above tells what it is now
            except PermissionError:
                if leaving_out is not None:
                    leaving_out(at, LeftAlone("not to be read by this user"))

    def look(self, place: str) -> Signature | None:
        """The signature of the plain file at *place*, or None where nothing is."""
        try:
            with self.holder(place) as (directory, name):
                return look(directory, name)
        except FileNotFoundError:
            return None

    def stage(self, content: bytes, mtime_ns: int, like: os.stat_result | None) -> tuple[str, Signature, int]:
        """A new file in ``.meta/staged``: its name, which says how it looks, that again, a descriptor of it.

        The caller has it synced, and closes it. Mode and owner are those of *like*, as far as this user may
        give them, else this user's alone.
        """
        unfinished = f"{UNFINISHED}{os.urandom(6).hex()}"
        descriptor = os.open(unfinished, _NEW, 0o600, dir_fd=self.staged)
        name = unfinished
        try:
            write_all(descriptor, content)
            os.utime(descriptor, ns=(mtime_ns, mtime_ns))
            made = os.fstat(descriptor)
            if like is not None:
                _make_alike(descriptor, made, like)
            # Inodes' numbers come again.
            name = unwritten(Signature.of(made)) + unfinished.removeprefix(UNFINISHED)
            os.rename(unfinished, name, src_dir_fd=self.staged, dst_dir_fd=self.staged)
        except BaseException:
            os.close(descriptor)
            for leftover in (unfinished, name):
                with suppress(OSError):
                    os.unlink(leftover, dir_fd=self.staged)
            raise
        return name, Signature.of(made), descriptor

    def discard(self, name: str, inode: int | None = None) -> bool:
        """Remove what is called *name* in ``.meta/staged``; False where it is another than *inode*."""
        with suppress(FileNotFoundError):
            if inode is not None:
                found = os.stat(name, dir_fd=self.staged, follow_symlinks=False)
                if found.st_ino != inode:
                    return False
            os.unlink(name, dir_fd=self.staged)
        return True

    def remove_empty(self, place: str) -> None:
        """Remove the directory at *place*, and those above it, as far as they are empty."""
        while place:
            try:
                with self.holder(place) as (directory, name):
                    os.rmdir(name, dir_fd=directory)
            except (OSError, LeftAlone):
                return
            place = place.rpartition("/")[0]

    def has_directory(self, place: str) -> bool:
        """Whether a directory is at *place*, or nobody may know."""
        try:
            with self.holder(place) as (directory, name):
                return stat.S_ISDIR(os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode)
        except (FileNotFoundError, LeftAlone):
            return False
        except PermissionError:
            return True

    def sync(self, place: str) -> None:
        """Make the names in the directory at *place* survive a power cut; one that is gone is no matter."""
        try:
            with self.directory(place) as descriptor:
                os.fsync(descriptor)
        except (FileNotFoundError, LeftAlone):
            return

    def _opened(self, parent: int, name: str, place: str, made: list[str] | None) -> int:
        try:
            opened = open_folder(parent, name, _DIRECTORY)
            if os.fstat(opened).st_dev != self._device:
                os.close(opened)
                raise LeftAlone("another file system", place)
            return opened
        except InTheWayError as reason:
            raise LeftAlone(str(reason), place) from None
        except FileNotFoundError:
            if made is None:
                raise
        with suppress(FileExistsError):  # another program was first
            os.mkdir(name, 0o700, dir_fd=parent)
            made.append(place)
        return self._opened(parent, name, place, None)

    @staticmethod
    def _made(parent: int, name: str) -> int:
        with suppress(FileExistsError):
            os.mkdir(name, 0o700, dir_fd=parent)
        return open_folder(parent, name, _DIRECTORY)


def _open_beneath(root: int, place: str) -> int | None:
    """The directory at *place*, opened in one step that follows no link; None where that is not to be had.

    The caller then goes name by name, and finds out why.
    """
    opened: int = _libc.syscall(
        ctypes.c_long(_OPENAT2),
        ctypes.c_int(root),
        os.fsencode(place),
        ctypes.byref(_HOW),
        ctypes.c_size_t(ctypes.sizeof(_HOW)),
    )
    return opened if opened >= 0 else None


def unwritten(signature: Signature) -> str:
    """How the name of a staged file begins as long as it looks so: nobody has written into it."""
    return f"new-{signature.inode}-{signature.size}-{signature.mtime_ns}-"


def parent_of(place: str) -> str:
    """The place of the directory that holds *place*; empty is the folder."""
    return place.rpartition("/")[0]


def look(directory: int, name: str) -> Signature | None:
    """As :meth:`Folder.look`, in an open directory."""
    found = _plain(directory, name)
    return None if found is None else Signature.of(found)


def read(directory: int, name: str, most: int | None = None) -> Reading | None:
    """The plain file *name* in an open directory, or None where nothing is. It may be about to be written.

    One of more than *most* bytes is :class:`LeftAlone`.
    """
    descriptor = _opened(directory, name)
    if descriptor is None:
        return None
    try:
        return read_opened(descriptor, most)
    finally:
        os.close(descriptor)


@contextmanager
def opened(directory: int, name: str) -> Iterator[int | None]:
    """A descriptor to read the plain file *name* by, or None where nothing is."""
    descriptor = _opened(directory, name)
    try:
        yield descriptor
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _opened(directory: int, name: str) -> int | None:
    # Looked at first, for to open a FIFO or a device may already do something.
    if _plain(directory, name) is None:
        return None
    try:
        return os.open(name, READ, dir_fd=directory)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO, errno.EACCES, errno.EPERM):
            raise LeftAlone("a link" if error.errno == errno.ELOOP else "not readable") from None
        raise


def read_opened(descriptor: int, most: int | None = None) -> Reading:
    """As :func:`read`, from the beginning of a file that is open."""
    found = os.fstat(descriptor)
    check_plain(found)
    size = found.st_size
    if most is not None and size > most:
        raise LeftAlone(f"larger than the {most} bytes a memory may have")
    content = os.read(descriptor, size + 1)
    while len(content) != size and (more := os.read(descriptor, _PIECE)):
        content += more
    # Not by its name: who takes that away, or puts another file there, changes this one's status too.
    now = os.fstat(descriptor)
    signature = Signature.of(found)
    settled = len(content) == size and now.st_nlink == 1 and Signature.of(now) == signature
    return Reading(signature, content, settled)


def is_being_written(descriptor: int) -> bool:
    """Whether a program has the file open for writing: the kernel grants no read lease then."""
    try:
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except OSError as error:  # where leases are not to be had, nobody can tell
        return error.errno == errno.EAGAIN
    return False


def check_plain(found: os.stat_result) -> None:
    """Raise :class:`LeftAlone` for everything but a plain file that has this one name only."""
    if stat.S_ISREG(found.st_mode):
        if found.st_nlink > 1:
            raise LeftAlone("a file that has further names (hard links)")
        return
    kinds = {
        stat.S_IFLNK: "a link",
        stat.S_IFDIR: "a directory",
        stat.S_IFIFO: "a FIFO",
        stat.S_IFSOCK: "a socket",
    }
    raise LeftAlone(kinds.get(stat.S_IFMT(found.st_mode), "a device"))


def _plain(directory: int, name: str) -> os.stat_result | None:
    try:
        found = os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return None
    check_plain(found)
    return found


def _make_alike(descriptor: int, made: os.stat_result, like: os.stat_result) -> None:
    mode = stat.S_IMODE(like.st_mode) & 0o777
    if (made.st_uid, made.st_gid) != (like.st_uid, like.st_gid):
        with suppress(PermissionError):  # only root may, and only root needs to
            os.fchown(descriptor, like.st_uid, like.st_gid)
    if stat.S_IMODE(made.st_mode) != mode:
        os.fchmod(descriptor, mode)


def move(source: int, old: str, target: int, new: str) -> None:
    """Rename without ever replacing anything: FileExistsError then."""
    _rename(source, old, target, new, _NOREPLACE)


def exchange(source: int, old: str, target: int, new: str) -> None:
    """Have two names change places, in one step."""
    _rename(source, old, target, new, _EXCHANGE)


def _rename(source: int, old: str, target: int, new: str, how: int) -> None:
    if _renameat2(source, os.fsencode(old), target, os.fsencode(new), how):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), new)
