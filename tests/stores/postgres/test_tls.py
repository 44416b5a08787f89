"""A server with a certificate: who insists on it gets to that server and no other, and is told why not."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from memfs import OpenError, open_memory
from memfs.stores.postgres import schema
from tests.harness import must, texts
from tests.stores.postgres.server import Server, running

pytestmark = pytest.mark.slow
A = "/memories/a.md"


def openssl(*arguments: str, at: Path) -> None:
    subprocess.run(["openssl", *arguments], cwd=at, check=True, capture_output=True)


def authority(at: Path, name: str) -> Path:
    """A certificate that others are signed with, beside its key."""
    subject = ("-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.crt")
    openssl("req", "-new", "-x509", "-nodes", "-days", "2", *subject, at=at)
    return at / f"{name}.crt"


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``ours.crt``, ``theirs.crt``, and ``server.crt`` for the name localhost, signed by ours."""
    if shutil.which("openssl") is None:
        pytest.skip("machine: there is no openssl to make certificates with")
    at = tmp_path_factory.mktemp("certificates")
    authority(at, "ours")
    authority(at, "theirs")
    subject = ("-subj", "/CN=localhost", "-keyout", "server.key", "-out", "server.csr")
    openssl("req", "-new", "-nodes", *subject, at=at)
    (at / "names").write_text("subjectAltName=DNS:localhost")
    signed_by = ("-CA", "ours.crt", "-CAkey", "ours.key", "-CAcreateserial", "-days", "2")
    openssl("x509", "-req", "-in", "server.csr", *signed_by, "-extfile", "names", "-out", "server.crt", at=at)
    return at


@pytest.fixture(scope="module")
def server(postgres: Server, certificates: Path) -> Iterator[Server]:
    """A server that speaks TLS."""
    with running() as server:
        for name in ("server.crt", "server.key"):
            copied = Path(shutil.copy(certificates / name, server.directory))
            owner = server.directory.stat()
            shutil.chown(copied, owner.st_uid, owner.st_gid)
            copied.chmod(0o600)
        with server.connect() as connection:
            schema.initialise(connection)
            for setting, value in (("cert_file", "server.crt"), ("key_file", "server.key")):
                path = server.directory / value
                connection.execute(f"ALTER SYSTEM SET ssl_{setting} = '{path}'".encode())
            connection.execute("ALTER SYSTEM SET ssl = on")
        server.restart()
        yield server


def url_of(server: Server, host: str, root: Path) -> str:
    url = f"postgresql://postgres@{host}:{server.port}/postgres"
    return f"{url}?sslmode=verify-full&sslrootcert={root}&memfs_patience=5"


def test_a_server_that_proves_who_it_is_is_used(server: Server, certificates: Path) -> None:
    with open_memory(url_of(server, "localhost", certificates / "ours.crt")) as memory:
        watch = memory.watch(lambda: None)
        must(memory, "create", path=A, text="x")
        encrypted = server.execute(
            "SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) "
            "WHERE application_name LIKE 'memfs%'"
        )
        assert encrypted == [(True,)]
        assert texts(memory) == {A: "x"}
        watch.close()


@pytest.mark.parametrize(
    ("host", "root"),
    [("localhost", "theirs.crt"), ("127.0.0.1", "ours.crt"), ("localhost", "nothing.crt")],
    ids=["signed by another", "of another name", "no authority"],
)
def test_any_other_is_refused_with_what_to_look_at(
    server: Server, certificates: Path, host: str, root: str
) -> None:
    with pytest.raises(OpenError, match="sslmode and sslrootcert"):
        open_memory(url_of(server, host, certificates / root))


def test_one_without_tls_is_refused_to_who_insists_on_it(postgres: Server, certificates: Path) -> None:
    with pytest.raises(OpenError, match="sslmode and sslrootcert"):
        open_memory(url_of(postgres, "localhost", certificates / "ours.crt"))
