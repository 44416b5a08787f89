"""Where things are kept when the environment says nothing about it, or nothing that makes sense."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest

from memfs import OpenError, open_memory, places
from memfs.opening import canonical_url
from tests.cli.conftest import Shell

VARIABLES = ("XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME")
DIRECTORIES = (
    places.data_directory, places.state_directory, places.config_directory, places.cache_directory,
)  # fmt: skip
LISTED = pwd.getpwuid(os.getuid()).pw_dir


@pytest.mark.parametrize("value", ["", "relative/path", None])
def test_a_home_that_is_none_is_that_of_the_list_of_users(
    value: str | None, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if value is None:
        monkeypatch.delenv("HOME")
    else:
        monkeypatch.setenv("HOME", value)
    for directory in DIRECTORIES:
        assert str(directory()).startswith(f"{LISTED}/."), directory
    assert places.expanded("~") == LISTED
    assert places.expanded("~/memories") == f"{LISTED}/memories"
    assert canonical_url("sqlite:~/agent") == f"sqlite:{places.resolve(LISTED)}/agent"


@pytest.mark.parametrize("value", ["", "relative/path", "~/data"])
def test_a_directory_of_ones_own_that_is_not_absolute_is_ignored(
    value: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = [directory() for directory in DIRECTORIES]
    for variable in VARIABLES:
        monkeypatch.setenv(variable, value)
    assert [directory() for directory in DIRECTORIES] == expected
    assert all(directory.is_relative_to(home) for directory in expected)


def test_where_no_home_is_known_a_sentence_says_so(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "")
    monkeypatch.setattr(os, "getuid", lambda: 4_000_000)
    with pytest.raises(OpenError, match="no home directory is known for this user; set HOME"):
        open_memory()
    with pytest.raises(OpenError, match="set HOME"):
        canonical_url("git:~/memory")
    monkeypatch.setenv("XDG_DATA_HOME", str(home / "data"))
    open_memory().close()
    assert (home / "data/memfs/store").is_dir(), "it needs no home"


def test_a_command_started_with_an_empty_home_means_the_users_own(shell: Shell) -> None:
    shell.environment["HOME"] = ""
    shown = shell("config", "show", "--json").json
    assert shown["file"].startswith(f"{LISTED}/.config/")
    assert shown["settings"]["store"]["value"].startswith(f"sqlite:{places.resolve(LISTED)}/.local/")
