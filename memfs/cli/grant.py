"""``memfs store grant``: which role of a server may use which scopes."""

from __future__ import annotations

import json
from argparse import Namespace
from typing import TYPE_CHECKING

from memfs.cli.complaint import Complaint, Status
from memfs.cli.texts import on_one_line
from memfs.operating import change_grants, granted

if TYPE_CHECKING:
    from memfs.stores.postgres.grants import Grant


def run(options: Namespace) -> int:
    """Grant or revoke what is named, or list what is granted."""
    names_something = bool(options.scope) or options.all or options.create
    if options.revoke and not names_something:
        raise Complaint("Say what to take back: --scope NAME, --all, or --create.", Status.USAGE)
    if options.scope and options.all:
        raise Complaint("Name single scopes, or --all, not both.", Status.USAGE)
    if not names_something:
        return _list(options)
    if options.other is None:
        raise Complaint("Name the role after the store.", Status.USAGE)
    scopes = None if options.all else options.scope or []
    change_grants(options.url, options.other, scopes, options.create, options.revoke)
    if options.json:
        return _list(options)
    named = ["every scope"] if scopes is None else [f"'{name}'" for name in scopes]
    what = [f"use {', '.join(named)}"] if named else []
    what += ["make scopes"] if options.create else []
    print(f"{options.other} may {'no longer ' if options.revoke else ''}{' and '.join(what)}.")
    return Status.DONE


def _list(options: Namespace) -> int:
    """Who may use what, of one role or of all."""
    for grant in granted(options.url):
        if options.other in (None, grant.role):
            print(json.dumps(_to_wire(grant)) if options.json else _told(grant))
    return Status.DONE


def _told(grant: Grant) -> str:
    if grant.may_create:
        what = "may make scopes, and use those"
    else:
        what = "every scope" if grant.scope is None else on_one_line(grant.scope)
    return f"{on_one_line(grant.role):<20} {what}"


def _to_wire(grant: Grant) -> dict[str, object]:
    line: dict[str, object] = {"role": grant.role}
    if grant.may_create:
        return line | {"create": True}
    return line | ({"all": True} if grant.scope is None else {"scope": grant.scope})
