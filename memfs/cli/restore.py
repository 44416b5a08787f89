"""``memfs restore``: what was, brought back by a new change."""

from __future__ import annotations

from argparse import Namespace

from memfs.cli.choose import choose_with_rules, port_path
from memfs.cli.commands import answer
from memfs.cli.versions import at_version
from memfs.opening import open_with
from memfs.port.receipts import Created, Receipt, Renamed
from memfs.port.telling import told


def run(options: Namespace) -> int:
    """Restore a version, what has left, or what is archived."""
    wanted = at_version(options.path)
    chosen, rules = choose_with_rules(options, wanted.path)
    path = port_path(wanted.path, chosen)
    to = None if options.to is None else port_path(options.to, chosen)
    with open_with(chosen.store, chosen.scope, rules, actor=options.actor or "memfs") as memory:
        result = memory.restore(path, wanted.version, to, expected=options.expected, reason=options.reason)
    return answer(result, options.json, _told)


def _told(receipt: Receipt) -> str:
    """As for a command that writes or moves, in the words of the one that was given."""
    sentence = told(receipt)
    if isinstance(receipt, Created | Renamed):
        return "Restored" + sentence[sentence.index(" ") :]
    return sentence
