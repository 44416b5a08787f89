"""Which release this is."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed_version
from pathlib import Path


def version() -> str:
    """The version of the installed package; in a source tree that is not installed, the tree's."""
    try:
        return installed_version("memfs-mount")
    except PackageNotFoundError:
        import tomllib

        project = Path(__file__).parents[2] / "pyproject.toml"
        return (
            str(tomllib.loads(project.read_text())["project"]["version"]) if project.exists() else "unknown"
        )
