"""What the installation of a service consists of: a configuration, unit files, and a record of both.

The record is what ``memfs service remove`` goes by: it takes away what was made and nothing else.
"""

from __future__ import annotations

import json
import os
from argparse import Namespace
from pathlib import Path
from typing import Any, NamedTuple

from memfs.cli.complaint import Complaint
from memfs.cli.configuration import DEFAULT, Found, Settings, configured, file_of, said
from memfs.cli.settings import MOUNTPOINT, SETTINGS
from memfs.cli.systemd import TEMPLATE, UserManager, quoted, template
from memfs.opening import canonical_url
from memfs.places import (
    config_directory,
    expanded,
    make_private,
    read_ordinary,
    state_directory,
    write_private,
)

_DIRECTORIES = ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")


class Installed(NamedTuple):
    """What an installation made: the text of the configuration, the directory, the permission to linger."""

    configuration: str | None = None
    mountpoint: str | None = None
    linger: bool = False


# --- the record ----------------------------------------------------------------------------------


def installed_names() -> set[str]:
    """The memories whose service was installed."""
    return {file.stem for file in _records().glob("*.json")}


def installed(name: str) -> Installed | None:
    """What the installation of *name* made, or None where there was none."""
    try:
        return Installed(**json.loads(read_ordinary(_records() / f"{name}.json")))
    except (OSError, ValueError, TypeError):
        return None


def record_installed(name: str, made: Installed) -> None:
    """Remember what the installation of *name* has made."""
    make_private(state_directory())
    write_private(make_private(_records()) / f"{name}.json", json.dumps(made._asdict()))


def forget_installed(name: str) -> None:
    """Its removal is done."""
    (_records() / f"{name}.json").unlink(missing_ok=True)
    if not installed_names():
        _template_record().unlink(missing_ok=True)
    remove_empty(_records())


def _records() -> Path:
    return state_directory() / "services"


def _template_record() -> Path:
    """The template as it was written, which all services share."""
    return _records() / TEMPLATE


# --- the configuration ---------------------------------------------------------------------------


def wanted_settings(name: str, options: Namespace) -> dict[str, Found]:
    """What options and environment say, so that it means the same from anywhere; always with a mountpoint.

    The service's process has another environment, and would not find in it what was set for this one.
    """
    wanted = said(options)
    for key, fixed in (("store", canonical_url), (MOUNTPOINT.key, _absolute)):
        if key in wanted:
            wanted[key] = Found(fixed(wanted[key].value), wanted[key].origin)
    default = "~/memories" if name == DEFAULT else f"~/memories-{name}"
    return {MOUNTPOINT.key: Found(default, "default")} | wanted


def write_configuration(name: str, wanted: dict[str, Found]) -> str:
    """Write a new file that says *wanted*; its text."""
    lines = [f"{key} = {_toml_value(key, found.value)}" for key, found in wanted.items()]
    text = "\n".join(["# Written by `memfs service install`.", *lines]) + "\n"
    make_private(file_of(name).parent)
    file_of(name).write_text(text)
    variables = [found.origin for key, found in wanted.items() if found.origin == SETTINGS[key].variable]
    kept = f", with what {' and '.join(variables)} said just now" if variables else ""
    print(f"Wrote {file_of(name)}{kept}.")
    return text


def check_agreement(name: str, wanted: dict[str, Found]) -> None:
    """Raise a Complaint where the file that is there says something else than the options."""
    there = Settings(name, configured(name))
    for key, found in wanted.items():
        variable = SETTINGS[key].variable
        if found.origin != "default" and there.get(key) != found.value:
            raise Complaint(
                f"{file_of(name)} is there and has another '{key}' than {found.origin} says; "
                f"change it in the file, or {'unset that' if found.origin == variable else 'leave that out'}."
            )


def remove_configuration(name: str, made: Installed) -> None:
    """Take the file away that the installation wrote, unless somebody has changed it since."""
    file = file_of(name)
    if not file.exists():
        return
    if file.read_text(errors="replace") != made.configuration:
        print(f"{file} stays: it is not as an installation wrote it.")
        return
    file.unlink()
    remove_empty(config_directory())
    print(f"Removed {file}.")


def _toml_value(key: str, value: Any) -> str:
    shown = SETTINGS[key].kind.in_toml(value)
    # JSON's strings, numbers, lists and truth values are TOML's as well.
    return json.dumps(shown, ensure_ascii=False)


def _absolute(path: str) -> str:
    return os.path.abspath(expanded(path))


# --- the units -----------------------------------------------------------------------------------


def check_template(manager: UserManager) -> None:
    """Raise a Complaint where a template is not as an installation wrote it."""
    file = manager.unit_directory / TEMPLATE
    if os.path.lexists(file) and not _is_ours(file):
        raise Complaint(
            f"{file} is there, and not as an installation wrote it; move it away, then install again. "
            "(`systemctl --user edit` adds to a unit.)"
        )


def _is_ours(file: Path) -> bool:
    """Whether the template in *file* is as this or an earlier installation wrote it."""
    try:
        text = read_ordinary(file).decode(errors="replace")
        return text == template() or text == read_ordinary(_template_record()).decode()
    except OSError:
        return False


def write_units(manager: UserManager, name: str) -> None:
    """The template, and for this memory the directories that the user manager does not know of."""
    written = _write(manager.unit_directory / TEMPLATE, template())
    write_private(_template_record(), template())
    own = {variable: os.environ.get(variable, "") for variable in _DIRECTORIES}
    unknown = {
        variable: path
        for variable, path in own.items()
        if path.startswith("/") and path != manager.environment.get(variable)  # a relative one counts nowhere
    }
    if unknown:
        lines = [f"Environment={quoted(f'{variable}={path}')}" for variable, path in unknown.items()]
        written |= _write(manager.drop_in_of(name), "\n".join(["[Service]", *lines]) + "\n")
    if written:
        manager.run("daemon-reload")


def remove_units(manager: UserManager, name: str) -> None:
    """Take away what :func:`write_units` wrote; the template only with the last service."""
    drop_in = manager.drop_in_of(name)
    drop_in.unlink(missing_ok=True)
    remove_empty(drop_in.parent)
    unit = manager.unit_directory / TEMPLATE
    if os.path.lexists(unit) and not (manager.enabled_names() | installed_names()) - {name}:
        if _is_ours(unit):
            unit.unlink()
            print(f"Removed {unit}.")
        else:
            print(f"{unit} stays: it is not as an installation wrote it.")
        for directory in (unit.parent / "default.target.wants", unit.parent, unit.parent.parent):
            remove_empty(directory)
    manager.run("daemon-reload")


def _write(file: Path, text: str) -> bool:
    """Make *file* hold *text*; whether it did not before."""
    if file.exists() and file.read_text() == text:
        return False
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    print(f"Wrote {file}.")
    return True


def remove_empty(directory: Path) -> bool:
    """Remove *directory* if nothing is in it; whether that was so."""
    try:
        directory.rmdir()
    except OSError:
        return False
    return True
