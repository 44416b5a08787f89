"""``memfs man``: manual pages, made from the same texts as ``--help``."""

from __future__ import annotations

import os
import shutil
import sys
from argparse import SUPPRESS, Action, ArgumentParser, Namespace
from collections.abc import Iterator
from pathlib import Path

from memfs.cli.arguments import COMMANDS
from memfs.cli.complaint import Complaint, Status
from memfs.cli.parser import EXIT_STATUSES, WHICH_MEMORY, parser_of
from memfs.cli.terminal import is_terminal
from memfs.cli.version import version
from memfs.places import expanded

FILES = (
    ("~/.local/share/memfs/store", "the user's own store ($XDG_DATA_HOME)"),
    ("~/.local/state/memfs", "the state of mounts: logs, events, refused bytes ($XDG_STATE_HOME)"),
    ("~/.config/memfs/NAME.toml", "a configured memory ($XDG_CONFIG_HOME)"),
)
ENVIRONMENT = (
    ("NO_COLOR", "no colours, also on a terminal"),
    ("MEMFS_DEBUG", "a traceback where memfs itself is at fault"),
)


def run(options: Namespace) -> int:
    """Show one page, or write all of them."""
    if options.page is not None and options.page not in COMMANDS:
        raise Complaint(f"There is no command '{options.page}'; `memfs --help` lists them.", Status.USAGE)
    if options.to is not None:
        directory = Path(expanded(options.to))
        directory.mkdir(parents=True, exist_ok=True)
        for name, page in pages():
            (directory / name).write_text(page, encoding="utf-8")
            print(directory / name)
        return Status.DONE
    page = dict(pages())[_file_name(options.page)]
    if is_terminal(sys.stdout) and shutil.which("man"):
        return _shown(page)
    print(page, end="")
    return Status.DONE


def pages() -> Iterator[tuple[str, str]]:
    """Every page: the name of its file, and what is in it."""
    yield _file_name(None), "\n".join(_overview()) + "\n"
    for command in COMMANDS:
        yield _file_name(command), "\n".join(_page(command)) + "\n"


def _file_name(command: str | None) -> str:
    return "memfs.1" if command is None else f"memfs-{command}.1"


def _shown(page: str) -> int:
    reading, writing = os.pipe()
    if os.fork() == 0:
        os.close(reading)
        with os.fdopen(writing, "wb") as stream:
            stream.write(page.encode())
        os._exit(0)
    os.close(writing)
    os.dup2(reading, 0)
    os.execvp("man", ["man", "-l", "-"])  # noqa: S606, S607 - the pager is the user's own choice


def _overview() -> Iterator[str]:
    yield from _head("memfs", "an AI agent's memory, worked on by commands or mounted as a directory")
    yield from (".SH SYNOPSIS", ".B memfs", ".I COMMAND", "[ARGUMENT...]", ".SH COMMANDS")
    for name, row in COMMANDS.items():
        yield from (".TP", f"\\fBmemfs {_escaped(name)}\\fR(1)", _escaped(row.summary) + ".")
    yield from (".SH WHICH MEMORY", ".nf", *map(_escaped, WHICH_MEMORY.splitlines()), ".fi")
    yield from (".SH EXIT STATUS", _escaped(" ".join(EXIT_STATUSES.split())))
    yield from _table("ENVIRONMENT", ENVIRONMENT)
    yield from _table("FILES", FILES)


def _page(command: str) -> Iterator[str]:
    row, parser = COMMANDS[command], parser_of(command)
    yield from _head(f"memfs-{command}", row.summary)
    usage = " ".join(parser.format_usage().removeprefix("usage: ").split())
    yield from (".SH SYNOPSIS", _escaped(usage))
    yield from _options(parser)
    yield from (".SH EXAMPLES", ".nf")
    yield from (_escaped(line.strip()) for line in row.example.splitlines())
    yield from (".fi", ".SH SEE ALSO", ".BR memfs (1),", "which says what memory a command is about.")


def _head(name: str, summary: str) -> Iterator[str]:
    yield f'.TH {_escaped(name.upper())} 1 "" "memfs {_escaped(version())}" "memfs"'
    yield from (".nh", ".SH NAME", f"{_escaped(name)} \\- {_escaped(summary)}")


def _options(parser: ArgumentParser) -> Iterator[str]:
    for group in parser._action_groups:  # as completion does: nothing public tells it
        shown = [action for action in group._group_actions if action.help is not SUPPRESS]
        if shown:
            yield f".SH {_escaped((group.title or 'options').upper())}"
        for action in shown:
            yield from (".TP", _term(action), _escaped(action.help or ""))


def _term(action: Action) -> str:
    value = action.metavar if isinstance(action.metavar, str) else action.dest
    if action.choices is not None and action.metavar is None:
        value = "|".join(map(str, action.choices))
    if not action.option_strings:
        return f"\\fI{_escaped(value)}\\fR"
    names = ", ".join(f"\\fB{_escaped(option)}\\fR" for option in action.option_strings)
    return names if action.nargs == 0 else f"{names} \\fI{_escaped(value)}\\fR"


def _table(title: str, rows: tuple[tuple[str, str], ...]) -> Iterator[str]:
    yield f".SH {title}"
    for term, text in rows:
        yield from (".TP", f"\\fB{_escaped(term)}\\fR", _escaped(text))


def _escaped(text: str) -> str:
    """*text* as roff shows it as it is."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga")
    return "\\&" + text if text.startswith(".") else text
