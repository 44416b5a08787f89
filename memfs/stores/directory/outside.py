"""What other programs did in the folder, as a change of the scope.

The database says how each memory's file looked when it was last in step; what looks different now is
read and compared by content. Nothing in the folder is changed here.
"""

from __future__ import annotations

import hashlib
import logging
import os
import stat
import time
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import groupby
from typing import NamedTuple

from memfs.port.buckets import layout_violation, move_operation, standing_directories
from memfs.port.change import Change, File, Move, Put, PutOperation, Remove
from memfs.port.names import ROOT, extension_of, path_error
from memfs.port.policy import Policy
from memfs.stores import recorded
from memfs.stores.directory.dirt import SETTLE, Dirt, Due
from memfs.stores.directory.folder import Folder, LeftAlone, Reading, Signature, check_plain, parent_of, read
from memfs.stores.directory.pages import Lapsed, Page, Pages, page_of

log = logging.getLogger(__name__)

_IDS = 1 << 52
"""Ids of memories that came with others in one change; those of commands are versions, and far below."""


class Taken(NamedTuple):
    """What others did: the change, the places whose pages are gone, and the pages that are new or other.

    ``lapsed`` are the pages of the memories that left, each with whether something else is in its place;
    ``back`` are the places at which one is again, each with whether it has the bytes it had; at those that
    are ``emptied``, nothing is any more.
    """

    change: Change
    gone: list[str]
    pages: list[Page]
    lapsed: list[tuple[Page, bool]]
    back: list[tuple[str, bool]]
    emptied: Sequence[str] = ()


class _Here(NamedTuple):
    """A file that can be a memory, as it was read, with the SHA-256 of its bytes."""

    place: str
    signature: Signature
    content: bytes
    settled: bool
    digest: bytes


class Outside:
    """Compares the folder with its pages, and remembers what it left alone.

    ``left`` are the places of what is no plain file, or holds what no memory can hold, each with a clause
    that says what it is; ``unnamed`` are those of plain files whose names the port cannot hold.
    """

    def __init__(self, folder: Folder, pages: Pages, dirt: Dirt) -> None:
        self._folder = folder
        self._pages = pages
        self._dirt = dirt
        self.left: dict[str, str] = {}
        self.unnamed: set[str] = set()
        self._told: dict[str, str] = {}

    def is_as_before(self, due: Due) -> bool:
        """Whether a glance is enough to say that nothing of what is *due* has changed."""
        if due.directories:
            return False
        for place in due.places:
            page = self._pages.at(place)
            if page is None or place in due.written or self._look(place) != page.signature:
                return False
            self.left.pop(place, None)
        return True

    def compare(self, due: Due, policy: Policy, version: int) -> Taken:
        """What is different in the places and directories that are *due*, as the change *version*."""
        known: dict[str, Page | None] = {place: self._pages.at(place) for place in due.places}
        found: dict[str, Signature | None] = {
            place: self._glance(place, policy, page) for place, page in known.items()
        }
        for directory in due.directories:
            known |= {page.place: page for page in self._pages.below(directory)}
            known = dict.fromkeys(self._pages.blocked_below(directory)) | known
            self._forget_below(directory)
            found |= self._walk(directory, policy, known)
        if "" not in due.directories:
            self._add_conflicting(found, known)
        taken, different, emptied = _Differences(), list[str](), list[str]()
        for place in known | found:
            page, signature = known.get(place), found.get(place)
            if signature is None:
                if page is not None:
                    taken.vanished.append(page)
                elif place not in self.left and (lapsed := self._pages.lapsed_at(place)) and lapsed.blocked:
                    emptied.append(place)
                continue
            looked_at = place in due.places and place not in due.written
            if page is not None and page.signature == signature and (looked_at or not page.fresh):
                continue
            changed = page is None or page.signature != signature
            if changed and place not in due.places:
                _let_settle(signature)
            different.append(place)
        for place, here in self._read_each(different, policy, known):
            page = known.get(place)
            if here is not None and page is not None:
                same = here.digest == page.digest
                (taken.refreshed if same else taken.changed).append((page, here))
            elif here is not None:
                taken.appeared.append((here, self._returning(here)))
            elif page is not None:
                taken.vanished.append(page)
        told = taken.as_change(policy, version, self.left)
        directories = self._gone_directories(told, policy)
        return told._replace(change=told.change._replace(directories=directories), emptied=emptied)

    def taken_from(self, found: Mapping[str, Reading], policy: Policy, version: int) -> Taken:
        """What was *found* of memories, at their places for a moment, as the change *version*."""
        taken = _Differences()
        for place, (signature, content, settled) in found.items():
            page, digest = self._pages.at(place), hashlib.sha256(content).digest()
            if page is None or digest == page.digest or len(content) > _most(policy, page):
                continue
            with suppress(UnicodeDecodeError):  # it is left alone, where it is
                content.decode()
                taken.changed.append((page, _Here(place, signature, content, settled, digest)))
        return taken.as_change(policy, version, self.left)

    def _gone_directories(self, taken: Taken, policy: Policy) -> tuple[str, ...]:
        """The topmost directories that held a memory which left, and are no longer in the folder.

        The layout's own stay in the scope, and so does one that is empty in the folder now.
        """
        held = set(standing_directories(policy.layout))
        held |= {f"{ROOT}/{above}" for page in taken.pages for above in places_above(page.place)}
        there, gone = dict[str, bool](), dict[str, None]()
        for place in taken.gone:
            for above in places_above(place):
                if f"{ROOT}/{above}" in held:
                    continue
                if above not in there:
                    there[above] = self._folder.has_directory(above)
                if not there[above]:
                    gone[f"{ROOT}/{above}"] = None
                    break
        return tuple(gone)

    def left_without(self, change: Change, policy: Policy) -> set[str]:
        """The places of the directories that hold no memory any more after *change*, which others made.

        Those that it says are gone are not among them, nor those that the layout has always.
        """
        left = [remove.file.path for remove in change.removes] + [move.file.path for move in change.moves]
        above = {place for path in left for place in places_above(path[len(ROOT) + 1 :])}
        told = (*change.directories, *standing_directories(policy.layout))
        return {
            place
            for place in above
            if not any(f"{ROOT}/{place}/".startswith(f"{path}/") for path in change.directories)
            and f"{ROOT}/{place}" not in told
            and not self._pages.below(place)
        }

    def _returning(self, here: _Here) -> Lapsed | None:
        """The memory that left the place of *here*, if this is that memory again."""
        lapsed = self._pages.lapsed_at(here.place)
        if lapsed is None or not (lapsed.blocked or lapsed.digest == here.digest):
            return None
        return lapsed

    def fault_at(self, place: str, policy: Policy) -> str | None:
        """The sentence about what is left alone at *place* or above it, or None."""
        at = ""
        for name in place.split("/"):
            at = f"{at}/{name}" if at else name
            try:
                with self._folder.holder(at) as (directory, last):
                    found = os.stat(last, dir_fd=directory, follow_symlinks=False)
                if stat.S_ISDIR(found.st_mode):
                    continue
                check_plain(found)
                if at == place and not _cannot_be_named(place, policy):
                    with self._folder.holder(place) as (directory, last):
                        _read(directory, last, place, _most(policy, None))
                return None
            except LeftAlone as reason:
                return f"{self._folder.path / at} is {reason}; memfs leaves it alone, so move it away first."
            except OSError:
                return None
        return None

    def _add_conflicting(self, found: dict[str, Signature | None], known: dict[str, Page | None]) -> None:
        """A file where a directory of memories was, or the other way round: look at both sides."""
        for place in [place for place, signature in found.items() if signature is not None]:
            if known.get(place) is None:
                others = self._pages.below(place)
                above = place
                while above := above.rpartition("/")[0]:
                    page = self._pages.at(above)
                    others += [] if page is None else [page]
                for page in others:
                    if page.place not in found:
                        known[page.place], found[page.place] = page, self._look(page.place)

    def _look(self, place: str) -> Signature | None:
        try:
            return self._folder.look(place)
        except (OSError, LeftAlone):
            return None

    def _glance(self, place: str, policy: Policy, page: Page | None) -> Signature | None:
        """How the file at *place* looks; None where there is none that could be a memory."""
        self.left.pop(place, None)
        self.unnamed.discard(place)
        try:
            with self._folder.holder(place) as (directory, name):
                found = os.stat(name, dir_fd=directory, follow_symlinks=False)
        except (OSError, LeftAlone):
            return None
        return self._judged(place, found, policy, page)

    def _judged(
        self, place: str, found: os.stat_result, policy: Policy, page: Page | None
    ) -> Signature | None:
        # What is a memory stays one, whatever rules came later: they say only what may be written.
        if page is None and stat.S_ISREG(found.st_mode) and _cannot_be_named(place, policy):
            self.unnamed.add(place)
            return None
        try:
            check_plain(found)
        except LeftAlone as reason:
            self._leave(place, reason)
            if stat.S_ISREG(found.st_mode):
                self._dirt.watch_links(place)
            return None
        return Signature.of(found)

    def _walk(
        self, directory: str, policy: Policy, known: Mapping[str, Page | None]
    ) -> Iterator[tuple[str, Signature]]:
        """Every file below *directory* that is a memory or could be one, and how it looks."""
        for place, found in self._folder.walk(directory, self._dirt.watch_directory, self._leave):
            signature = self._judged(place, found, policy, known.get(place))
            if signature is not None:
                yield place, signature

    def _read_each(
        self, places: Iterable[str], policy: Policy, known: Mapping[str, Page | None]
    ) -> Iterator[tuple[str, _Here | None]]:
        """Each of *places* with what is there, or None where nothing is that can be a memory."""
        for parent, group in groupby(places, parent_of):
            below = list(group)
            try:
                with self._folder.directory(parent) as directory:
                    for place in below:
                        most = _most(policy, known.get(place))
                        yield place, self._read_or_leave(directory, place, most)
            except (FileNotFoundError, LeftAlone):
                yield from ((place, None) for place in below)

    def _read_or_leave(self, directory: int, place: str, most: int) -> _Here | None:
        name = place.rpartition("/")[2]
        try:
            here = _read(directory, name, place, most)
        except LeftAlone as reason:
            self._leave(place, reason)
            return None
        if here is not None and not here.settled:
            self._dirt.note_later(place)  # what comes next is a version of its own
        return here

    def _leave(self, place: str, reason: LeftAlone) -> None:
        self.left[place] = str(reason)
        if self._told.get(place) != str(reason):
            self._told[place] = str(reason)
            log.info("%s is %s; it is left as it is.", self._folder.path / place, reason)

    def _forget_below(self, directory: str) -> None:
        def inside(place: str) -> bool:
            return not directory or f"{place}/".startswith(f"{directory}/")

        self.left = {place: what for place, what in self.left.items() if not inside(place)}
        self.unnamed = {place for place in self.unnamed if not inside(place)}


def sizes_in(folder: Folder, policy: Policy) -> Iterator[int]:
    """The sizes, in bytes, of the files in *folder* that can be called as memories are, at a glance."""
    for place, found in folder.walk(""):
        if stat.S_ISREG(found.st_mode) and found.st_nlink == 1 and not _cannot_be_named(place, policy):
            yield found.st_size


class _Differences:
    """What was found, until it is put together."""

    def __init__(self) -> None:
        self.appeared: list[tuple[_Here, Lapsed | None]] = []
        self.changed: list[tuple[Page, _Here]] = []
        self.refreshed: list[tuple[Page, _Here]] = []
        self.vanished: list[Page] = []

    def as_change(self, policy: Policy, version: int, left: Container[str]) -> Taken:
        """A file that vanished and one that appeared are one that moved, if file and bytes are the same.

        *left*: the places of what is left alone.
        """
        moved = {(page.signature.inode, page.digest): page for page in self.vanished}
        moves, puts = list[tuple[Page, _Here]](), list[tuple[_Here, Put]]()
        back: list[tuple[str, bool]] = []
        for here, lapsed in sorted(self.appeared, key=lambda item: item[0].signature.mtime_ns):
            page = moved.pop((here.signature.inode, here.digest), None)
            if page is not None:
                moves.append((page, here))
                continue
            if lapsed is not None:
                puts.append((here, _put(here, lapsed.id, "restored")))
                back.append((here.place, here.digest == lapsed.digest))
                continue
            ordinal = len(puts)
            file_id = version if ordinal == 0 else _IDS | recorded.key_of(version, ordinal)
            puts.append((here, _put(here, file_id, "created")))
        for page, here in self.changed:
            puts.append((here, _put(here, page.id, "modified")))
        gone = list(moved.values())
        change = Change(
            removes=tuple(Remove(_file(page), evicted=False) for page in gone),
            moves=tuple(_move(page, here, policy) for page, here in moves),
            puts=tuple(put for _, put in sorted(puts, key=lambda item: item[0].signature.mtime_ns)),
        )
        pages = [_page(here, page.id) for page, here in (*moves, *self.refreshed)]
        pages += [_page(here, put.id) for here, put in puts]
        return Taken(
            change,
            [page.place for page in (*gone, *(page for page, _ in moves))],
            pages,
            [(page, page.place in left) for page in gone],
            back,
        )


def places_above(place: str) -> Iterator[str]:
    """The places of the directories that *place* lies in, the topmost first."""
    end = place.find("/")
    while end >= 0:
        yield place[:end]
        end = place.find("/", end + 1)


def _most(policy: Policy, page: Page | None) -> int:
    """The bytes that a file may have: the limit, or what the memory there had when the limit came."""
    limit = min(policy.limits.max_file_bytes, policy.limits.max_total_bytes)
    return limit if page is None else max(limit, page.signature.size)


def _read(directory: int, name: str, place: str, most: int) -> _Here | None:
    """The file *name*, or None where nothing is; :class:`LeftAlone` for what no memory can hold."""
    found = read(directory, name, most)
    if found is None:
        return None
    signature, content, settled = found
    try:
        content.decode()
    except UnicodeDecodeError:
        raise LeftAlone("no valid UTF-8") from None
    return _Here(place, signature, content, settled, hashlib.sha256(content).digest())


def _cannot_be_named(place: str, policy: Policy) -> bool:
    path = f"{ROOT}/{place}"
    return (
        path_error(path) is not None
        or extension_of(path) not in policy.extensions
        or layout_violation(path, policy.layout) is not None
    )


def _let_settle(signature: Signature) -> None:
    """Give a moment to whoever is writing the file just now, and no more: it may go on for hours."""
    quiet = time.time() - max(signature.mtime_ns, signature.ctime_ns) / 1e9
    if 0 <= quiet < SETTLE:
        time.sleep(SETTLE - quiet)


def _file(page: Page) -> File:
    return File(page.id, f"{ROOT}/{page.place}", page.signature.size, page.signature.mtime_ns, 0)


def _move(page: Page, here: _Here, policy: Policy) -> Move:
    old, new_path = _file(page), f"{ROOT}/{here.place}"
    return Move(old, new_path, move_operation(old.path, new_path, policy))


def _put(here: _Here, file_id: int, operation: PutOperation) -> Put:
    path, mtime_ns = f"{ROOT}/{here.place}", here.signature.mtime_ns
    return Put(file_id, path, len(here.content), operation, here.content, mtime_ns)


def _page(here: _Here, file_id: int) -> Page:
    return page_of(here.place, file_id, here.signature, here.content, here.digest)
