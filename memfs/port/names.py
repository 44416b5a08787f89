"""Paths and names: what a memory may be called, and the sentence that says why not.

Pure functions over strings. A path is ``/memories`` (the root) or ``/memories/`` and
segments joined by single slashes; nothing here looks at what exists.
"""

from __future__ import annotations

import re

from memfs.port.errors import ErrorCode, PortError

ROOT = "/memories"
MAX_SEGMENT = 128
"""The longest segment, in characters (all of them ASCII, so also in bytes)."""
MAX_PATH_BYTES = 1024
MAX_REASON = 1000
MAX_ACTOR = 255
"""The longest name of a user or a program that the history records, in characters."""
DEFAULT_EXTENSIONS = (".txt", ".md", ".json", ".py", ".yaml", ".yml")

_SEGMENT = r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}"
_is_segment = re.compile(_SEGMENT).fullmatch
_is_path = re.compile(rf"{ROOT}(?:/{_SEGMENT})*").fullmatch
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def is_segment(name: str) -> bool:
    """Whether *name* can be one segment of a path, a directory's or a file's."""
    return _is_segment(name) is not None


def path_error(path: object) -> PortError | None:
    """Why *path* is not a well-formed path, or None."""
    if not isinstance(path, str):
        return PortError(
            ErrorCode.INVALID_ARGUMENT, f"A path must be a string such as {ROOT}/notes.md, not {_kind(path)}."
        )
    if _is_path(path) and len(path) <= MAX_PATH_BYTES:
        return None
    return PortError(ErrorCode.INVALID_PATH, _malformed(path), _printable(path))


def segment_fault(name: str) -> str:
    """The sentence that says why *name* is no segment; call it for such a name only."""
    if name == "":
        return "has an empty segment; single slashes join the names"
    if name in (".", ".."):
        return f"has a '{name}' segment; name every directory in full"
    if len(name) > MAX_SEGMENT:
        return f"has a name of {len(name)} characters; the longest allowed is {MAX_SEGMENT}"
    if name[0] in ".-":
        return f"has a name that begins with '{name[0]}'; begin with a letter, digit or underscore"
    return "has a name with a character other than letters, digits, '.', '_' and '-'"


def _malformed(path: str) -> str:
    shown = _shown(path)
    if path != ROOT and not path.startswith(ROOT + "/"):
        return f"The path {shown} is not inside {ROOT}; begin it with {ROOT}/."
    for name in path.split("/")[2:]:
        if not is_segment(name):
            if name == "" and path.endswith("/"):
                return f"The path {shown} ends with a slash; leave the last slash out."
            return f"The path {shown} {segment_fault(name)}."
    return f"The path has {len(path)} bytes; the longest allowed is {MAX_PATH_BYTES}."


def extension_of(path: str) -> str:
    """From the last dot of the last segment, that dot included; empty without a dot."""
    name = path[path.rfind("/") + 1 :]
    dot = name.rfind(".")
    return "" if dot < 0 else name[dot:]


def extension_error(path: str, allowed: tuple[str, ...]) -> PortError | None:
    """Why a file may not be called *path* under the extensions *allowed*, or None."""
    extension = extension_of(path)
    if extension in allowed:
        return None
    seen = f"the extension {extension}" if extension else "no extension"
    return PortError(
        ErrorCode.INVALID_EXTENSION,
        f"The file {path} has {seen}; allowed are {', '.join(allowed)}.",
        path,
    )


def scope_name_fault(name: object) -> str | None:
    """Why *name* cannot name a scope, or None."""
    if not isinstance(name, str):
        return f"A scope's name must be a string, not {_kind(name)}."
    if not name.strip():
        return "A scope's name must not be blank."
    if not is_well_formed(name):
        return "A scope's name must be complete Unicode, without lone surrogates."
    if _CONTROL.search(name):
        return "A scope's name must hold no control characters."
    return None


def reason_fault(reason: object) -> str | None:
    """Why *reason* cannot be recorded as the reason of a change, or None."""
    if not isinstance(reason, str):
        return f"A reason must be a string, not {_kind(reason)}."
    if not is_well_formed(reason) or _CONTROL.search(reason):
        return "A reason must be one line of complete Unicode, without control characters."
    if len(reason) > MAX_REASON:
        return f"The reason has {len(reason)} characters; the longest allowed is {MAX_REASON}."
    return None


def actor_fault(name: object) -> str | None:
    """Why *name* cannot be recorded as that of a user or program, or None."""
    if not isinstance(name, str):
        return f"An actor's name must be a string, not {_kind(name)}."
    if not is_well_formed(name):
        return "An actor's name must be complete Unicode, without lone surrogates."
    if len(name) > MAX_ACTOR:
        return f"The actor's name has {len(name)} characters; the longest allowed is {MAX_ACTOR}."
    return None


def is_well_formed(text: str) -> bool:
    """Whether *text* can be encoded as UTF-8: no lone surrogate."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def parent_of(path: str) -> str:
    """The directory that holds *path*; call it for a path below the root."""
    return path[: path.rfind("/")]


def _shown(path: str) -> str:
    short = path if len(path) <= 120 else path[:117] + "..."
    return ascii(short) if not short.isprintable() else f"'{short}'"


def _printable(path: str) -> str:
    """*path* as an error may carry it: a lone surrogate would break the answer's own JSON."""
    return path if is_well_formed(path) else path.encode("utf-8", "backslashreplace").decode()


def _kind(value: object) -> str:
    if value is None:
        return "missing"
    return {bool: "a boolean", int: "a number", float: "a number", list: "a list", dict: "an object"}.get(
        type(value), f"a {type(value).__name__}"
    )
