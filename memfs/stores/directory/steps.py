"""The steps of a change in the folder: each is one rename, and each can be taken back.

Nothing is ever overwritten or unlinked on the way. What a change removes or replaces lies in
``.meta/staged`` until the database holds the change; so a change that fails half-way, or that a crash
cut short, is undone by the same renames backwards. Which file is which is told by its inode's number.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable
from contextlib import suppress
from typing import Literal, NamedTuple

from memfs.stores.directory.folder import Folder, LeftAlone, exchange, move

log = logging.getLogger(__name__)

Kind = Literal["place", "exchange", "take", "move"]


class Step(NamedTuple):
    """One rename.

    ``place``: the staged file gets its place, where nothing is. ``exchange``: the staged file and the one
    at the place change places. ``take``: the file at the place becomes the staged one. ``move``: the file
    at the place goes to ``new_place``. ``inode`` is that of the file that is staged first (``place``,
    ``exchange``), else of the one that leaves its place.
    """

    kind: Kind
    staged: str
    place: str
    new_place: str
    inode: int

    @property
    def touched(self) -> tuple[str, ...]:
        """The places that the step changes."""
        return (self.place, self.new_place) if self.kind == "move" else (self.place,)

    @property
    def lets_out(self) -> bool:
        """Whether a file of the folder lies in ``.meta/staged`` after it."""
        return self.kind in ("exchange", "take")


def do(folder: Folder, step: Step, made: list[str]) -> None:
    """Take the step. Directories that it needs are made and appended to *made*."""
    staged = folder.staged
    match step.kind:
        case "place":
            with folder.holder(step.place, made) as (directory, name):
                move(staged, step.staged, directory, name)
        case "exchange":
            with folder.holder(step.place) as (directory, name):
                exchange(staged, step.staged, directory, name)
        case "take":
            with folder.holder(step.place) as (directory, name):
                move(directory, name, staged, step.staged)
        case "move":
            with (
                folder.holder(step.place) as (old, old_name),
                folder.holder(step.new_place, made) as (new, new_name),
            ):
                move(old, old_name, new, new_name)


def undo(folder: Folder, steps: Iterable[Step]) -> None:
    """Take back those of *steps* that were taken, the last one first.

    Where somebody has put something in the way meanwhile, theirs stays; what should have gone there
    stays where it is, and is in the history as well.
    """
    for step in reversed(list(steps)):
        try:
            _undo(folder, step)
        except (OSError, LeftAlone) as error:
            log.warning("%s could not be put back as it was: %s", step.place, error)


def _undo(folder: Folder, step: Step) -> None:
    staged, made = folder.staged, list[str]()
    match step.kind:
        case "place":
            with suppress(FileNotFoundError), folder.holder(step.place) as (directory, name):
                if _inode(directory, name) == step.inode:
                    move(directory, name, staged, step.staged)
                    if _inode(staged, step.staged) != step.inode:  # replaced in this very instant
                        move(staged, step.staged, directory, name)
        case "exchange":
            with suppress(FileNotFoundError), folder.holder(step.place) as (directory, name):
                if _inode(directory, name) == step.inode:
                    _exchange_back(directory, name, staged, step)
        case "take":
            if _inode(staged, step.staged) == step.inode:
                with folder.holder(step.place, made) as (directory, name):
                    move(staged, step.staged, directory, name)
        case "move":
            with suppress(FileNotFoundError), folder.holder(step.new_place) as (new, new_name):
                if _inode(new, new_name) == step.inode:
                    with folder.holder(step.place, made) as (old, old_name):
                        move(new, new_name, old, old_name)


def _exchange_back(directory: int, name: str, staged: int, step: Step) -> None:
    """Have the staged file in its place again, and ours out, unless somebody puts another there meanwhile.

    What comes out, and is not what was there, is newer than what went in: it goes back.
    """
    there: int | None = step.inode
    while True:
        back = _inode(staged, step.staged)
        exchange(directory, name, staged, step.staged)
        if _inode(staged, step.staged) == there:
            return
        there = back


def _inode(directory: int, name: str) -> int | None:
    try:
        return os.stat(name, dir_fd=directory, follow_symlinks=False).st_ino
    except FileNotFoundError:
        return None
