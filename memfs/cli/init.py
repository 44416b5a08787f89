"""``memfs init``: the ``memory/`` of an agent's workspace."""

from __future__ import annotations

import logging
import sys
from argparse import Namespace

from memfs.cli.complaint import Status
from memfs.workspace import ensure_memory, log


def run(options: Namespace) -> int:
    """Print the path of the memory, and what stood in the way of making all of it."""
    warnings = _Warnings()
    log.addHandler(warnings)
    try:
        print(ensure_memory(options.workspace))
    finally:
        log.removeHandler(warnings)
    return Status.REFUSED if warnings.seen else Status.DONE


class _Warnings(logging.Handler):
    """Warnings as sentences for a person."""

    seen = 0

    def emit(self, record: logging.LogRecord) -> None:
        self.seen += 1
        print(f"memfs: {record.getMessage()}", file=sys.stderr)
