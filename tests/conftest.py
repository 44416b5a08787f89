"""What every test runs in: a home of its own, and a rule for skips.

A skipped test on CI is a failure, unless what is missing is the machine's (a tool, a right): such a
reason begins with ``machine:``.
"""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.editors import packages

ON_CI = os.environ.get("CI") == "true"
MEMORY_DISK = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
HOME = pytest.StashKey[Path]()
ENVIRONMENT = pytest.StashKey[dict[str, str]]()

# Time limits are pytest's: a shared machine makes every deadline of one example flaky. A check that decides
# whether a change may land tries the same examples each time; `--hypothesis-profile explore` tries others.
REPEATABLE = settings(deadline=None, print_blob=True, derandomize=True)
settings.register_profile("quick", REPEATABLE, max_examples=100)
settings.register_profile("thorough", REPEATABLE, max_examples=500)
settings.register_profile("explore", max_examples=500, deadline=None, print_blob=True)


def pytest_configure(config: pytest.Config) -> None:
    """Choose how deep to search, and keep all tests away from the data of whoever runs them."""
    if not config.getoption("--hypothesis-profile"):
        quick = config.option.markexpr == "not slow" or not (ON_CI or config.option.markexpr)
        settings.load_profile("quick" if quick else "thorough")
    # What is ignored stays ignored in the programs that are started: nohup ignores the first, a shell without
    # job control the other two in what it starts in the background.
    for number in (signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    home = Path(tempfile.mkdtemp(prefix="memfs-home-"))
    config.stash[HOME] = home
    config.stash[ENVIRONMENT] = dict(os.environ)
    os.environ["HOME"] = str(home)
    for variable, directory in (
        ("XDG_DATA_HOME", ".local/share"),
        ("XDG_STATE_HOME", ".local/state"),
        ("XDG_CONFIG_HOME", ".config"),
        ("XDG_CACHE_HOME", ".cache"),
        ("XDG_RUNTIME_DIR", "run"),
    ):
        (home / directory).mkdir(mode=0o700, parents=True)
        os.environ[variable] = str(home / directory)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Install what the tests of this run need of other languages, before the time of any test runs."""
    needed = any(item.get_closest_marker("packages") for item in session.items)
    if needed and not session.config.option.collectonly:
        packages.install()


def pytest_unconfigure(config: pytest.Config) -> None:
    """Give the environment back and remove the home."""
    before = config.stash[ENVIRONMENT]
    os.environ.clear()
    os.environ.update(before)
    shutil.rmtree(config.stash[HOME], ignore_errors=True)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """On CI, a test that was skipped for another reason than the machine has failed."""
    report = yield
    _judge_skip(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """The same for a module that skips itself as a whole."""
    report = yield
    _judge_skip(report)
    return report


def _judge_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    if not (ON_CI and report.skipped) or hasattr(report, "wasxfail"):
        return
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    reason = reason.removeprefix("Skipped: ")
    if not reason.startswith("machine:"):
        report.outcome = "failed"
        report.longrepr = f"skipped on CI: {reason}"


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """The URL of a store that does not exist yet, in a directory of this test's own."""
    return f"sqlite:{tmp_path / 'store'}"


@pytest.fixture
def git_url() -> Iterator[str]:
    """The URL of a repository that does not exist yet; in memory where that can be: each commit syncs."""
    with tempfile.TemporaryDirectory(dir=MEMORY_DISK) as directory:
        yield f"git:{directory}/repository"


@pytest.fixture(params=["sqlite", "git"])
def lasting_url(request: pytest.FixtureRequest) -> str:
    """The URL of a store that does not exist yet and outlives its process: one of each kind."""
    url: str = request.getfixturevalue(f"{request.param}_url")
    return url
