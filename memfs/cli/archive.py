"""``memfs archive``: what is over moves to the archive, where an eviction would put it."""

from __future__ import annotations

import sys
from argparse import Namespace

from memfs.cli.choose import choose_with_rules, port_path, shown_path
from memfs.cli.complaint import Status, status_of
from memfs.opening import open_with
from memfs.port.receipts import Renamed


def run(options: Namespace) -> int:
    """Archive each path; those that cannot be are told, and do not keep the others from it."""
    chosen, rules = choose_with_rules(options, options.paths[0])
    status: int = Status.DONE
    with open_with(chosen.store, chosen.scope, rules, actor=options.actor or "memfs") as memory:
        for given in options.paths:
            result = memory.archive(
                port_path(given, chosen), expected=options.expected, reason=options.reason
            )
            if result.error is not None:
                print(f"memfs: {result.error.message}", file=sys.stderr)
                status = status or status_of(result.error)
                continue
            receipt = result.value
            assert isinstance(receipt, Renamed)
            print(f"{shown_path(receipt.old_path, chosen)} -> {shown_path(receipt.new_path, chosen)}")
    return status
