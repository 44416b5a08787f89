"""``memfs show``: what a memory was."""

from __future__ import annotations

from argparse import Namespace

from memfs.cli.choose import choose_with_rules, port_path
from memfs.cli.complaint import Status
from memfs.cli.streams import write
from memfs.cli.versions import at_version, newest
from memfs.opening import open_with


def run(options: Namespace) -> int:
    """Print the bytes of a version as they are; without one, of the newest."""
    wanted = at_version(options.path)
    chosen, rules = choose_with_rules(options, wanted.path)
    path = port_path(wanted.path, chosen)
    with open_with(chosen.store, chosen.scope, rules, actor="memfs") as memory:
        version = newest(memory, path).version if wanted.version is None else wanted.version
        write(memory.read_version(path, version))
    return Status.DONE
