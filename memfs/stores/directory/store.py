"""A scope that is a folder of plain files: its content lies there, its record in ``.meta/memfs.db``.

A change of one file is one rename in the folder, and then the commit of its record, which waits for no
disk of its own: after a power cut the folder may be ahead of its record, and is then taken in by content.
A change of several files is intended in the database first, durably; what a crash leaves of it is undone.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress

from memfs.port.change import Actor, Change, Commit, Origin
from memfs.port.errors import StoreError, UnsafeStorage
from memfs.port.keeping import HistoryUse, Redaction, Retention
from memfs.port.names import ROOT
from memfs.port.policy import Policy
from memfs.port.scope import Scope
from memfs.port.store import Busy, Record, VersionMismatch, Watch
from memfs.stores.directory import steps
from memfs.stores.directory.aside import Aside
from memfs.stores.directory.dirt import DirectoryWatch, Dirt, Due
from memfs.stores.directory.failures import folder_errors
from memfs.stores.directory.folder import META, STAGED, Folder, LeftAlone
from memfs.stores.directory.meta import SharedMeta
from memfs.stores.directory.outside import Outside, Taken, places_above
from memfs.stores.directory.pageindex import PageIndex
from memfs.stores.directory.pages import Pages
from memfs.stores.directory.placement import OvertakenError, Placement, leftovers, place_of
from memfs.stores.directory.syncing import Syncing
from memfs.stores.sqlite.database import ScopeFiles
from memfs.stores.sqlite.store import UPKEEP_EVERY, SqliteStore

log = logging.getLogger(__name__)

ANOTHER = Actor("", "another program", 0)
"""Who made a change that did not come through memfs."""


class DirectoryStore:
    """The scope of one folder, opened durable or *relaxed* (``sync`` brings the names to the disk).

    A file's bytes are on the disk before it gets its name, also when relaxed: a person's notes must not
    come out of a power cut empty. So every commit waits.
    """

    waits = True

    def __init__(
        self, folder: Folder, meta: SharedMeta, files: ScopeFiles, ledger: SqliteStore, relaxed: bool
    ) -> None:
        """*ledger* is the history and the state. What is given belongs to this store from here on."""
        self.scope_name = ledger.scope_name
        self._folder = folder
        self._meta = meta
        self._files = files
        self._ledger = ledger
        self._durable = not relaxed
        self._pages = Pages(ledger.connection)
        self._dirt = Dirt(folder)
        self._outside = Outside(folder, self._pages, self._dirt)
        self._index = PageIndex(folder, files)
        self._syncing = Syncing()
        self._aside = Aside(folder)
        self._unsynced: set[str] = set()
        self._unsynced_lock = threading.Lock()
        self._theirs_unsynced = False
        self._lingering: set[str] = set()
        self._news = False
        self._commits_since_upkeep = 0

    def begin(self) -> None:
        """Finish what a crash left, and take in what others did while nobody looked."""
        if not self._durable:  # a mount's, which stays: watched from here on, nothing is compared twice
            self._dirt.begin()
        self.acquire(wait=True)
        try:
            with folder_errors(self._folder.path):
                self._sweep()
                self._take_in(self._dirt.take())
        finally:
            self.release()

    def load(self) -> Scope:
        """The scope as the database has it: what is due from outside comes with the next ``changed``."""
        self._news = False
        return self._ledger.load()

    def read(self, file_id: int, version: int) -> bytes:
        """The bytes that the memory *file_id* had after the change *version*: those of its record."""
        return self._ledger.read(file_id, version)

    def acquire(self, wait: bool) -> None:
        """The database's gate and lock. What a process that was killed began is undone first."""
        self._ledger.acquire(wait)
        try:
            with folder_errors(self._folder.path):
                self._folder.check_meta()
                intended = self._pages.intended()
                if intended:
                    self._recover(intended)
        except BaseException:
            self._ledger.release()
            raise

    def release(self) -> None:
        """The end of ``acquire``."""
        self._ledger.release()
        try:
            if self._index.is_due:
                self._index.write()
            if self._durable and self._commits_since_upkeep >= UPKEEP_EVERY:
                self._commits_since_upkeep = 0
                self._ledger.maintain()
        except StoreError as error:  # what was committed stands; the next one tries again
            log.warning("the upkeep of %s failed: %s", self._folder.path, error)

    def changed(self, version: int) -> bool:
        """Whether another memfs has committed, or another program has changed the folder."""
        with folder_errors(self._folder.path):
            due = self._dirt.take()
            if due and not self._outside.is_as_before(due):
                self._look_at(due)
            if self._lingering and not all(map(self._folder.has_directory, self._lingering)):
                self._news = True
        return self._ledger.changed(version) or self._news

    def changes(self, since: int) -> Sequence[Commit] | None:
        """The commits after *since*, from the history; None where one brings a memory back where it was."""
        self._news = False
        commits = self._ledger.changes(since)
        if commits is not None and any(_brings_back(commit) for commit in commits):
            commits = None
        if commits is not None:
            commits = [*commits, *self._directories_gone(since, commits)]
        if commits is None or any(commit.change.policy is not None for commit in commits):
            self._dirt.note("", directory=True)  # other names may be memories now
        return commits

    def commit(self, change: Change, expected: int, origin: Origin) -> Commit:
        """Carry *change* out in the folder and commit its record."""
        with folder_errors(self._folder.path):
            if self._ledger.head() != expected:
                raise VersionMismatch
            placement = Placement(self._folder, self._pages, change)
            try:
                differing = placement.differing()
            except LeftAlone as reason:
                raise self._unsafe(change, reason) from None
            if differing:
                if self._take_in(Due(frozenset(differing), frozenset(differing))):
                    raise VersionMismatch
                placement = Placement(self._folder, self._pages, change)
                if differing := placement.differing():
                    raise self._unsafe(change, LeftAlone("being changed just now", min(differing)))
            if self._theirs_unsynced:
                self._ledger.sync()
                self._theirs_unsynced = False
            commit = self._carry_out(placement, change, expected, origin)
        self._aside.put(placement.finish())
        self._commits_since_upkeep += 1
        self._index.stale = True
        if change.policy is not None:
            self._dirt.note("", directory=True)
        return commit

    def sync(self) -> None:
        """Make the names of earlier commits survive a power cut, and the record of them."""
        with self._unsynced_lock:
            directories, self._unsynced = self._unsynced, set()
        try:
            with folder_errors(self._folder.path):
                for place in sorted(directories):
                    self._folder.sync(place)
        except StoreError:
            with self._unsynced_lock:
                self._unsynced |= directories
            raise
        self._ledger.sync()

    def maintain(self) -> None:
        """The database's upkeep, the page index, and what earlier changes replaced."""
        self._aside.let_go()
        self._ledger.maintain()
        self._index.write()

    def watch(self, notify: Callable[[], None]) -> Watch:
        """Watch the folder, and the notices of other processes."""
        ledger = self._ledger.watch(notify)
        try:
            return _Watches(DirectoryWatch(self._dirt, notify), ledger)
        except OSError as error:
            ledger.close()
            raise StoreError(f"{self._folder.path} cannot be watched: {error.strerror}.") from error

    def history(self, newest_first: bool = True, file_id: int | None = None) -> Iterator[Record]:
        """The records of the scope, or of one memory; those of other programs' changes name no user."""
        return self._ledger.history(newest_first, file_id)

    def gone(self, path: str = ROOT) -> Iterator[Record]:
        """The newest record of each memory that was last at *path* or below, and has left."""
        return self._ledger.gone(path)

    def gone_children(self, path: str) -> dict[str, bool]:
        """The names directly below *path* that lead to memories that have left."""
        return self._ledger.gone_children(path)

    def prune(self, keep: Retention) -> int:
        """Forget the versions that *keep* does not name."""
        return self._ledger.prune(keep)

    def redact(self, versions: Sequence[tuple[int, int]], origin: Origin) -> Redaction:
        """Take the bytes of *versions* out of the history; the folder has but the present ones."""
        self._aside.let_go(at_once=True)
        return self._ledger.redact(versions, origin)

    def unfinished_ns(self) -> int | None:
        """When something was redacted that the files of the history may still hold."""
        return self._ledger.unfinished_ns()

    def history_use(self) -> HistoryUse:
        """What the history takes."""
        return self._ledger.history_use()

    def unsafe(self, path: str, policy: Policy) -> str | None:
        """Why what lies at *path*, or above it, is left alone: a sentence, or None where nothing is."""
        with folder_errors(self._folder.path):
            return self._outside.fault_at(place_of(path), policy)

    def report(self) -> Mapping[str, object]:
        """How many files of the folder are no memories: ``unnamed`` and ``unsafe`` ones."""
        return {"unnamed": len(self._outside.unnamed), "unsafe": len(self._outside.left)}

    def close(self) -> None:
        """Bring the page index up to date and close everything. What lies aside goes at the next opening."""
        try:
            self._aside.let_go()
            with suppress(StoreError):
                self._index.write()
        finally:
            self._index.close()
            self._dirt.close()
            self._syncing.close()
            self._ledger.close()
            self._meta.close()
            self._folder.close()

    def _directories_gone(self, since: int, commits: Sequence[Commit]) -> Iterator[Commit]:
        """What to tell of the directories that others emptied, and have taken away after that.

        They go in two steps, and a look may fall between: the change of the files then tells of no directory,
        and no change of the scope comes later. So this is one of the version that is there, and not recorded.
        """
        with folder_errors(self._folder.path):
            for commit in commits:
                change = commit.change
                if commit.origin.actor == ANOTHER:
                    self._lingering |= self._outside.left_without(change, self._ledger.policy())
                else:  # ours keep a directory that is empty, and remove that of the folder
                    puts = [put.path for put in change.puts] + [move.new_path for move in change.moves]
                    self._lingering -= {place for path in puts for place in places_above(place_of(path))}
            gone = {place for place in self._lingering if not self._folder.has_directory(place)}
        self._lingering -= gone
        topmost = sorted(place for place in gone if not gone.intersection(places_above(place)))
        if topmost:
            change = Change(directories=tuple(f"{ROOT}/{place}" for place in topmost))
            version = commits[-1].version if commits else since
            yield Commit(version, change, Origin(time.time_ns(), ANOTHER))

    def _look_at(self, due: Due) -> None:
        """Take in what is *due*: in the transaction that is open, or in an own one if that can be had."""
        if self._ledger.connection.in_transaction:
            try:
                self._take_in(due)
            except BaseException:
                self._dirt.give_back(due)
                raise
            return
        try:
            self.acquire(wait=False)
            try:
                with folder_errors(self._folder.path):
                    self._take_in(due)
            finally:
                self.release()
        except Busy:
            self._dirt.give_back(due)  # whoever has the scope takes it in, or the next command
        except StoreError as error:
            self._dirt.give_back(due)  # what is known can be read all the same
            log.warning("what others did in %s could not be taken in: %s", self._folder.path, error)

    def _take_in(self, due: Due) -> bool:
        """Commit what others did in what is *due*; whether it was anything. The scope stays held."""
        head = self._ledger.head()
        return self._enter(self._outside.compare(due, self._ledger.policy(), head + 1), head)

    def _enter(self, taken: Taken, head: int) -> bool:
        """Commit what was *taken*, after the version *head*; whether it was anything."""
        ledger, pages = self._ledger, self._pages
        for place in taken.gone:
            pages.drop(place)
        pages.put(taken.pages)
        for place in taken.emptied:
            pages.unblock(place)
        for page, blocked in taken.lapsed:
            pages.lapse(page, blocked)
        change = taken.change
        is_change = bool(change.removes or change.moves or change.puts)
        if is_change:
            commit = ledger.write(change, head, Origin(time.time_ns(), ANOTHER))
            for place, is_same in taken.back:
                pages.come_back(place, keeps_order=is_same)
            ledger.finish(commit)
            self._news = self._theirs_unsynced = self._index.stale = True
            ledger.begin()
        elif taken.pages or taken.emptied:
            ledger.connection.execute("COMMIT")
            ledger.begin()
        return is_change

    def _carry_out(self, placement: Placement, change: Change, expected: int, origin: Origin) -> Commit:
        """Stage, rename, record: all of it, or the folder and the record are as they were.

        While the disk takes in the bytes, and then the names, the record is prepared; it counts after both.
        What earlier changes replaced is removed meanwhile: an unlink may take as long as a sync.
        """
        ledger, pages = self._ledger, self._pages
        intended = False
        try:
            planned = placement.stage(origin)
            several = len(planned) > 1
            if several:
                pages.intend(planned)
                ledger.connection.execute("COMMIT")
                intended = True
                ledger.sync()
                ledger.begin()
            if (unsynced := placement.take_unsynced()) is not None:
                self._syncing.begin(unsynced)
            commit = ledger.write(change, expected, origin)
            self._aside.let_go()
            self._syncing.join()
            touched = placement.carry_out()
            placement.check()
            if several or self._durable:
                self._begin_sync(touched, several)
            else:
                with self._unsynced_lock:
                    self._unsynced |= touched
            placement.record()
            pages.settle() if intended else None
            self._syncing.join()
            ledger.finish(commit)
        except BaseException as error:
            self._take_back(placement, intended, lacks_room=isinstance(error, OSError | StoreError))
            if isinstance(error, OvertakenError):
                head = ledger.head()
                self._enter(self._outside.taken_from(error.found, ledger.policy(), head + 1), head)
                self._dirt.note(error.place)
                self._take_in(Due(frozenset({error.place}), frozenset({error.place})))
                raise VersionMismatch from None
            raise
        if several and self._durable:
            ledger.sync()
        return commit

    def _begin_sync(self, directories: Collection[str], staged: bool) -> None:
        """Have the names in *directories*, and in ``.meta/staged``, survive a power cut.

        The last of them is under way then, to be joined.
        """
        if staged:
            os.fsync(self._folder.staged)
        for number, place in enumerate(directories, start=1):
            if number < len(directories):
                self._folder.sync(place)
                continue
            with suppress(FileNotFoundError, LeftAlone):  # gone meanwhile, and then it is no matter
                self._syncing.begin(self._folder.opened(place))

    def _take_back(self, placement: Placement, intended: bool, lacks_room: bool) -> None:
        came_out = placement.undo()  # first of all: others may be writing into what is at the place
        self._syncing.abandon()
        self._aside.let_go(at_once=lacks_room)
        self._aside.put(came_out)
        connection = self._ledger.connection
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        self._ledger.begin()
        if intended:
            self._pages.settle()
            connection.execute("COMMIT")
            self._ledger.begin()

    def _recover(self, intended: Sequence[steps.Step]) -> None:
        """A process was killed in the middle of a change of several files: have them as they were."""
        steps.undo(self._folder, intended)
        for step in intended:
            for place in step.touched:
                self._dirt.note(place)
        self._sweep()
        self._pages.settle()
        self._ledger.connection.execute("COMMIT")
        self._ledger.begin()

    def _sweep(self) -> None:
        """Have what lies in ``.meta/staged`` go, but for what somebody saved there."""
        known: dict[str, list[bytes]] = {}
        for name, digest in leftovers(self._folder, self._pages):
            if digest is not None:
                known[name] = [digest]
                continue
            log.warning(
                "%s is a version that another program saved in the instant of a change; it is kept there.",
                self._folder.path / META / STAGED / name,
            )
        self._aside.put(known)
        self._aside.let_go()

    def _unsafe(self, change: Change, reason: LeftAlone) -> StoreError:
        """The refusal of *change*, by what stands in its way if that is still there."""
        paths = [move.new_path for move in change.moves] + [put.path for put in change.puts]
        for path in paths:
            sentence = self._outside.fault_at(path[len(ROOT) + 1 :], self._ledger.policy())
            if sentence is not None:
                return UnsafeStorage(sentence)
        return UnsafeStorage(f"{self._folder.path / reason.place} is or holds {reason}; use another name.")


def _brings_back(commit: Commit) -> bool:
    """Whether others brought a memory back: no command does so without giving it the newest place."""
    return commit.origin.actor == ANOTHER and any(put.operation == "restored" for put in commit.change.puts)


class _Watches:
    """Several watches as one."""

    def __init__(self, *watches: Watch) -> None:
        self._watches = watches

    def close(self) -> None:
        for watch in self._watches:
            watch.close()
