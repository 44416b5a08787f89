"""A scope from another store on its way into commits, on a reference that is nobody's scope.

The real reference is made at the end, in one step. Whoever is killed leaves the commits that are there,
and the next one goes on from them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from memfs.port.change import Origin
from memfs.port.errors import ErrorCode, StoreError
from memfs.port.policy import Policy
from memfs.port.receiving import Received
from memfs.port.scope import Scope
from memfs.port.store import Busy, VersionMismatch
from memfs.stores.gate import Gate
from memfs.stores.git import program
from memfs.stores.git.index import ref_of
from memfs.stores.git.line import Line
from memfs.stores.git.redaction import Sidecar
from memfs.stores.git.reference import swap
from memfs.stores.git.repository import Repository, find_or_make, storage_errors
from memfs.stores.git.state import state_at
from memfs.stores.git.store import GitStore

INCOMING = "refs/memfs-incoming"


def receive_git(path: Path, ref: str | None, scope_name: str, policy: Policy) -> GitReceiver:
    """The receiver of a scope that is to stand on *ref*, by default its private one.

    Raises StoreError, and OpenError for a branch that is checked out.
    """
    repository = find_or_make(path)
    name = ref or ref_of(scope_name)
    repository.refuse_checked_out(name)
    return GitReceiver(repository, name, scope_name, policy)


class GitReceiver:
    """The scope while it is on its way; see :class:`~memfs.port.receiving.Receiver`."""

    def __init__(self, repository: Repository, ref: str, scope_name: str, policy: Policy) -> None:
        self._repository = repository
        self._ref = ref
        self._scope_name = scope_name
        self._policy = policy
        digest = hashlib.sha256(ref.encode()).hexdigest()
        self.incoming = f"{INCOMING}/{digest[:32]}"
        with storage_errors(repository.path):
            repository.sidecar.mkdir(mode=0o700, exist_ok=True)
        self._own = Sidecar.of(repository.sidecar, digest[:32])
        self._aside = Sidecar.of(repository.sidecar, hashlib.sha256(self.incoming.encode()).hexdigest()[:32])
        self._running = Gate(self._aside.lock.with_suffix(".running"))
        try:
            self._running.acquire(wait=False)
        except Busy:
            self._running.close()
            raise StoreError(
                f"Another process is bringing the scope '{scope_name}' in; wait for it to end."
            ) from None

    @property
    def reached(self) -> int:
        """The version of the last commit aside."""
        tip = self._repository.target(self.incoming)
        return 0 if tip is None else state_at(self._repository, tip, self._scope_name).version

    def receive(self, changes: Sequence[Received], policy: Policy) -> None:
        """Make a commit of each of *changes*, and move the reference aside to the last."""
        line = self._line()
        with program.fast_import(self._repository.common) as stream:
            line.write(stream, iter(changes), policy)
        self._check(line)

    def settle(self, scope: Scope, origin: Origin) -> None:
        """Make a commit for a version of the rules alone, where there is one."""
        line = self._line()
        if line.tip is None or line.version < scope.version:
            with program.fast_import(self._repository.common) as stream:
                line.settle(stream, scope, origin)
            self._check(line)

    def opened(self) -> GitStore:
        """The commits aside, as a store."""
        return GitStore(self._repository, self.incoming, self._scope_name)

    def publish(self) -> None:
        """Make the scope's own reference, and drop the one aside."""
        tip = self._repository.target(self.incoming)
        assert tip is not None, "it has been settled"
        gate = Gate(self._own.lock)
        try:
            gate.acquire(wait=True)
            if self._repository.target(self._ref) is None:  # what an earlier scope there has left
                for file in (self._own.tip, self._own.superseded, self._own.log, self._own.size):
                    file.unlink(missing_ok=True)
            with storage_errors(self._repository.path):
                swap(self._repository, self._ref, None, tip, self._own.next)
        except VersionMismatch:
            raise StoreError(
                f"There is a scope '{self._scope_name}' by now; name another with --to-scope.",
                ErrorCode.CONFLICT,
            ) from None
        finally:
            gate.close()
        self.restart()

    def restart(self) -> None:
        """Drop the reference aside; its commits go with the next `git gc`."""
        program.run(self._repository.common, "update-ref", "-d", self.incoming)
        for file in self._aside:
            file.unlink(missing_ok=True)

    def close(self) -> None:
        """Let the next one in."""
        self._aside.lock.with_suffix(".running").unlink(missing_ok=True)
        self._running.close()

    def _line(self) -> Line:
        tip = self._repository.target(self.incoming)
        read_tree = self._repository.read_tree
        if tip is None:
            return Line.new(self._scope_name, self._policy, self.incoming, read_tree)
        state = state_at(self._repository, tip, self._scope_name)
        return Line(self._scope_name, state, self.incoming, read_tree)

    def _check(self, line: Line) -> None:
        if self._repository.target(self.incoming) != line.tip:
            raise StoreError(
                f"git fast-import in {self._repository.path} made other commits than it was told."
            )
