"""The rules of a scope: its limits, the extensions it takes, its layout, and how memories leave it.

A policy belongs to its scope: it is recorded when the scope is made, and every door
reads it from there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Literal, TypeAlias, get_args

from memfs.layout import MEMORY_EXTENSION
from memfs.port.errors import ErrorCode, OpenError
from memfs.port.names import DEFAULT_EXTENSIONS

Layout: TypeAlias = Literal["flat", "para"]
"""Whether paths are free, or each lies in one of the buckets of :mod:`memfs.layout`."""
Eviction: TypeAlias = Literal["delete", "archive", "refuse"]
"""What becomes of the earliest writes when there is no room: they are deleted, move to the archive, or
stay, and the write that needs the room is refused."""

_EXTENSION_CHARACTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")


@dataclass(frozen=True, slots=True)
class Limits:
    """How much a scope holds: bytes of one file, bytes of all, number of files.

    Each is a positive integer; anything else raises :class:`OpenError`.
    """

    max_file_bytes: int = 65_536
    max_total_bytes: int = 1_048_576
    max_files: int = 256

    def __post_init__(self) -> None:
        for item in fields(self):
            _check_limit(item.name, getattr(self, item.name))


@dataclass(frozen=True, slots=True)
class Policy:
    """All rules of one scope, as the store records them.

    ``max_archive_bytes`` is what the archive may hold, None for no bound. The defaults here are those
    of the layout ``flat``; :meth:`from_json` has those of each layout.
    """

    limits: Limits = field(default_factory=Limits)
    extensions: tuple[str, ...] = DEFAULT_EXTENSIONS
    layout: Layout = "flat"
    eviction: Eviction = "delete"
    max_archive_bytes: int | None = None

    def __post_init__(self) -> None:
        _check_extensions(self.extensions)
        _check_choice("layout", self.layout, get_args(Layout))
        _check_choice("eviction", self.eviction, get_args(Eviction))
        if self.max_archive_bytes is not None:
            _check_limit("max_archive_bytes", self.max_archive_bytes)

    @property
    def has_archive(self) -> bool:
        """Whether what lies in the archive's bucket is archived: kept, counted apart, and not written."""
        return self.layout == "para" or self.eviction == "archive"

    def to_json(self) -> dict[str, Any]:
        """A flat JSON object: the names of :class:`Limits`, and of the other rules."""
        return {
            **asdict(self.limits),
            "extensions": list(self.extensions),
            "layout": self.layout,
            "eviction": self.eviction,
            "max_archive_bytes": self.max_archive_bytes,
        }

    @classmethod
    def from_json(cls, recorded: Mapping[str, Any]) -> Policy:
        """The inverse of :meth:`to_json`; what is missing is the default of the layout.

        In the layout ``para`` that is the extension ``.html``, and the eviction ``archive``. An entry
        this release does not know raises :class:`OpenError`: a rule that cannot be kept must not be
        passed over.
        """
        _check_object(recorded)
        default = cls()
        if recorded.get("layout") == "para":
            default = cls(extensions=(MEMORY_EXTENSION,), layout="para", eviction="archive")
        return default.changed(recorded)

    def changed(self, wanted: Mapping[str, Any]) -> Policy:
        """This policy with the entries of *wanted* (names as in :meth:`to_json`) in place of its own."""
        _check_object(wanted)
        limit_names = {item.name for item in fields(Limits)}
        own_names = {item.name for item in fields(self)} - {"limits"}
        unknown = sorted(map(str, set(wanted) - limit_names - own_names))
        if unknown:
            raise OpenError(ErrorCode.INVALID_ARGUMENT, f"A policy has no entry {', '.join(unknown)}.")
        limits = replace(self.limits, **{name: wanted[name] for name in limit_names & set(wanted)})
        own = {name: wanted[name] for name in own_names & set(wanted)}
        if "extensions" in own:
            own["extensions"] = _as_tuple(own["extensions"])
        return replace(self, limits=limits, **own)

    def differences(self, wanted: Mapping[str, Any]) -> list[str]:
        """What *wanted* asks for that this policy does not have: one clause each."""
        mine, theirs = self.to_json(), self.changed(wanted).to_json()
        return [f"{name} is {mine[name]}, not {theirs[name]}" for name in mine if mine[name] != theirs[name]]


def _check_object(supplied: object) -> None:
    if not isinstance(supplied, Mapping):
        raise OpenError(ErrorCode.INVALID_ARGUMENT, "A policy must be an object.")


def _check_limit(name: str, value: object) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise OpenError(
            ErrorCode.INVALID_ARGUMENT, f"The limit {name} must be a positive integer, not {value!r}."
        )
    if value >= 1 << 62:
        raise OpenError(ErrorCode.INVALID_ARGUMENT, f"The limit {name} is larger than any store can hold.")


def _check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise OpenError(
            ErrorCode.INVALID_ARGUMENT,
            f"A policy's {name} must be {', '.join(choices[:-1])} or {choices[-1]}, not {value!r}.",
        )


def _as_tuple(extensions: object) -> tuple[Any, ...]:
    if isinstance(extensions, str) or not isinstance(extensions, Iterable):
        raise OpenError(ErrorCode.INVALID_ARGUMENT, "A policy's extensions must be a list of strings.")
    return tuple(extensions)


def _check_extensions(extensions: tuple[object, ...]) -> None:
    if not extensions:
        raise OpenError(ErrorCode.INVALID_ARGUMENT, "A policy must allow at least one extension.")
    for extension in extensions:
        if (
            not isinstance(extension, str)
            or not 2 <= len(extension) <= 16
            or extension[0] != "."
            or not _EXTENSION_CHARACTERS.issuperset(extension[1:])
        ):
            raise OpenError(
                ErrorCode.INVALID_ARGUMENT,
                f"The extension {extension!r} must be a dot and 1 to 15 letters, digits, '_' or '-'.",
            )
