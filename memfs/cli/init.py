"""``memfs init``: the ``memory/`` of an agent's workspace."""

from __future__ import annotations

from argparse import Namespace

from memfs.cli.complaint import Status
from memfs.cli.workspace import bootstrap


def run(options: Namespace) -> int:
    """Print the path of the memory, and what stood in the way of making all of it."""
    path, warnings = bootstrap(options.workspace)
    print(path)
    return Status.REFUSED if warnings else Status.DONE
