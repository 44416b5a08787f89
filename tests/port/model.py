"""The contract once more, written for plainness: a dict of path to text in write order, and no speed.

It shares no code with memfs, so that both would have to be wrong in the same way.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
FIRST = LETTERS + "0123456789_"
EXTENSIONS = (".txt", ".md", ".json", ".py", ".yaml", ".yml")


class Refused(Exception):
    def __init__(self, code: str, **details: int) -> None:
        super().__init__(code)
        self.code = code
        self.details = details


class Model:
    """One scope. ``execute`` answers as the port does on the wire, but for the words of a message."""

    def __init__(
        self, max_file_bytes: int = 65_536, max_total_bytes: int = 1_048_576, max_files: int = 256
    ) -> None:
        self.files: dict[str, str] = {}
        self.max_file_bytes = max_file_bytes
        self.max_total_bytes = max_total_bytes
        self.max_files = max_files

    def execute(self, command: Any) -> dict[str, Any]:
        name = command.get("command") if isinstance(command, Mapping) else None
        name = name if isinstance(name, str) else "unknown"
        before = dict(self.files)
        try:
            if name not in ("view", "create", "str_replace", "insert", "delete", "rename"):
                raise Refused("INVALID_COMMAND")
            value = getattr(self, name)(dict(command))
        except Refused as refused:
            self.files = before
            error: dict[str, Any] = {"code": refused.code, "message": f"This is {refused.code}."}
            if refused.details:
                error["details"] = refused.details
            return {"ok": False, "command": name, "error": error}
        return {"ok": True, "command": name, "value": value}

    def view(self, command: dict[str, Any]) -> dict[str, Any]:
        path = self.checked_path(command.get("path"))
        if path in self.files:
            return self.view_file(path, self.files[path], command)
        if not self.is_directory(path):
            raise Refused("NOT_FOUND")
        if "viewRange" in command:
            raise Refused("INVALID_RANGE")
        names = {file[len(path) + 1 :].split("/")[0] for file in self.files if file.startswith(path + "/")}
        entries = [
            {
                "name": name,
                "path": path + "/" + name,
                "kind": "file" if path + "/" + name in self.files else "directory",
            }
            for name in sorted(names, key=lambda name: name.encode())
        ]
        return {"kind": "directory", "path": path, "entries": entries}

    def view_file(self, path: str, text: str, command: dict[str, Any]) -> dict[str, Any]:
        lines = split(text)
        total = len(lines)
        start, end = (1 if total else 0), total
        if "viewRange" in command:
            wanted = command["viewRange"]
            if not (isinstance(wanted, list) and len(wanted) == 2 and all(type(n) is int for n in wanted)):
                raise Refused("INVALID_RANGE")
            start, end = wanted
            if end == -1:
                end = total
            if start < 1 or end < start or end > total:
                raise Refused("INVALID_RANGE")
            is_last_complete = text[-1:] in ("\n", "\r")
            text = "\n".join(lines[start - 1 : end])
            if end < total or is_last_complete:
                text += "\n"
        return {
            "kind": "file",
            "path": path,
            "text": text,
            "byteLength": len(text.encode()),
            "lines": {"start": start, "end": end, "total": total},
        }

    def create(self, command: dict[str, Any]) -> dict[str, Any]:
        path = self.checked_path(command.get("path"))
        if path == "/memories":
            raise Refused("ROOT_PROTECTED")
        text = checked_text(command.get("text"))
        self.check_extension(path)
        if self.is_directory(path):
            raise Refused("PATH_CONFLICT")
        self.check_parents(path)
        overwritten = path in self.files
        return self.write(path, text) | {"overwritten": overwritten}

    def str_replace(self, command: dict[str, Any]) -> dict[str, Any]:
        path = self.checked_path(command.get("path"))
        old, new = checked_text(command.get("oldText")), checked_text(command.get("newText"))
        if not old:
            raise Refused("INVALID_ARGUMENT")
        text = self.existing(path)
        pieces = text.split(old)
        if len(pieces) == 1:
            raise Refused("MATCH_NOT_FOUND")
        if len(pieces) > 2:
            raise Refused("MATCH_NOT_UNIQUE")
        return self.write(path, new.join(pieces))

    def insert(self, command: dict[str, Any]) -> dict[str, Any]:
        path = self.checked_path(command.get("path"))
        text = checked_text(command.get("text"))
        at = command.get("insertLine")
        if type(at) is not int or at < 0:
            raise Refused("INVALID_RANGE")
        lines = split(self.existing(path))
        if at > len(lines):
            raise Refused("INVALID_RANGE", maxInsertLine=len(lines))
        return self.write(path, "\n".join(lines[:at] + split(text) + lines[at:]) + "\n")

    def delete(self, command: dict[str, Any]) -> dict[str, Any]:
        path = self.checked_path(command.get("path"))
        if path == "/memories":
            raise Refused("ROOT_PROTECTED")
        gone = self.at_or_below(path)
        kind = "file" if path in self.files else "directory"
        freed = sum(len(self.files.pop(file).encode()) for file in gone)
        return {"path": path, "kind": kind, "deletedFiles": len(gone), "freedBytes": freed}

    def rename(self, command: dict[str, Any]) -> dict[str, Any]:
        old = self.checked_path(command.get("oldPath"))
        new = self.checked_path(command.get("newPath"))
        if "/memories" in (old, new):
            raise Refused("ROOT_PROTECTED")
        moved = self.at_or_below(old)
        if new in self.files or self.is_directory(new):
            raise Refused("ALREADY_EXISTS")
        is_file = old in self.files
        if not is_file and new.startswith(old + "/"):
            raise Refused("CONFLICT")
        if is_file:
            self.check_extension(new)
        self.check_parents(new)
        destinations = {file: new + file[len(old) :] for file in moved}
        for destination in destinations.values():
            self.checked_path(destination)
        self.files = {destinations.get(file, file): text for file, text in self.files.items()}
        kind = "file" if is_file else "directory"
        return {"oldPath": old, "newPath": new, "kind": kind, "movedFiles": len(moved)}

    def write(self, path: str, text: str) -> dict[str, Any]:
        size = len(text.encode())
        if size > self.max_file_bytes or size > self.max_total_bytes:
            raise Refused(
                "LIMIT_EXCEEDED",
                byteLength=size,
                maxFileBytes=self.max_file_bytes,
                maxTotalBytes=self.max_total_bytes,
            )
        self.files.pop(path, None)
        self.files[path] = text
        evicted = []
        while len(self.files) > self.max_files or self.total() > self.max_total_bytes:
            earliest = next(iter(self.files))
            del self.files[earliest]
            evicted.append(earliest)
        return {"path": path, "byteLength": size, "evicted": evicted}

    def total(self) -> int:
        return sum(len(text.encode()) for text in self.files.values())

    def is_directory(self, path: str) -> bool:
        return path == "/memories" or any(file.startswith(path + "/") for file in self.files)

    def at_or_below(self, path: str) -> list[str]:
        found = [file for file in self.files if file == path or file.startswith(path + "/")]
        if not found:
            raise Refused("NOT_FOUND")
        return found

    def existing(self, path: str) -> str:
        if path in self.files:
            return self.files[path]
        raise Refused("PATH_CONFLICT" if self.is_directory(path) else "NOT_FOUND")

    def check_parents(self, path: str) -> None:
        names = path.split("/")
        if any("/".join(names[:depth]) in self.files for depth in range(1, len(names))):
            raise Refused("PATH_CONFLICT")

    def check_extension(self, path: str) -> None:
        name = path.split("/")[-1]
        if "." not in name or "." + name.split(".")[-1] not in EXTENSIONS:
            raise Refused("INVALID_EXTENSION")

    def checked_path(self, path: object) -> str:
        if not isinstance(path, str):
            raise Refused("INVALID_ARGUMENT")
        empty, *names = path.split("/")
        if empty or not names or names[0] != "memories" or len(path.encode("utf-8", "surrogatepass")) > 1024:
            raise Refused("INVALID_PATH")
        for name in names:
            if not 1 <= len(name) <= 128 or name[0] not in FIRST or any(c not in FIRST + ".-" for c in name):
                raise Refused("INVALID_PATH")
        return path


def checked_text(text: object) -> str:
    if not isinstance(text, str) or any(0xD800 <= ord(character) < 0xE000 for character in text):
        raise Refused("INVALID_ARGUMENT")
    return text


def split(text: str) -> list[str]:
    """The logical lines of *text*, one character after the other."""
    lines, line, at = [], "", 0
    while at < len(text):
        character = text[at]
        at += 1
        if character == "\r" and text[at : at + 1] == "\n":
            at += 1
        if character in "\r\n":
            lines.append(line)
            line = ""
        else:
            line += character
    return [*lines, line] if line else lines
