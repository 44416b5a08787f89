"""A PostgreSQL for one run, on the disk, with its own fsync and synchronous_commit, and a store on it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks.processes import NotStartedError
from benchmarks.workdir import IN_MEMORY, filesystem_of
from memfs.stores.postgres import schema
from tests.stores.postgres.server import Server, programs, running


@contextmanager
def server_on_disk() -> Iterator[Server]:
    """The server, started; it ends with the run. Raises :class:`NotStartedError`."""
    if programs() is None:
        raise NotStartedError("PostgreSQL is not installed; it is the Debian package postgresql")
    with running() as server:
        kind = filesystem_of(server.directory)
        if kind in IN_MEMORY:
            raise NotStartedError(
                f"{server.directory} is on {kind}, in memory: name a folder on a disk with TMPDIR"
            )
        yield server


def make_store(server: Server, database: str) -> str:
    """A new database that is a store without scopes; its URL."""
    server.execute(f"CREATE DATABASE {database}")
    with server.connect(database) as connection:
        schema.initialise(connection)
    return server.url(database)


def settings_of(server: Server) -> str:
    """What a reader has to know of the server."""
    ((version, fsync, commit),) = server.execute(
        "SELECT current_setting('server_version'), current_setting('fsync'), "
        "current_setting('synchronous_commit')"
    )
    return (
        f"PostgreSQL {version} on this machine's {filesystem_of(server.directory)}, "
        f"fsync {fsync}, synchronous_commit {commit}"
    )
