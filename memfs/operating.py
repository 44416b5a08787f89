"""What the operator of a whole store asks, by its URL: how it is, its tables, and who may use what."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memfs.opening import canonical_url, files_of, names_server, postgres, scopes_of
from memfs.port.errors import ErrorCode, OpenError
from memfs.port.listing import Listed, Unlisted

if TYPE_CHECKING:
    from memfs.stores.postgres.grants import Grant


def status_of(url: str) -> dict[str, Any]:
    """How a store is: ``kind``, ``store`` (its URL), ``scopes``, ``files``, ``bytes`` and what its kind has.

    ``disk_bytes`` is what it takes, ``since_ns`` the time of the oldest change that is recorded, ``faults``
    are sentences about what lies there and is no scope. Raises OpenError and StoreError.
    """
    where = canonical_url(url)
    found: dict[str, Any] = {"kind": where.partition(":")[0], "store": where}
    if names_server(where):
        found |= postgres("operating").status_of(where)
        return found
    listed = list(scopes_of(where))
    scopes = [each for each in listed if isinstance(each, Listed)]
    directory = files_of(where, "")[0]
    found |= {
        "scopes": len(scopes),
        "files": sum(each.files for each in scopes),
        "bytes": sum(each.size for each in scopes),
        "disk_bytes": _size_of(directory),
        "since_ns": min((each.since_ns for each in scopes if each.since_ns is not None), default=None),
    }
    faults = [each.fault for each in listed if isinstance(each, Unlisted)]
    return found | ({"faults": faults} if faults else {})


def faults_in(url: str) -> list[str]:
    """What in a store belongs to no scope, as sentences. Raises OpenError and StoreError."""
    if names_server(url):
        return [f"In the store {clause}." for clause in postgres("operating").faults_in(url)]
    return [each.fault for each in scopes_of(url) if isinstance(each, Unlisted)]


def initialise(url: str) -> tuple[int, int] | None:
    """Make or renew the tables of a store on a server; the format before, 0 for none, and now.

    None for a store that makes itself when it is opened. Raises OpenError and StoreError.
    """
    if not names_server(canonical_url(url)):
        return None
    before, now = postgres("operating").initialise(url)
    return before, now


def change_grants(url: str, role: str, scopes: Sequence[str] | None, may_create: bool, revokes: bool) -> None:
    """Let *role* use *scopes*, or all with None, and make new ones; or take that back. Raises as above."""
    _server(url).change_grants(url, role, scopes, may_create, revokes)


def granted(url: str) -> Iterable[Grant]:
    """Who may use what. Raises OpenError and StoreError."""
    grants: list[Grant] = _server(url).granted(url)
    return grants


def _server(url: str) -> Any:
    where = canonical_url(url)
    if not names_server(where):
        kind = where.partition(":")[0]
        raise OpenError(
            ErrorCode.INVALID_ARGUMENT,
            f"Who may use a {kind}: store is what the permissions of its files say; grants are for a server.",
        )
    return postgres("operating")


def _size_of(directory: Path) -> int:
    """The bytes of all files below *directory*."""
    return sum(
        os.lstat(os.path.join(parent, name)).st_size
        for parent, _, names in os.walk(directory)
        for name in names
    )
