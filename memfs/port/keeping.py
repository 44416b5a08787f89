"""What a history keeps: how long, how much of it, and what is taken out of it for good.

A store that can do this has the methods of :class:`Keeper` beside those of a store; one that keeps its
history elsewhere, or none, leaves them out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from memfs.port.change import Origin
from memfs.port.store import Record


class Retention(NamedTuple):
    """Which versions stay: those younger than so many days, and the last so many of each memory.

    None keeps none for that reason. The present content of a memory always stays, and of one that has
    left the last, as long as any of it does.
    """

    days: int | None
    versions: int | None


DEFAULT_RETENTION = Retention(days=90, versions=20)


class HistoryUse(NamedTuple):
    """How many bytes the history takes on disk, and the time of the oldest record that is kept."""

    size: int
    since_ns: int | None


class Redaction(NamedTuple):
    """What became of a redaction.

    ``pending``: the bytes are out of the history, but the files of the store may still hold them until a
    reader that is open now has ended; the store's housekeeping sees to it. ``same`` are versions that hold
    the same bytes and were not named. ``left_over`` is set where the housekeeping cannot: a sentence that
    says where the bytes may still be, and who can remove them.
    """

    pending: bool
    same: tuple[Record, ...]
    left_over: str = ""


@runtime_checkable
class Keeper(Protocol):
    """A store that can forget."""

    def prune(self, keep: Retention) -> int:
        """Forget the versions that *keep* does not name; how many those were. May wait."""

    def redact(self, versions: Sequence[tuple[int, int]], origin: Origin) -> Redaction:
        """Take out the bytes and the digests of these versions, each a memory's id and a version of it.

        Their records stay, and say so; what was kept as a difference from them is rewritten. One record
        more, a change of the scope that changes no file, says who did it, when and why. Raises NotKept for
        a version that is not there, StoreError for the present content of a memory; nothing is done then.
        May wait.
        """

    def history_use(self) -> HistoryUse:
        """What the history takes."""


@runtime_checkable
class Redacting(Protocol):
    """A store whose files may hold for a while what was redacted; its housekeeping tries again."""

    def unfinished_ns(self) -> int | None:
        """When the redaction was made that is pending, the last if several are; None where none is. Cheap."""
