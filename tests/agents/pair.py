"""Our memory tool and the SDK's own filesystem tool side by side, and the one list of what may differ."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from posixpath import normpath
from typing import Any, NamedTuple

from anthropic.lib.tools import ToolError
from anthropic.lib.tools._beta_builtin_memory_tool import BetaLocalFilesystemMemoryTool

from memfs.agents.anthropic import MemoryTool
from memfs.port.memory import Memory
from memfs.port.names import DEFAULT_EXTENSIONS, extension_of, path_error
from tests.harness import texts

Fields = Mapping[str, Any]
Files = Mapping[str, str]
"""Path to text."""
ROOT = "/memories"


class Answer(NamedTuple):
    """What the model reads, and whether as an error."""

    text: str
    is_error: bool = False


class Pair:
    """The two tools, their answers, and what they hold."""

    def __init__(self, memory: Memory, folder: Path) -> None:
        self.memory = memory
        self.folder = folder / "memories"
        self.ours = MemoryTool(memory)
        self.theirs = BetaLocalFilesystemMemoryTool(str(folder))

    def ask_ours(self, fields: Fields) -> Answer:
        """Our answer; anything but an answer or a ``ToolError`` is raised."""
        try:
            answer = self.ours.call(dict(fields))
        except ToolError as error:
            return Answer(str(error.content), is_error=True)
        assert isinstance(answer, str)
        return Answer(answer)

    def ask_theirs(self, fields: Fields) -> Answer | Exception:
        """Their answer, or what escaped from the tool instead of one."""
        try:
            answer = self.theirs.call(dict(fields))
        except ToolError as error:
            return Answer(str(error.content), is_error=True)
        except Exception as error:
            return error
        assert isinstance(answer, str)
        if answer.startswith("Here're the files"):
            answer = _with_usual_sizes(fields["path"], answer)
        return Answer(answer)

    def read_theirs(self, fields: Fields) -> str:
        """The text of their answer, which has to be one."""
        answer = self.ask_theirs(fields)
        assert isinstance(answer, Answer), repr(answer)
        return answer.text

    def ask(self, **fields: Any) -> Answer:
        """The answer to a command for which, faults aside, the two must do and say the same."""
        before = self.files()
        theirs = self.ask_theirs(fields)
        ours = self.ask_ours(fields)
        if isinstance(theirs, Exception):
            assert escape_of(fields, before), repr(theirs)
            assert ours.is_error
            assert str(self.folder) not in ours.text
        elif not theirs.is_error and refused_name(fields, before):
            assert ours.is_error
        elif not wrong_of(fields, before):
            after = self.files()
            assert ours == Answer(mended(fields, theirs.text, before, after), theirs.is_error)
            assert texts(self.memory) == after
        self._lay_theirs_anew()
        return ours

    def files(self) -> dict[str, str]:
        """What their folder holds, by path."""
        return {
            f"{ROOT}/{path.relative_to(self.folder)}": path.read_bytes().decode()
            for path in self.folder.rglob("*")
            if path.is_file()
        }

    def _lay_theirs_anew(self) -> None:
        """Make their folder hold what our memory does, and nothing else: no directory without a file."""
        wanted = texts(self.memory)
        if wanted == self.files() and not any(
            path.is_dir() and not any(path.iterdir()) for path in self.folder.rglob("*")
        ):
            return
        shutil.rmtree(self.folder)
        self.folder.mkdir()
        for path, text in wanted.items():
            file = self.folder / path.removeprefix(f"{ROOT}/")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(text.encode())


def _with_usual_sizes(path: str, listing: str) -> str:
    """*listing* with the size that directories have on ext4, whatever disk the test runs on."""
    return re.sub(rf"^[^\t\n]+(?=\t(?:.*/|{re.escape(path)})$)", "4K", listing, flags=re.MULTILINE)


# --- what may differ -----------------------------------------------------------------------------


def refused_name(fields: Fields, before: Files) -> bool:
    """Whether the command would make a file that no memory can be: a rule of the port, and no fault."""
    if fields["command"] not in ("create", "rename"):
        return False
    is_file = fields["command"] == "create" or normpath(fields["old_path"]) in before
    path = normpath(fields["path"] if fields["command"] == "create" else fields["new_path"])
    return path_error(path) is not None or (is_file and extension_of(path) not in DEFAULT_EXTENSIONS)


def escape_of(fields: Fields, before: Files) -> str | None:
    """The fault by which the SDK's tool ends in an error of the system's, with the host's path."""
    return next((name for name, shows in ESCAPES.items() if shows(fields, before)), None)


def wrong_of(fields: Fields, before: Files) -> str | None:
    """The fault by which the SDK's tool does another thing than it should."""
    return next((name for name, shows in WRONGS.items() if shows(fields, before)), None)


def mended(fields: Fields, answer: str, before: Files, after: Files) -> str:
    """The SDK's answer without its faults of text."""
    for shows, mend in MISTEXTS.values():
        if shows(fields, before):
            answer = mend(fields, answer, after)
    return answer


def _paths(fields: Fields) -> list[str]:
    return [fields[field] for field in ("path", "old_path", "new_path") if field in fields]


def _text(fields: Fields, files: Files) -> str | None:
    return files.get(normpath(fields["path"])) if "path" in fields else None


def _lies_below_a_file(fields: Fields, before: Files) -> bool:
    return any(normpath(path).startswith(f"{file}/") for path in _paths(fields) for file in before)


def _moves_into_itself(fields: Fields, _before: Files) -> bool:
    if fields["command"] != "rename":
        return False
    return str(normpath(fields["new_path"])).startswith(f"{normpath(fields['old_path'])}/")


def _holds_a_nul(fields: Fields, _before: Files) -> bool:
    return any("\0" in path for path in _paths(fields))


def _lies_beside_the_root(fields: Fields, _before: Files) -> bool:
    return any(re.match(rf"{ROOT}[^/]", path) for path in _paths(fields))


def _replaces_nothing(fields: Fields, before: Files) -> bool:
    return (
        fields["command"] == "str_replace" and fields["old_str"] == "" and _text(fields, before) is not None
    )


def _loses_blank_lines(fields: Fields, before: Files) -> bool:
    if fields["command"] != "insert":
        return False
    inserted: str = fields["insert_text"]
    text = _text(fields, before) or ""
    return inserted.endswith("\n\n") or inserted in ("", "\n") or ("\n" + text).endswith("\n\n")


def _completes_the_last_line(fields: Fields, before: Files) -> bool:
    return fields["command"] == "insert" and not (_text(fields, before) or "\n").endswith("\n")


def _lists_with_a_slash(fields: Fields, before: Files) -> bool:
    return fields["command"] == "view" and fields["path"].endswith("/") and _text(fields, before) is None


def _with_one_slash(fields: Fields, answer: str, _after: Files) -> str:
    return answer.replace(f"\t{fields['path']}/", f"\t{fields['path'].rstrip('/')}/")


def _repeats_lines(fields: Fields, before: Files) -> bool:
    return fields["command"] == "str_replace" and (_text(fields, before) or "").count(fields["old_str"]) > 1


def _with_each_line_once(_fields: Fields, answer: str, _after: Files) -> str:
    head, marker, rest = answer.rpartition("` in lines: ")
    numbers, end, tail = rest.partition(". Please ensure")
    return head + marker + ", ".join(dict.fromkeys(numbers.split(", "))) + end + tail


def _shows_lines(fields: Fields, before: Files) -> bool:
    return fields["command"] in ("view", "str_replace") and _text(fields, before) is not None


def _without_phantom_line(fields: Fields, answer: str, after: Files) -> str:
    text = _text(fields, after) or ""
    phantom = f"\n{text.count(chr(10)) + 1:>6}\t"
    if text[-1:] not in ("", "\n") or not answer.endswith(phantom):
        return answer
    rest = answer.removesuffix(phantom)
    return rest if "\n" in rest else rest + "\n"


ESCAPES: dict[str, Callable[[Fields, Files], bool]] = {
    "below a file": _lies_below_a_file,
    "a directory into itself": _moves_into_itself,
    "a NUL in a path": _holds_a_nul,
}
WRONGS: dict[str, Callable[[Fields, Files], bool]] = {
    "a path beside the root is taken for one below it": _lies_beside_the_root,
    "an empty old_str is found at every position": _replaces_nothing,
    "an insertion loses blank lines at its end, or at the file's": _loses_blank_lines,
    "an insertion completes the file's last line": _completes_the_last_line,
}
MISTEXTS: dict[str, tuple[Callable[[Fields, Files], bool], Callable[[Fields, str, Files], str]]] = {
    "a listing doubles the slash of its path": (_lists_with_a_slash, _with_one_slash),
    "a line with two occurrences is named twice": (_repeats_lines, _with_each_line_once),
    "what follows the last line's ending is shown as a line": (_shows_lines, _without_phantom_line),
}
