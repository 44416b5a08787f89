"""The operations that change something: each ends when the filesystem says that it is done.

What they leave is then looked up by another process, outside the figure, before the next one
starts; see ``witness``. Every text is a new one.
"""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

from benchmarks.operations import (
    SMALL,
    WORK,
    Operation,
    Stage,
    Step,
    Steps,
    write_more,
    write_new,
    write_over,
)

APPENDED = 100


def _new_file(stage: Stage) -> tuple[str, bytes]:
    name, text = stage.fresh(f"{WORK}/note-"), stage.text(SMALL)
    write_new(stage.path(name), text)
    stage.settle({name: text})
    return name, text


def create(stage: Stage, count: int) -> Steps:
    """A new file of 4 KiB: open with O_EXCL, write, close."""
    for _ in range(count):
        name, text = stage.fresh(f"{WORK}/note-"), stage.text(SMALL)
        yield Step(partial(write_new, stage.path(name), text), leaves={name: text})


def overwrite(stage: Stage, count: int) -> Steps:
    """A save as shells and simple programs do it: truncate, write 4 KiB, close."""
    name, _ = _new_file(stage)
    for _ in range(count):
        text = stage.text(SMALL)
        yield Step(partial(write_over, stage.path(name), text), leaves={name: text})


def append(stage: Stage, count: int) -> Steps:
    """A line of 100 bytes at the end of a file that starts with 4 KiB."""
    name, text = _new_file(stage)
    for _ in range(count):
        line = stage.text(APPENDED)
        text += line
        yield Step(partial(write_more, stage.path(name), line), leaves={name: text})


def replace(stage: Stage, count: int) -> Steps:
    """A save as careful editors do it: write 4 KiB beside it, rename over the file."""
    name, _ = _new_file(stage)
    path = stage.path(name)

    def action(text: bytes) -> None:
        write_over(f"{path}.tmp", text)
        os.replace(f"{path}.tmp", path)

    for _ in range(count):
        text = stage.text(SMALL)
        yield Step(partial(action, text), leaves={name: text})


def fsync(stage: Stage, count: int) -> Steps:
    """4 KiB written in place and fsync, on an open descriptor: this one waits for the disk.

    pyfuse3's examples have no fsync, and the kernel takes that for success: theirs is the write alone.
    """
    name, _ = _new_file(stage)
    descriptor = os.open(stage.path(name), os.O_WRONLY)

    def action(text: bytes) -> None:
        os.pwrite(descriptor, text, 0)
        os.fsync(descriptor)

    try:
        for _ in range(count):
            text = stage.text(SMALL)
            yield Step(partial(action, text), leaves={name: text})
    finally:
        os.close(descriptor)


def rename(stage: Stage, count: int) -> Steps:
    """One file from name to name, each a new one."""
    name, text = _new_file(stage)
    for _ in range(count):
        old, name = name, stage.fresh(f"{WORK}/note-")
        yield Step(partial(os.rename, stage.path(old), stage.path(name)), leaves={name: text, old: None})


def unlink(stage: Stage, count: int) -> Steps:
    """Files of 4 KiB, one after the other."""
    for name in [_new_file(stage)[0] for _ in range(count)]:
        yield Step(partial(os.unlink, stage.path(name)), leaves={name: None})


def directory(stage: Stage, count: int) -> Steps:
    """A directory made and removed again: one figure for both."""

    def action(path: Path) -> None:
        path.mkdir()
        path.rmdir()

    for _ in range(count):
        name = stage.fresh(f"{WORK}/topic-", suffix="")
        yield Step(partial(action, Path(stage.path(name))), leaves={name: None})


CHANGES = (
    Operation("create 4 KiB", create, batch=10, warm_up=3),
    Operation("overwrite 4 KiB", overwrite, batch=10, warm_up=3),
    Operation("append 100 B", append, batch=10, warm_up=3),
    Operation("write+fsync 4 KiB", fsync, batch=10, warm_up=3),
    Operation("rename", rename, batch=10, warm_up=3),
    Operation("temp+rename 4 KiB", replace, batch=10, warm_up=3),
    Operation("mkdir+rmdir", directory, batch=10, warm_up=3),
    Operation("unlink", unlink, batch=10, warm_up=3),
)
