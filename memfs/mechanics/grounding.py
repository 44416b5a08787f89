"""``ground``: named files and directories of a memory, within limits, as one prompt. It only reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

from memfs.mechanics.limits import DEFAULT_LIMITS, GroundLimits
from memfs.mechanics.outcomes import Failed, MemoryPort, ReadFailed
from memfs.mechanics.prompt import Section, framed
from memfs.port.commands import View
from memfs.port.errors import ErrorCode, PortError
from memfs.port.receipts import DirectoryView, FileView


class Source(NamedTuple):
    """A file, or a directory with everything below it. An *optional* one may be missing."""

    path: str
    optional: bool = False


class Document(NamedTuple):
    """A file's text, or its beginning; ``total_characters`` is how many the file has."""

    path: str
    text: str
    total_characters: int

    @property
    def is_whole(self) -> bool:
        """Whether ``text`` is all of the file's."""
        return len(self.text) == self.total_characters

    def to_section(self) -> Section:
        """The document as it stands in a prompt."""
        if self.total_characters == 0:
            return Section(f"{self.path} (empty)", "")
        if self.is_whole:
            return Section(self.path, self.text)
        share = f"the first {len(self.text)} of {self.total_characters} characters"
        return Section(f"{self.path} ({share})", self.text)


@dataclass(frozen=True, slots=True)
class Grounded:
    """What was read, sorted by path, each file once.

    ``missing`` are the optional sources that are not there; ``left_out`` the files that the limits had
    no room for.
    """

    documents: tuple[Document, ...]
    missing: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    ok: ClassVar[Literal[True]] = True

    @property
    def prompt(self) -> str:
        """The documents under the warning that they are untrusted data."""
        return framed(document.to_section() for document in self.documents)


def ground(
    memory: MemoryPort, sources: Iterable[str | Source], limits: GroundLimits = DEFAULT_LIMITS
) -> Grounded | Failed:
    """Read *sources*: files, and directories recursively.

    A source given as a path alone is necessary: where one is missing, or anything else cannot be read,
    the answer is ``read_failed`` with the port's error. Files are taken in the order of their paths until
    the limits are reached; a text that is too long is cut between two characters.
    """
    try:
        return read_grounded(memory, sources, limits)
    except ReadFailed as failed:
        return failed.to_value()


def read_grounded(
    memory: MemoryPort, sources: Iterable[str | Source], limits: GroundLimits, without: str | None = None
) -> Grounded:
    """As :func:`ground`, without the file *without*. Raises :class:`ReadFailed`."""
    found, missing = _find(memory, sources)
    if without is not None:
        found.pop(without, None)
    documents: list[Document] = []
    left_out: list[str] = []
    room = limits.max_characters
    for path in sorted(found):
        if len(documents) == limits.max_files or room == 0:
            left_out.append(path)
            continue
        text = found[path]
        if text is None:
            view = _view(memory, path)
            if not isinstance(view, FileView):
                continue  # it has gone, or changed its kind, since its directory was listed
            text = view.text
        part = text[: min(limits.max_file_characters, room)]
        room -= len(part)
        documents.append(Document(path, part, len(text)))
    return Grounded(tuple(documents), tuple(missing), tuple(left_out))


def read_text(memory: MemoryPort, path: str) -> str | None:
    """The text of the file at *path*; None for nothing there. Raises :class:`ReadFailed`."""
    view = _view(memory, path)
    if view is None:
        return None
    if isinstance(view, FileView):
        return view.text
    raise ReadFailed(PortError(ErrorCode.PATH_CONFLICT, f"{path} is a directory; name a file.", path))


def _find(memory: MemoryPort, sources: Iterable[str | Source]) -> tuple[dict[str, str | None], list[str]]:
    """The files that *sources* name, by path, with the text where it was seen; and the missing sources."""
    found: dict[str, str | None] = {}
    missing: list[str] = []
    for path, optional in sorted(_merged(sources).items()):
        view = _view(memory, path, optional=optional)
        if view is None:
            missing.append(path)
        elif isinstance(view, FileView):
            found[path] = view.text
        else:
            for below in _files_below(memory, view):
                found.setdefault(below, None)
    return found, missing


def _merged(sources: Iterable[str | Source]) -> dict[str, bool]:
    """Path to whether it is optional, which it is only if nobody needs it."""
    merged: dict[str, bool] = {}
    for source in sources:
        path, optional = (source, False) if isinstance(source, str) else source
        merged[path] = optional and merged.get(path, True)
    return merged


def _files_below(memory: MemoryPort, directory: DirectoryView) -> Iterator[str]:
    listed = [directory]
    while listed:
        for entry in listed.pop().entries:
            if entry.kind == "file":
                yield entry.path
                continue
            view = _view(memory, entry.path)
            if isinstance(view, DirectoryView):  # else it has gone, or changed its kind, since it was listed
                listed.append(view)


def _view(memory: MemoryPort, path: str, optional: bool = True) -> FileView | DirectoryView | None:
    """What is at *path*; None for nothing there, if it is *optional*. Raises :class:`ReadFailed`."""
    result = memory.execute(View(path))
    if result.error is None:
        assert isinstance(result.value, FileView | DirectoryView), "a view's receipt"
        return result.value
    if optional and result.error.code is ErrorCode.NOT_FOUND:
        return None
    raise ReadFailed(result.error)
