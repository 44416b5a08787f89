"""The operations that change nothing.

Those the kernel can answer by itself (a warm stat, a repeated miss, a pread of a page it holds)
take a fraction of a microsecond; they are timed many at a time, and Python's own share of such a
call is in every figure, the plain directory's too.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import subprocess
from collections.abc import Callable
from functools import partial

from benchmarks.operations import (
    ABSENT_WORD,
    CORPUS,
    LARGE,
    SMALL,
    Operation,
    Stage,
    Step,
    Steps,
    corpus,
    read,
)

CALLS = 100
READERS = 8

_libc = ctypes.CDLL(None, use_errno=True)
_AT_FDCWD = -100
_AT_STATX_FORCE_SYNC = 0x2000
_STATX_BASIC_STATS = 0x7FF
_STATX_SIZE = 256


def _many(call: Callable[[], object]) -> Callable[[], None]:
    def action() -> None:
        for _ in range(CALLS):
            call()

    return action


def stat_warm(stage: Stage, count: int) -> Steps:
    """stat of one file, again and again: the kernel holds its attributes for as long as it was told."""
    call = partial(os.stat, stage.path("small.md"))
    call()
    for _ in range(count):
        yield Step(_many(call), CALLS)


def stat_forced(stage: Stage, count: int) -> Steps:
    """statx with AT_STATX_FORCE_SYNC: the kernel must ask the daemon, so this is one bare request."""
    path, result = os.fsencode(stage.path("small.md")), ctypes.create_string_buffer(_STATX_SIZE)

    def action() -> None:
        if _libc.statx(_AT_FDCWD, path, _AT_STATX_FORCE_SYNC, _STATX_BASIC_STATS, result):
            raise OSError(ctypes.get_errno(), "statx")

    action()
    for _ in range(count):
        yield Step(action)


def miss_new(stage: Stage, count: int) -> Steps:
    """A name that is not there and was never asked for, so nothing can be remembered about it."""
    for _ in range(count):
        yield Step(partial(os.access, stage.path(stage.fresh("missing-")), os.F_OK))


def miss_again(stage: Stage, count: int) -> Steps:
    """The same missing name, again and again, as every search path does."""
    call = partial(os.access, stage.path("missing.md"), os.F_OK)
    call()
    for _ in range(count):
        yield Step(_many(call), CALLS)


def _read_warm(name: str, size: int, stage: Stage, count: int) -> Steps:
    action = partial(read, stage.path(name), size)
    action()
    for _ in range(count):
        yield Step(action)


def _read_cold(name: str, size: int, stage: Stage, count: int) -> Steps:
    """The mount's pages of this file are dropped before each read.

    What lies beneath a FUSE filesystem keeps its own cache, as it would in life; the plain
    directory has to ask the disk. One descriptor stays open for the dropping, so that no request
    of ours is on its way when the clock starts.
    """
    path = stage.path(name)
    keeper = os.open(path, os.O_RDONLY)
    try:
        read(path, size)
        for _ in range(count):
            os.posix_fadvise(keeper, 0, 0, os.POSIX_FADV_DONTNEED)
            if resident_pages(keeper, size):
                raise RuntimeError("its pages stayed in the cache, so nothing here is cold")
            yield Step(partial(read, path, size))
    finally:
        os.close(keeper)


def resident_pages(descriptor: int, size: int) -> int:
    """How many pages of a file the kernel holds: mincore, which looks without touching."""
    mapped = mmap.mmap(descriptor, size, access=mmap.ACCESS_COPY)
    held = (ctypes.c_ubyte * -(-size // mmap.PAGESIZE))()
    start = (ctypes.c_char * size).from_buffer(mapped)
    try:
        if _libc.mincore(ctypes.c_void_p(ctypes.addressof(start)), ctypes.c_size_t(size), held):
            raise OSError(ctypes.get_errno(), "mincore")
    finally:
        del start  # the map cannot be closed while something points into it
        mapped.close()
    return sum(page & 1 for page in held)


def pread_warm(stage: Stage, count: int) -> Steps:
    """pread of a page on an open descriptor."""
    descriptor = os.open(stage.path("small.md"), os.O_RDONLY)
    try:
        call = partial(os.pread, descriptor, SMALL, 0)
        call()
        for _ in range(count):
            yield Step(_many(call), CALLS)
    finally:
        os.close(descriptor)


def readdir(stage: Stage, count: int) -> Steps:
    """The names of a directory of 256."""
    for _ in range(count):
        yield Step(partial(os.listdir, stage.path(CORPUS)))


def list_long(stage: Stage, count: int) -> Steps:
    """What ``ls -l`` asks: the names of a directory of 256, and a stat of each."""
    directory = stage.path(CORPUS)

    def action() -> None:
        for name in os.listdir(directory):
            os.lstat(f"{directory}/{name}")

    for _ in range(count):
        yield Step(action)


def grep(stage: Stage, count: int) -> Steps:
    """``grep -r`` over 256 files of 4 KiB for a word that none has; a process and all."""
    command = ["grep", "-r", ABSENT_WORD, stage.path(CORPUS)]

    def action() -> None:
        if subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode != 1:
            raise RuntimeError("grep did not answer 'nowhere'")

    for _ in range(count):
        yield Step(action)


def eight_readers(stage: Stage, count: int) -> Steps:
    """Eight processes read all 256 files at the same time; the figure is for one file.

    They are forked beforehand and wait at a pipe; the clock runs from opening that gate until the
    last one is done.
    """
    paths = [stage.path(name) for name in corpus()]
    for _ in range(count):
        gate, opener = os.pipe()
        done, finished = os.pipe()
        children = [_reader(paths, gate, opener, finished) for _ in range(READERS)]
        os.close(gate)
        os.close(finished)
        try:
            yield Step(partial(_race, opener, done), READERS * len(paths))
        finally:
            os.close(done)
            for child in children:
                os.waitpid(child, 0)


def _race(opener: int, done: int) -> None:
    os.close(opener)
    finished = b""
    while len(finished) < READERS and (received := os.read(done, READERS)):
        finished += received
    if len(finished) < READERS:
        raise RuntimeError("a reader failed")


def _reader(paths: list[str], gate: int, opener: int, finished: int) -> int:
    child = os.fork()
    if child:
        return child
    try:
        os.close(opener)
        os.read(gate, 1)  # ends when the benchmark closes its end
        for path in paths:
            read(path, SMALL)
        os.write(finished, b".")
    finally:
        os._exit(0)


READS = (
    Operation("stat, warm", stat_warm, batch=5, warm_up=1),
    Operation("stat, forced", stat_forced),
    Operation("missing name, new", miss_new),
    Operation("missing name, again", miss_again, batch=5, warm_up=1),
    Operation("open+read 4 KiB, cold", partial(_read_cold, "small.md", SMALL)),
    Operation("open+read 4 KiB, warm", partial(_read_warm, "small.md", SMALL)),
    Operation("open+read 64 KiB, cold", partial(_read_cold, "large.md", LARGE)),
    Operation("open+read 64 KiB, warm", partial(_read_warm, "large.md", LARGE)),
    Operation("pread 4 KiB, warm", pread_warm, batch=5, warm_up=1),
    Operation("readdir of 256", readdir, batch=3, warm_up=1),
    Operation("ls -l of 256", list_long, batch=2, warm_up=1),
    Operation("grep -r of 256", grep, batch=1, rounds=10, warm_up=0),
    Operation("eight readers, per file", eight_readers, batch=1, rounds=10, warm_up=0),
)
