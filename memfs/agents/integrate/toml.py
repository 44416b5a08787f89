"""One table of a TOML text: put in, replaced, taken out, with every other byte as it was."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

from memfs.agents.integrate.jsonc import Unreadable

_HEADER = re.compile(r"[ \t]*\[")
_DOT = r"[ \t]*\.[ \t]*"


def read(text: str) -> dict[str, Any]:
    """The tables of *text*."""
    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except tomllib.TOMLDecodeError as error:
        raise Unreadable(f"is no TOML ({error})") from None
    except (ValueError, RecursionError):  # a number or a nesting beyond what Python reads
        raise Unreadable("is no TOML that memfs can read") from None


def put(text: str, path: Sequence[str], entry: Mapping[str, Any]) -> str:
    """*text* with the table *entry* at *path*, at its end, in place of what is there."""
    before = read(text)
    if _there(before, path) is not None:
        text = take_out(text, path)
    newline = "\r\n" if "\r\n" in text else "\n"
    gap = "" if not text else newline if text.endswith("\n") else newline * 2
    return _checked(text + gap + printed(path, entry).replace("\n", newline), _changed(before, path, entry))


def take_out(text: str, path: Sequence[str]) -> str:
    """*text* without the table at *path*, which is there, and the tables in it."""
    before = read(text)
    keys = (rf"(?:{re.escape(key)}|\"{re.escape(key)}\"|'{re.escape(key)}')" for key in path)
    is_mine = re.compile(rf"[ \t]*\[[ \t]*{_DOT.join(keys)}[ \t]*(?:\.[^\]]*)?\]").match
    kept: list[str] = []
    within = False
    for line in re.findall(r"[^\n]*\n|[^\n]+", text):
        if _HEADER.match(line):
            was_within, within = within, is_mine(line) is not None
            if within and not was_within and kept and not kept[-1].strip():
                kept.pop()  # the empty line that set the table apart
        # A comment in it is a person's, or belongs to the table that follows.
        if not within or not line.strip() or line.lstrip().startswith("#"):
            kept.append(line)
    left = "".join(kept)
    # The header of an empty table around it may have been written out, and stays then.
    return _checked(left, _changed(before, path, None), path)


def printed(path: Sequence[str], entry: Mapping[str, Any]) -> str:
    """The table as TOML; its values are strings and lists of strings, which are written as in JSON."""
    lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in entry.items()]
    return "\n".join([f"[{'.'.join(path)}]", *lines, ""])


def _there(value: Any, path: Sequence[str]) -> Any:
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _changed(tables: Mapping[str, Any], path: Sequence[str], entry: Any) -> dict[str, Any]:
    """*tables* with *entry* at *path*, or without it; a table that is empty then counts as none."""
    copy = dict(tables)
    if len(path) == 1:
        copy.pop(path[0], None)
        return copy if entry is None else copy | {path[0]: entry}
    inner = copy.get(path[0], {})
    if not isinstance(inner, dict):
        raise Unreadable(f"has a '{path[0]}' that is no table")
    copy[path[0]] = _changed(inner, path[1:], entry)
    if not copy[path[0]]:
        del copy[path[0]]
    return copy


def _checked(changed: str, wanted: Mapping[str, Any], without: Sequence[str] = ()) -> str:
    """*changed*, if it says what is *wanted*, when what is empty on the way *without* counts as none."""
    try:
        tables = read(changed)
        is_right = (_changed(tables, without, None) if without else tables) == wanted
    except Unreadable:
        is_right = False
    if not is_right:
        raise Unreadable("is laid out in a way that memfs cannot change for sure")
    return changed
