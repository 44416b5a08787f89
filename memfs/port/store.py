"""What a memory asks of a store. Whoever adds a store reads this page and passes the kit.

A store makes a planned :class:`~memfs.port.change.Change` of one scope durable, whole or not
at all, if the scope is still at the version it was planned on. It decides no rule: names,
limits and eviction are settled before a change reaches it. A store of a few hundred lines is
enough; ``memfs.testing.run_conformance`` says when it is right.

All methods raise :class:`~memfs.port.errors.StoreError` when the store failed, with a message
that holds no secret, and nothing else; its subclass :class:`~memfs.port.errors.NotKept` where a version
is asked for that is pruned or redacted. They may be called from any thread; the memory calls
``acquire``, ``release``, ``changed``, ``changes``, ``load`` and ``commit`` from one at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from memfs.port.change import Actor, Change, Commit, Origin
from memfs.port.names import ROOT
from memfs.port.policy import Policy
from memfs.port.scope import Scope


class VersionMismatch(Exception):
    """The scope is no longer at the version a change was planned on; nothing was committed."""


class Busy(Exception):
    """The store cannot go on without waiting, and was asked not to wait."""


class Record(NamedTuple):
    """One file's part in one change: a line of the history.

    ``operation`` is ``created``, ``modified``, ``restored``, ``deleted``, ``evicted``, ``renamed`` or
    ``archived``; ``old_path`` is set where the file moved. ``size`` is the file's, in bytes, after the
    change (before it, for one that left), and ``digest`` the SHA-256 of those bytes in hexadecimal, None
    where the store does not know it (any more). ``joins`` is the version of the record that was one save
    with this one. ``reason`` is what the writer gave, or empty.

    ``redacted`` says that the bytes were taken out of the history. Who did that, when and why is a record
    of its own, with the operation ``redacted`` and in ``joins`` the version that it took the bytes of;
    it changed no file, and belongs to the history of the scope but of no memory.
    """

    version: int
    time_ns: int
    operation: str
    id: int
    path: str
    old_path: str | None
    size: int
    actor: Actor
    joins: int | None = None
    digest: str | None = None
    reason: str = ""
    redacted: bool = False


class Watch(Protocol):
    """A running watch."""

    def close(self) -> None:
        """Stop watching; no call is made after this returns."""


@runtime_checkable
class Reporting(Protocol):
    """A store that has something of its own to tell ``memfs status``."""

    def report(self) -> Mapping[str, object]:
        """Labels and what stands beside them."""


class Store(Protocol):
    """One scope of one store, opened."""

    scope_name: str
    waits: bool
    """Whether a commit may wait for a disk or a network. The mount then never commits on its loop."""

    def load(self) -> Scope:
        """The scope as it is now. UNSAFE_STORAGE if what is stored does not add up."""

    def read(self, file_id: int, version: int) -> bytes:
        """The bytes that the memory *file_id* had after the change *version*, which is one of its own.

        Of a memory that left with that change: those it left with. Raises
        :class:`~memfs.port.errors.NotKept` where the version is not kept (any more).
        """

    def acquire(self, wait: bool) -> None:
        """Keep other writers out until ``release``, as far as this store can; fair to all of them.

        With ``wait=False``, raise :class:`Busy` instead of waiting. A store that has no lock does
        nothing here and relies on the expected version alone.
        """

    def release(self) -> None:
        """The end of ``acquire``; after it the notice of what was committed goes out."""

    def changed(self, version: int) -> bool:
        """Whether the scope may have passed *version*. Cheap: asked before every command.

        A remote store may answer from the last notice it got.
        """

    def changes(self, since: int) -> Sequence[Commit] | None:
        """The commits after the version *since*, in order; a put may come without its content.

        None where they are no longer kept or too many: the scope is then loaded anew.
        """

    def commit(self, change: Change, expected: int, origin: Origin) -> Commit:
        """Make *change* durable as version ``expected + 1``, or raise :class:`VersionMismatch`.

        Whole or not at all, also when the process or the machine stops. A store opened *relaxed*
        may survive a killed process only, until ``sync``.
        """

    def sync(self) -> None:
        """Make every earlier commit survive a power cut. May wait; needs no ``acquire``."""

    def maintain(self) -> None:
        """Housekeeping that no commit should wait for. May wait; called now and then from a worker."""

    def watch(self, notify: Callable[[], None]) -> Watch:
        """Call *notify* from a thread of the store's own soon after somebody else committed.

        A call is a hint: there may be one too many, and several commits may share one.
        """

    def history(self, newest_first: bool = True, file_id: int | None = None) -> Iterator[Record]:
        """The records of the scope, in the order of versions, joined ones among them.

        With *file_id*, only those of that memory, wherever it was and also when it has left. Newest first
        costs what is consumed, and not the length of the history.
        """

    def gone(self, path: str = ROOT) -> Iterator[Record]:
        """The newest record of each memory that has left, in the order of their last paths.

        Only of those that were last at *path*, or below it.
        """

    def gone_children(self, path: str) -> dict[str, bool]:
        """The names directly below *path* that lead to memories that have left, as ``Scope.children``.

        The value says whether some lie below the name; at the name itself may be one too.
        """

    def close(self) -> None:
        """Release everything. The scope stays."""


@runtime_checkable
class Remote(Protocol):
    """What a store has beside :class:`Store` if a server keeps its scopes, which may be out of reach."""

    def away(self) -> str | None:
        """Since when the server is away, why, and what that means: a sentence, or None where it is there.

        As far as is known; nothing is asked.
        """


@runtime_checkable
class Shared(Protocol):
    """What a store has beside :class:`Store` if its scope lies where others put things too."""

    def unsafe(self, path: str, policy: Policy) -> str | None:
        """Why what lies at *path* or above it is left alone: a sentence, or None where nothing is.

        Safe from several threads, and waits for no writer.
        """
