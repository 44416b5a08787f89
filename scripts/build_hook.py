"""Puts the manual pages and the shells' completions into a wheel, where an installation's ``share`` is.

They are made by the package itself, from the texts of ``--help``: a source tree holds no copy of them.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

COMPLETIONS = {
    "bash": "share/bash-completion/completions/memfs",
    "zsh": "share/zsh/site-functions/_memfs",
    "fish": "share/fish/vendor_completions.d/memfs.fish",
}


class Shared(BuildHookInterface[Any]):
    """hatchling's hook: what is to be in the wheel beside the package."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Make the files, and name them to the build."""
        sys.path.insert(0, self.root)
        try:
            from memfs.cli.completion import script
            from memfs.cli.man import pages
        finally:
            sys.path.remove(self.root)
        self._made = tempfile.TemporaryDirectory(prefix="memfs-build-")
        files = {f"share/man/man1/{name}": page for name, page in pages()}
        files |= {path: script(shell) for shell, path in COMPLETIONS.items()}
        for path, text in files.items():
            file = Path(self._made.name, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
            build_data["shared_data"][str(file)] = path

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """The wheel has them."""
        self._made.cleanup()
