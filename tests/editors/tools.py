"""The command-line tools that save files: one row each, a shell command and what it needs.

Every command runs in the directory of the memory. ``$N`` is the memory's name, ``$OUT`` a directory
outside the mount that holds what is to be saved in ``new.md``, and what was there before, or nothing,
in ``old.md``. A memory that exists is one line, so that line editors can replace it as a whole.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.editors import packages

PROGRAMS = Path(__file__).parent / "programs"
CALM_SECONDS = 60


class Tool(NamedTuple):
    """One way to save. ``creates`` is False where it only changes files that are there."""

    name: str
    command: str
    creates: bool = True
    needs: str = ""
    """The program, or ``node:PACKAGE`` or ``python:PACKAGE``; else the first word of the name."""

    @property
    def program(self) -> str:
        return self.needs or self.name.split()[0]


_PATCH = 'diff -a -u -N --label a/"$N" --label b/"$N" "$OUT/old.md" "$OUT/new.md" >"$OUT/p"; '
_NAMED = 'rm -rf "$OUT/d"; mkdir "$OUT/d"; cp "$OUT/new.md" "$OUT/d/$N"; '
_ZIPPED = _NAMED + 'rm -f "$OUT/t.zip"; (cd "$OUT/d"; zip -q "$OUT/t.zip" "$N"); '
_COMMITTED = (
    _NAMED + 'git -C "$OUT/d" init -q; git -C "$OUT/d" add -f "$N"; '
    'git -C "$OUT/d" -c user.name=a -c user.email=a@b commit -q -m a; '
)
_GAWK = "{while ((getline line < file) > 0) print line}"
_PERL = 'BEGIN {open F, "<", "$ENV{OUT}/new.md"; $/ = undef; $new = <F>} print $new'


def _python(way: str) -> str:
    return f'"$PYTHON" "$PROGRAMS/save.py" {way} "$N" <"$OUT/new.md"'


def _node(way: str) -> str:
    return f'node "$PROGRAMS/save.cjs" {way} "$N" "$OUT/new.md"'


IN_PLACE = (
    Tool("tee", 'tee "$N" <"$OUT/new.md" >/dev/null'),
    Tool("dd", 'dd if="$OUT/new.md" of="$N" status=none'),
    Tool("dd conv=fsync", 'dd if="$OUT/new.md" of="$N" bs=1000 conv=fsync status=none'),
    Tool("dd conv=notrunc", 'dd if="$OUT/new.md" of="$N" conv=notrunc status=none'),
    Tool("sort -o", 'LC_ALL=C sort -o "$N" "$OUT/new.md"'),
    Tool("redirection", 'cat "$OUT/new.md" >"$N"', needs="cat"),
    Tool("cp", 'cp "$OUT/new.md" "$N"'),
    Tool("cp -p", 'cp -p "$OUT/new.md" "$N"'),
    Tool("rsync --inplace", 'rsync -I --inplace "$OUT/new.md" "$N"'),
    Tool("node writeFile", _node("writeFile")),
    Tool("fs-extra outputFile", _node("outputFile"), needs="node:fs-extra"),
    Tool("VS Code", _python("vscode"), needs="python3"),
    Tool("IntelliJ", _python("intellij"), needs="python3"),
)
BY_REPLACEMENT = (
    Tool("sed -i", 'LC_ALL=C sed -i -e "r $OUT/new.md" -e d "$N"', creates=False),
    Tool("perl -i", f"perl -i -ne '{_PERL}' \"$N\"", creates=False),
    Tool("gawk -i inplace", f'gawk -b -i inplace -v file="$OUT/new.md" \'{_GAWK}\' "$N"', creates=False),
    Tool("patch", _PATCH + 'patch -s "$N" <"$OUT/p"'),
    Tool("rsync", 'rsync -I "$OUT/new.md" "$N"'),
    Tool("rsync -a", 'rsync -aI "$OUT/new.md" "$N"'),
    Tool("rsync --delay-updates", 'rsync -I --delay-updates "$OUT/new.md" "$N"'),
    Tool("os.replace", _python("replace"), needs="python3"),
    Tool("tempfile and os.replace", _python("tempfile"), needs="python3"),
    Tool("atomicwrites", _python("atomicwrites"), needs="python:atomicwrites"),
    Tool("write-file-atomic", _node("write-file-atomic"), needs="node:write-file-atomic"),
    Tool("steno", _node("steno"), needs="node:steno"),
    Tool("Sublime Text", _python("sublime"), needs="python3"),
    Tool("VS Code atomic", _python("vscode-atomic"), needs="python3"),
    Tool("GIO", _python("gio"), needs="python3"),
    Tool("an agent's edit tool", _python("agent"), needs="python3"),
    Tool("Anthropic's SDK", _python("sdk"), needs="python3"),
    Tool("filesystem MCP server", _python("mcp"), needs="python3"),
)
WITH_BACKUP = (
    Tool("sed -i.bak", 'LC_ALL=C sed -i.bak -e "r $OUT/new.md" -e d "$N"', creates=False),
    Tool("perl -i.bak", f"perl -i.bak -ne '{_PERL}' \"$N\"", creates=False),
    Tool("patch -b", _PATCH + 'patch -s -b "$N" <"$OUT/p"'),
    Tool("rsync -b", 'rsync -bI "$OUT/new.md" "$N"'),
    Tool("cp --backup", 'cp --backup "$OUT/new.md" "$N"'),
    Tool("mv --backup", _NAMED + 'mv --backup "$OUT/d/$N" .'),
    Tool("install --backup", 'install --backup "$OUT/new.md" "$N"'),
    Tool("Helix", _python("helix"), needs="python3"),
    Tool("old JetBrains", _python("jetbrains"), needs="python3"),
    Tool("vim's sequence", _python("vim"), needs="python3"),
)
BY_REMOVAL = (
    Tool("mv", _NAMED + 'mv "$OUT/d/$N" .'),
    Tool("cp --remove-destination", 'cp --remove-destination "$OUT/new.md" "$N"'),
    Tool("install", 'install "$OUT/new.md" "$N"'),
    Tool("tar", _NAMED + 'tar -C "$OUT/d" -cf "$OUT/t" "$N"; tar -xf "$OUT/t"'),
    Tool("tar --unlink-first", _NAMED + 'tar -C "$OUT/d" -cf "$OUT/t" "$N"; tar -U -xf "$OUT/t"'),
    Tool(
        "unzip",
        _NAMED + 'rm -f "$OUT/t.zip"; (cd "$OUT/d"; zip -q "$OUT/t.zip" "$N"); unzip -o -q "$OUT/t.zip"',
    ),
    Tool("git apply", _PATCH + 'git apply --unsafe-paths "$OUT/p"'),
    Tool("git checkout", _COMMITTED + 'git --git-dir="$OUT/d/.git" --work-tree=. checkout -q HEAD -- "$N"'),
    Tool("fs-extra move", _NAMED + 'node "$PROGRAMS/save.cjs" move "$N" "$OUT/d/$N"', needs="node:fs-extra"),
    Tool("Codex delete and add", _python("codex"), needs="python3"),
)
TOOLS = IN_PLACE + BY_REPLACEMENT + WITH_BACKUP + BY_REMOVAL


def prepare(outside: Path, old: bytes, new: bytes) -> Path:
    """The directory that tools take the content from."""
    (outside / "old.md").write_bytes(old)
    (outside / "new.md").write_bytes(new)
    return outside


def run(tool: Tool, directory: Path, name: str, outside: Path) -> subprocess.CompletedProcess[str]:
    """Save *outside*/new.md as *name* in *directory* with *tool*, however that ends."""
    require(tool)
    environment = dict(os.environ) | {
        "N": name,
        "OUT": str(outside),
        "PROGRAMS": str(PROGRAMS),
        "PYTHON": sys.executable,
        "NODE_PATH": str(packages.node() or ""),
        "PYTHONPATH": str(packages.python() or ""),
        "GIT_CEILING_DIRECTORIES": str(directory.parent),
        "LC_ALL": "C.UTF-8",
    }
    return subprocess.run(
        ["bash", "-c", tool.command],
        cwd=directory,
        env=environment,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=CALM_SECONDS,
        check=False,
    )


def require(tool: Tool) -> None:
    """Skip the test where *tool* is not to be had."""
    kind, _, package = tool.program.rpartition(":")
    if kind == "node" and packages.node() is None:
        pytest.skip(f"machine: npm cannot install {package}")
    elif kind == "python" and packages.python() is None:
        pytest.skip(f"machine: pip cannot install {package}")
    elif not kind and shutil.which(package) is None:
        pytest.skip(f"machine: there is no {package}")
