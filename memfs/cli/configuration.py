"""What is configured: one strict TOML file for each memory, the environment, and a command's options.

A setting (see ``settings``) is taken from the first of these that has it: the command line, the
environment, the file, the default. Each value that is found says where it was found.
"""

from __future__ import annotations

import os
import re
from argparse import Namespace
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from memfs.cli.complaint import Complaint, Status
from memfs.cli.settings import RULES, SETTINGS, WrongValue, as_rules
from memfs.places import config_directory, read_ordinary

DEFAULT = "default"
"""The configured memory of those who name none; it needs no file."""
MEMORY_VARIABLE = "MEMFS_MEMORY"
_BYTE_ORDER_MARK = "\ufeff"
"""What some editors of Windows put before a text; TOML has no place for it."""
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,63}")


class Found(NamedTuple):
    """A value, and where it was found: ``--scope``, ``MEMFS_SCOPE``, or a file with its line."""

    value: Any
    origin: str

    @property
    def is_typed(self) -> bool:
        """Whether it was said for this command or this shell, and not written to a file."""
        return self.origin.startswith(("--", "MEMFS_"))


class Settings(NamedTuple):
    """What somebody has set; what nobody has is the default. ``name`` is that of the configured memory."""

    name: str | None
    found: dict[str, Found]

    def get(self, key: str) -> Any:
        """The value of *key*, or the default where nobody has set it."""
        return self.found[key].value if key in self.found else SETTINGS[key].default

    @property
    def name_a_memory(self) -> bool:
        """Whether they say which memory is meant."""
        return self.name is not None or bool({"store", "scope"} & set(self.found)) or self.get("workspace")

    def rules(self) -> dict[str, Any]:
        """The rules among them, as ``Policy.changed`` takes them."""
        return as_rules({rule.key: self.found[rule.key].value for rule in RULES if rule.key in self.found})


def settings_for(options: Namespace) -> Settings:
    """What the command line, the environment, and the file of the memory that they name have set."""
    on_command_line = dict(given(options))
    name = options.memory
    named_otherwise = "store" in on_command_line or "scope" in on_command_line
    if name is not None and named_otherwise:
        raise Complaint("Name the memory by --memory, or by --store and --scope, not both.", Status.USAGE)
    if name is None and not named_otherwise:
        name = os.environ.get(MEMORY_VARIABLE) or None
    from_file = {} if name is None else configured(name)
    return Settings(name, from_file | _for_command(options) | on_command_line)


def said(options: Namespace) -> dict[str, Found]:
    """What the environment and the command line have set, of what the command takes."""
    return _for_command(options) | dict(given(options))


def name_in(options: Namespace) -> str | None:
    """The memory that a command names by an argument or by ``--memory``, or None."""
    if None not in (options.name, options.memory) and options.name != options.memory:
        raise Complaint(
            f"'{options.name}' and --memory {options.memory} are two memories; name one.", Status.USAGE
        )
    name: str | None = options.memory if options.name is None else options.name
    return name


def name_or_default(options: Namespace) -> str:
    """As :func:`name_in`; where it names none, the variable does, and else it is the default one."""
    return name_in(options) or os.environ.get(MEMORY_VARIABLE) or DEFAULT


def default_settings(settings: Settings) -> Settings:
    """*settings* that name no memory, with what is configured for the default one."""
    return Settings(DEFAULT, configured(DEFAULT) | settings.found)


def configured(name: str) -> dict[str, Found]:
    """What the file of the memory *name* says. A key or value that memfs does not know is an error."""
    file = file_of(name)
    try:
        content = read_ordinary(os.path.realpath(file))  # a link is as good as the file
    except FileNotFoundError:
        if name == DEFAULT:
            return {}
        raise Complaint(_not_configured(name, file), Status.USAGE) from None
    except OSError as error:
        raise _wrong(file, f"cannot be read: {error.strerror}") from None
    return dict(_in_file(file, content))


def given(options: Namespace) -> Iterable[tuple[str, Found]]:
    """The settings that the command line has."""
    for key, setting in SETTINGS.items():
        value = getattr(options, key, None)
        if value is None:
            continue
        if setting.kind.many:
            value = tuple(value)
        if fault := setting.fault(value):
            raise Complaint(f"{setting.flag} is wrong: {fault}.", Status.USAGE)
        yield key, Found(value, setting.flag)


def environment() -> dict[str, Found]:
    """What the environment has set, of all settings there are."""
    return dict(_in_environment(SETTINGS))


def file_of(name: str) -> Path:
    """Where the memory *name* is configured."""
    if not _NAME.fullmatch(name):
        raise Complaint(
            f"The name {name!r} cannot name a configured memory; use letters, digits, '.', '_' and '-'.",
            Status.USAGE,
        )
    return config_directory() / f"{name}.toml"


def configured_names() -> list[str]:
    """The memories that have a file."""
    # What is called otherwise is none's: an editor's lock, a copy.
    return sorted(file.stem for file in config_directory().glob("*.toml") if _NAME.fullmatch(file.stem))


def mountpoint_of(name: str | None) -> str | None:
    """Where the memory *name* is mounted if nobody says; None: wherever suits the machine."""
    return None if name in (None, DEFAULT) else f"~/memories-{name}"


def _for_command(options: Namespace) -> dict[str, Found]:
    # A variable stands for the flag that the command would take, and for no other.
    return dict(_in_environment(key for key in vars(options) if key in SETTINGS))


def _in_environment(keys: Iterable[str]) -> Iterable[tuple[str, Found]]:
    for setting in map(SETTINGS.__getitem__, keys):
        text = os.environ.get(setting.variable)
        if not text:  # one that is empty is as good as none
            continue
        try:
            value = setting.from_variable(text)
            fault = setting.fault(value)
        except WrongValue as error:
            fault = str(error)
        if fault:
            raise Complaint(f"The variable {setting.variable} is wrong: {fault}.", Status.CONFIGURATION)
        yield setting.key, Found(value, setting.variable)


def _in_file(file: Path, content: bytes) -> Iterable[tuple[str, Found]]:
    import tomllib

    try:
        text = content.decode().removeprefix(_BYTE_ORDER_MARK)
        table = tomllib.loads(text)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise _wrong(file, "is no UTF-8", line) from None
    except tomllib.TOMLDecodeError as error:
        raise _wrong(file, f"is no TOML: {error}") from None
    for key, value in table.items():
        setting = SETTINGS.get(key)
        line = _line_of(key, text)
        if setting is None:
            raise _wrong(file, f"has the unknown key '{key}'; {_suggestion(key)}", line)
        try:
            meant = setting.kind.toml(value)
            fault = setting.fault(meant) or setting.fixed(meant)
        except WrongValue as error:
            fault = str(error)
        if fault:
            raise _wrong(file, f"has a wrong '{key}': {fault}", line)
        yield key, Found(meant, f"{file}, line {line}")


def _line_of(key: str, text: str) -> int:
    """The line on which *key* is set: the one behind the longest beginning that is TOML without it."""
    import tomllib

    lines = text.splitlines(keepends=True)
    before = 0
    for end in range(1, len(lines) + 1):
        try:
            table = tomllib.loads("".join(lines[:end]))
        except tomllib.TOMLDecodeError:  # the middle of a value
            continue
        if key in table:
            break
        before = end
    return before + 1


def _suggestion(key: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(key.replace("-", "_"), SETTINGS, n=1)
    return f"did you mean '{near[0]}'?" if near else f"there are {', '.join(SETTINGS)}"


def _wrong(file: Path, what: str, line: int | None = None) -> Complaint:
    where = "" if line is None else f", line {line},"
    end = "" if what.endswith("?") else "."
    return Complaint(f"The configuration {file}{where} {what}{end}", Status.CONFIGURATION)


def _not_configured(name: str, file: Path) -> str:
    names = configured_names()
    have = f"configured are {', '.join(names)}" if names else "none is configured"
    return f"There is no configured memory '{name}' ({have}); describe it in {file}."
