"""What memfs needs of the machine: the kernel, FUSE and its helper, Python and the libraries."""

from __future__ import annotations

import os
import re
import resource
import shutil
import stat
import subprocess
import sys
from importlib import import_module
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import NamedTuple

from memfs.cli.checks.finding import Check, Findings, broken, ok, warning
from memfs.cli.running import is_served, recorded, recorded_at, strike
from memfs.mount.lifecycle import Health, is_mounted, probe
from memfs.places import FILESYSTEM_TYPE, mount_points, read_ordinary, state_directory
from memfs.port.errors import StoreError

OLDEST_KERNEL = (4, 18)
"""The first one that lets an ordinary user mount in a namespace of its own; older ones are not tried."""
OLDEST_PYTHON = (3, 11)
FUSE_DEVICE = os.makedev(10, 229)
FEWEST_DESCRIPTORS = 256
HELPER_SECONDS = 5.0
LIBRARIES = ("pyfuse3", "trio", "apsw", "inotify_simple")
_PACKAGES = {"inotify_simple": "inotify-simple"}


class Machine(NamedTuple):
    """The machine; ``root`` is where its ``/etc`` and ``/sys`` are."""

    root: Path = Path("/")


def _kernel(_: Machine) -> Findings:
    release = os.uname().release
    numbers = re.match(r"(\d+)\.(\d+)", release)
    if os.uname().sysname != "Linux" or numbers is None:
        yield broken(f"This is {os.uname().sysname} {release}; memfs needs Linux.")
    elif (int(numbers[1]), int(numbers[2])) < OLDEST_KERNEL:
        oldest = ".".join(map(str, OLDEST_KERNEL))
        yield warning(f"Linux {release} is older than {oldest}, the oldest that memfs is meant for.")
    else:
        yield ok(f"Linux {release}.")


def _device(_: Machine) -> Findings:
    try:
        status = os.stat("/dev/fuse")
    except OSError:
        yield broken(
            "There is no /dev/fuse.",
            "sudo modprobe fuse   (a container: --device /dev/fuse)",
        )
        return
    if not stat.S_ISCHR(status.st_mode) or status.st_rdev != FUSE_DEVICE:
        yield broken(
            "/dev/fuse is not the FUSE device.",
            "sudo sh -c 'rm /dev/fuse && mknod -m 666 /dev/fuse c 10 229'",
        )
        return
    try:
        os.close(os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC))
    except OSError as error:
        mode = stat.S_IMODE(status.st_mode)
        yield broken(
            f"/dev/fuse cannot be opened by you: {error.strerror} (its mode is {mode:03o}).",
            "sudo chmod 666 /dev/fuse",
        )
    else:
        yield ok("/dev/fuse can be opened.")


def _helper(_: Machine) -> Findings:
    path = shutil.which("fusermount3")
    if path is None:
        sentence = "fusermount3 is missing: the package fuse3 has it."
        if os.geteuid() == 0:
            yield warning(f"{sentence} The superuser can mount without it.", "apt install fuse3")
        else:
            yield broken(sentence, "sudo apt install fuse3")
        return
    try:
        done = subprocess.run(  # noqa: S603 - a fixed program, and no shell
            [path, "--version"],
            capture_output=True,
            timeout=HELPER_SECONDS,
            stdin=subprocess.DEVNULL,
            check=True,
        )
    except (OSError, subprocess.SubprocessError) as error:
        yield broken(f"{path} does not run: {error}.", "sudo apt install --reinstall fuse3")
        return
    said = done.stdout.decode(errors="replace").strip() or "runs"
    status = os.stat(path)
    is_setuid = bool(status.st_mode & stat.S_ISUID) and status.st_uid == 0
    if os.geteuid() == 0:
        yield ok(f"{path}: {said}.")
    elif not is_setuid:
        yield broken(
            f"{path} is not setuid root, so it may not mount.",
            f"sudo chown root {path} && sudo chmod u+s {path}",
        )
    elif os.statvfs(path).f_flag & os.ST_NOSUID:
        yield broken(f"{path} lies on a filesystem that is mounted nosuid, so it may not mount.")
    elif _no_new_privileges():
        yield broken(
            "This process has no_new_privs (by a sandbox, or by its unit); fusermount3 may not mount."
        )
    else:
        yield ok(f"{path}, setuid root: {said}.")


def _no_new_privileges() -> bool:
    return "NoNewPrivs:\t1" in Path("/proc/self/status").read_text()


def _allow_other(machine: Machine) -> Findings:
    file = machine.root / "etc/fuse.conf"
    try:
        lines = [line.strip() for line in file.read_text(errors="replace").splitlines()]
    except FileNotFoundError:
        lines = []
    except OSError as error:
        yield warning(f"{file} cannot be read: {error.strerror}; fusermount3 then takes its defaults.")
        return
    if "user_allow_other" in lines:
        yield ok(f"{file} has user_allow_other: `memfs mount --allow-other` is possible.")
    else:
        yield ok(f"{file} has no user_allow_other: only the superuser may mount with --allow-other.")


def _table(machine: Machine) -> Findings:
    file = machine.root / "etc/mtab"
    if not os.path.lexists(file):
        yield broken(
            f"{file} is missing; fusermount3 cannot unmount without it.",
            f"sudo ln -s /proc/self/mounts {file}",
        )
    elif not file.exists():
        yield broken(f"{file} leads nowhere.", f"sudo ln -sf /proc/self/mounts {file}")
    else:
        yield ok(f"{file} is there.")


def _apparmor(machine: Machine) -> Findings:
    if not confines_fusermount(machine):
        yield ok("AppArmor has no rules for fusermount3.")
    else:
        yield ok("AppArmor confines fusermount3; where a memory is mounted is checked with it.")


def confines_fusermount(machine: Machine) -> bool:
    """Whether AppArmor is on and has a profile for fusermount3."""
    switch = machine.root / "sys/module/apparmor/parameters/enabled"
    try:
        enabled = switch.read_text().strip() == "Y"
    except OSError:
        return False
    disabled = (machine.root / "etc/apparmor.d/disable/fusermount3").exists()
    return enabled and (machine.root / "etc/apparmor.d/fusermount3").exists() and not disabled


def _python(_: Machine) -> Findings:
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info[:2] < OLDEST_PYTHON:
        yield broken(f"Python {version} is too old; memfs needs {'.'.join(map(str, OLDEST_PYTHON))}.")
    else:
        yield ok(f"Python {version} at {sys.executable}.")


def _libraries(_: Machine) -> Findings:
    found = []
    for name in LIBRARIES:
        package = _PACKAGES.get(name, name)
        try:
            import_module(name)
            version = installed_version(package)
        except PackageNotFoundError:
            version = "of unknown version"
        except ImportError as error:
            yield broken(f"{name} cannot be loaded: {error}.", "pip install --force-reinstall memfs-mount")
            continue
        found.append(f"{package} {version}")
        if name == "pyfuse3":
            from memfs.mount.fastloop import KNOWN_VERSION  # which loads it

            if version != KNOWN_VERSION:
                yield warning(
                    f"pyfuse3 is {version} and not {KNOWN_VERSION}: each request takes far longer.",
                    f"pip install pyfuse3=={KNOWN_VERSION}",
                )
    if found:
        yield ok(f"{', '.join(found)}.")


def _sqlite(_: Machine) -> Findings:
    import apsw

    from memfs.stores.sqlite.database import check_library

    try:
        check_library()
    except StoreError as error:
        yield broken(error.message, "pip install --upgrade apsw")
    else:
        yield ok(f"SQLite {apsw.sqlite_lib_version()} has no bug that is known to lose writes.")


def _inotify(_: Machine) -> Findings:
    from inotify_simple import INotify, flags

    try:
        with INotify() as inotify:
            inotify.add_watch("/", flags.CREATE)
    except OSError as error:
        yield warning(
            f"No inotify watch is to be had ({error.strerror}); changes are looked for 20 times a second.",
            "sudo sysctl fs.inotify.max_user_instances=512 fs.inotify.max_user_watches=524288",
        )
    else:
        yield ok("Changes from elsewhere are told by inotify.")


def _descriptors(_: Machine) -> Findings:
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if most < FEWEST_DESCRIPTORS:
        yield warning(f"A process may have only {most} files open.", f"ulimit -n {FEWEST_DESCRIPTORS * 4}")
    else:
        yield ok(f"A process may have {most} files open.")


def _mounts(_: Machine) -> Findings:
    """The list of running mounts, and the kernel's."""
    ended = [
        each for each in recorded() if not is_mounted(each.mountpoint) and not is_served(each.mountpoint)
    ]
    for mount in ended:
        yield warning(
            f"A mount on {mount.mountpoint} is on the list that ended without taking itself off.",
            "memfs doctor --fix",
            lambda mountpoint=mount.mountpoint: _struck(mountpoint),  # type: ignore[misc]
        )
    unlisted = [
        point.path
        for point in mount_points()
        if point.filesystem == FILESYSTEM_TYPE and recorded_at(point.path) is None
    ]
    for path in unlisted:
        if probe(path) is not Health.DENIED:  # else another user's
            yield warning(
                f"{path} is a memfs mount that the list of mounts in {state_directory()} does not have.",
                f"memfs unmount {path}   (if nobody needs it)",
            )
    for file in (state_directory() / "mounts").glob("*/mount.json"):
        if stat.S_ISFIFO(file.lstat().st_mode):
            yield warning(f"{file} is a FIFO; the next mount there puts a file in its place.", f"rm {file}")
            continue
        try:
            read_ordinary(file)
        except OSError as error:
            yield broken(f"{file} cannot be read: {error.strerror}.", f"rm {file}")
    if not ended and not unlisted:
        yield ok("The list of mounts is the kernel's.")


def _struck(mountpoint: str) -> str:
    strike(mountpoint)
    return f"took {mountpoint} off the list of mounts"


MACHINE: tuple[Check[Machine], ...] = (
    Check("kernel", _kernel),
    Check("fuse-device", _device),
    Check("fusermount", _helper),
    Check("mtab", _table),
    Check("allow-other", _allow_other),
    Check("apparmor", _apparmor),
    Check("python", _python),
    Check("libraries", _libraries),
    Check("sqlite", _sqlite),
    Check("inotify", _inotify),
    Check("descriptors", _descriptors),
    Check("mounts", _mounts),
)
