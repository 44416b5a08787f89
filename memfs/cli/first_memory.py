"""What somebody finds who mounts a memory for the first time."""

from __future__ import annotations

import os
import shlex
import shutil
import sys

from memfs.port.commands import Create, View
from memfs.port.memory import Memory
from memfs.port.names import ROOT
from memfs.port.receipts import DirectoryView

_NAME = "README.md"
_TEXT = """\
# This directory is a memory

What you write here, an agent remembers; what an agent remembers, you read here.

- Files are text in UTF-8: .md .txt .json .py .yaml .yml. Directories are yours to make.
- Use what you like: cat, grep, vim, VS Code, git diff. A save is one change of the memory.
- An agent works on the same files through the memory port (`memfs port`), under the same rules.
- When the memory is full, the file that was written longest ago leaves. `df` shows what is free,
  `memfs policy show` the limits.

Delete this file when you have read it.
"""


def write_first_memory(memory: Memory) -> None:
    """Put a page to read into *memory*, if it is empty."""
    root = memory.execute(View(ROOT)).value
    if isinstance(root, DirectoryView) and not root.entries:
        # Refused where the scope takes no .md or only smaller files; then it stays empty.
        memory.execute(Create(f"{ROOT}/{_NAME}", _TEXT))


def print_first_steps(mountpoint: str) -> None:
    """Three commands to try; the mount must be one that answers."""
    readable = os.path.exists(os.path.join(mountpoint, _NAME))
    look = ["cat", os.path.join(mountpoint, _NAME)] if readable else ["ls", "-l", mountpoint]
    notes = os.path.join(mountpoint, "notes.md")
    print(
        "Three commands to try:\n"
        f"  {shlex.join(look)}\n"
        f"  echo 'Prefers short answers.' >> {shlex.quote(notes)}\n"
        f"  {shlex.join([*_our_command(), 'view', notes])}"
    )


def _our_command() -> list[str]:
    """How memfs was called, in words that work from any directory."""
    if shutil.which("memfs"):
        return ["memfs"]
    called = os.path.abspath(sys.argv[0])
    return [called] if os.path.basename(called) == "memfs" else [sys.executable, "-m", "memfs"]
