"""``memfs config``: what is set for a memory and its mount, and where each value comes from."""

from __future__ import annotations

import json
from argparse import Namespace

from memfs.cli.complaint import Status
from memfs.cli.configuration import Found, Settings, configured, environment, file_of, name_or_default
from memfs.cli.mount import mountpoint_in
from memfs.cli.settings import MOUNTPOINT, RULES, SETTINGS, UNBOUNDED, Setting
from memfs.opening import DEFAULT_SCOPE, canonical_url
from memfs.port.policy import Policy


def run(options: Namespace) -> int:
    """Print every setting of one memory, and what holds of those that nobody has set."""
    name = name_or_default(options)
    settings = Settings(name, configured(name) | environment())
    rows = [
        (setting, settings.found.get(key) or _default(setting, settings)) for key, setting in SETTINGS.items()
    ]
    file = file_of(name)
    if options.json:
        shown = {
            setting.key: {"value": setting.kind.in_toml(row.value), "from": row.origin}
            for setting, row in rows
        }
        print(json.dumps({"memory": name, "file": str(file), "settings": shown}, indent=2))
        return Status.DONE
    print(f"{name}: {file}{'' if file.exists() else ', which is not there'}")
    for setting, row in rows:
        origin = row.origin.replace(f"{file}, ", "")
        print(f"  {setting.key:18}{setting.kind.told(row.value)}  ({origin})")
    return Status.DONE


def _default(setting: Setting, settings: Settings) -> Found:
    """What holds of a setting that nobody has set."""
    if setting in RULES:
        value = Policy.from_json(settings.rules()).to_json()[setting.key]
        return Found(UNBOUNDED if value is None else value, "default of a new scope")
    found_out = {"store": canonical_url(None), "scope": DEFAULT_SCOPE}
    if setting is MOUNTPOINT:
        return Found(mountpoint_in(settings), "default")
    return Found(found_out.get(setting.key, setting.default), "default")
