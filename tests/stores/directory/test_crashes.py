"""kill -9 at every step of a change: all of it has happened, or nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.stores.directory.dying import SCENARIOS


@pytest.mark.slow
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_crash_at_any_step_leaves_all_or_nothing(scenario: str, fast_path: Path) -> None:
    command = [sys.executable, "-m", "tests.stores.directory.dying", scenario, str(fast_path / "folder")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= 16  # each call is two steps: before it, and after
