"""Every setting of a memory and of its mount, in one table: a setting is one row.

From a row's key follow its names everywhere: ``max_files`` in a TOML file, ``--max-files`` on a command
line, ``MEMFS_MAX_FILES`` in the environment. What a value may be is said here too; whose value counts
is decided in ``configuration``.
"""

from __future__ import annotations

import re
from argparse import ArgumentTypeError, BooleanOptionalAction, _ArgumentGroup
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from memfs.places import expanded

if TYPE_CHECKING:
    from memfs.mount.sockets import Address

WORD = "\0"
"""Before a word that is no option (see ``parser``); no argument of a process can hold it."""
UNBOUNDED = "none"
"""The bound of an archive that has none."""
INTEGER = re.compile(r"-?[0-9]{1,4000}")
_SWITCH = {"true": True, "yes": True, "on": True, "1": True,
           "false": False, "no": False, "off": False, "0": False}  # fmt: skip


class WrongValue(ArgumentTypeError):
    """What is wrong with a value, as a clause; argparse prints it as it is."""


class Kind(NamedTuple):
    """How a value is written: as a word (of a command line or a variable), and in TOML.

    Both raise WrongValue. ``many``: a tuple, of a flag that is repeated, of a variable's lines, of a list.
    """

    word: Callable[[str], Any]
    toml: Callable[[object], Any]
    many: bool = False
    told: Callable[[Any], str] = str
    """The value as a person reads it."""
    flag: dict[str, Any] | None = None
    """What argparse is to know of a flag that is not followed by a word."""
    is_told_in_toml: bool = False
    """Whether a file has the value as a person reads it, and not as it is."""

    def in_toml(self, value: Any) -> Any:
        """The value as a file has it."""
        return self.told(value) if self.is_told_in_toml and value is not None else value


class Setting(NamedTuple):
    """One row. ``fault`` says what is wrong with a value that is well written, as a clause, or None.

    ``fixed`` says the same of a value that has to mean one thing wherever one stands: that of a file.
    """

    key: str
    kind: Kind
    metavar: str | None
    help: str
    default: Any = None
    """What holds where nobody has set it; None where that has to be found out."""
    fault: Callable[[Any], str | None] = lambda _value: None
    fixed: Callable[[Any], str | None] = lambda _value: None

    @property
    def flag(self) -> str:
        """Its name on a command line."""
        return "--" + self.key.replace("_", "-")

    @property
    def variable(self) -> str:
        """Its name in the environment."""
        return f"MEMFS_{self.key.upper()}"

    def from_variable(self, text: str) -> Any:
        """The value that a variable's *text* means; raises WrongValue."""
        if self.kind.many:
            return tuple(self.kind.word(line) for line in text.splitlines() if line)
        return self.kind.word(text)

    def declare(self, group: _ArgumentGroup) -> None:
        """Make it an option of a command; None where it is not given."""
        how = self.kind.flag or {"type": self.kind.word, "metavar": self.metavar}
        if self.kind.many:
            how = how | {"action": "append"}
        group.add_argument(self.flag, help=self.help, default=None, **how)


# --- kinds ---------------------------------------------------------------------------------------


def integer(text: str) -> int:
    """A word that is an integer."""
    text = text.removeprefix(WORD)
    if not INTEGER.fullmatch(text):
        raise WrongValue(f"{text!r} is not an integer")
    return int(text)


def _switch(text: str) -> bool:
    if text.lower() not in _SWITCH:
        raise WrongValue(f"{text!r} is neither true nor false")
    return _SWITCH[text.lower()]


def _bound(text: str) -> int | str:
    return UNBOUNDED if text == UNBOUNDED else integer(text)


def _extensions(text: str) -> tuple[str, ...]:
    return tuple(extension.strip() for extension in text.split(","))


def _octal(text: str) -> int:
    if not re.fullmatch(r"(0o?)?[0-7]{1,3}", text):
        raise WrongValue(f"{text!r} is not an octal mask such as 077")
    return int(text.removeprefix("0o"), 8)


def _toml_text(value: object) -> str:
    if not isinstance(value, str):
        raise WrongValue("it must be a string")
    return value


def _toml_integer(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise WrongValue("it must be an integer")
    return value


def _toml_bound(value: object) -> int | str:
    return UNBOUNDED if value == UNBOUNDED else _toml_integer(value)


def _toml_switch(value: object) -> bool:
    if not isinstance(value, bool):
        raise WrongValue("it must be true or false")
    return value


def _toml_texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise WrongValue("it must be a list of strings")
    return tuple(value)


def _choice(*choices: str) -> Kind:
    def word(text: str) -> str:
        if text not in choices:
            raise WrongValue(f"{text!r} is none of {', '.join(choices)}")
        return text

    return Kind(word, lambda value: word(_toml_text(value)), flag={"choices": choices})


def _toml_octal(value: object) -> int:
    if not isinstance(value, str):  # 77 would be another mask than 077, which TOML does not have
        raise WrongValue('it must be a string of octal digits, such as "077"')
    return _octal(value)


def _tell_switch(value: bool) -> str:
    return "true" if value else "false"


def _tell_octal(value: int) -> str:
    return f"{value:03o}"


def _tell_texts(value: tuple[str, ...]) -> str:
    return ", ".join(value) or "none"


def _address(text: str) -> Address:
    from memfs.mount.sockets import Address

    kind, _, path = text.partition(":")
    if kind == "unix" and path.startswith(("/", "~")):
        return Address(expanded(path))
    if kind == "127.0.0.1" and re.fullmatch(r"[1-9][0-9]{0,4}", path) and int(path) < 1 << 16:
        return Address(port=int(path))
    raise WrongValue(f"{text!r} is neither unix:/PATH nor 127.0.0.1:PORT")


TEXT = Kind(str, _toml_text)
NUMBER = Kind(integer, _toml_integer)
BOUND = Kind(_bound, _toml_bound)
SWITCH = Kind(_switch, _toml_switch, told=_tell_switch, flag={"action": BooleanOptionalAction})
MASK = Kind(_octal, _toml_octal, told=_tell_octal, is_told_in_toml=True)
EXTENSIONS = Kind(_extensions, _toml_texts, told=_tell_texts)
ADDRESS = Kind(
    _address,
    lambda value: _address(_toml_text(value)),
    told=lambda value: "none" if value is None else str(value),
    is_told_in_toml=True,
)
EXPRESSIONS = Kind(str, _toml_texts, many=True, told=_tell_texts)


# --- faults --------------------------------------------------------------------------------------


def _store_fault(url: str) -> str | None:
    from memfs.opening import canonical_url
    from memfs.port.errors import OpenError

    try:
        canonical_url(url)
    except OpenError as error:
        return _as_clause(error.error.message)
    return None


def _store_not_fixed(url: str) -> str | None:
    path = url.partition(":")[2]
    return _not_fixed(path) if path else None


def _scope_fault(scope: str) -> str | None:
    from memfs.port.names import scope_name_fault

    fault = scope_name_fault(scope)
    return None if fault is None else _as_clause(fault)


def _directory_fault(path: str) -> str | None:
    return None if path and "\0" not in path else "the directory has no name; name it, or leave it out"


def _not_fixed(path: str) -> str | None:
    return None if expanded(path).startswith("/") else "the path is relative; begin it with / or ~"


def _expressions_fault(expressions: tuple[str, ...]) -> str | None:
    from memfs.mount.scratch import expression_fault

    for expression in expressions:
        if fault := expression_fault(expression):
            return f"the expression {expression!r} {fault}"
    return None


def _rule_fault(key: str) -> Callable[[Any], str | None]:
    def fault(value: Any) -> str | None:
        from memfs.port.errors import OpenError
        from memfs.port.policy import Policy

        try:
            Policy().changed(as_rules({key: value}))
        except OpenError as error:
            return _as_clause(error.error.message)
        return None

    return fault


def as_rules(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values of RULES as ``Policy.changed`` takes them."""
    return {key: None if value == UNBOUNDED else value for key, value in values.items()}


def _as_clause(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:].removesuffix(".")


# --- the table -----------------------------------------------------------------------------------


def _rule(key: str, kind: Kind, metavar: str | None, help_text: str) -> Setting:
    return Setting(key, kind, metavar, help_text, fault=_rule_fault(key))


MEMORY = (
    Setting(
        "store",
        TEXT,
        "URL",
        "sqlite:PATH, directory:PATH, git:PATH, postgresql://HOST/DATABASE or simple:",
        fault=_store_fault,
        fixed=_store_not_fixed,
    ),
    Setting("scope", TEXT, "NAME", "the scope in the store (default: 'default')", fault=_scope_fault),
    Setting(
        "workspace",
        SWITCH,
        None,
        "directory:PATH is an agent's workspace: take its memory/, made when missing",
        False,
    ),
)
"""Which memory it is."""

RULES = (
    _rule("max_files", NUMBER, "N", "how many files"),
    _rule("max_total_bytes", NUMBER, "N", "how many bytes in all files"),
    _rule("max_file_bytes", NUMBER, "N", "how many bytes in one file"),
    _rule("extensions", EXTENSIONS, "LIST", "such as .md,.txt,.json"),
    _rule("layout", _choice("flat", "para"), None, "free paths, or the four PARA buckets"),
    _rule(
        "eviction",
        _choice("delete", "archive", "refuse"),
        None,
        "what a full scope does with its earliest writes; refuse: keep them, and refuse the new one",
    ),
    _rule("max_archive_bytes", BOUND, "N", "how many bytes in the archive; none: no bound"),
)
"""What a scope takes; recorded with it, so that these make a new one and must be those of an old one."""

MOUNTPOINT = Setting(
    "mountpoint",
    TEXT,
    "DIR",
    "an empty directory; default: ~/memories-NAME, for the default memory /memories or ~/memories",
    fault=_directory_fault,
    fixed=_not_fixed,
)
MOUNT = (
    Setting("read_only", SWITCH, None, "refuse every change through this mount", False),
    Setting("allow_other", SWITCH, None, "let other users in, as far as modes allow", False),
    Setting("umask", MASK, "OCT", "the bits that no mode has (default: 077)", 0o077),
    Setting(
        "scratch",
        EXPRESSIONS,
        "REGEX",
        "names of files that stay in the mount and out of the store, beside the editors' temporary files "
        "that memfs knows; may be repeated",
        (),
        _expressions_fault,
    ),
    Setting(
        "metrics",
        ADDRESS,
        "ADDRESS",
        "tell the counters of `memfs top` to Prometheus too: at unix:/PATH (/metrics there), for you alone, "
        "or at 127.0.0.1:PORT, for everybody on this machine",
    ),
    Setting(
        "hardened",
        SWITCH,
        None,
        "once mounted, give up the right to start setuid programs; an ordinary user's mount then cannot "
        "unmount itself, so that another process has to, as the service's does",
        False,
    ),
)
"""How it is mounted."""

SETTINGS = {setting.key: setting for setting in (*MEMORY, MOUNTPOINT, *RULES, *MOUNT)}
