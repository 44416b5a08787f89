"""Taking bytes out of a scope's commits for good: from the line, and from the disk.

The line is rewritten beside the old one, which readers and writers go on with; the gate is held for what
came in meanwhile, and to move the reference. Then the objects of the old line go, unless something else
in the repository reaches them: they stay listed in the sidecar, and the housekeeping tries again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from memfs.port.change import Change, Commit, Origin
from memfs.port.errors import ErrorCode, NotKept, StoreError, UnsafeStorage
from memfs.port.keeping import Redaction
from memfs.port.store import Record, VersionMismatch
from memfs.stores.gate import Gate
from memfs.stores.git.history import History
from memfs.stores.git.objects import Batch, ObjectWriter
from memfs.stores.git.pack import Pack
from memfs.stores.git.recorded import REDACTED, Recorded, Redacted
from memfs.stores.git.reference import swap
from memfs.stores.git.removal import remove
from memfs.stores.git.repository import Repository, storage_errors
from memfs.stores.git.rewriting import Rewriting, Target
from memfs.stores.git.state import State, state_at
from memfs.stores.git.superseded import Superseded, write_whole

TRIES = 64
"""How often the reference may be moved by a plain git push before a redaction gives up."""


class Sidecar(NamedTuple):
    """The files of one scope in the sidecar."""

    lock: Path
    next: Path
    tip: Path
    superseded: Path
    doomed: Path
    log: Path
    size: Path

    @classmethod
    def of(cls, directory: Path, digest: str) -> Sidecar:
        """Those of the scope whose reference's name has the digest *digest*."""
        return cls(*(directory / f"{digest}.{name}" for name in cls._fields))


class _Found(NamedTuple):
    """What a redaction named, and other records with the same bytes."""

    targets: tuple[Target, ...]
    named: tuple[Redacted, ...]
    same: tuple[Record, ...]


class Redactor:
    """The redactions of one scope; from any thread, also beside the store's own commits."""

    def __init__(
        self, repository: Repository, ref: str, rescue: str, scope_name: str, sidecar: Sidecar
    ) -> None:
        self._repository = repository
        self._ref = ref
        self._rescue = rescue
        self._scope_name = scope_name
        self._sidecar = sidecar
        self._superseded = Superseded(repository, ref, sidecar.superseded)
        self._history = History(repository, self._superseded, sidecar.log)

    def redact(self, versions: Sequence[tuple[int, int]], origin: Origin) -> Redaction:
        """Take out the bytes of *versions*, each a memory's id and a version of it."""
        found = self._find(self._state(), versions)
        pack = Pack(self._repository.common)
        try:
            rewriting = Rewriting(self._repository, found.targets, pack)
            self._follow(rewriting)
            with self._under_gate("rewrites the commits without what was redacted"):
                for _ in range(TRIES):
                    if self._find(self._state(), versions) != found:
                        raise StoreError(
                            "The history changed while it was redacted; try again.", ErrorCode.CONFLICT
                        )
                    with suppress(VersionMismatch):
                        self._replace(rewriting, pack, found, origin)
                        break
                else:
                    raise StoreError("The reference kept moving; try again.", ErrorCode.CONFLICT)
                return Redaction(not self._finish(), found.same)
        finally:
            pack.close()

    def finish(self) -> bool:
        """Do what is left to do after redactions; whether the repository holds nothing of them any more."""
        if not self._sidecar.doomed.exists():
            return True
        with self._under_gate("takes redacted objects out of the repository"):
            return self._finish()

    def unfinished_ns(self) -> int | None:
        """When something was redacted of which objects are there still; None where they are gone."""
        try:
            return self._sidecar.doomed.stat().st_mtime_ns
        except FileNotFoundError:
            return None

    def _find(self, state: State, versions: Sequence[tuple[int, int]]) -> _Found:
        history = self._history
        targets: dict[tuple[int, int], Target] = {}
        named = []
        for file_id, version in versions:
            target, record = _find(state, list(history.changes(state, file_id)), file_id, version)
            targets[file_id, target.brought] = target
            named.append(Redacted(file_id, version, record.path, record.size))
        digests = {target.digest for target in targets.values()}
        same = [
            record
            for record in history.records(state, newest_first=False, file_id=None)
            if record.digest in digests
            and not any(target.holds(record.id, record.version) for target in targets.values())
        ]
        return _Found(tuple(targets.values()), tuple(named), tuple(same))

    def _follow(self, rewriting: Rewriting) -> str:
        """Rewrite all that is the scope's; the tip from which that went out."""
        tip = self._target()
        for name in self._repository.names(self._rescue):
            rescued = self._repository.target(name)
            assert rescued is not None, "it was listed"
            rewriting.follow(rescued, is_tip=False)
        rewriting.follow(tip, is_tip=True)
        return tip

    def _replace(self, rewriting: Rewriting, pack: Pack, found: _Found, origin: Origin) -> None:
        """Move the reference to the rewritten line, with a commit at its end that says so."""
        tip = self._follow(rewriting)
        with storage_errors(self._repository.path):
            pack.deliver()
        state = state_at(self._repository, rewriting.commits[tip], self._scope_name)
        recorded = Recorded(Commit(state.version + 1, Change(), origin), {}, found.named)
        batch = Batch()
        read_tree = self._repository.read_tree
        end, _ = state.commit(self._scope_name, recorded, batch, read_tree)
        with storage_errors(self._repository.path):
            writer = ObjectWriter(self._repository.common / "objects")
            try:
                writer.write(batch.objects)
            finally:
                writer.close()
            self._superseded.add(rewriting.commits, end)
            doomed = self._doomed() | rewriting.replaced
            write_whole(self._sidecar.doomed, "".join(f"{oid}\n" for oid in sorted(doomed)))
            swap(self._repository, self._ref, tip, end, self._sidecar.next)
            write_whole(self._sidecar.tip, end)
            self._sidecar.log.unlink(missing_ok=True)

    def _finish(self) -> bool:
        """Bring the scope's other references and its reflogs to the rewritten line, and remove the old."""
        with storage_errors(self._repository.path):
            names = self._repository.names(self._rescue)
            for name in names:
                old = self._repository.target(name)
                if old is not None and (new := self._superseded.newest(old)) != old:
                    swap(self._repository, name, old, new, self._sidecar.next)
            for name in (*names, self._ref):
                self._rewrite_reflog(self._repository.common / "logs" / name)
            left = remove(self._repository, self._doomed(), [self._ref, *names])
            if not left:
                self._sidecar.doomed.unlink(missing_ok=True)
            return not left

    def _rewrite_reflog(self, path: Path) -> None:
        try:
            lines = path.read_text(errors="surrogateescape").splitlines(keepends=True)
        except FileNotFoundError:
            return
        newest = self._superseded.newest
        rewritten = [f"{newest(line[:40])} {newest(line[41:81])}{line[81:]}" for line in lines]
        if rewritten != lines:
            path.write_text("".join(rewritten), errors="surrogateescape")

    def _doomed(self) -> set[str]:
        try:
            return set(self._sidecar.doomed.read_text().split())
        except FileNotFoundError:
            return set()

    def _target(self) -> str:
        tip = self._repository.target(self._ref)
        if tip is None:
            raise UnsafeStorage(f"{self._ref} in {self._repository.path} was deleted; open the memory again.")
        return tip

    def _state(self) -> State:
        return state_at(self._repository, self._target(), self._scope_name)

    @contextmanager
    def _under_gate(self, work: str) -> Iterator[None]:
        # A gate of its own: the store's may be held by a commit of another thread.
        gate = Gate(self._sidecar.lock)
        try:
            with gate.held_long(work):
                yield
        finally:
            gate.close()


def _find(state: State, chain: list[Recorded], file_id: int, version: int) -> tuple[Target, Record]:
    """The bytes that a memory had after the change *version*, and the record of that.

    *chain* are the changes of the memory, oldest first.
    """
    at = next((number for number, each in enumerate(chain) if each.version == version), None)
    if at is None:
        raise NotKept(f"Version {version} is not kept.")
    if chain[at].blobs[file_id] == REDACTED:
        raise NotKept(f"Version {version} has been redacted already.")
    bringing = [
        number
        for number, each in enumerate(chain)
        if any(put.id == file_id for put in each.commit.change.puts)
    ]
    since = max((number for number in bringing if number <= at), default=None)
    if since is None:
        raise NotKept(
            f"The bytes of version {version} are older than the history here; redact them where it began."
        )
    upto = min((number for number in bringing if number > at), default=len(chain))
    entry = state.index.entries.get(file_id)
    if entry is not None and entry.content == chain[since].version:
        raise StoreError(
            f"Version {version} is what the memory holds now; change or delete the memory first.",
            ErrorCode.CONFLICT,
        )
    records = [record for each in chain[since:upto] for record in each.records() if record.id == file_id]
    paths = {path for record in records for path in (record.path, record.old_path) if path is not None}
    blob = chain[at].blobs[file_id]
    target = Target(
        file_id, chain[since].version, chain[upto - 1].version, blob.oid, blob.digest, frozenset(paths)
    )
    return target, next(record for record in reversed(records) if record.version == version)


def _put_by(recorded: Recorded) -> set[int]:
    """The memories that got bytes with a change."""
    return {put.id for put in recorded.commit.change.puts}
