"""The token of the HTTP server: made once, and its user's alone."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from memfs.agents.mcp.token import token_from


def test_a_token_is_made_where_there_is_none_and_stays(tmp_path: Path) -> None:
    file = tmp_path / "token"
    token = token_from(file)
    assert len(token) > 40
    assert token_from(file) == token
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert token_from(tmp_path / "another") != token
    assert sorted(tmp_path.iterdir()) == [tmp_path / "another", file]


def make_short(file: Path) -> None:
    file.write_text("short")


def make_binary(file: Path) -> None:
    file.write_bytes(b"\xff" * 40)


def make_lines(file: Path) -> None:
    file.write_text("one line, and\nanother line")


def make_fifo(file: Path) -> None:
    os.mkfifo(file)


def make_directory(file: Path) -> None:
    file.mkdir()


def make_link(file: Path) -> None:
    file.symlink_to(file.with_name("elsewhere"))


@pytest.mark.parametrize(
    "make",
    [make_short, make_binary, make_lines, make_fifo, make_directory, make_link],
    ids=lambda make: make.__name__,
)
def test_what_is_no_token_of_its_user_is_refused_and_left_as_it_is(
    tmp_path: Path, make: Callable[[Path], None]
) -> None:
    file = tmp_path / "token"
    make(file)
    if not file.is_symlink():
        file.chmod(0o600)
    before = os.lstat(file)
    with pytest.raises((ValueError, OSError)):
        token_from(file)
    after = os.lstat(file)
    assert (after.st_ino, after.st_size, after.st_mode) == (before.st_ino, before.st_size, before.st_mode)
    assert list(tmp_path.iterdir()) == [file]
