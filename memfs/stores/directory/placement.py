"""A change on its way into the folder: staged, carried out step by step, and taken back where it fails."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from memfs.port.change import Change, Origin
from memfs.port.names import ROOT
from memfs.stores.directory import steps
from memfs.stores.directory.folder import (
    UNFINISHED,
    Folder,
    LeftAlone,
    Reading,
    Signature,
    is_being_written,
    opened,
    parent_of,
    read,
    read_opened,
    unwritten,
)
from memfs.stores.directory.pages import Page, Pages, page_of
from memfs.stores.directory.steps import Step

WRITERS_PATIENCE = 0.5
"""Seconds to wait for a program that has what we replace open for writing: most close it at once."""


class OvertakenError(Exception):
    """Another program has changed what lies at ``place`` since it was looked at; nothing has happened.

    ``found``: what came out of its place, and at which. Once it is back there, its own program may replace
    it by what it made of ours, which had the place meanwhile: this is all there is of it then.
    """

    def __init__(self, place: str, found: Mapping[str, Reading] | None = None) -> None:
        super().__init__(place)
        self.place = place
        self.found = found or {}


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
        self._staged: dict[str, Signature] = {}
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
        overtaken: str | None = None
        found: dict[str, Reading] = {}
        for step in self._steps:
            try:
                self._check(step)
            except OvertakenError as error:
                overtaken = error.place
                found.update(error.found)
        if overtaken is not None:
            raise OvertakenError(overtaken, found)

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
            page = page_of(place, put.id, signature, content, hashlib.sha256(content).digest())
            # It may have had its place for long, for a late writer's sake.
            pages.append(page._replace(fresh=True))
        self._pages.put(pages)

    def finish(self) -> dict[str, Collection[bytes]]:
        """The change stands: let go of the directories that it emptied.

        What it replaced and removed, to be put aside: names in ``.meta/staged``, each with the digest.
        """
        for place in self._leaving:
            self._folder.remove_empty(parent_of(place))
        return {step.staged: [self._before(step).digest] for step in self._steps if step.lets_out}

    def undo(self) -> dict[str, Collection[bytes]]:
        """Have the folder as it was.

        What has been at a place and is not now, to be put aside: names in ``.meta/staged``, each with the
        digests of what it may hold. It is ours, or, where somebody is in the way of what was there, that.
        """
        if (unsynced := self.take_unsynced()) is not None:
            os.close(unsynced)
        steps.undo(self._folder, self._done)
        for step in self._steps[len(self._done) :]:
            if step.kind in ("place", "exchange"):
                self._folder.discard(step.staged, step.inode)
        for place in reversed(self._made):
            self._folder.remove_empty(place)
        ours = {place_of(put.path): hashlib.sha256(put.content or b"").digest() for put in self._change.puts}
        aside: dict[str, Collection[bytes]] = {}
        for step in self._done:
            if step.staged:
                aside[step.staged] = [self._before(step).digest] if step.lets_out else []
                if step.kind != "take":
                    aside[step.staged] = [*aside[step.staged], ours[step.place]]
        return aside

    def _before(self, step: Step) -> Page:
        """The page of what *step* takes from its place."""
        return self._leaving.get(step.place) or self._replaced[step.place]

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
        page = self._before(step)
        try:
            with opened(self._folder.staged, step.staged) as descriptor:
                if descriptor is None:
                    raise OvertakenError(step.place)
                had_writers = _await_writers(descriptor)
                there = read_opened(descriptor) if page.fresh or had_writers else None
                signature = there.signature if there else Signature.of(os.fstat(descriptor))
                # Not the ctime: it is that of the rename now.
                looks_same = signature[:3] == page.signature[:3]
                if looks_same and (there is None or hashlib.sha256(there.content).digest() == page.digest):
                    return
                is_whole = not is_being_written(descriptor)
                came_out = {step.place: there or read_opened(descriptor)} if is_whole else {}
        except LeftAlone:
            raise OvertakenError(step.place) from None
        raise OvertakenError(step.place, came_out)


def _await_writers(descriptor: int) -> bool:
    """Let whoever has the file open finish: nobody new finds it now. Whether there was anyone."""
    end = time.monotonic() + WRITERS_PATIENCE
    had_writers = False
    while is_being_written(descriptor):
        had_writers = True
        if time.monotonic() > end:
            break
        time.sleep(0.001)
    return had_writers


def _sync(descriptor: int) -> None:
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def place_of(path: str) -> str:
    """The place of a path of the port."""
    return path[len(ROOT) + 1 :]


class Leftover(NamedTuple):
    """A file in ``.meta/staged`` that a crash left, or a program that ended with files aside.

    ``digest`` is that of its bytes where the history has them, or they were ours and never counted; else
    it is somebody's, who saved it in that instant, or None because nobody can read it.
    """

    name: str
    digest: bytes | None


def leftovers(folder: Folder, pages: Pages) -> Iterator[Leftover]:
    """What lies in ``.meta/staged``, for who holds the scope. What nobody but us has seen is removed."""
    for name in os.listdir(folder.staged):
        if name.startswith(UNFINISHED):
            folder.discard(name)
            continue
        try:
            found = read(folder.staged, name)
        except LeftAlone:
            yield Leftover(name, None)
            continue
        if found is not None:
            digest = hashlib.sha256(found.content).digest()
            is_ours = name.startswith(unwritten(found.signature))
            yield Leftover(name, digest if is_ours or not found.content or pages.knows(digest) else None)
