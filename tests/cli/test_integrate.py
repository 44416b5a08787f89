"""``memfs integrate``: exactly its own entry, in and out, or a sentence that says what to do by hand."""

from __future__ import annotations

import json
import os
import stat
import tomllib
from pathlib import Path
from typing import Any

import pytest

from memfs.agents.integrate.files import MOST_BYTES
from tests.cli.conftest import Shell

FILES = {
    "claude-code": ".claude.json",
    "codex": ".codex/config.toml",
    "cursor": ".cursor/mcp.json",
    "opencode": ".config/opencode/opencode.json",
}


def command_in(program: str, file: Path) -> list[str]:
    contents: Any = tomllib.loads(file.read_text()) if program == "codex" else json.loads(file.read_text())
    entry = contents[{"codex": "mcp_servers", "opencode": "mcp"}.get(program, "mcpServers")]["memfs"]
    return entry["command"] if program == "opencode" else [entry["command"], *entry["args"]]


@pytest.mark.parametrize(
    "program",
    # One of them every day: what differs is only where, and in which notation, they have the same command.
    [pytest.param(program, marks=[] if program == "cursor" else pytest.mark.slow) for program in FILES],
)
def test_the_entry_starts_a_server_of_the_memory(shell: Shell, program: str) -> None:
    file = shell.home / FILES[program]
    told = shell("integrate", program, "--scope", "work").done()
    assert str(file) in told
    command = command_in(program, file)
    assert command[-5:] == [
        "mcp",
        "--store",
        f"sqlite:{shell.home}/.local/share/memfs/store",
        "--scope",
        "work",
    ]
    assert Path(command[0]).is_absolute()
    assert os.access(command[0], os.X_OK)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "nothing to do" in shell("integrate", program, "--scope", "work").done()
    shell("integrate", program, "--scope", "other").done()
    assert command_in(program, file)[-1] == "other"
    assert "taken out" in shell("integrate", program, "--remove").done()
    assert "memfs" not in file.read_text()
    assert "nothing to do" in shell("integrate", program, "--remove").done()


def test_the_rest_of_a_file_stays_byte_for_byte(shell: Shell) -> None:
    file = shell.home / ".claude.json"
    text = '{ "numStartups": 3,\n   "mcpServers" : { "x":{"command":"y"} },\n\n "oauth": "secret" }'
    file.write_text(text)
    file.chmod(0o640)
    assert "secret" not in shell("integrate", "claude-code", "--dry-run").done()
    assert file.read_text() == text
    shell("integrate", "claude-code").done()
    assert json.loads(file.read_text())["oauth"] == "secret"
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    shell("integrate", "claude-code", "--remove").done()
    assert file.read_text() == text
    assert [path.name for path in shell.home.iterdir() if "memfs" in path.name] == []


def test_a_link_stays_a_link(shell: Shell) -> None:
    file, real = shell.home / ".cursor" / "mcp.json", shell.home / "dotfiles" / "cursor.json"
    file.parent.mkdir()
    real.parent.mkdir()
    file.symlink_to(real)
    assert "link" in refused(shell, "cursor")
    real.write_text("{}")
    shell("integrate", "cursor").done()
    assert file.is_symlink()
    assert "memfs" in real.read_text()


def refused(shell: Shell, program: str, *arguments: str) -> str:
    done = shell("integrate", program, *arguments)
    assert done.status == 78, done
    return done.err


@pytest.mark.parametrize("content", [b"{ not json", b"\xff"])
def test_what_cannot_be_read_is_left_and_what_to_add_is_shown(shell: Shell, content: bytes) -> None:
    file = shell.home / ".claude.json"
    file.write_bytes(content)
    sentence = refused(shell, "claude-code")
    assert "by hand" in sentence
    assert '"mcpServers": {' in sentence
    assert '"--store"' in sentence
    assert file.read_bytes() == content


def test_what_is_no_file_to_write_is_left_and_said(shell: Shell) -> None:
    file = shell.home / ".codex" / "config.toml"
    file.mkdir(parents=True)
    assert "no regular file" in refused(shell, "codex")
    file.rmdir()
    file.write_text("a = 1\n")
    file.chmod(0o444)
    assert "read-only" in refused(shell, "codex", "--dry-run")
    assert "read-only" in refused(shell, "codex")
    assert file.read_text() == "a = 1\n"
    file.chmod(0o600)
    with file.open("wb") as stream:
        stream.write(b"a = 1\n" + b"#" * MOST_BYTES)
    assert "larger" in refused(shell, "codex")
    assert file.stat().st_size == MOST_BYTES + 6


def test_an_entry_of_somebody_else_is_not_touched(shell: Shell) -> None:
    file = shell.home / ".cursor" / "mcp.json"
    file.parent.mkdir()
    file.write_text('{"mcpServers": {"memfs": {"command": "npx", "args": ["memfs", "mcp"]}}}')
    before = file.read_bytes()
    assert "another program" in shell("integrate", "cursor").refusal()
    assert "another program" in shell("integrate", "cursor", "--remove").refusal()
    assert file.read_bytes() == before


def test_opencode_is_written_where_it_has_its_servers(shell: Shell) -> None:
    directory = shell.home / ".config" / "opencode"
    directory.mkdir(parents=True)
    file = directory / "opencode.jsonc"
    servers = '    "servers": {\n      "x": {"type": "local", "command": ["y"],},\n    },\n'
    text = f'{{\n  // servers\n  "mcp": {{\n{servers}  }},\n}}\n'
    file.write_text(text)
    shell("integrate", "opencode").done()
    lines = file.read_text().splitlines()
    assert lines[5].startswith('      "memfs": {')
    assert sorted(path.name for path in directory.iterdir()) == ["opencode.jsonc"]
    shell("integrate", "opencode", "--remove").done()
    assert file.read_text() == text


def test_a_memory_that_ends_with_its_process_is_refused(shell: Shell) -> None:
    assert "simple:" in shell("integrate", "codex", "--store", "simple:").refusal(2)
    assert not (shell.home / ".codex").exists()
