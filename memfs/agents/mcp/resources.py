"""Memories as resources: each file is ``memory:///PATH``, its path below the root."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import unquote

from memfs.port.change import File
from memfs.port.commands import View
from memfs.port.errors import ErrorCode, PortError
from memfs.port.memory import Memory
from memfs.port.names import ROOT, extension_of, path_error
from memfs.port.receipts import FileView
from memfs.port.scope import Scope

SCHEME = "memory://"
TEMPLATE = "memory:///{+path}"
PAGE = 100
"""How many resources one answer lists."""

_MIME_TYPES = {
    ".md": "text/markdown",
    ".json": "application/json",
    ".py": "text/x-python",
    ".yaml": "application/yaml",
    ".yml": "application/yaml",
}


class Page(NamedTuple):
    """Some files in the order of their paths; ``next`` is the cursor of the page after, if there is one."""

    files: list[File]
    next: str | None


def uri_of(path: str) -> str:
    """The URI of the file at *path*. No character of a path needs an escape."""
    return SCHEME + path[len(ROOT) :]


def path_of(uri: str) -> str | PortError:
    """The path that *uri* names."""
    path = ROOT + unquote(uri[len(SCHEME) :])
    if uri.startswith(f"{SCHEME}/") and path_error(path) is None:
        return path
    return PortError(
        ErrorCode.INVALID_PATH, f"The URI {uri[:200]!a} is none of a memory; they are as {TEMPLATE}."
    )


def mime_type_of(path: str) -> str:
    """By the extension."""
    return _MIME_TYPES.get(extension_of(path), "text/plain")


def list_page(memory: Memory, cursor: str | None) -> Page | PortError:
    """The page of resources after *cursor*, or the first. Raises StoreError."""
    # A cursor is the last path of the page before: whatever changes meanwhile, no file is listed twice.
    if cursor is not None and path_error(cursor) is not None:
        return PortError(
            ErrorCode.INVALID_ARGUMENT, "The cursor is none of this server; begin the list without one."
        )
    files = memory.look(lambda scope: [file for file in scope.in_write_order() if file.path > (cursor or "")])
    files.sort(key=lambda file: file.path)
    page = files[:PAGE]
    return Page(page, page[-1].path if len(files) > PAGE else None)


def read(memory: Memory, uri: str) -> FileView | PortError:
    """The text of the resource *uri*."""
    path = path_of(uri)
    if isinstance(path, PortError):
        return path
    result = memory.execute(View(path))
    if result.error is not None:
        return result.error
    if isinstance(result.value, FileView):
        return result.value
    return PortError(
        ErrorCode.PATH_CONFLICT,
        f"{path} is a directory; the tool memory_view lists it, and files are resources.",
    )


def contents_of(scope: Scope) -> dict[str, tuple[int, int]]:
    """By path, what tells whether a file is still the same with the same text."""
    return {file.path: (file.id, file.content) for file in scope.in_write_order()}
