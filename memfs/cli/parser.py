"""From the words of a command line to the options of a command, or to help. Nothing here runs one.

The commands themselves and what each takes are in ``arguments``.
"""

from __future__ import annotations

import sys
from argparse import Action, ArgumentError, ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Iterable, Iterator
from typing import Any, NoReturn

from memfs.cli.arguments import COMMANDS
from memfs.cli.complaint import Status
from memfs.cli.settings import INTEGER, WORD

INTRODUCTION = """\
usage: memfs COMMAND [ARGUMENT...]

An AI agent's memory: text files under /memories, worked on by six commands, or
mounted as a directory.
"""
EXIT_STATUSES = """\
0 done, 1 refused, 2 wrong usage, 3 the store failed, 73 a
directory that cannot be mounted on, 78 wrong configuration."""
WHICH_MEMORY = """\
Which memory a command is about, the first that applies:
  --memory NAME         the one configured in $XDG_CONFIG_HOME/memfs/NAME.toml;
                        `memfs config show NAME` lists what is set
  --store, --scope      that one; what is left out is the user's own store, or
                        the scope 'default'
  the path              if it lies in a running mount, the memory mounted there
  where you are         if it lies in a running mount, the memory mounted there
  otherwise             the one configured as 'default', if there is one, else
                        the scope 'default' of the user's own store
A store is sqlite:PATH (a directory, made when missing), directory:PATH (a
folder of plain files, which are the memories), git:PATH (a repository, made
when missing; git:PATH?ref=REF names a reference), postgresql://HOST/DATABASE
(a server that many machines share), or simple: (kept in one process only).

A setting is taken from the first that has it: its option (--max-files), its
variable (MEMFS_MAX_FILES; MEMFS_MEMORY for --memory), the memory's file
(max_files), the default.

A path is one in a running mount, absolute or relative to where you are; or
/memories/...; or, where neither fits, relative to /memories.
"""


_REQUIRED = "the following arguments are required: "


def parse(arguments: list[str]) -> Namespace | int:
    """The options of the command that *arguments* name, or the exit status where there is none to run."""
    first = arguments[0] if arguments else "--help"
    if first in ("-h", "--help", "help"):
        print(_overview())
        return Status.DONE if arguments else Status.USAGE
    if first in ("-V", "--version"):
        from memfs.cli.version import version

        print(f"memfs {version()}")
        return Status.DONE
    if first not in COMMANDS:
        print(f"memfs: {_no_such_command(first)}", file=sys.stderr)
        return Status.USAGE
    parser = parser_of(first)
    try:
        # Intermixed: a text may also follow an option.
        options = parser.parse_intermixed_args(list(_prepared(arguments[1:])))
    except SystemExit as end:  # argparse has printed the help or what is wrong
        return int(end.code or Status.DONE)
    for name, value in vars(options).items():
        if isinstance(value, str):
            setattr(options, name, value.removeprefix(WORD))
        elif name in ("names", "words"):
            setattr(options, name, [word.removeprefix(WORD) for word in value])
    return options


def parser_of(command: str) -> ArgumentParser:
    """The parser of one command: its help, and what completion and manual pages are made from."""
    row = COMMANDS[command]
    parser = _Parser(
        prog=f"memfs {command}",
        description=row.summary[0].upper() + row.summary[1:] + ".",
        epilog=f"example:\n  {row.example}\n\n`memfs --help` says which memory a command is about.",
        formatter_class=_formatter,
        allow_abbrev=False,
    )
    row.declare(parser)
    parser.set_defaults(command=command)
    return parser


class _Parser(ArgumentParser):
    """One that says in a sentence what is wrong, and names the nearest option where there is none."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong, and end with the status for wrong usage."""
        print(f"memfs: {self._sentence(message)}", file=sys.stderr)
        raise SystemExit(Status.USAGE)

    def _check_value(self, action: Action, value: Any) -> None:
        """As argparse's own, which lists the choices in the words of its release."""
        if action.choices is None or value in action.choices:
            return
        given, choices = str(value).removeprefix(WORD), list(map(str, action.choices))
        near = _nearest(given, choices)
        hint = f"did you mean '{near}'?" if near else f"there are {', '.join(choices)}"
        raise ArgumentError(action, f"there is no '{given}'; {hint}")

    def _sentence(self, message: str) -> str:
        """What argparse calls *message*; it names an argument first, and begins with a small letter."""
        rest = message.removeprefix("unrecognized arguments: ")
        if rest == message:
            clause = message.removeprefix("argument ").replace(": expected one argument", " needs a value")
            if clause.startswith(_REQUIRED):
                clause = clause.removeprefix(_REQUIRED) + " is missing"
            end = "" if clause.endswith("?") else f"; `{self.prog} --help` explains it."
            return f"{clause}{end}"
        word = rest.removeprefix(WORD).split(" ")[0]
        if rest.startswith(WORD) or not word.startswith("-"):
            return f"the argument '{word}' is one too many; `{self.prog} --help` says what it takes."
        word = word.split("=")[0]
        near = _nearest(word, self._option_string_actions)
        hint = f"did you mean {near}?" if near else f"`{self.prog} --help` lists them."
        return f"there is no option {word}; {hint}"


def _overview() -> str:
    width = max(map(len, COMMANDS)) + 2
    rows = "\n".join(f"  {name:{width}}{row.summary}" for name, row in COMMANDS.items())
    return (
        f"{INTRODUCTION}\n{rows}\n\n"
        "`memfs COMMAND --help` explains one; `memfs --version` names the release.\n\n"
        f"{WHICH_MEMORY}\n"
        f"Exit status: {EXIT_STATUSES}"
    )


def _no_such_command(name: str) -> str:
    if name.startswith("-"):
        return f"there is no option {name} before the command; options follow it, as in `memfs view --json`."
    near = _nearest(name.replace("_", "-"), COMMANDS)
    hint = f"did you mean '{near}'?" if near else "`memfs --help` lists them."
    return f"there is no command '{name}'; {hint}"


def _nearest(word: str, words: Iterable[str]) -> str | None:
    """The one of *words* that somebody may have meant by *word*."""
    from difflib import get_close_matches

    return next(iter(get_close_matches(word, list(words), n=1)), None)


def _prepared(arguments: list[str]) -> Iterator[str]:
    """*arguments* as argparse takes them for what they are.

    ``--range 2 5`` becomes one word, for argparse would go on and take the path too. A word after ``--``
    that begins with ``-`` is marked as no option: of several such, argparse protects only some.
    """
    words = iter(enumerate(arguments))
    for at, word in words:
        pair = arguments[at + 1 : at + 3]
        if word == "--":
            yield from (WORD + rest if rest.startswith("-") else rest for _, rest in words)
        elif word == "--range" and len(pair) == 2 and all(map(INTEGER.fullmatch, pair)):
            yield f"--range={pair[0]}:{pair[1]}"
            next(words), next(words)
        else:
            yield word


def _formatter(prog: str) -> RawDescriptionHelpFormatter:
    # The width is given, for argparse would load shutil to ask the terminal.
    return RawDescriptionHelpFormatter(prog, max_help_position=28, width=80)
