"""``memfs init``: the ``memory/`` of an agent's workspace."""

from __future__ import annotations

from argparse import Namespace

from memfs.cli.complaint import Complaint, Status
from memfs.cli.workspace import bootstrap


def run(options: Namespace) -> int:
    """Print the path of the memory, and what stood in the way of making all of it."""
    if not options.workspace:  # a variable of a script that is not set: nothing is made where that runs
        raise Complaint("Name the workspace's folder; '.' is the one you are in.", Status.USAGE)
    path, warnings = bootstrap(options.workspace)
    print(path)
    return Status.REFUSED if warnings else Status.DONE
