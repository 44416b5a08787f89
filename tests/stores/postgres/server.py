"""A real PostgreSQL for a test: started by itself, as an ordinary user, and nothing left behind.

Its data lie on disk with the server's own fsync and synchronous_commit. The roles of the tests give a
password over TCP; the administrator needs none, and nobody does on the socket, which only root and the
server's user can reach.
"""

from __future__ import annotations

import os
import pwd
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg

ADMINISTRATOR = "postgres"
LOOPBACK = "127.0.0.1"
START_SECONDS = 60.0
PORTS = range(15_000, 32_000)
"""Below those that the system gives to clients: one that calls a stopped server could be given its port."""
RULES = f"""\
local all all trust
local replication all trust
host all {ADMINISTRATOR} all trust
host replication {ADMINISTRATOR} all trust
host all all all scram-sha-256
"""


def programs() -> Path | None:
    """Where the programs of the newest PostgreSQL are, which Debian keeps out of PATH; None for nowhere."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    if found:
        return found[-1].parent
    on_path = shutil.which("initdb")
    return Path(on_path).resolve().parent if on_path else None


class Server:
    """One server; its process is a child of the test's, and ends with the thread that started it."""

    def __init__(
        self,
        address: str = LOOPBACK,
        settings: Mapping[str, object] | None = None,
        prefix: Sequence[str] = (),
    ) -> None:
        """Nothing runs yet.

        Args:
            address: Where it listens over TCP.
            settings: What differs from the server's defaults.
            prefix: The command that runs it, as ``ip netns exec NAME``.
        """
        found = programs()
        if found is None:
            raise FileNotFoundError("this machine has no PostgreSQL: ./scripts/test installs it")
        self._programs = found
        self.directory = Path(tempfile.mkdtemp(prefix="memfs-postgres-"))
        self._data = self.directory / "data"
        self._log = self.directory / "log"
        self._settings = dict(settings or {})
        self._prefix = tuple(prefix)
        self._names = count()
        self._process: subprocess.Popen[bytes] | None = None
        self.address = address
        self.port = 0
        self._user = pwd.getpwuid(os.geteuid())
        if self._user.pw_uid == 0:
            self._user = _ordinary_user()
            os.chown(self.directory, self._user.pw_uid, self._user.pw_gid)

    # Coming and going

    def create(self) -> None:
        """Make an empty cluster."""
        options = [
            "--no-sync",
            "--auth=trust",
            "--encoding=UTF8",
            "--locale=C",
            f"--username={ADMINISTRATOR}",
        ]
        self._run("initdb", "-D", str(self._data), *options)
        self._write_rules()

    def copy(self, primary: Server, name: str) -> None:
        """Become a standby of *primary*, which knows it as *name*."""
        conninfo = (
            f"host={primary.directory} port={primary.port} user={ADMINISTRATOR} application_name={name}"
        )
        options = ["--checkpoint=fast", "--wal-method=stream", "--write-recovery-conf", "--no-sync"]
        self._run("pg_basebackup", "-D", str(self._data), "-d", conninfo, *options)

    def start(self, wait: bool = True) -> None:
        """Start, on the same port as before, and wait until it takes connections."""
        assert self._process is None, "started already"
        chosen = self.port != 0
        for _ in range(5):
            if not chosen:
                self.port = _free_port(self.address)
            self._launch()
            if not wait or self._came_up():
                return
            self._process = None
            if chosen or "Address already in use" not in self.log():
                break
        raise AssertionError(f"the server did not start:\n{self.log()}")

    def stop(self, mode: str = "fast") -> None:
        """Stop as ``pg_ctl stop --mode`` does: ``smart``, ``fast`` or ``immediate``."""
        how = {"smart": signal.SIGTERM, "fast": signal.SIGINT, "immediate": signal.SIGQUIT}[mode]
        children = self.children()
        os.kill(self.pid, how)
        self._wait_for_end(children)

    def restart(self, mode: str = "fast") -> None:
        """Stop and start."""
        self.stop(mode)
        self.start()

    def kill(self) -> None:
        """End every process of the server at once; what the system has in its cache survives."""
        self.freeze()  # or it would start others while its children are being killed
        children = self.children()
        for pid in (self.pid, *children):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._wait_for_end(children)

    def freeze(self) -> None:
        """Stop every process where it is: connections stay and nothing answers."""
        os.kill(self.pid, signal.SIGSTOP)
        for pid in self.children():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)

    def thaw(self) -> None:
        """Let what was frozen go on."""
        for pid in (*self.children(), self.pid):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    def promote(self) -> None:
        """Make a standby the primary, and wait until it takes changes."""
        with self.connect() as connection:
            connection.execute("SELECT pg_promote()")

    def remove(self) -> None:
        """End the server, if it runs, and remove all of it."""
        if self._process is not None:
            self.thaw()
            self.stop("immediate")
        elif (self._data / "postmaster.pid").exists():  # killed: its segment of shared memory would stay
            segment = (self._data / "postmaster.pid").read_text().splitlines()[6].split()[-1]
            subprocess.run(["ipcrm", "-m", segment], check=False, capture_output=True)
        shutil.rmtree(self.directory)

    # What it is

    @property
    def pid(self) -> int:
        """Of the postmaster."""
        assert self._process is not None, "not started"
        return self._process.pid

    def children(self) -> list[int]:
        """The processes of the server beside the postmaster, those of connections among them."""
        try:
            return [
                int(pid) for pid in Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
            ]
        except (FileNotFoundError, ProcessLookupError):
            return []

    def backends(self) -> list[int]:
        """The processes that serve other connections than the one that asks."""
        with self.connect() as connection:
            asked = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> %s"
            return [pid for (pid,) in connection.execute(asked, [connection.info.backend_pid])]

    def log(self) -> str:
        """The end of what the server has logged."""
        return self._log.read_text(errors="replace")[-8000:] if self._log.exists() else ""

    # Databases

    def connect(self, database: str = "postgres", **parameters: Any) -> psycopg.Connection[tuple[Any, ...]]:
        """A connection of the administrator by the socket, each statement a transaction."""
        wanted: dict[str, Any] = {
            "host": str(self.directory),
            "port": self.port,
            "user": ADMINISTRATOR,
            "dbname": database,
        }
        return psycopg.connect(autocommit=True, **(wanted | parameters))

    def execute(self, statement: str, *values: object, database: str = "postgres") -> list[tuple[Any, ...]]:
        """Carry out a statement as the administrator; its rows, if it has any."""
        with self.connect(database) as connection:
            cursor = connection.execute(statement, values or None)
            return cursor.fetchall() if cursor.description is not None else []

    def create_database(self) -> str:
        """A new and empty database; its name."""
        name = f"t{next(self._names)}"
        self.execute(f"CREATE DATABASE {name}")
        return name

    def drop_database(self, name: str) -> None:
        """Remove a database, whoever is connected to it."""
        self.execute(f"DROP DATABASE {name} WITH (FORCE)")

    def url(self, database: str, role: str = ADMINISTRATOR, **parameters: str) -> str:
        """Where a client finds a database over TCP; *parameters* are libpq's."""
        query = "&".join(f"{name}={quote(value, safe='')}" for name, value in parameters.items())
        return f"postgresql://{role}@{self.address}:{self.port}/{database}" + (f"?{query}" if query else "")

    # The processes

    def _launch(self) -> None:
        settings: dict[str, object] = {
            "listen_addresses": self.address,
            "port": self.port,
            "unix_socket_directories": self.directory,
            "recovery_init_sync_method": "syncfs",  # after a crash: one call, not one a file
            **self._settings,
        }
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        server = [str(self._programs / "postgres"), "-D", str(self._data), *options]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [*self._prefix, *self._as_user("--pdeathsig", "QUIT"), *server],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.directory,
            )

    def _came_up(self) -> bool:
        assert self._process is not None
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end:
            if self._process.poll() is not None:
                return False
            with suppress(psycopg.OperationalError), self.connect(connect_timeout=5):
                return True
            time.sleep(0.02)
        self.kill()
        return False

    def _wait_for_end(self, children: Sequence[int]) -> None:
        process, self._process = self._process, None
        assert process is not None
        process.wait(START_SECONDS)
        end = time.monotonic() + START_SECONDS
        while any(map(_runs, children)):  # they hold its shared memory
            assert time.monotonic() < end, "processes of the server have outlived it"
            time.sleep(0.01)

    def _run(self, program: str, *arguments: str) -> None:
        command = [*self._as_user(), str(self._programs / program), *arguments]
        done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=self.directory)
        assert done.returncode == 0, f"{program} ended with {done.returncode}: {done.stdout}{done.stderr}"

    def _as_user(self, *options: str) -> list[str]:
        identity: list[str] = []
        if os.geteuid() == 0:  # whom PostgreSQL refuses to run as
            ids = [f"--reuid={self._user.pw_uid}", f"--regid={self._user.pw_gid}"]
            identity = [*ids, "--clear-groups"]
        return ["setpriv", *identity, *options, "--"] if identity or options else []

    def _write_rules(self) -> None:
        (self._data / "pg_hba.conf").write_text(RULES)


@contextmanager
def running(**options: Any) -> Iterator[Server]:
    """A server of its own, started; the options are :class:`Server`'s."""
    server = Server(**options)
    try:
        server.create()
        server.start()
        yield server
    finally:
        server.remove()


def _runs(pid: int) -> bool:
    """Whether a process is there and has not ended; one that has may wait long for an init to see it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def _ordinary_user() -> pwd.struct_passwd:
    """PostgreSQL's own user where there is one, else nobody."""
    try:
        return pwd.getpwnam("postgres")
    except KeyError:
        return pwd.getpwnam("nobody")


def _free_port(address: str) -> int:
    """A port that nobody listens on."""
    for port in random.sample(PORTS, 50):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((address if address == LOOPBACK else "", port))
            except OSError:
                continue
            return port
    raise AssertionError("no port is free")
