"""``memfs undo``: the last change of a scope, taken back by a new one."""

from __future__ import annotations

from argparse import Namespace

from memfs.cli.choose import choose_with_rules
from memfs.cli.commands import answer
from memfs.opening import open_with


def run(options: Namespace) -> int:
    """Take the last change of the scope back."""
    chosen, rules = choose_with_rules(options)
    with open_with(chosen.store, chosen.scope, rules, actor=options.actor or "memfs") as memory:
        result = memory.undo(expected=options.expected, reason=options.reason)
    return answer(result, options.json)
