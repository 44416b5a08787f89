"""The URL of a PostgreSQL store: what it may say, and what must not be in it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from memfs import OpenError
from memfs.opening import canonical_url, files_of, hurried
from memfs.stores.postgres.address import address_of


@pytest.mark.parametrize(
    ("url", "canonical"),
    [
        ("postgres://ada@db.example/notes", "postgresql://ada@db.example/notes"),
        ("postgresql:///?service=notes", "postgresql:///?service=notes"),
        ("postgresql://h/d?memfs_patience=3&sslmode=verify-full", "postgresql://h/d?sslmode=verify-full&memfs_patience=3"),
        ("postgresql://a,b:5433/d?target_session_attrs=any", "postgresql://a,b:5433/d?target_session_attrs=any"),
        ("postgresql://h/a%20b", "postgresql://h/a%20b"),
        ("postgresql://h/d?options=-c%20x=a+b", "postgresql://h/d?options=-c%20x%3Da%2Bb"),
        ("postgresql://%2Frun%2Fpg:5433/d", "postgresql://%2Frun%2Fpg:5433/d"),
        ("postgresql://ada@[::1]:5433/d", "postgresql://ada@[::1]:5433/d"),
    ],
)  # fmt: skip
def test_a_url_has_one_form(url: str, canonical: str) -> None:
    assert canonical_url(url) == canonical
    assert canonical_url(canonical) == canonical


@pytest.mark.parametrize(
    ("url", "patience"),
    [
        ("postgresql://h/d", 2),
        ("postgresql://h/d?memfs_patience=60&sslmode=require", 2),
        ("postgresql://h/d?memfs_patience=1&sslmode=require", 1),
    ],
)
def test_who_only_looks_waits_less(url: str, patience: float) -> None:
    there, looked_at = address_of(url), address_of(hurried(url, 2))
    assert looked_at.patience == patience
    assert looked_at.conninfo == there.conninfo


def test_what_is_ours_does_not_reach_libpq() -> None:
    address = address_of("postgresql://h/d?memfs_patience=2.5&sslmode=require&memfs_connections=9")
    assert address.conninfo == "postgresql://h/d?sslmode=require"
    assert (address.patience, address.connections) == (2.5, 9)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ada:sesame@h/d",
        "postgresql://ada:@h/d",
        "postgresql://ada%3Asesame@h/d?password=sesame",
        "postgresql://h/d?%70assword=sesame",
        "postgresql://h/d?PASSWORD=sesame",
        "postgresql://h/d?sslpassword=sesame",
    ],
)
def test_a_password_is_refused_with_where_it_belongs(url: str) -> None:
    with pytest.raises(OpenError) as refused:
        canonical_url(url)
    message = refused.value.error.message
    assert "sesame" not in message
    for place in (".pgpass", "service=", "PGPASSWORD", "PGPASSFILE"):
        assert place in message


@pytest.mark.parametrize(
    "url",
    [
        "postgresql:",
        "postgresql:/h/d",
        "postgresql://h/d?memfs_patience=0",
        "postgresql://h/d?memfs_patience=soon",
        "postgresql://h/d?memfs_other=1",
        "postgresql://h/d?sslmode",
        "postgresql://h/d#part",
        "postgresql://h/d?application_name=a\nb",
    ],
)
def test_what_is_no_url_is_refused(url: str) -> None:
    with pytest.raises(OpenError):
        canonical_url(url)


def test_it_has_no_files_on_this_machine() -> None:
    assert files_of("postgresql://h/d", "work") == []


def test_nobody_else_pays_for_psycopg() -> None:
    code = (
        "import sys, memfs, memfs.cli, memfs.opening;"
        "memfs.opening.canonical_url('postgresql://h/d'); memfs.open_memory('simple:').close();"
        "assert 'psycopg' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_psycopg_there_is_a_sentence() -> None:
    code = (
        "import sys; sys.modules['psycopg'] = None; import memfs\n"
        "try: memfs.open_memory('postgresql://h/d')\n"
        "except memfs.OpenError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert "pip install 'memfs-mount[postgres]'" in done.stdout
