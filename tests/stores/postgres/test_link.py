"""The ways to the server that tests use do what is said of them, seen with the server's own protocol."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from tests.mount.harness import eventually
from tests.stores.postgres.link import Link, Moment, link_to
from tests.stores.postgres.network import hosts
from tests.stores.postgres.server import ADMINISTRATOR, Server, running

pytestmark = pytest.mark.slow
ASK = "import sys, psycopg; print(psycopg.connect(sys.argv[1]).execute('SELECT 7').fetchone()[0])"


@pytest.fixture
def link(postgres: Server) -> Iterator[Link]:
    with link_to(postgres) as link:
        yield link


@pytest.fixture
def table(postgres: Server, empty_database: str) -> str:
    """The database in which there is a table ``said``."""
    postgres.execute("CREATE TABLE said (word text)", database=empty_database)
    return empty_database


@pytest.mark.parametrize(("moment", "done"), [(Moment.BEFORE, 0), (Moment.DURING, 1), (Moment.AFTER, 1)])
def test_a_connection_is_lost_at_the_moment_that_was_chosen(
    postgres: Server, table: str, link: Link, moment: Moment, done: int
) -> None:
    with psycopg.connect(link.url(table, ADMINISTRATOR), autocommit=True) as connection:
        connection.execute("INSERT INTO said VALUES (%s)", ["first"])
        link.set_trap("quicksilver", moment)
        with pytest.raises(psycopg.OperationalError):
            connection.execute("INSERT INTO said VALUES (%s)", ["quicksilver"])
    assert link.trapped.wait(20)
    count = "SELECT count(*) FROM said WHERE word = 'quicksilver'"
    eventually(lambda: postgres.execute(count, database=table), [(done,)])


def test_a_slow_link_costs_its_delay_both_ways(postgres: Server, empty_database: str) -> None:
    with (
        link_to(postgres, delay=0.05) as link,
        psycopg.connect(link.url(empty_database, ADMINISTRATOR), autocommit=True) as connection,
    ):
        begun = time.monotonic()
        connection.execute("SELECT 1")
        assert time.monotonic() - begun >= 0.1


def test_a_clogged_link_says_nothing_until_it_is_mended(table: str, link: Link) -> None:
    with psycopg.connect(link.url(table, ADMINISTRATOR), autocommit=True) as connection:
        link.clog()
        with ThreadPoolExecutor() as pool:
            answer = pool.submit(connection.execute, "SELECT 1")
            time.sleep(0.2)
            assert not answer.done()
            link.mend()
            assert answer.result(20).fetchone() == (1,)


def test_a_cut_link_takes_nobody_until_it_is_mended(table: str, link: Link) -> None:
    with psycopg.connect(link.url(table, ADMINISTRATOR)) as connection:
        link.cut()
        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT 1")
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(link.url(table, ADMINISTRATOR))
    link.mend()
    psycopg.connect(link.url(table, ADMINISTRATOR)).close()


def test_a_host_reaches_the_server_of_another_until_its_cable_is_pulled() -> None:
    with (
        hosts("server", "client") as (there, here),
        running(address=there.address, prefix=there.prefix) as server,
    ):
        url = server.url("postgres", connect_timeout="2")
        asking = [*here.prefix, sys.executable, "-c", ASK, url]

        def answer() -> str:
            return subprocess.run(asking, check=False, capture_output=True, text=True).stdout

        assert answer() == "7\n"
        here.cut()
        assert answer() == ""
        here.mend()
        eventually(answer, "7\n")
