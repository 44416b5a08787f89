"""The programs that memfs can be written into: where each keeps its configuration, and what it looks like."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from memfs.agents.integrate import jsonc, toml
from memfs.places import home

Entry = dict[str, Any]


class Program(NamedTuple):
    """One program. ``place`` gives the keys that lead to an entry, in the configuration as it is."""

    title: str
    file: Callable[[], Path]
    format: ModuleType
    place: Callable[[Mapping[str, Any], str], Sequence[str]]
    entry: Callable[[Sequence[str]], Entry]
    command: Callable[[Entry], Sequence[str]]

    def find(self, configuration: Mapping[str, Any], name: str) -> Any:
        """The entry *name* in a configuration, or None."""
        found: Any = configuration
        for key in self.place(configuration, name):
            found = found.get(key) if isinstance(found, dict) else None
        return found

    def is_ours(self, entry: Any) -> bool:
        """Whether *entry* starts memfs, of whatever release and for whichever memory."""
        try:
            command = list(self.command(entry))
        except (AttributeError, KeyError, TypeError):
            return False
        match [Path(str(word)).name for word in command]:
            case ["memfs", "mcp", *_]:
                return True
            case [python, "-m", "memfs", "mcp", *_]:
                return python.startswith("python")
        return False


def _claude_file() -> Path:
    directory = os.environ.get("CLAUDE_CONFIG_DIR")
    return (Path(directory) if directory else home()) / ".claude.json"


def _codex_file() -> Path:
    directory = os.environ.get("CODEX_HOME")
    return (Path(directory) if directory else home() / ".codex") / "config.toml"


def _cursor_file() -> Path:
    return home() / ".cursor" / "mcp.json"


def _opencode_file() -> Path:
    base = os.environ.get("XDG_CONFIG_HOME", "")
    directory = (Path(base) if base.startswith("/") else home() / ".config") / "opencode"
    names = ("opencode.jsonc", "opencode.json")  # it reads both, the first one last
    return next((file for name in names if os.path.lexists(file := directory / name)), directory / names[-1])


def _opencode_place(configuration: Mapping[str, Any], name: str) -> Sequence[str]:
    """Release 2 has the servers one level deeper, and reads them where release 1 has them, too."""
    servers = configuration.get("mcp")
    nested = servers.get("servers") if isinstance(servers, dict) else None
    if isinstance(nested, dict) and "type" not in nested and "enabled" not in nested:
        return ("mcp", "servers", name)
    return ("mcp", name)


def _split(command: Sequence[str]) -> Entry:
    return {"command": command[0], "args": list(command[1:])}


def _joined(entry: Entry) -> Sequence[str]:
    return [entry["command"], *entry["args"]]


PROGRAMS = {
    "claude-code": Program(
        "Claude Code",
        _claude_file,
        jsonc,
        lambda _, name: ("mcpServers", name),
        lambda command: {"type": "stdio", **_split(command), "env": {}},
        _joined,
    ),
    "codex": Program("Codex", _codex_file, toml, lambda _, name: ("mcp_servers", name), _split, _joined),
    "cursor": Program("Cursor", _cursor_file, jsonc, lambda _, name: ("mcpServers", name), _split, _joined),
    "opencode": Program(
        "opencode",
        _opencode_file,
        jsonc,
        _opencode_place,
        lambda command: {"type": "local", "command": list(command), "enabled": True},
        lambda entry: entry["command"],
    ),
}
