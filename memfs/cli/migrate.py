"""``memfs store migrate``: scopes of one store into another, each with its whole history."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from contextlib import closing

from memfs.cli.complaint import Complaint, Status
from memfs.opening import canonical_url, is_there, open_store, receive, scopes_of
from memfs.port.errors import ErrorCode, OpenError, StoreError
from memfs.port.listing import Listed
from memfs.transfer.migrate import Migrated, already_there, migrate


def run(options: Namespace) -> int:
    """Bring the chosen scopes over, one after the other; the status of the first that could not be."""
    if options.other is None:
        raise Complaint("Name two stores: the one to take from, and the one to take into.", Status.USAGE)
    source, target = canonical_url(options.url), canonical_url(options.other)
    names = options.scope or [each.name for each in scopes_of(source) if isinstance(each, Listed)]
    if not names:
        raise Complaint(f"There is no scope in {source}.")
    if options.to_scope is not None and len(names) > 1:
        raise Complaint("--to-scope names one scope; name the one to take with --scope.", Status.USAGE)
    status = Status.DONE
    for name in names:
        new_name = options.to_scope or name
        if (source, name) == (target, new_name):
            raise Complaint("The two stores are one and the same; name another, or --to-scope.", Status.USAGE)
        try:
            done = _migrate(source, name, target, new_name)
        except StoreError as error:
            print(f"memfs: {name}: {error.message}", file=sys.stderr)
            failed = error.code != ErrorCode.CONFLICT
            status = status or (Status.STORE_FAILED if failed else Status.REFUSED)
        else:
            print(json.dumps(_to_wire(new_name, done)) if options.json else _told(new_name, done), flush=True)
    return status


def _migrate(source: str, name: str, target: str, new_name: str) -> Migrated:
    with closing(open_store(source, name)) as store:
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
    if not done.copied:
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
