"""The command line, ``memfs COMMAND``: finds the command, runs it, and says what went wrong.

- ``arguments``: every command's arguments and help, on one page. ``values``: the types of what is typed.
- ``parser``: from words to options.
- ``choose``: which memory a command is about, and what its paths mean.
- ``settings``: every setting there is. ``configuration``: whose value counts. ``config``: all of it, shown.
- ``commands``, ``port``, ``policy``: the port's six commands, one by one or line by line; the rules.
- ``place``, ``tasks``, ``archive``: memories in the PARA layout. ``pages``: what their files look like.
- ``mcp``: the memory for programs that speak the Model Context Protocol; ``integrate``: told to one of them.
- ``log``, ``watch``: what happened, and what happens. ``recordlines``: how a record is printed.
- ``search``: finding passages by words.
- ``scopes``: what else is in a store. ``store``: the whole of one: ``store_status``,
  ``store_check``, ``store_init``, ``grant``, and ``migrate``, into another.
- ``init``: an agent's workspace.
- ``mount``, ``daemon``, ``unmount``, ``status``: mounts. ``running``: the list of those that run.
- ``known``: every memory that is mounted or configured.
- ``top``: what the mounts are asked right now. ``terminal``: colours, bars, a screen that is drawn anew.
- ``supervisor``, ``journal``: what a service manager is told. ``service``, ``installation``, ``systemd``: how
  one is set up for it. ``uninstall``: the end of it all.
- ``events``, ``eventlog``, ``rejected``: why something was refused, and the bytes of it.

- ``doctor``: what is wrong, by the tables in ``checks``.
- ``completion``, ``man``: for the shell, made from what ``arguments`` says.

Nothing is imported before a command needs it: ``memfs view`` is done in the time others take to load.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from io import TextIOWrapper

from memfs.cli.complaint import Status, explain

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command, by default the one this process was started with; its exit status."""
    _open_standard_descriptors()
    if isinstance(sys.stdout, TextIOWrapper):
        # A path may hold any bytes, and is printed as it is, whatever the locale.
        sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape")
    try:
        status = _run(sys.argv[1:] if arguments is None else list(arguments))
        if sys.stdout is not None:
            sys.stdout.flush()
        return status
    except BrokenPipeError:
        # Whoever read our output has gone, as `head` does. Python's own flush at exit must not complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return Status.READER_GONE
    except KeyboardInterrupt:
        return Status.INTERRUPTED
    except Exception as error:
        if os.environ.get("MEMFS_DEBUG"):
            raise
        sentence, status = explain(error)
        from memfs.cli.texts import on_one_line  # it may name what it was given, and that is anybody's data

        shown = "\n".join(map(on_one_line, sentence.split("\n")))
        print(f"{_priority()}memfs: {shown}", file=sys.stderr)
        return status


def _run(arguments: list[str]) -> int:
    from importlib import import_module

    from memfs.cli.arguments import COMMANDS
    from memfs.cli.parser import parse

    options = parse(arguments)
    if isinstance(options, int):
        return options
    status: int = import_module(COMMANDS[options.command].module).run(options)
    return status


def _priority() -> str:
    """How the journal is told that a line is an error; nothing where it does not read."""
    if "JOURNAL_STREAM" not in os.environ:
        return ""
    from memfs.cli.journal import is_standard_error

    return "<3>" if is_standard_error() else ""


def _open_standard_descriptors() -> None:
    """A process started with 0, 1 or 2 closed would find its database there, and print into it."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)
