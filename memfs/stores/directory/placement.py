"""A change on its way into the folder: staged, carried out step by step, and taken back where it fails."""

from __future__ import annotations

import hashlib
import logging
import os
import time
from collections.abc import Iterator

from memfs.port.change import Change, Origin
from memfs.port.names import ROOT
from memfs.stores.directory import steps
from memfs.stores.directory.folder import (
    META,
    STAGED,
    UNFINISHED,
    Folder,
    LeftAlone,
    Signature,
    is_being_written,
    opened,
    parent_of,
    read,
    read_opened,
)
from memfs.stores.directory.pages import Page, Pages, page_of
from memfs.stores.directory.steps import Step

WRITERS_PATIENCE = 0.5
"""Seconds to wait for a program that has what we replace open for writing: most close it at once."""

WRITTEN = "written-"
"""How the names of files in ``.meta/staged`` begin that were ours until somebody wrote into them."""

log = logging.getLogger(__name__)


class OvertakenError(Exception):
    """Another program has changed what lies at ``place`` since it was looked at; nothing has happened."""

    def __init__(self, place: str) -> None:
        super().__init__(place)
        self.place = place


class Placement:
    """One planned change and the folder. Raises OSError, LeftAlone and :class:`OvertakenError`.

    Whatever is raised, :meth:`undo` is due then.
    """

    def __init__(self, folder: Folder, pages: Pages, change: Change) -> None:
        self._folder = folder
        self._pages = pages
        self._change = change
        self._leaving: dict[str, Page] = {}
        self._replaced: dict[str, Page] = {}
        self._steps: list[Step] = []
        self._done: list[Step] = []
        self._made: list[str] = []
        self._held: set[str] = set()
        self._staged: dict[str, Signature] = {}
        self._came_out: dict[str, Signature] = {}
        self._unsynced: int | None = None

    def differing(self) -> set[str]:
        """The places of the change that do not look as the pages say."""
        differing: set[str] = set()
        change = self._change
        for file in [remove.file for remove in change.removes] + [move.file for move in change.moves]:
            self._expect(place_of(file.path), self._leaving, differing)
        for put in change.puts:
            place = place_of(put.path)
            if place not in self._leaving:
                self._expect(place, self._replaced, differing)
        for move in change.moves:
            place = place_of(move.new_path)
            if place not in self._leaving and self._folder.look(place) is not None:
                differing.add(place)
        return differing

    def stage(self, origin: Origin) -> list[Step]:
        """Write what is new to ``.meta/staged``; the steps that are to be taken.

        Before that, what :meth:`take_unsynced` gives is to be on the disk.
        """
        change = self._change
        for number, remove in enumerate(change.removes):
            place = place_of(remove.file.path)
            inode = self._leaving[place].signature.inode
            self._steps.append(Step("take", f"old-{inode}-{number}", place, "", inode))
        for move in change.moves:
            place = place_of(move.file.path)
            inode = self._leaving[place].signature.inode
            self._steps.append(Step("move", "", place, place_of(move.new_path), inode))
        for put in change.puts:
            assert put.content is not None, "a planned put has its content"
            place = place_of(put.path)
            there = self._status(place) if place in self._replaced else None
            mtime_ns = origin.time_ns if put.mtime_ns is None else put.mtime_ns
            if (before := self.take_unsynced()) is not None:
                _sync(before)
            name, self._staged[place], self._unsynced = self._folder.stage(put.content, mtime_ns, there)
            kind: steps.Kind = "place" if there is None else "exchange"
            self._steps.append(Step(kind, name, place, "", self._staged[place].inode))
        return self._steps

    def take_unsynced(self) -> int | None:
        """A descriptor, the caller's from here on, of the staged file whose bytes are not on the disk yet."""
        descriptor, self._unsynced = self._unsynced, None
        return descriptor

    def carry_out(self) -> set[str]:
        """Take the steps; the directories whose names have changed. What left its place is to be checked."""
        for step in self._steps:
            try:
                steps.do(self._folder, step, self._made)
            except FileExistsError:
                raise OvertakenError(step.new_place or step.place) from None
            except FileNotFoundError:
                raise OvertakenError(step.place) from None
            self._done.append(step)
        touched = {parent_of(place) for step in self._steps for place in step.touched}
        return touched | {parent_of(place) for place in self._made}

    def check(self) -> None:
        """Make sure that what has left its place is what was expected there."""
        for step in self._steps:
            self._check(step)

    def record(self) -> None:
        """Bring the pages in step with the folder."""
        pages: list[Page] = []
        for place in self._leaving:
            self._pages.drop(place)
        for move in self._change.moves:
            new_place = place_of(move.new_path)
            signature = self._folder.look(new_place)
            if signature is None:
                raise OvertakenError(new_place)
            page = self._leaving[place_of(move.file.path)]
            pages.append(page._replace(place=new_place, signature=signature, fresh=True))
        for put in self._change.puts:
            place, content = place_of(put.path), put.content or b""
            signature, staged = self._folder.look(place), self._staged[place]
            if signature is None or signature.inode != staged.inode:
                raise OvertakenError(place)
            if signature[:3] != staged[:3]:
                signature = staged  # somebody has written into it since, and that is still to be taken in
            digest = hashlib.sha256(content).digest()
            page = page_of(place, put.id, signature, content, digest)
            pages.append(
                page._replace(fresh=True)
            )  # it may have been there for long, for a late writer's sake
        self._pages.put(pages)

    def finish(self) -> dict[str, Signature]:
        """The change stands: let go of the directories that it emptied.

        What it replaced, and is to be let go of at leisure: names in ``.meta/staged``, and what is called so.
        """
        for place in self._leaving:
            self._folder.remove_empty(parent_of(place))
        return {name: was for name, was in self._came_out.items() if name not in self._held}

    def undo(self) -> None:
        """Have the folder as it was."""
        if (unsynced := self.take_unsynced()) is not None:
            os.close(unsynced)
        steps.undo(self._folder, self._done)
        for step in self._steps:
            if not step.staged:
                continue
            if step.kind in ("place", "exchange") and self._was_written(step):
                self._keep(step)
                continue
            if self._folder.discard(step.staged, step.inode):
                continue
            if _is_somebodys(self._folder, self._pages, step.staged):
                log.warning(
                    "%s holds a version of %s that two others replaced at once.",
                    self._folder.path / META / STAGED / step.staged,
                    step.place,
                )
        for place in reversed(self._made):
            self._folder.remove_empty(place)

    def _was_written(self, step: Step) -> bool:
        """Whether somebody wrote into our file while it had its place."""
        try:
            with opened(self._folder.staged, step.staged) as descriptor:
                if descriptor is None:
                    return False
                self._await_writers(descriptor, step.staged)
                now, ours = Signature.of(os.fstat(descriptor)), self._staged[step.place]
        except LeftAlone:
            return False
        return now.inode == ours.inode and (now[:3] != ours[:3] or step.staged in self._held)

    def _keep(self, step: Step) -> None:
        """Give our file, which holds somebody's bytes now, a name that no sweep takes for one of ours."""
        kept = f"{WRITTEN}{step.inode}"
        os.rename(step.staged, kept, src_dir_fd=self._folder.staged, dst_dir_fd=self._folder.staged)
        log.warning(
            "%s holds what another program wrote into %s while a change was taken back.",
            self._folder.path / META / STAGED / kept,
            step.place,
        )

    def _expect(self, place: str, expected: dict[str, Page], differing: set[str]) -> None:
        """Note the page at *place*, and whether the file there is what it says."""
        page = self._pages.at(place)
        if page is not None:
            expected[place] = page
        try:
            if self._folder.look(place) != (page.signature if page else None):
                differing.add(place)
        except LeftAlone:
            if page is None:
                raise
            differing.add(place)

    def _status(self, place: str) -> os.stat_result:
        try:
            with self._folder.holder(place) as (directory, name):
                return os.stat(name, dir_fd=directory, follow_symlinks=False)
        except FileNotFoundError:
            raise OvertakenError(place) from None

    def _check(self, step: Step) -> None:
        if step.kind == "place":
            return
        if step.kind == "move":
            found = self._folder.look(step.new_place)
            if found is None or found.inode != step.inode:
                raise OvertakenError(step.place)
            return
        page = self._leaving.get(step.place) or self._replaced[step.place]
        try:
            with opened(self._folder.staged, step.staged) as descriptor:
                if descriptor is None:
                    raise OvertakenError(step.place)
                self._await_writers(descriptor, step.staged)
                there = read_opened(descriptor) if page.fresh else None
                signature = there.signature if there else Signature.of(os.fstat(descriptor))
        except LeftAlone:
            raise OvertakenError(step.place) from None
        # Not the ctime: it is that of the rename now.
        self._came_out[step.staged] = signature
        if signature[:3] != page.signature[:3]:
            raise OvertakenError(step.place)
        if there is not None and hashlib.sha256(there.content).digest() != page.digest:
            raise OvertakenError(step.place)

    def _await_writers(self, descriptor: int, staged: str) -> None:
        """Let whoever has the file open finish: it has no name in the folder now, so nobody new comes.

        One that stays in a program's hands for longer is kept, and looked at when the folder is opened next.
        """
        end = time.monotonic() + WRITERS_PATIENCE
        while is_being_written(descriptor):
            if time.monotonic() > end:
                self._held.add(staged)
                return
            time.sleep(0.001)


def _sync(descriptor: int) -> None:
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def place_of(path: str) -> str:
    """The place of a path of the port."""
    return path[len(ROOT) + 1 :]


def sweep(folder: Folder, pages: Pages) -> Iterator[str]:
    """Remove from ``.meta/staged`` what a crash left there; the names of what is kept.

    Whatever is not a file of ours that never got its place, nor in the history, is somebody's: it came
    out of its place in the instant of the crash.
    """
    for name in os.listdir(folder.staged):
        if _is_somebodys(folder, pages, name):
            yield name


def _is_somebodys(folder: Folder, pages: Pages, name: str) -> bool:
    """Whether *name* in ``.meta/staged`` may be all there is of a version. What is not is removed."""
    try:
        found = read(folder.staged, name)
    except LeftAlone:
        return True
    if found is None:
        return False
    ours = name.startswith((UNFINISHED, f"new-{found.signature.inode}-"))
    if ours or not found.content or pages.knows(hashlib.sha256(found.content).digest()):
        folder.discard(name)
        return False
    return True
