"""``memfs store``: what is done to a whole store. Each action is a module of its own."""

from __future__ import annotations

from argparse import Namespace
from importlib import import_module

_ACTIONS = {"migrate": "memfs.cli.migrate"}


def run(options: Namespace) -> int:
    """Carry out the action."""
    status: int = import_module(_ACTIONS[options.action]).run(options)
    return status
