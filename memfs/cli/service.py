"""``memfs service``: a memory that is mounted at every login, or from boot on, and again after a crash."""

from __future__ import annotations

import json
import os
import shlex
from argparse import Namespace
from pathlib import Path
from typing import Any, NoReturn

from memfs.cli.choose import memory_of
from memfs.cli.complaint import Complaint, Status
from memfs.cli.configuration import Settings, configured, file_of, name_or_default
from memfs.cli.installation import (
    Installed,
    check_agreement,
    check_template,
    forget_installed,
    installed,
    installed_names,
    record_installed,
    remove_configuration,
    remove_empty,
    remove_units,
    wanted_settings,
    write_configuration,
    write_units,
)
from memfs.cli.mount import mountpoint_in
from memfs.cli.running import is_served, recorded_at
from memfs.cli.systemd import UserManager, lingers, set_linger, unit_of, user_manager
from memfs.mount.lifecycle import is_mounted


def run(options: Namespace) -> int:
    """Carry out ``options.action`` for the memory that is named."""
    manager = user_manager()
    if manager is None:
        raise Complaint(
            "No user manager of systemd answers here (a container has none, nor a session of su or sudo); "
            "log in as the user itself, or mount the memory with `memfs mount`."
        )
    name = name_or_default(options)
    file_of(name)  # refuses what is no name
    match options.action:
        case "list":
            _list(manager, options.json)
        case "install":
            _install(manager, name, options)
        case "remove":
            _remove(manager, name)
        case "logs":
            _show_logs(name, options)
        case verb:
            _tell(manager, name, verb)
    return Status.DONE


def remove_all() -> None:
    """Take every service away, as ``memfs service remove`` does each."""
    manager = user_manager()
    if manager is not None:
        for name in _names(manager):
            _remove(manager, name)
    elif installed_names():
        raise Complaint("Services are installed, but no user manager answers; log in to remove them.")


def _install(manager: UserManager, name: str, options: Namespace) -> None:
    file, wanted = file_of(name), wanted_settings(name, options)
    is_configured = file.exists()
    if is_configured:
        check_agreement(name, wanted)
    settings = Settings(name, configured(name) if is_configured else wanted)
    mountpoint = mountpoint_in(settings)
    _check_free(manager, name, mountpoint)
    check_template(manager)
    before = installed(name)
    made = before or Installed()
    if is_configured:
        print(f"{file} describes the memory, and stays as it is.")
    else:
        made = made._replace(configuration=write_configuration(name, wanted))
    if not os.path.lexists(mountpoint):
        made = made._replace(mountpoint=mountpoint)
    record_installed(name, made)
    write_units(manager, name)
    manager.run("enable", unit_of(name))
    print(f"Enabled {unit_of(name)}: it starts with your user manager, at login.")
    try:
        _start(manager, name, "restart" if before else "start")
    except Complaint:
        if before is None:  # whoever tries again with other options must not be refused for these
            _remove(manager, name)
        raise
    print(f"Mounted {mountpoint}; `memfs service remove {name}` undoes all of this.")
    if options.linger:
        _linger(name, made)


def _remove(manager: UserManager, name: str) -> None:
    if name not in _names(manager):
        raise Complaint(
            f"There is no service of a memory '{name}'; `memfs service list` lists what there is."
        )
    made, stays = installed(name) or Installed(), _what_stays(name)
    manager.run("disable", "--now", unit_of(name))
    print(f"Stopped and disabled {unit_of(name)}.")
    remove_units(manager, name)
    remove_configuration(name, made)
    if made.mountpoint is not None and remove_empty(Path(made.mountpoint)):
        print(f"Removed the empty directory {made.mountpoint}.")
    forget_installed(name)
    if made.linger and not _names(manager):
        refusal = set_linger(False)
        print(f"Lingering stays enabled: {refusal}." if refusal else "Disabled lingering.")
    print(stays)


def _tell(manager: UserManager, name: str, verb: str) -> None:
    if name not in _names(manager):
        raise Complaint(
            f"There is no service of a memory '{name}'; `memfs service install {name}` makes one."
        )
    if verb == "stop":
        manager.run("stop", unit_of(name))
        print(f"Stopped {unit_of(name)}; it starts again at the next login.")
    else:
        _start(manager, name, verb)
        print(f"{verb.capitalize()}ed {unit_of(name)}.")


def _list(manager: UserManager, as_json: bool) -> None:
    services = [_described(manager, name) for name in _names(manager)]
    if as_json:
        print(json.dumps({"services": services}, indent=2))
        return
    for service in services:
        state = f"{service['state']}, {service['enabled']}"
        print(f"{service['name']:16}{state:24}{service['mountpoint'] or ''}")
        if service["status"]:
            print(f"{'':16}{service['status']}")
    if not services:
        print("No service is installed; `memfs service install` mounts a memory at every login.")


def _show_logs(name: str, options: Namespace) -> NoReturn:
    command = ["journalctl", "--user", "--unit", unit_of(name)]
    if options.count is not None:
        command += ["--lines", str(options.count)]
    if options.follow:
        command.append("--follow")
    os.execvp(command[0], command)  # noqa: S606 - a fixed program, and no shell


# --- parts ---------------------------------------------------------------------------------------


def _names(manager: UserManager) -> list[str]:
    """The memories that have a service, whoever set it up."""
    return sorted(manager.enabled_names() | installed_names())


def _check_free(manager: UserManager, name: str, mountpoint: str) -> None:
    """Refuse a directory that somebody has mounted by hand."""
    mount = recorded_at(mountpoint)
    if mount is None or not (is_mounted(mountpoint) and is_served(mountpoint)):
        return
    if str(mount.pid) != manager.properties(unit_of(name)).get("MainPID"):
        raise Complaint(f"{mountpoint} is mounted already; `memfs unmount {mountpoint}` ends that.")


def _start(manager: UserManager, name: str, verb: str) -> None:
    unit = unit_of(name)
    if manager.properties(unit).get("ActiveState") == "failed":
        manager.run("reset-failed", unit)  # or a start limit that was hit would still hold
    try:
        manager.run(verb, unit)
    except Complaint:
        shown = manager.properties(unit)
        why = (shown.get("StatusText") or f"its result is {shown.get('Result')}").rstrip(".")
        raise Complaint(f"{unit} does not start: {why}. `memfs service logs {name}` says more.") from None


def _linger(name: str, made: Installed) -> None:
    if lingers():
        print("Lingering is enabled already: it runs from boot on.")
        return
    if refusal := set_linger(True):
        raise Complaint(f"The service runs, but will start at login only: {refusal}.")
    record_installed(name, made._replace(linger=True))
    print("Enabled lingering: it runs from boot on, also while you are not logged in.")


def _what_stays(name: str) -> str:
    try:
        memory = memory_of(Settings(name, configured(name) if file_of(name).exists() else {}))
    except Complaint:  # what is configured is wrong, and cannot have been mounted
        return f"The memory stays where {file_of(name)} says."
    words = shlex.join(["memfs", "view", "--store", memory.store, "--scope", memory.scope])
    return f"The memory stays in {memory.store}, scope '{memory.scope}': `{words}` lists it."


def _described(manager: UserManager, name: str) -> dict[str, Any]:
    shown = manager.properties(unit_of(name))
    try:
        mountpoint: str | None = mountpoint_in(Settings(name, configured(name)))
    except Complaint:  # what is configured is wrong, as its status says
        mountpoint = None
    return {
        "name": name,
        "unit": unit_of(name),
        "state": shown.get("ActiveState"),
        "enabled": shown.get("UnitFileState"),
        "result": shown.get("Result"),
        "restarts": int(shown.get("NRestarts") or 0),
        "process": int(shown.get("MainPID") or 0) or None,
        "mountpoint": mountpoint,
        "status": shown.get("StatusText", ""),
    }
