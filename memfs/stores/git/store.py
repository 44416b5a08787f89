"""One scope on one reference of a git repository: load, read, commit, changes, history.

Every commit is durable when it is acknowledged, also in a store opened relaxed: a reference that
reaches the disk before its objects do would leave a repository that no git can read.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from memfs.port.change import Actor, Change, Commit, Origin
from memfs.port.errors import NotKept, StoreError, UnsafeStorage
from memfs.port.keeping import HistoryUse, Redaction, Retention
from memfs.port.names import ROOT
from memfs.port.policy import Policy
from memfs.port.scope import Scope
from memfs.port.store import Record, VersionMismatch, Watch
from memfs.stores.gate import Gate
from memfs.stores.git import program
from memfs.stores.git.commits import GIT, read_commit
from memfs.stores.git.difference import difference_of
from memfs.stores.git.history import History, heads_from
from memfs.stores.git.index import Head, Index, ref_of
from memfs.stores.git.objects import Batch, ObjectWriter, Tree, edited, edits_at
from memfs.stores.git.recorded import REDACTED, Blob, Recorded
from memfs.stores.git.redaction import Redactor, Sidecar
from memfs.stores.git.reference import swap
from memfs.stores.git.repository import OWN, Repository, find_or_make, storage_errors
from memfs.stores.git.state import State, lineage_of, state_at, take_in
from memfs.stores.git.superseded import Superseded
from memfs.stores.git.usage import size_of_line

log = logging.getLogger(__name__)

MOST_CHANGES = 2_000
"""Commits after which it is cheaper to load the scope anew."""
COLLECT_EVERY = 256
"""Commits after which a repository of memfs's own is offered to `git gc --auto`."""
RESCUE = "refs/memfs-rescue"
_MEMFS = Actor("memfs", "memfs")


def open_git(path: Path, ref: str | None, scope_name: str, policy: Policy) -> tuple[GitStore, bool]:
    """The store of one scope, made with *policy* if it is new, and whether it was.

    *ref* is a full name, by default the scope's private one. Raises StoreError and OpenError.
    """
    repository = find_or_make(path)
    name = ref or ref_of(scope_name)
    repository.refuse_checked_out(name)
    store = GitStore(repository, name, scope_name)
    try:
        return store, store.ensure(policy)
    except BaseException:
        store.close()
        raise


class GitStore:
    """One scope. Its commits wait for the disk, and so do its reads of packed objects now and then."""

    waits = True

    def __init__(self, repository: Repository, ref: str, scope_name: str) -> None:
        self.scope_name = scope_name
        self.ref = ref
        self._repository = repository
        digest = hashlib.sha256(ref.encode()).hexdigest()[:32]
        with storage_errors(repository.path):
            repository.sidecar.mkdir(mode=0o700, exist_ok=True)
        self._rescue = f"{RESCUE}/{digest}"
        sidecar = Sidecar.of(repository.sidecar, digest)
        self._next_file, self._mark, self._size_file = sidecar.next, sidecar.tip, sidecar.size
        self._gate = Gate(sidecar.lock)
        self._superseded = Superseded(repository, ref, sidecar.superseded)
        self._redactor = Redactor(repository, ref, self._rescue, scope_name, sidecar)
        self._gated = False
        with storage_errors(repository.path):
            self._writer = ObjectWriter(repository.common / "objects")
        self._state: State | None = None
        self._tip: str | None = None  # the newest commit that this store has taken in or made
        self._trees: dict[str, Tree] = {}
        self._commits_since_collection = 0
        self._history = History(repository, self._superseded, sidecar.log)

    def ensure(self, policy: Policy) -> bool:
        """Make the scope if the reference is not there; whether it was made."""
        with self._under_gate():
            self._tip = self._marked()
            if self._target() is not None:
                return False
            version = 0
            if self._tip is not None:
                self._keep(self._tip)
                version = state_at(self._repository, self._tip, self.scope_name).version + 1
            self._make(policy, version)
            return True

    def load(self) -> Scope:
        """The scope as the reference has it now."""
        tip = self._target()
        if tip is None:
            raise self._deleted()
        before, self._state = self._tip, None
        state = state_at(self._repository, tip, self.scope_name)
        if before is not None and before != tip:
            state = self._guarded(before, state)
        self._adopt(state)
        return state.scope(self.scope_name)

    def read(self, file_id: int, version: int) -> bytes:
        """The bytes that the memory *file_id* had after the change *version*."""
        state = self._state
        entry = None if state is None else state.index.entries.get(file_id)
        if entry is not None and entry.content == version:
            return self._repository.read(entry.blob.oid, "blob")
        line = self._line()
        blob = self._history.blob(line, file_id, version)
        if blob is None:
            raise NotKept(f"{self.ref} holds no version {version} of that memory.")
        if blob == REDACTED:
            raise NotKept(self._history.who_redacted(line, file_id, version))
        return self._repository.read(blob.oid, "blob")

    def acquire(self, wait: bool) -> None:
        """The gate, before which memfs's own writers queue up; others compare and swap the reference."""
        self._gate.acquire(wait)
        self._gated = True

    def release(self) -> None:
        """Open the gate. The reference has moved: that is the notice."""
        self._gated = False
        self._gate.release()

    def changed(self, version: int) -> bool:
        """Whether the reference has moved since this store last looked."""
        state = self._state
        return state is None or state.version != version or self._target() != state.tip

    def changes(self, since: int) -> Sequence[Commit] | None:
        """The commits after *since*, those of others among them; None where the reference was moved back."""
        state = self._state
        tip = self._target()
        if state is None or tip is None:
            return None
        at = state.version
        found: list[Recorded] | None = []
        if tip != state.tip:
            self._state = None  # if anything fails from here on, it is loaded anew
            was_redacted = state.tip is not None and self._superseded.newest(state.tip) != state.tip
            found = None if was_redacted else self._follow(state, tip)
            if found is None:
                return None
            self._adopt(state)
        if since != at:
            found = self._history.since(state, since, MOST_CHANGES)
        return None if found is None else [recorded.commit for recorded in found]

    def commit(self, change: Change, expected: int, origin: Origin) -> Commit:
        """Write the objects of one commit, make them durable, and move the reference to it."""
        state = self._state
        if state is None or state.version != expected or self._target() != state.tip:
            raise VersionMismatch
        self._state = None
        batch = Batch()
        leaving = [*(remove.file for remove in change.removes), *(move.file for move in change.moves)]
        blobs = {file.id: state.index.entries[file.id].blob for file in leaving}
        for put in change.puts:
            assert put.content is not None, "a planned put has its content"
            digest = hashlib.sha256(put.content).hexdigest()
            blobs[put.id] = Blob(batch.add("blob", put.content), digest)
        recorded = Recorded(Commit(expected + 1, change, origin), blobs)
        placed = [(move.new_path, blobs[move.file.id].oid) for move in change.moves]
        placed += [(put.path, blobs[put.id].oid) for put in change.puts]
        state.apply(recorded)
        state.memories = edited(
            state.memories, edits_at([file.path for file in leaving], placed), self._read_tree, batch
        )
        self._write(state, batch, recorded)
        self._commits_since_collection += 1
        return recorded.commit

    def sync(self) -> None:
        """Every commit is durable already."""

    def maintain(self) -> None:
        """Offer a repository that memfs has made to git's own housekeeping; others are their owner's.

        And remove what a redaction could not, since something else in the repository reached it.
        """
        if program.is_there():
            self._redactor.finish()
        if self._commits_since_collection < COLLECT_EVERY:
            return
        self._commits_since_collection = 0
        if program.is_there() and (self._repository.sidecar / OWN).exists():
            _collect(self._repository.common)

    def watch(self, notify: Callable[[], None]) -> Watch:
        """Watch the reference itself, loose or packed."""
        from memfs.stores.git.watch import ReferenceWatch  # only a mount watches

        return ReferenceWatch(self._repository.common, self.ref, notify)

    def history(self, newest_first: bool = True, file_id: int | None = None) -> Iterator[Record]:
        """The records, read from the commits as they are consumed."""
        return self._history.records(self._line(), newest_first, file_id)

    def gone(self, path: str = ROOT) -> Iterator[Record]:
        """The newest record of each memory that has left, by last paths."""
        return iter(self._history.gone(self._line(), path))

    def gone_children(self, path: str) -> dict[str, bool]:
        """The names directly below *path* that lead to memories that have left."""
        children: dict[str, bool] = {}
        for record in self.gone(path):
            name, slash, _ = record.path[len(path) + 1 :].partition("/")
            if name:
                children[name] = children.get(name, False) or bool(slash)
        return children

    def redact(self, versions: Sequence[tuple[int, int]], origin: Origin) -> Redaction:
        """Rewrite the commits that held these bytes, and remove the old ones."""
        return self._redactor.redact(versions, origin)

    def prune(self, keep: Retention) -> int:
        """A chain of commits keeps all that it leads to, so this refuses."""
        raise StoreError(
            "A chain of commits keeps every version; `memfs redact` takes the bytes out of single ones."
        )

    def unfinished_ns(self) -> int | None:
        """When something was redacted of which objects are there still."""
        return self._redactor.unfinished_ns()

    def history_use(self) -> HistoryUse:
        """What the objects of the line take, but for the contents of now."""
        state = self._line()
        assert state.tip is not None, "a state that was read has its commit"
        oldest = next(self._history.records(state, newest_first=False, file_id=None), None)
        present = sum(entry.size for entry in state.index.entries.values())
        size = size_of_line(self._repository, state.tip, self._size_file)
        return HistoryUse(max(0, size - present), None if oldest is None else oldest.time_ns)

    def report(self) -> Mapping[str, str]:
        """Where the scope is for plain git, and which references keep what a rewound one lost."""
        found = {"ref": self.ref, "commit": self._target() or "none"}
        rescued = self._repository.names(self._rescue)
        if rescued:
            found["rescued"] = ", ".join(rescued)
        return found

    def close(self) -> None:
        """Release everything; the reference stays."""
        self._writer.close()
        self._gate.close()

    def _target(self) -> str | None:
        return self._repository.target(self.ref)

    def _deleted(self) -> UnsafeStorage:
        return UnsafeStorage(f"{self.ref} in {self._repository.path} was deleted; open the memory again.")

    def _line(self) -> State:
        """The state whose history is asked for: the newest that is known, or else what is there."""
        state = self._state
        if state is not None and state.tip is not None and self._superseded.newest(state.tip) == state.tip:
            return state
        tip = self._target()
        if tip is None:
            raise self._deleted()
        return state_at(self._repository, tip, self.scope_name)

    @contextmanager
    def _under_gate(self) -> Iterator[None]:
        """Hold the gate, unless the memory holds it already."""
        if self._gated:
            yield
            return
        self._gate.acquire(wait=True)
        try:
            yield
        finally:
            self._gate.release()

    def _follow(self, state: State, tip: str) -> list[Recorded] | None:
        """Bring *state* to *tip* by the changes in between; None where they do not lead there."""
        lineage = lineage_of(self._repository, tip)
        heads: list[Head] = []
        for oid, head in heads_from(self._repository, lineage.base.oid):
            if oid == state.base:
                break
            if len(heads) == MOST_CHANGES:
                return None
            heads.append(head)
        else:
            return None
        found = [
            recorded
            for head in reversed(heads)
            for recorded in (*head.taken, head.change)
            if recorded.version > state.version
        ]
        foreign = lineage.foreign
        if heads:
            for recorded in found:
                state.apply(recorded)
            if state.index.write(Batch()) != lineage.contents.files:
                return None
            state.stand_at(lineage.base.oid, lineage.base.tree, lineage.contents.head.memories)
        elif state.tip != state.base:
            known = [commit.oid for commit, _ in foreign]
            if state.tip not in known:
                return None
            foreign = foreign[known.index(state.tip) + 1 :]
        return found + take_in(self._repository, state, foreign)

    def _write(self, state: State, batch: Batch, recorded: Recorded) -> None:
        """Commit *state*, which *recorded* has led to, and move the reference to it from where it stood."""
        oid, root = state.commit(self.scope_name, recorded, batch, self._read_tree)
        with storage_errors(self._repository.path):
            self._writer.write(batch.objects)
            swap(self._repository, self.ref, state.tip, oid, self._next_file)
        self._trees = batch.trees
        state.stand_at(oid, root, state.memories)
        self._adopt(state)

    def _adopt(self, state: State) -> None:
        """Go on from *state*, and leave a mark of it for whoever opens the scope next."""
        self._state, self._tip = state, state.tip
        assert state.tip is not None, "a state that was read or written has its commit"
        try:
            self._mark.write_text(state.tip)
        except OSError as error:
            log.warning("the mark %s could not be written: %s", self._mark, error)

    def _marked(self) -> str | None:
        """The commit that the last store to have the scope open had seen, if it can still be read."""
        try:
            oid = self._superseded.newest(self._mark.read_text())
            lineage_of(self._repository, oid)
        except (OSError, ValueError, StoreError):
            return None
        return oid

    def _make(self, policy: Policy, version: int) -> None:
        """Commit an empty scope, whose first change will be *version* + 1."""
        state = State(Index(), policy, version)
        commit = Commit(version, Change(policy=policy), Origin(time.time_ns(), _MEMFS))
        self._write(state, Batch(), Recorded(commit, {}))

    def _guarded(self, before: str, state: State) -> State:
        """*state* if it goes on from the commit *before*; else what is made of it where the two part.

        A reference that was moved back, or a commit of memfs that was reverted, would give numbers of
        versions out a second time. So what they changed becomes a change of its own, with a number
        after all that were given.
        """
        if self._goes_on(self._superseded.newest(before), state):
            return state
        with self._under_gate():
            before = self._superseded.newest(before)  # a redaction holds the gate until it has said so
            tip = self._target()
            if tip is None:
                raise self._deleted()
            state = state_at(self._repository, tip, self.scope_name)
            if self._goes_on(before, state):
                return state
            lost = state_at(self._repository, before, self.scope_name)
            reason = "A commit of memfs was taken back with plain git."
            if not self._repository.descends(tip, before):
                reason = f"The ref was moved; what it lost is kept at {self._keep(before)}."
                log.warning("scope %r: %s", self.scope_name, reason)
            author = read_commit(self._repository, tip).author
            origin = Origin(time.time_ns(), Actor(author, GIT), reason)
            recorded = difference_of(lost, state, origin)
            lost.apply(recorded)
            lost.tip, lost.root, lost.memories = state.tip, state.root, state.memories
            self._write(lost, Batch(), recorded)
            return lost

    def _goes_on(self, before: str, state: State) -> bool:
        """Whether every change up to the commit *before* is a change of *state*'s history."""
        lineage = lineage_of(self._repository, before)
        for oid, head in heads_from(self._repository, state.base):
            if oid == lineage.base.oid:
                assert state.tip is not None, "a state that was read has its commit"
                return not lineage.foreign or self._repository.descends(state.tip, before)
            if head.version <= lineage.contents.head.version:
                break
        return False

    def _keep(self, oid: str) -> str:
        """Keep the commit *oid* and all before it under a rescue reference; its name."""
        name = f"{self._rescue}/{oid[:16]}"
        with storage_errors(self._repository.path), suppress(VersionMismatch):  # it was kept before
            swap(self._repository, name, None, oid, self._next_file)
        return name

    def _read_tree(self, oid: str) -> Tree:
        tree = self._trees.get(oid)
        return self._repository.read_tree(oid) if tree is None else tree


def _collect(common: Path) -> None:
    """Have git pack what has become many, with its own thresholds and expiries."""
    try:
        program.run(common, "gc", "--auto", "--quiet")
    except StoreError as error:
        log.warning("%s", error)
