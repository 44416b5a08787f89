"""``memfs place``: where a memory belongs in the PARA layout, and the file there if it is asked for."""

from __future__ import annotations

import sys
import time
from argparse import Namespace
from datetime import UTC, datetime

from memfs.cli.choose import Chosen, choose_with_rules, port_path, shown_path
from memfs.cli.complaint import Complaint, Status, status_of
from memfs.cli.pages import new_page
from memfs.layout import (
    MEMORY_EXTENSION,
    PlacementInput,
    filename_for,
    memory_path_violation,
    normalize_path,
    placement_for,
    slugify,
    with_collision_ordinal,
)
from memfs.opening import open_with
from memfs.port.checks import cannot_hold_file, cannot_write_at
from memfs.port.memory import Memory
from memfs.port.names import ROOT, is_well_formed, path_error
from memfs.port.plan import Plan, plan_write
from memfs.port.receipts import Created
from memfs.port.scope import Scope

_PREFERRED = (MEMORY_EXTENSION, ".md")


def run(options: Namespace) -> int:
    """Print the path for a memory, and with ``--create`` make the file."""
    chosen, rules = choose_with_rules(options)
    memory = PlacementInput(options.type, options.project, options.tag, options.entity)
    with open_with(chosen.store, chosen.scope, rules, actor=options.actor or "memfs") as opened:
        asked = None if options.path is None else _asked_for(options.path, chosen, opened)

        def place(scope: Scope, now_ns: int) -> str:
            return asked or _free_place(scope, memory, options.title, _moment(now_ns))

        def planner(scope: Scope, now_ns: int) -> Plan:
            path = place(scope, now_ns)
            if scope.file(path) is not None:
                raise Complaint(f"{path} exists already; name another with --path, or leave that out.")
            text = new_page(path, options.title, memory, _moment(now_ns))
            if not is_well_formed(text):
                raise Complaint("The title, a tag or an entity is no UTF-8, and a memory's text has to be.")
            return plan_write(scope, path, text.encode(), now_ns)

        if not options.create:
            opened.catch_up()
            print(shown_path(place(opened.snapshot(), time.time_ns()), chosen))
            return Status.DONE
        result = opened.perform("create", planner, reason=options.reason).result
    if result.error is not None:
        raise Complaint(result.error.message, status_of(result.error))
    assert isinstance(result.value, Created)
    # Only the path on standard output, so that `vim "$(memfs place --create ...)"` opens it.
    print(shown_path(result.value.path, chosen))
    if result.value.evicted:
        print(f"memfs: Evicted to make room: {', '.join(result.value.evicted)}.", file=sys.stderr)
    return Status.DONE


def _asked_for(path: str, chosen: Chosen, memory: Memory) -> str:
    """The path that the user names, which must be one a memory can have: it is never passed over."""
    below = normalize_path(port_path(path, chosen).removeprefix(ROOT + "/"))
    malformed = path_error(f"{ROOT}/{below}")
    if malformed is not None:
        raise Complaint(malformed.message, status_of(malformed))
    violation = memory_path_violation(below, memory.policy.extensions)
    if violation is not None:
        raise Complaint(f"The path {below} {violation}.")
    place = f"{ROOT}/{below}"
    error = memory.look(lambda scope: cannot_write_at(scope, place) or cannot_hold_file(scope, place))
    if error is not None:
        raise Complaint(error.message, status_of(error))
    return place


def _free_place(scope: Scope, memory: PlacementInput, title: str, at: datetime) -> str:
    extensions = scope.policy.extensions
    extension = next((each for each in _PREFERRED if each in extensions), extensions[0])
    slug, number = slugify(title), 0
    while True:
        number += 1
        name = filename_for(with_collision_ordinal(slug, number), memory.memory_type == "episodic", at)
        path = f"{ROOT}/{placement_for(memory)}/{name.removesuffix(MEMORY_EXTENSION)}{extension}"
        if scope.file(path) is None and not scope.is_directory(path):
            return path


def _moment(now_ns: int) -> datetime:
    return datetime.fromtimestamp(now_ns / 1e9, UTC)
