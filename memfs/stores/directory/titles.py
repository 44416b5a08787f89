"""The title of a page: its first heading."""

from __future__ import annotations

import re

LONGEST = 200
"""Characters of a title that are kept."""

_MARKDOWN = re.compile(rb"^ {0,3}#{1,6}[ \t]+([^\r\n]*)", re.MULTILINE)
_CLOSING = re.compile(r"[ \t]+#+[ \t]*$")
_HTML = re.compile(rb"<(h[1-6]|title)\b[^>]*>(.*?)</\1\s*>", re.IGNORECASE | re.DOTALL)
_TAG = re.compile(r"<[^>]*>")


def title_of(place: str, content: bytes) -> str | None:
    """The first heading of a Markdown or HTML page, or None where there is none."""
    if place.endswith((".md", ".txt")):
        # Most pages that have none are told by this, which is much faster.
        found = _MARKDOWN.search(content) if b"#" in content else None
        title = _CLOSING.sub("", found[1].decode("utf-8", "replace")) if found else ""
    elif place.endswith((".html", ".htm")):
        import html

        found = _HTML.search(content)
        title = html.unescape(_TAG.sub("", found[2].decode("utf-8", "replace"))) if found else ""
    else:
        return None
    return " ".join(title.split())[:LONGEST] or None
