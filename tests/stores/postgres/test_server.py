"""The server of the tests is a real one that can be hurt, and comes back."""

from __future__ import annotations

import os
from pathlib import Path

import psycopg
import pytest

from tests.stores.postgres.server import Server, running

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("mode", ["fast", "immediate", "kill"])
def test_what_was_committed_is_there_after_every_end(
    postgres: Server, empty_database: str, mode: str
) -> None:
    postgres.execute("CREATE TABLE kept AS SELECT 7 AS number", database=empty_database)
    if mode == "kill":
        postgres.kill()
        postgres.start()
    else:
        postgres.restart(mode)
    assert postgres.execute("SELECT number FROM kept", database=empty_database) == [(7,)]


def test_a_frozen_server_answers_nobody_until_it_is_thawed(postgres: Server) -> None:
    postgres.freeze()
    try:
        with pytest.raises(psycopg.OperationalError):
            postgres.connect(connect_timeout=2)
    finally:
        postgres.thaw()
    assert postgres.execute("SELECT 1") == [(1,)]


def test_it_syncs_as_a_server_does_by_default_and_is_no_child_of_root(postgres: Server) -> None:
    asked = "SELECT current_setting('fsync'), current_setting('synchronous_commit')"
    assert postgres.execute(asked) == [("on", "on")]
    assert Path(f"/proc/{postgres.pid}").stat().st_uid != 0


def test_nothing_of_it_is_left() -> None:
    with running() as server:
        pid, directory = server.pid, server.directory
    assert not directory.exists()
    assert not os.path.exists(f"/proc/{pid}")


def test_a_standby_has_what_its_primary_has_acknowledged_and_takes_over(postgres: Server) -> None:
    standby = Server()
    try:
        standby.copy(postgres, "standby")
        standby.start()
        postgres.execute("ALTER SYSTEM SET synchronous_standby_names = 'standby'")
        postgres.execute("SELECT pg_reload_conf()")
        postgres.execute("CREATE TABLE here AS SELECT 3 AS number")
        standby.promote()
        assert standby.execute("SELECT number FROM here") == [(3,)]
        standby.execute("INSERT INTO here VALUES (4)")
    finally:
        postgres.execute("ALTER SYSTEM RESET ALL")
        postgres.execute("SELECT pg_reload_conf()")
        standby.remove()
