"""Where the benchmark works, and on what: a disk filesystem, as memories live on one."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

IN_MEMORY = ("tmpfs", "ramfs")


def cache_directory() -> Path:
    """The benchmark's own folder below the user's cache directory; peers are installed there."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "memfs-bench"


def filesystem_of(path: Path) -> str:
    """The type of the filesystem that holds *path*, such as ``ext4``."""
    best, kind = "", "unknown"
    resolved = str(path.resolve())
    for line in Path("/proc/self/mountinfo").read_text(errors="surrogateescape").splitlines():
        before, _, after = line.partition(" - ")
        point = before.split()[4].replace("\\040", " ")
        inside = resolved == point or resolved.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best):
            best, kind = point, after.split()[0]
    return kind


def without_journal(path: Path) -> bool:
    """Whether *path* is on an ext4 that keeps no journal, which changes what a creation costs."""
    device = os.stat(path).st_dev
    name = Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}").resolve().name
    return filesystem_of(path) == "ext4" and not list(Path("/proc/fs/jbd2").glob(f"{name}-*"))


def make_workdir(wanted: Path | None) -> Path:
    """A new folder for one run, in *wanted* or in the cache directory.

    The default is refused in memory: there a commit costs nothing, and the plain directory is no
    limit of anything. Whoever names a folder gets it.
    """
    base = wanted or cache_directory() / "runs"
    base.mkdir(parents=True, exist_ok=True)
    kind = filesystem_of(base)
    if wanted is None and kind in IN_MEMORY:
        raise SystemExit(
            f"{base} is on {kind}, in memory: the changes would be measured without a disk. "
            "Name a folder on a disk filesystem with --workdir."
        )
    return Path(tempfile.mkdtemp(prefix="run-", dir=base)).resolve()


def keep_settings_inside(work: Path) -> None:
    """Point memfs's own folders into the run, so that it neither reads nor leaves anything of the user's."""
    for name in ("XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        os.environ[name] = str(work / "home" / name.lower())
