"""Preconditions: what a caller believes of a memory, so that nobody overwrites what they have not seen.

Any command that changes something may carry one, on the wire as ``"expected"``: ``{"sha256": "..."}`` of
the content, ``{"version": N}`` for a content that is no newer than that version, or ``"absent"``.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from memfs.port.change import File
from memfs.port.errors import ErrorCode, PortError
from memfs.port.scope import Scope

_is_digest = re.compile(r"[0-9A-Fa-f]{64}").fullmatch
_FORMS = 'expected must be {"sha256": "64 hexadecimal digits"}, {"version": N} or "absent".'


@dataclass(frozen=True, slots=True)
class Expected:
    """One precondition: the SHA-256 of the content, a version, or, with neither, that there is nothing.

    ``version`` is any version of the scope since which the content has not changed: the one that wrote
    it, as the history shows it, or a later one.
    """

    sha256: str | None = None
    version: int | None = None


ABSENT = Expected()
"""Nothing is there: no file, no directory."""


def parse_expected(supplied: object) -> object:
    """The precondition in the form it has on the wire; what is none comes back as it is, to be refused."""
    if supplied == "absent":
        return ABSENT
    if isinstance(supplied, Mapping) and len(supplied) == 1:
        if isinstance(digest := supplied.get("sha256"), str):
            return Expected(sha256=digest)
        if isinstance(version := supplied.get("version"), int):
            return Expected(version=version)
    return supplied


def unexpected(
    scope: Scope, path: str, expected: object, content: Callable[[File], bytes]
) -> PortError | None:
    """Why *path* is not as *expected*, or None; *content* is asked only where a digest is to be compared."""
    if expected is None:
        return None
    if not isinstance(expected, Expected) or not _is_well_formed(expected):
        return PortError(ErrorCode.INVALID_ARGUMENT, _FORMS, path)
    file = scope.file(path)
    wanted: str | int = "absent"
    seen: str | int = "absent"
    if expected.sha256 is not None:
        wanted = expected.sha256.lower()
        if file is not None:
            seen = hashlib.sha256(content(file)).hexdigest()
    elif expected.version is not None:
        wanted = expected.version
        if file is not None:
            seen = wanted if file.content <= wanted <= scope.version else file.content
    elif file is not None:
        seen = file.content
    if file is None and scope.is_directory(path):
        seen = "directory"
    if seen == wanted:
        return None
    return PortError(
        ErrorCode.CONFLICT,
        f"{path} should be {_told(wanted)}, and is {_told(seen)}; view it and try again.",
        path,
        {"expected": wanted, "actual": seen},
    )


def unexpected_last(last: int, newest: int, expected: object) -> PortError | None:
    """Why the *last* change of files, in a scope that is at *newest*, is not the one *expected*, or None.

    What is expected is a version, since which no other change of files may have come.
    """
    if expected is None:
        return None
    if not isinstance(expected, Expected) or not _is_well_formed(expected) or expected.version is None:
        return PortError(
            ErrorCode.INVALID_ARGUMENT,
            'For an undo, expected must be {"version": N}: the change that is to be taken back.',
        )
    wanted = expected.version
    if last <= wanted <= newest:
        return None
    return PortError(
        ErrorCode.CONFLICT,
        f"The last change should be version {wanted}, and is version {last}; look at it and try again.",
        details={"expected": wanted, "actual": last},
    )


def _is_well_formed(expected: Expected) -> bool:
    digest: object = expected.sha256
    version: object = expected.version
    if digest is not None:
        return version is None and isinstance(digest, str) and _is_digest(digest) is not None
    return version is None or (isinstance(version, int) and not isinstance(version, bool) and version > 0)


def _told(state: str | int) -> str:
    if isinstance(state, int):
        return f"version {state}"
    return {"absent": "absent", "directory": "a directory"}.get(state, f"the content with SHA-256 {state}")
