"""The rules of a scope: its limits and the extensions it takes.

A policy belongs to its scope: it is recorded when the scope is made, and every door
reads it from there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from memfs.port.errors import ErrorCode, OpenError
from memfs.port.names import DEFAULT_EXTENSIONS

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
            value: object = getattr(self, item.name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise OpenError(
                    ErrorCode.INVALID_ARGUMENT,
                    f"The limit {item.name} must be a positive integer, not {value!r}.",
                )
            if value >= 1 << 62:
                raise OpenError(
                    ErrorCode.INVALID_ARGUMENT, f"The limit {item.name} is larger than any store can hold."
                )


@dataclass(frozen=True, slots=True)
class Policy:
    """All rules of one scope, as the store records them."""

    limits: Limits = Limits()
    extensions: tuple[str, ...] = DEFAULT_EXTENSIONS

    def __post_init__(self) -> None:
        if not self.extensions:
            raise OpenError(ErrorCode.INVALID_ARGUMENT, "A policy must allow at least one extension.")
        given: tuple[object, ...] = self.extensions
        for extension in given:
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

    def to_json(self) -> dict[str, Any]:
        """A flat JSON object: the names of :class:`Limits` and ``extensions``."""
        return {**asdict(self.limits), "extensions": list(self.extensions)}

    @classmethod
    def from_json(cls, recorded: Mapping[str, Any]) -> Policy:
        """The inverse of :meth:`to_json`; what is missing is the default.

        An entry this release does not know raises :class:`OpenError`: a rule that cannot be kept
        must not be passed over.
        """
        return cls().changed(recorded)

    def changed(self, wanted: Mapping[str, Any]) -> Policy:
        """This policy with the entries of *wanted* (names as in :meth:`to_json`) in place."""
        names = {item.name for item in fields(Limits)}
        unknown = sorted(set(wanted) - names - {"extensions"})
        if unknown:
            raise OpenError(ErrorCode.INVALID_ARGUMENT, f"A policy has no entry {', '.join(unknown)}.")
        limits = replace(self.limits, **{name: wanted[name] for name in wanted if name in names})
        extensions = self.extensions
        if "extensions" in wanted:
            given = wanted["extensions"]
            if isinstance(given, str) or not hasattr(given, "__iter__"):
                raise OpenError(
                    ErrorCode.INVALID_ARGUMENT, "A policy's extensions must be a list of strings."
                )
            extensions = tuple(given)
        return Policy(limits, extensions)

    def differences(self, wanted: Mapping[str, Any]) -> list[str]:
        """What *wanted* asks for that this policy does not have: one clause each."""
        mine, theirs = self.to_json(), self.changed(wanted).to_json()
        return [f"{name} is {mine[name]}, not {theirs[name]}" for name in mine if mine[name] != theirs[name]]
