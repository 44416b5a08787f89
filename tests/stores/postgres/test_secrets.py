"""A password is in no process list, log, error or status; and a role gets at no scope but its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path

import psycopg
import pytest

from memfs import OpenError, open_memory
from memfs.stores.postgres.grants import grant, revoke
from tests.harness import must, texts
from tests.mount.harness import Mounted, content, write
from tests.stores.postgres.conftest import STORE
from tests.stores.postgres.link import link_to
from tests.stores.postgres.server import LOOPBACK, Server

pytestmark = pytest.mark.slow
SECRET = "quicksilver-19-trombone"
A = "/memories/a.md"
_numbers = count()


@pytest.fixture
def role(postgres: Server, postgres_url: str, scope: str) -> Iterator[str]:
    """A role that may use the test's scope, and has to give a password."""
    name = f"agent{next(_numbers)}"
    open_memory(postgres_url, scope=scope).close()
    postgres.execute(f"CREATE ROLE {name} LOGIN PASSWORD '{SECRET}'")
    with postgres.connect(STORE) as connection:
        grant(connection, name, [scope])
        yield name
        revoke(connection, name, None)
    postgres.execute(f"DROP ROLE {name}")


@pytest.fixture
def passfile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that libpq takes passwords from, with the right one."""
    path = tmp_path / "pgpass"
    path.write_text(f"*:*:*:*:{SECRET}\n")
    path.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(path))
    return path


def memfs(*arguments: str, ok: bool = True) -> str:
    """What the command prints, to either stream."""
    command = [sys.executable, "-m", "memfs", *arguments]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    assert (done.returncode == 0) is ok, done
    return done.stdout + done.stderr


def test_a_mount_with_a_password_shows_it_nowhere(
    postgres: Server, role: str, scope: str, passfile: Path, tmp_path: Path, watchdog: None
) -> None:
    with link_to(postgres) as link:
        mounted = Mounted(tmp_path / "m", url=link.url(STORE, role, memfs_patience="2"), scope=scope)
        try:
            mounted.start()
            write(mounted.path / "a.md", "x")
            shown = [Path(f"/proc/{mounted.pid}/cmdline").read_text(errors="replace")]
            shown += [(mounted.path / ".memfs" / "status").read_text()]
            link.cut()
            with pytest.raises(OSError, match="Input/output error"):
                write(mounted.path / "a.md", "y")
            assert content(mounted.path / "a.md") == "x"
            shown += [(mounted.path / ".memfs" / name).read_text() for name in ("status", "events")]
            link.mend()
            passfile.write_text("*:*:*:*:changed-meanwhile\n")
            link.cut()  # whoever comes again has the wrong one
            link.mend()
            with pytest.raises(OSError, match="Input/output error"):
                write(mounted.path / "a.md", "z")
            shown += [(mounted.path / ".memfs" / name).read_text() for name in ("status", "events")]
            state = [path for path in (tmp_path / "m" / "state").rglob("*") if path.is_file()]
            shown += [path.read_text(errors="replace") for path in state]
        finally:
            mounted.close()
        shown += [mounted.log()]
    assert any("password" in text for text in shown), "it is told what is wrong"
    for text in shown:
        assert SECRET not in text
        assert "changed-meanwhile" not in text


def test_no_command_tells_a_password_whatever_is_wrong(
    postgres: Server, role: str, scope: str, passfile: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = f"{LOOPBACK}:{postgres.port}/{STORE}"
    url = f"postgresql://{role}@{where}?memfs_patience=1"
    assert "a.md" in memfs("create", "a.md", "x", "--store", url, "--scope", scope)
    wrong = [
        f"postgresql://{role}@{where}?sslmode=require",
        f"postgresql://{role}@{LOOPBACK}:1/{STORE}?memfs_patience=1",
        f"postgresql://{role}@{LOOPBACK}:{postgres.port}/nothing?memfs_patience=1",
        f"postgresql://{role}:{SECRET}@{where}",
        f"postgresql://{role}@{where}?password={SECRET}",
        f"postgresql://{role}@{where}?host={LOOPBACK}&nonsense={SECRET}",
    ]
    said = [memfs("view", "/memories", "--store", each, "--scope", scope, ok=False) for each in wrong]
    passfile.write_text(f"*:*:*:*:{SECRET}-wrong\n")
    said.append(memfs("view", "/memories", "--store", url, "--scope", scope, ok=False))
    passfile.unlink()
    said.append(memfs("view", "/memories", "--store", url, "--scope", scope, ok=False))
    monkeypatch.setenv("PGPASSWORD", f"{SECRET}-wrong")
    said.append(memfs("view", "/memories", "--store", url, "--scope", scope, ok=False))
    for text in said:
        assert text.splitlines()[-1].startswith("memfs: ")
        assert "Traceback" not in text
        assert SECRET not in text
    assert all("password" in text for text in said[3:5] + said[6:])
    assert "TLS" in said[0]


def test_no_command_line_status_or_diagnosis_of_a_daemon_has_a_password(
    postgres: Server, role: str, scope: str, passfile: Path, tmp_path: Path, watchdog: None
) -> None:
    directory = tmp_path / "mnt"
    url = postgres.url(STORE, role)
    try:
        memfs("mount", str(directory), "--store", url, "--scope", scope)
        write(directory / "a.md", "x")
        everyone = subprocess.run(
            ["ps", "-eww", "-o", "args"], check=True, capture_output=True, text=True
        ).stdout
        assert str(directory) in everyone
        assert SECRET not in everyone
        assert SECRET not in memfs("status") + memfs("status", "--json") + memfs(
            "doctor", str(directory), ok=True
        )
    finally:
        memfs("unmount", str(directory))


def test_a_role_gets_at_no_scope_but_its_own_by_any_statement(
    postgres: Server, postgres_url: str, role: str, scope: str, passfile: Path
) -> None:
    with open_memory(postgres_url, scope=f"{scope}-theirs") as theirs, ExitStack() as stack:
        must(theirs, "create", path=A, text="private words")
        ((other,),) = postgres.execute(
            "SELECT scope FROM memfs.directory WHERE name = %s", f"{scope}-theirs", database=STORE
        )
        connection = stack.enter_context(psycopg.connect(postgres.url(STORE, role), autocommit=True))
        tables = ["directory", "scope", "history", "file", "gone", "pruned_change"]
        parts = [
            name
            for (name,) in connection.execute(
                "SELECT relname FROM pg_class JOIN pg_namespace AS n ON n.oid = relnamespace "
                "WHERE nspname = 'memfs' AND relkind IN ('r', 'p')"
            )
        ]
        for table in {*tables, *parts} - {"format", "access"}:
            for statement in (
                "SELECT * FROM memfs.{} WHERE scope = {}",
                "UPDATE memfs.{0} SET scope = scope WHERE scope = {1} RETURNING scope",
                "DELETE FROM memfs.{} WHERE scope = {} RETURNING scope",
            ):
                assert refused_or_nothing(connection, statement.format(table, other)), (statement, table)
            assert refused(connection, f"TRUNCATE memfs.{table}"), table
        functions = [
            name
            for (name,) in connection.execute(
                "SELECT proname || '(' || pg_get_function_arguments(oid) || ')' FROM pg_proc "
                "WHERE pronamespace = 'memfs'::regnamespace AND prosecdef"
            )
        ]
        assert len(functions) < 10, f"few functions run with their owner's rights: {functions}"
        assert refused(connection, "SET ROLE postgres")
        assert refused(connection, "ALTER TABLE memfs.file DISABLE ROW LEVEL SECURITY")
        assert refused(connection, "CREATE FUNCTION memfs.mine() RETURNS int LANGUAGE sql AS 'SELECT 1'")
        assert refused(connection, f"COPY memfs.history TO '{os.devnull}'")
        assert texts(theirs) == {A: "private words"}
        with pytest.raises(OpenError):
            open_memory(postgres.url(STORE, role), scope=f"{scope}-theirs")


def refused(connection: psycopg.Connection[tuple[object, ...]], statement: str) -> bool:
    try:
        connection.execute(statement.encode())
    except psycopg.errors.InsufficientPrivilege:
        return True
    return False


def refused_or_nothing(connection: psycopg.Connection[tuple[object, ...]], statement: str) -> bool:
    try:
        return connection.execute(statement.encode()).fetchall() == []
    except psycopg.errors.InsufficientPrivilege:
        return True
