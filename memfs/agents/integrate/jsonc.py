"""One entry of a JSON text, with or without comments and trailing commas: put in, replaced, taken out.

Every byte that does not belong to the entry stays as it is. So the text is not parsed and printed again, but
scanned for where things are, and each change is checked by reading the result.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

DEEPEST = 200
_BLANK = " \t\r\n"
_SPACE = re.compile(r"(?:[ \t\r\n]|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_SCALAR = re.compile(r"[-+.\w]+")
_INDENT = re.compile(r"(?:^|\n)([ \t]*)\Z")
_COMMENTS = re.compile(r"(?:[ \t]*/\*[^\n]*?\*/)*(?:[ \t]*//[^\r\n]*)?")
"""What is said on its line about what stands before it."""


class Unreadable(Exception):
    """The text is none that can be changed for sure; the message is a clause that says why."""


@dataclass(slots=True)
class _Member:
    key: str
    start: int
    value: _Value
    comma: int | None = None


@dataclass(slots=True)
class _Value:
    start: int
    end: int
    plain: Any
    members: list[_Member] = field(default_factory=list)

    def member(self, key: str) -> _Member | None:
        return next((member for member in self.members if member.key == key), None)


def read(text: str) -> Any:
    """The value of *text*; an empty text is an empty object."""
    return _Scanner(text).document().plain if text.strip() else {}


def put(text: str, path: Sequence[str], entry: Mapping[str, Any]) -> str:
    """*text* with *entry* at *path*, in place of what is there; the objects on the way are made."""
    if not text.strip():
        text = "{}\n"
    newline = "\r\n" if "\r\n" in text else "\n"
    root = _Scanner(text).document()
    unit = _unit(text, root)
    holder, depth = root, 0
    while depth < len(path) - 1 and (member := holder.member(path[depth])) is not None:
        holder, depth = member.value, depth + 1
    if not isinstance(holder.plain, dict):
        raise Unreadable(f"has a '{path[depth - 1]}' that is no object" if depth else "holds no object")
    value: Any = entry
    for key in reversed(path[depth + 1 :]):
        value = {key: value}
    there = holder.member(path[depth])
    margin = _margin(text, holder, unit)
    printed = _printed(value, margin, unit, newline)
    if there is not None:
        changed = text[: there.value.start] + printed + text[there.value.end :]
    else:
        changed = _with_member(text, holder, f"{json.dumps(path[depth])}: {printed}", margin, unit, newline)
    wanted = _copy_with(root.plain, path, entry)
    return _checked(changed, wanted)


def take_out(text: str, path: Sequence[str]) -> str:
    """*text* without the entry at *path*, which is there."""
    root = holder = _Scanner(text).document()
    for key in path[:-1]:
        member = holder.member(key)
        assert member is not None, "the entry is there"
        holder = member.value
    index = next(at for at, member in enumerate(holder.members) if member.key == path[-1])
    member = holder.members[index]
    end = member.value.end if member.comma is None else member.comma + 1
    if index + 1 < len(holder.members):
        after = holder.members[index + 1].start
        # A comment between the two stays.
        end = after if not text[end:after].strip() else end
        changed = text[: member.start] + text[end:]
    elif index:
        comma = holder.members[index - 1].comma
        assert comma is not None, "a comma joins two members"
        gap = text[comma + 1 : member.start].rstrip(_BLANK)
        changed = text[:comma] + ("" if member.comma is None else ",") + gap + text[end:]
    else:
        before = text[: member.start].rstrip(_BLANK)
        after_it = text[end:].lstrip(_BLANK)
        is_empty = before.endswith("{") and after_it.startswith("}")
        changed = before + (after_it if is_empty else text[end:])
    return _checked(changed, _copy_with(root.plain, path, None))


def _with_member(text: str, holder: _Value, member: str, margin: str | None, unit: str, newline: str) -> str:
    """*text* with *member* as the last of *holder*."""
    if not holder.members:
        outer = _line_indent(text, holder.start)
        kept = text[: holder.end - 1].rstrip(_BLANK)  # a brace, or a comment after it
        return f"{kept}{newline}{outer}{unit}{member}{newline}{outer}{text[holder.end - 1 :]}"
    last = holder.members[-1]
    end = last.value.end if last.comma is None else last.comma + 1
    after = end
    if margin is not None and (comments := _COMMENTS.match(text, end)) is not None:
        after = comments.end()
    gap = " " if margin is None else newline + margin
    before, between = (",", "") if last.comma is None else ("", ",")
    return f"{text[:end]}{before}{text[end:after]}{gap}{member}{between}{text[after:]}"


def _margin(text: str, holder: _Value, unit: str) -> str | None:
    """What stands before a member of *holder* on its line; None where members share a line."""
    if not holder.members:
        return _line_indent(text, holder.start) + unit
    found = _INDENT.search(text[: holder.members[-1].start])
    return None if found is None else found[1]


def _line_indent(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit(text: str, root: _Value) -> str:
    found = _INDENT.search(text[: root.members[0].start]) if root.members else None
    return found[1] if found is not None and found[1] else "  "


def _printed(value: Any, margin: str | None, unit: str, newline: str) -> str:
    if margin is None:
        return json.dumps(value, ensure_ascii=False)
    return json.dumps(value, indent=unit, ensure_ascii=False).replace("\n", newline + margin)


def _copy_with(value: Any, path: Sequence[str], entry: Any) -> Any:
    """*value* with *entry* at *path*, or without it where *entry* is None."""
    copy = dict(value)
    if len(path) > 1:
        copy[path[0]] = _copy_with(copy.get(path[0], {}), path[1:], entry)
    elif entry is None:
        del copy[path[0]]
    else:
        copy[path[0]] = entry
    return copy


def _checked(changed: str, wanted: Any) -> str:
    if _Scanner(changed).document().plain != wanted:
        raise Unreadable("is laid out in a way that memfs cannot change for sure")
    return changed


def _after_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    assert found is not None, "it matches nothing at all, too"
    return found.end()


class _Scanner:
    """Where the values of a text are, and what they are."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 1 if text.startswith("\ufeff") else 0

    def document(self) -> _Value:
        """The one value of the text."""
        self._skip()
        value = self._value(0)
        self._skip()
        if self._at != len(self._text):
            raise self._wrong()
        return value

    def _value(self, depth: int) -> _Value:
        if depth > DEEPEST:
            raise Unreadable("is nested too deeply")
        start = self._at
        opening = self._text[start : start + 1]
        if opening == "{":
            return self._object(start, depth)
        if opening == "[":
            return self._array(start, depth)
        token = (_STRING if opening == '"' else _SCALAR).match(self._text, start)
        if token is None:
            raise self._wrong()
        try:
            plain = json.loads(token[0])
        except ValueError:
            raise self._wrong() from None
        self._at = token.end()
        return _Value(start, self._at, plain)

    def _object(self, start: int, depth: int) -> _Value:
        members: list[_Member] = []
        self._at += 1
        while not self._closes("}"):
            key_at = self._at
            key = self._value(depth).plain if self._text[key_at : key_at + 1] == '"' else None
            self._skip()
            if key is None or self._text[self._at : self._at + 1] != ":":
                raise self._wrong()
            self._at += 1
            self._skip()
            member = _Member(key, key_at, self._value(depth + 1))
            if any(other.key == key for other in members):
                raise Unreadable(f"has the key '{key}' twice")
            members.append(member)
            member.comma = self._comma("}")
        plain = {member.key: member.value.plain for member in members}
        return _Value(start, self._at, plain, members)

    def _array(self, start: int, depth: int) -> _Value:
        plain = []
        self._at += 1
        while not self._closes("]"):
            plain.append(self._value(depth + 1).plain)
            self._comma("]")
        return _Value(start, self._at, plain)

    def _closes(self, bracket: str) -> bool:
        self._skip()
        if self._text[self._at : self._at + 1] != bracket:
            return False
        self._at += 1
        return True

    def _comma(self, closing: str) -> int | None:
        """The place of the comma that follows; None before the closing bracket."""
        self._skip()
        found = self._text[self._at : self._at + 1]
        if found == ",":
            self._at += 1
            return self._at - 1
        if found != closing:
            raise self._wrong()
        return None

    def _skip(self) -> None:
        self._at = _after_space(self._text, self._at)

    def _wrong(self) -> Unreadable:
        line = self._text.count("\n", 0, self._at) + 1
        return Unreadable(f"is no JSON that memfs can read (line {line})")
