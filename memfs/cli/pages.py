"""Memories as pages: the smallest valid one, and what the head of one says.

A page in HTML has its facts in ``<meta name="memhtml-...">``, one in Markdown in the lines between two
``---`` at its beginning, and a JSON object among its own: ``title``, ``status`` and ``due``, where they are
strings. Any other text is read as Markdown.
"""

from __future__ import annotations

import html
import json
from datetime import UTC, datetime
from html.parser import HTMLParser
from typing import NamedTuple

from memfs.layout import MEMORY_EXTENSION, PlacementInput
from memfs.port.names import extension_of

NEW_TASK = "todo"
"""The status of a task that has just been made."""


class Head(NamedTuple):
    """What a page says of itself; empty where it says nothing."""

    title: str
    status: str
    due: str


def new_page(path: str, title: str, memory: PlacementInput, at: datetime) -> str:
    """The text of a new page at *path*: valid in its format, and without content."""
    title = " ".join(title.split())
    is_task = memory.memory_type == "task"
    match extension_of(path):
        case ext if ext == MEMORY_EXTENSION:
            return _new_html(title, memory, at)
        case ".json":
            return json.dumps({"title": title} | ({"status": NEW_TASK} if is_task else {})) + "\n"
        case ".md" if is_task:
            quoted = json.dumps(title, ensure_ascii=False)  # which is a string of YAML too
            return f"---\ntitle: {quoted}\nstatus: {NEW_TASK}\n---\n\n# {title}\n"
    return f"# {title}\n"


def head_of(path: str, text: str) -> Head:
    """What the page *text* says of itself; its name stands for a title that it does not have."""
    readers = {MEMORY_EXTENSION: _html_head, ".json": _json_head}
    head = readers.get(extension_of(path), _markdown_head)(text)
    name = path.rpartition("/")[2]
    title, status, due = (" ".join(value.split()) for value in head)
    return Head(title or name.removesuffix(extension_of(name)), status, due)


def _new_html(title: str, memory: PlacementInput, at: datetime) -> str:
    moment = f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
    facts = [("type", memory.memory_type), ("status", "active"), ("created", moment), ("updated", moment)]
    if memory.memory_type == "task":
        facts.append(("task-status", NEW_TASK))
    facts += [("entity", entity) for entity in memory.entities or ()]
    facts += [("tag", tag) for tag in memory.tags or ()]
    metas = "".join(f'<meta name="memhtml-{name}" content="{html.escape(value)}">\n' for name, value in facts)
    shown = html.escape(title, quote=False)
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{shown}</title>\n'
        f"{metas}</head>\n<body>\n<article>\n<p><mark>{shown}</mark></p>\n</article>\n</body>\n</html>\n"
    )


class _HeadParser(HTMLParser):
    """Collects the title and the metas."""

    def __init__(self) -> None:
        super().__init__()
        self.metas: dict[str, str] = {}
        self.title = ""
        self._in_title = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._in_title = tag == "title" and not self.title
        if tag == "meta":
            given = {name: value or "" for name, value in attrs}
            self.metas.setdefault(given.get("name", "").lower(), given.get("content", ""))

    def handle_endtag(self, tag: str) -> None:
        self._in_title = False

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title += data


def _html_head(text: str) -> Head:
    parser = _HeadParser()
    parser.feed(text.partition("<body")[0])
    parser.close()
    metas = parser.metas
    return Head(parser.title, metas.get("memhtml-task-status", ""), metas.get("memhtml-due", ""))


def _json_head(text: str) -> Head:
    try:
        facts = json.loads(text)
    except (ValueError, RecursionError):
        facts = None
    if not isinstance(facts, dict):
        return Head("", "", "")
    return Head(*(value if isinstance(value := facts.get(name), str) else "" for name in Head._fields))


def _markdown_head(text: str) -> Head:
    lines = text.lstrip("\ufeff").splitlines()
    facts: dict[str, str] = {}
    if lines and lines[0].strip() == "---":
        rest = [line.strip() for line in lines[1:]]
        end = rest.index("---") if "---" in rest else 0  # without an end there is no beginning either
        for line in rest[:end]:
            name, colon, value = line.partition(":")
            if colon:
                facts.setdefault(name.strip().lower(), _unquoted(value.strip()))
        lines = lines[end + 2 :] if end else lines
    heading = next((line.lstrip("#").strip() for line in lines if line.startswith("# ")), "")
    return Head(facts.get("title") or heading, facts.get("status", ""), facts.get("due", ""))


def _unquoted(value: str) -> str:
    if value.startswith('"'):
        try:
            return str(json.loads(value))
        except ValueError:
            return value
    return value.removeprefix("'").removesuffix("'")
