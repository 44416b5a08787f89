"""``memfs store``: what is done to a whole store. Each action is a module of its own."""

from __future__ import annotations

from argparse import Namespace
from importlib import import_module

from memfs.cli.complaint import Complaint, Status

_ACTIONS = {
    "status": "memfs.cli.store_status",
    "check": "memfs.cli.store_check",
    "migrate": "memfs.cli.migrate",
    "init": "memfs.cli.store_init",
    "grant": "memfs.cli.grant",
}


_BELONGS_TO = {
    "other": ("migrate", "grant"),
    "scope": ("check", "migrate", "grant"),
    "to_scope": ("migrate",),
    "all": ("grant",),
    "create": ("grant",),
    "revoke": ("grant",),
}
"""The actions that take an option."""


def run(options: Namespace) -> int:
    """Carry out the action, with the options that are its own."""
    for option, actions in _BELONGS_TO.items():
        if getattr(options, option) and options.action not in actions:
            flag = "a second argument" if option == "other" else "--" + option.replace("_", "-")
            belongs = " and ".join(actions)
            raise Complaint(f"{flag} is for {belongs}, and not for {options.action}.", Status.USAGE)
    status: int = import_module(_ACTIONS[options.action]).run(options)
    return status
