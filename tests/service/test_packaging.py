"""What is installed from a wheel and from an sdist: a command that works, with its unit; and its end."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.cli.conftest import ROOT
from tests.service.manager import PLACE, USER, new_home, running_manager

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
SECONDS = 600
"""For pip, which may have to compile pyfuse3."""


COMPLETIONS = {
    "bash": "bash-completion/completions/memfs",
    "zsh": "zsh/site-functions/_memfs",
    "fish": "fish/vendor_completions.d/memfs.fish",
}
"""Where each shell looks for them below a prefix's ``share``."""


INSTALLERS = {"pipx": ["pipx", "install"], "uv": ["uv", "tool", "install"]}
OF_A_REGISTRY = re.compile("PIP_|UV_|SSL_|(HTTPS?|NO|ALL)_PROXY$", re.IGNORECASE)
"""The variables that say how packages are got here."""


class Built(NamedTuple):
    """The two forms of one release, and a cache in which pip keeps what it compiles for them."""

    wheel: Path
    sdist: Path
    cache: Path


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    directory = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", str(directory), str(ROOT)).check()
    (wheel,), (sdist,) = directory.glob("*.whl"), directory.glob("*.tar.gz")
    return Built(wheel, sdist, directory / "cache")


class Ran(NamedTuple):
    status: int
    said: str

    def check(self) -> str:
        assert self.status == 0, self.said
        return self.said


def run(*command: str, **environment: str) -> Ran:
    done = subprocess.run(
        command,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    return Ran(done.returncode, done.stdout)


def new_venv(directory: Path) -> Path:
    """A fresh venv of the interpreter that ours is made from; its python."""
    base = getattr(sys, "_base_executable", sys.executable)
    run(base, "-m", "venv", str(directory)).check()
    return directory / "bin/python"


@pytest.mark.parametrize("form", ["wheel", "sdist"])
def test_what_is_installed_works_with_its_unit_and_goes_without_the_memory(built: Built, form: str) -> None:
    with new_home() as home:
        python = new_venv(home / "venv")
        run(
            str(python), "-m", "pip", "install", str(getattr(built, form)), PIP_CACHE_DIR=str(built.cache)
        ).check()
        command = home / ".local/bin/memfs"
        command.unlink()
        command.symlink_to(python.with_name("memfs"))  # as pipx and uv do
        for path in (home / "venv", *(home / "venv").rglob("*")):
            os.chown(path, USER, USER, follow_symlinks=False)
        with running_manager(home) as manager:
            assert manager.memfs("--version").done().startswith("memfs ")
            share = home / "venv/share"
            assert {page.name for page in (share / "man/man1").iterdir()} > {"memfs.1", "memfs-mount.1"}
            assert (share / "man/man1/memfs-status.1").read_text() == manager.memfs("man", "status").done()
            for shell, completion in COMPLETIONS.items():
                assert (share / completion).read_text() == manager.memfs("completion", shell).done()
            manager.memfs("service", "install").done()
            manager("sh", "-c", "echo kept >memories/a.md").done()
            assert manager.memfs("view", "a.md").done() == "kept\n"
            unit = manager("cat", ".config/systemd/user/memfs@.service").done()
            assert unit == (ROOT / "systemd/memfs@.service").read_text()

            done = manager.memfs("uninstall")
            assert done.status == 0, done
            assert f"The memories stay in sqlite:{manager.inside}/.local/share/memfs/store" in done.out
            assert manager.is_mounted("memories") == 0
            assert not python.with_name("memfs").exists()
            assert not [*(home / "venv").rglob("memfs*"), *(home / "venv").rglob("_memfs")]
            assert list((home / ".local/share/memfs/store").glob("*.db"))


@pytest.mark.parametrize(("installer", "form"), [("pipx", "sdist"), ("uv", "wheel")])
def test_what_pipx_and_uv_install_works_and_goes_again(built: Built, installer: str, form: str) -> None:
    """By the user, where the user has it; the memory stays, and where is said."""
    with new_home() as home:
        tools = new_venv(home / "tools")
        run(str(tools), "-m", "pip", "install", installer).check()
        package = Path(shutil.copy(getattr(built, form), home))
        (home / ".local/bin/memfs").unlink()
        (home / ".local/bin" / installer).symlink_to(tools.with_name(installer))
        for path in (home, *home.rglob("*")):
            os.chown(path, USER, USER, follow_symlinks=False)
        with running_manager(home) as manager:
            registry = [f"{name}={value}" for name, value in os.environ.items() if OF_A_REGISTRY.match(name)]
            place = str(manager.inside / package.name)
            done = manager("env", *registry, *INSTALLERS[installer], place, seconds=SECONDS)
            assert done.status == 0, done
            assert (
                manager("readlink", "-f", ".local/bin/memfs")
                .done()
                .startswith(f"{manager.inside}/.local/share/")
            )
            assert manager.memfs("--version").done().startswith("memfs ")
            share = Path(manager("readlink", "-f", ".local/bin/memfs").done().strip()).parents[1] / "share"
            page = manager("cat", str(share / "man/man1/memfs-status.1")).done()
            assert page == manager.memfs("man", "status").done()
            for shell, completion in COMPLETIONS.items():
                assert (
                    manager("cat", str(share / completion)).done()
                    == manager.memfs("completion", shell).done()
                )

            manager.memfs("service", "install").done()
            unit = manager("cat", ".config/systemd/user/memfs@.service").done()
            assert unit == (ROOT / "systemd/memfs@.service").read_text()
            manager("sh", "-c", "echo kept >memories/a.md").done()
            assert manager.memfs("view", "a.md").done() == "kept\n"

            removed = manager.memfs("uninstall")
            assert removed.status == 0, removed
            assert f"The memories stay in sqlite:{manager.inside}/.local/share/memfs/store" in removed.out
            assert manager("sh", "-c", "command -v memfs").status != 0
            assert manager("test", "-e", str(share)).status != 0, "its venv is gone"
            assert manager.is_mounted("memories") == 0
            assert list((home / ".local/share/memfs/store").glob("*.db"))


def test_a_command_that_is_elsewhere_is_named_in_the_unit(built: Built) -> None:
    with new_home() as home:
        venv = home / "with space"
        run(str(new_venv(venv)), "-m", "pip", "install", "--no-deps", "--no-index", str(built.wheel)).check()
        (home / ".local/bin/memfs").unlink()
        with running_manager(home) as manager:
            # What memfs needs is taken from where the tests have it: the wheel alone is new.
            (packages,) = (venv / "lib").glob("python*/site-packages")
            ours = Path(sysconfig.get_path("purelib")).relative_to(sys.prefix)
            (packages / "ours.pth").write_text(f"{PLACE}/venv/{ours}\n")
            python = f"{manager.inside}/with space/bin/python"
            manager(python, "-m", "memfs", "service", "install").done()
            unit = manager("cat", ".config/systemd/user/memfs@.service").done()
            assert f'ExecStart="{python}" -m memfs mount' in unit
            assert manager.is_mounted("memories") == 1


def test_pip_names_the_missing_system_packages(built: Built, tmp_path: Path) -> None:
    python = new_venv(tmp_path / "venv")
    (tmp_path / "bin").mkdir()
    ran = run(str(python), "-m", "pip", "install", str(built.sdist), PATH=str(tmp_path / "bin"))
    assert ran.status != 0
    assert "this machine lacks a C compiler, " in ran.said
    assert "pkg-config, libfuse3, fusermount3" in ran.said
    assert "sudo apt-get install gcc " in ran.said
    assert "Traceback" not in ran.said


def test_only_who_installs_is_told(built: Built, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    command = [
        sys.executable,
        "-m",
        "build",
        "--no-isolation",
        "--wheel",
        "--outdir",
        str(tmp_path),
        str(ROOT),
    ]
    run(*command, PATH=str(tmp_path / "bin")).check()
    assert list(tmp_path.glob("*.whl"))
