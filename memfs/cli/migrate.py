"""``memfs store migrate``: scopes of one store into another, each with its whole history."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from contextlib import closing

from memfs.cli.complaint import Complaint, Status
from memfs.opening import canonical_url, is_there, open_store, receive, scopes_of
from memfs.port.errors import ErrorCode, OpenError, StoreError
from memfs.port.listing import Listed, Unlisted
from memfs.port.store import Store
from memfs.transfer.migrate import Migrated, already_there, migrate

_STATUSES = {ErrorCode.CONFLICT: Status.REFUSED, ErrorCode.INVALID_ARGUMENT: Status.USAGE}
"""Of what keeps a scope from coming; anything else is the store's."""


def run(options: Namespace) -> int:
    """Bring the chosen scopes over, one after the other; the status of the first that could not be."""
    if options.other is None:
        raise Complaint("Name two stores: the one to take from, and the one to take into.", Status.USAGE)
    source, target = canonical_url(options.url), canonical_url(options.other)
    names, faults = _chosen(source, options.scope)
    for fault in faults:
        print(f"memfs: {fault}", file=sys.stderr)
    if not (names or faults):
        raise Complaint(f"There is no scope in {source}.")
    if options.to_scope is not None and len(names) > 1:
        raise Complaint("--to-scope names one scope; name the one to take with --scope.", Status.USAGE)
    status = Status.STORE_FAILED if faults else Status.DONE
    for name in names:
        new_name = name if options.to_scope is None else options.to_scope
        if (source, name) == (target, new_name):
            raise Complaint("The two stores are one and the same; name another, or --to-scope.", Status.USAGE)
        try:
            done = _migrate(source, name, target, new_name)
        except StoreError as error:
            print(f"memfs: {name}: {error.message}", file=sys.stderr)
            status = status or _STATUSES.get(error.code, Status.STORE_FAILED)
        else:
            print(json.dumps(_to_wire(new_name, done)) if options.json else _told(new_name, done), flush=True)
    return status


def _chosen(source: str, named: list[str] | None) -> tuple[list[str], list[str]]:
    """The scopes to take, each once, and what lies among them that cannot be taken: a sentence each."""
    if named:
        return list(dict.fromkeys(named)), []
    found = list(scopes_of(source))
    names = [each.name for each in found if isinstance(each, Listed)]
    return names, [each.fault for each in found if isinstance(each, Unlisted)]


def _opened(source: str, name: str) -> Store:
    """A scope of the source. Raises StoreError for one that cannot be taken while others can."""
    try:
        return open_store(source, name)
    except OpenError as error:
        if error.error.code == ErrorCode.STORAGE_ERROR:  # the store is away or full, and so for the others
            raise
        raise StoreError(error.error.message, error.error.code) from error


def _migrate(source: str, name: str, target: str, new_name: str) -> Migrated:
    with closing(_opened(source, name)) as store:
        if is_there(target, new_name):
            with closing(open_store(target, new_name)) as there:
                return already_there(store, there)
        try:
            receiver = receive(target, new_name, store.load().policy)
        except OpenError as error:
            if error.error.code == ErrorCode.CONFLICT:
                raise StoreError(error.error.message, ErrorCode.CONFLICT) from error
            raise
        with closing(receiver):
            return migrate(store, receiver)


def _told(name: str, done: Migrated) -> str:
    how = "is there" if done.copied == done.changes else f"is there, {done.copied:,} changes copied now"
    if done.was_there:
        how = "was there already, the same"
    size = f"version {done.version:,}, {done.changes:,} changes, {done.files:,} files"
    lines = [f"{name} {how}: {size}, compared (sha256 {done.digest[:16]})."]
    if done.begun:
        lines.append(
            f"  {done.begun:,} memories are older than the history that is kept; each begins with what it is."
        )
    if done.dropped:
        lines.append(f"  {done.dropped:,} records of memories whose beginning is not kept were left out.")
    return "\n".join(lines)


def _to_wire(name: str, done: Migrated) -> dict[str, object]:
    return {
        "scope": name,
        "version": done.version,
        "changes": done.changes,
        "copied": done.copied,
        "files": done.files,
        "sha256": done.digest,
        "begun": done.begun,
        "dropped": done.dropped,
    }
