"""hatchling as memfs's build backend (PEP 517), and a sentence where pip could not compile pyfuse3.

memfs needs pyfuse3, which comes as source only. pip asks this backend before it looks at what memfs needs,
so here is the moment to name the system packages that are missing, instead of a compiler's log. It is said
to pip alone: who only builds a wheel compiles nothing. A wheel that is there already is installed without
any of this.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hatchling import build as hatchling
from hatchling.build import *  # noqa: F403 - the hooks that a backend has

RUNS_UNDER_PIP = "PIP_BUILD_TRACKER"
"""A variable that pip sets for what it builds in order to install it."""


def get_requires_for_build_wheel(config_settings: dict[str, Any] | None = None) -> list[str]:
    """What the build needs: the first that pip asks for."""
    _tell_what_is_missing()
    return hatchling.get_requires_for_build_wheel(config_settings)


def get_requires_for_build_editable(config_settings: dict[str, Any] | None = None) -> list[str]:
    """The same for a source tree that is installed as it stands."""
    _tell_what_is_missing()
    return hatchling.get_requires_for_build_editable(config_settings)


def _tell_what_is_missing() -> None:
    """End the installation with a sentence where pyfuse3 is not there and could not be compiled."""
    if RUNS_UNDER_PIP not in os.environ or _runs("import pyfuse3"):
        return
    missing = dict(_missing())
    if missing:
        install = shlex.join(["sudo", "apt-get", "install", *missing.values()])
        sys.exit(
            f"memfs: to compile pyfuse3, this machine lacks {', '.join(missing)}. "
            f"Run `{install}` (Debian's and Ubuntu's names), then install memfs again."
        )


def _missing() -> Iterator[tuple[str, str]]:
    """What is missing, and the package that has it."""
    if not any(map(shutil.which, (os.environ.get("CC", "cc"), "gcc", "clang"))):
        yield "a C compiler", "gcc"
    if not Path(sysconfig.get_paths()["include"], "Python.h").exists():
        yield "Python.h", "python3-dev"
    if not shutil.which("pkg-config"):
        yield "pkg-config", "pkg-config"
        yield "libfuse3", "libfuse3-dev"  # which only pkg-config could tell to be there
    elif subprocess.run(["pkg-config", "--exists", "fuse3"], check=False).returncode != 0:
        yield "libfuse3", "libfuse3-dev"
    if not shutil.which("fusermount3"):
        yield "fusermount3", "fuse3"


def _runs(program: str) -> bool:
    """Whether the interpreter that memfs is installed for can run *program*."""
    done = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, check=False)
    return done.returncode == 0
