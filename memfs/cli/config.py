"""The configured memories: one strict TOML file each, in the user's configuration directory."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

from memfs.cli.complaint import Complaint, Status
from memfs.places import config_directory

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,63}")


class Configured(NamedTuple):
    """What a file says; None where it leaves something to the default.

    ``scratch`` are regular expressions: names of further programs' temporary files.
    """

    store: str | None
    scope: str | None
    mountpoint: str | None
    scratch: tuple[str, ...]


def configured(name: str) -> Configured:
    """The memory *name* as its file describes it. A key or value memfs does not know is an error."""
    file = config_directory() / f"{name}.toml"
    if not _NAME.fullmatch(name):
        raise Complaint(
            f"The name {name!r} cannot name a configured memory; use letters, digits, '.', '_' and '-'.",
            Status.USAGE,
        )
    import tomllib

    try:
        with file.open("rb") as stream:
            table = tomllib.load(stream)
    except FileNotFoundError:
        raise Complaint(_not_configured(name, file), Status.USAGE) from None
    except OSError as error:
        raise _wrong(file, f"cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise _wrong(file, f"is no TOML: {error}") from None
    unknown = sorted(set(table) - set(Configured._fields))
    if unknown:
        raise _wrong(file, f"has the unknown key '{unknown[0]}'; it may hold {', '.join(Configured._fields)}")
    scratch: object = table.pop("scratch", [])
    if not isinstance(scratch, list) or not all(isinstance(expression, str) for expression in scratch):
        raise _wrong(file, "has a 'scratch' that is no list of strings")
    for key, value in table.items():
        if not isinstance(value, str):
            raise _wrong(file, f"has a '{key}' that is no string")
    found = Configured(table.get("store"), table.get("scope"), table.get("mountpoint"), tuple(scratch))
    _check(file, found)
    return found


def _check(file: Path, found: Configured) -> None:
    from memfs.opening import canonical_url
    from memfs.port.errors import OpenError
    from memfs.port.names import scope_name_fault

    if found.scope is not None and (fault := scope_name_fault(found.scope)):
        raise _wrong(file, f"has a wrong 'scope': {fault.removesuffix('.')}")
    if found.store is not None:
        try:
            canonical_url(found.store)
        except OpenError as error:
            raise _wrong(file, f"has a wrong 'store': {error.error.message.removesuffix('.')}") from None
        # simple: takes no path. Elsewhere than in a file, one may be relative to where one stands.
        kind, _, path = found.store.partition(":")
        if kind in ("sqlite", "directory", "git") and not _is_fixed(path):
            raise _wrong(file, "has a 'store' with a relative path; begin the path with / or ~")
    if found.mountpoint is not None and not _is_fixed(found.mountpoint):
        raise _wrong(file, "has a relative 'mountpoint'; begin it with / or ~")
    if found.scratch:
        from memfs.mount.scratch import expression_fault

        for expression in found.scratch:
            if wrong := expression_fault(expression):
                raise _wrong(file, f"has a wrong 'scratch': the expression {expression!r} {wrong}")


def _is_fixed(path: str) -> bool:
    return os.path.expanduser(path).startswith("/") and "\0" not in path


def _wrong(file: Path, what: str) -> Complaint:
    return Complaint(f"The configuration {file} {what}.", Status.CONFIGURATION)


def _not_configured(name: str, file: Path) -> str:
    names = sorted(other.stem for other in file.parent.glob("*.toml"))
    have = f"configured are {', '.join(names)}" if names else "none is configured"
    return f"There is no configured memory '{name}' ({have}); describe it in {file}."
