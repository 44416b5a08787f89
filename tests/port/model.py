"""The contract once more, written for plainness: a dict of path to text in write order, and no speed.

It shares no code with memfs, so that both would have to be wrong in the same way.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
FIRST = LETTERS + "0123456789_"
EXTENSIONS = (".txt", ".md", ".json", ".py", ".yaml", ".yml")
BUCKETS = ("projects", "areas", "resources", "archive")
ALWAYS_THERE = [f"/memories/{name}" for name in (*BUCKETS, "areas/inbox")]


class Refused(Exception):
    def __init__(self, code: str, **details: int | str) -> None:
        super().__init__(code)
        self.code = code
        self.details = details


class Model:
    """One scope. ``execute`` answers as the port does on the wire, but for the words of a message."""

    def __init__(
        self,
        max_file_bytes: int = 65_536,
        max_total_bytes: int = 1_048_576,
        max_files: int = 256,
        layout: str = "flat",
        eviction: str = "delete",
        extensions: tuple[str, ...] = EXTENSIONS,
        max_archive_bytes: int | None = None,
        year: int = 1970,
    ) -> None:
        self.files: dict[str, str] = {}
        self.stamps: dict[str, int] = {}
        """The version that wrote each text; a restored directory keeps it as the order of its files."""
        self.version = 0
        self.layout = layout
        self.eviction = eviction
        self.extensions = extensions
        self.max_archive_bytes = max_archive_bytes
        self.year = year
        self.max_file_bytes = max_file_bytes
        self.max_total_bytes = max_total_bytes
        self.max_files = max_files

    def execute(self, command: Any) -> dict[str, Any]:
        name = command.get("command") if isinstance(command, Mapping) else None
        name = name if isinstance(name, str) else "unknown"
        before, stamps = dict(self.files), dict(self.stamps)
        self.files_before, self.use_before = before, self.live_use()
        try:
            if name not in ("view", "create", "str_replace", "insert", "delete", "rename"):
                raise Refused("INVALID_COMMAND")
            if name != "view":
                check_reason(command.get("reason"))
            value = getattr(self, name)(dict(command))
            self.version += name != "view"
        except Refused as refused:
            self.files, self.stamps = before, stamps
            error: dict[str, Any] = {"code": refused.code, "message": f"This is {refused.code}."}
            details = dict(refused.details)
            if "path" in details:
                error["path"] = details.pop("path")
            if details:
                error["details"] = details
            return {"ok": False, "command": name, "error": error}
        return {"ok": True, "command": name, "value": value}

    def view(self, command: dict[str, Any]) -> dict[str, Any]:
        path = self.checked_path(command.get("path"))
        self.check_bucket(path)
        if path in self.files:
            return self.view_file(path, self.files[path], command)
        if not self.is_directory(path):
            raise Refused("NOT_FOUND")
        if "viewRange" in command:
            raise Refused("INVALID_RANGE")
        names = {
            each[len(path) + 1 :].split("/")[0]
            for each in [*self.files, *self.always_there()]
            if each.startswith(path + "/")
        }
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
        self.check_bucket(path)
        self.check_live(path)
        text = checked_text(command.get("text"))
        self.check_extension(path)
        if self.is_directory(path):
            raise Refused("PATH_CONFLICT")
        self.check_parents(path)
        self.check_expected(path, command.get("expected"))
        overwritten = path in self.files
        return self.write(path, text) | {"overwritten": overwritten}

    def str_replace(self, command: dict[str, Any]) -> dict[str, Any]:
        path = self.checked_path(command.get("path"))
        self.check_bucket(path)
        self.check_live(path)
        old, new = checked_text(command.get("oldText")), checked_text(command.get("newText"))
        if not old:
            raise Refused("INVALID_ARGUMENT")
        text = self.existing(path)
        self.check_expected(path, command.get("expected"))
        pieces = text.split(old)
        if len(pieces) == 1:
            raise Refused("MATCH_NOT_FOUND")
        if len(pieces) > 2:
            raise Refused("MATCH_NOT_UNIQUE")
        return self.write(path, new.join(pieces))

    def insert(self, command: dict[str, Any]) -> dict[str, Any]:
        path = self.checked_path(command.get("path"))
        self.check_bucket(path)
        self.check_live(path)
        text = checked_text(command.get("text"))
        at = command.get("insertLine")
        if type(at) is not int or at < 0:
            raise Refused("INVALID_RANGE")
        lines = split(self.existing(path))
        self.check_expected(path, command.get("expected"))
        if at > len(lines):
            raise Refused("INVALID_RANGE", maxInsertLine=len(lines))
        return self.write(path, "\n".join(lines[:at] + split(text) + lines[at:]) + "\n")

    def delete(self, command: dict[str, Any]) -> dict[str, Any]:
        path = self.checked_path(command.get("path"))
        if path in ("/memories", *self.always_there()):
            raise Refused("ROOT_PROTECTED")
        self.check_bucket(path)
        gone = self.at_or_below(path)
        self.check_expected(path, command.get("expected"))
        kind = "file" if path in self.files else "directory"
        freed = sum(len(self.files.pop(file).encode()) for file in gone)
        return {"path": path, "kind": kind, "deletedFiles": len(gone), "freedBytes": freed}

    def rename(self, command: dict[str, Any]) -> dict[str, Any]:
        old = self.checked_path(command.get("oldPath"))
        new = self.checked_path(command.get("newPath"))
        self.check_bucket(old)
        self.check_bucket(new)
        if "/memories" in (old, new) or old in self.always_there():
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
        self.check_expected(old, command.get("expected"))
        restored = [file for file in moved if self.is_archived(file) > self.is_archived(destinations[file])]
        restored.sort(key=lambda file: (self.stamps.get(file, 0), file))
        self.move(destinations)
        for file in restored:  # each gets the newest place
            self.check_size(self.files[destinations[file]])
            self.files[destinations[file]] = self.files.pop(destinations[file])
        evicted = self.make_room({destinations[file] for file in restored})
        self.check_archive()
        kind = "file" if is_file else "directory"
        value = {"oldPath": old, "newPath": new, "kind": kind, "movedFiles": len(moved)}
        return value | {"evicted": evicted} if evicted else value

    def write(self, path: str, text: str) -> dict[str, Any]:
        self.check_size(text)
        self.files.pop(path, None)
        self.files[path] = text
        self.stamps[path] = self.version + 1
        evicted = self.make_room({path})
        self.check_archive()
        return {"path": path, "byteLength": len(text.encode()), "evicted": evicted}

    def make_room(self, written: set[str]) -> list[str]:
        evicted: list[str] = []
        while written and not self.fits():
            count, total = self.live_use()
            if self.eviction == "refuse":
                too_many = count > max(self.max_files, self.use_before[0])
                too_much = total > max(self.max_total_bytes, self.use_before[1])
                if too_many or too_much:
                    raise Refused("LIMIT_EXCEEDED")
                return evicted
            others = [file for file in self.files if not self.is_archived(file) and file not in written]
            if not others:
                raise Refused("LIMIT_EXCEEDED")
            evicted.append(others[0])
            if self.eviction == "delete":
                del self.files[others[0]]
            else:
                place = self.free_place(f"/memories/archive/{self.year:04}{others[0][len('/memories') :]}")
                if len(place) > 1024:
                    raise Refused("LIMIT_EXCEEDED")
                self.move({others[0]: place})
        return evicted

    def move(self, destinations: dict[str, str]) -> None:
        self.files = {destinations.get(file, file): text for file, text in self.files.items()}
        self.stamps = {destinations.get(file, file): stamp for file, stamp in self.stamps.items()}

    def free_place(self, path: str) -> str:
        """*path*, or with ordinals where it is taken: each after a taken one that doubling finds."""
        at = "/memories"
        names = path.split("/")[2:]
        for depth, name in enumerate(names):
            is_last = depth == len(names) - 1
            tried, taken = 1, 0
            while self.is_taken(f"{at}/{ordinal(name, tried)}", is_last):
                taken, tried = tried, 2 * tried
            while tried > taken + 1:
                middle = (taken + tried) // 2
                if self.is_taken(f"{at}/{ordinal(name, middle)}", is_last):
                    taken = middle
                else:
                    tried = middle
            at = f"{at}/{ordinal(name, tried)}"
        return at

    def is_taken(self, path: str, by_anything: bool) -> bool:
        files = {*self.files, *self.files_before}  # also what the same command moves away
        return path in files or (by_anything and any(file.startswith(path + "/") for file in files))

    def fits(self) -> bool:
        count, total = self.live_use()
        return count <= self.max_files and total <= self.max_total_bytes

    def live_use(self) -> tuple[int, int]:
        sizes = [len(text.encode()) for file, text in self.files.items() if not self.is_archived(file)]
        return len(sizes), sum(sizes)

    def is_archived(self, path: str) -> bool:
        has_archive = self.layout == "para" or self.eviction == "archive"
        return has_archive and path.startswith("/memories/archive/")

    def always_there(self) -> list[str]:
        return ALWAYS_THERE if self.layout == "para" else []

    def is_directory(self, path: str) -> bool:
        return path in ("/memories", *self.always_there()) or any(
            file.startswith(path + "/") for file in self.files
        )

    def at_or_below(self, path: str) -> list[str]:
        found = [file for file in self.files if file == path or file.startswith(path + "/")]
        if not found:
            raise Refused("NOT_FOUND")
        return found

    def existing(self, path: str) -> str:
        if path in self.files:
            return self.files[path]
        raise Refused("PATH_CONFLICT" if self.is_directory(path) else "NOT_FOUND")

    def check_size(self, text: str) -> None:
        size = len(text.encode())
        if size > self.max_file_bytes or size > self.max_total_bytes:
            raise Refused(
                "LIMIT_EXCEEDED",
                byteLength=size,
                maxFileBytes=self.max_file_bytes,
                maxTotalBytes=self.max_total_bytes,
            )

    def check_archive(self) -> None:
        sizes = [len(text.encode()) for file, text in self.files.items() if self.is_archived(file)]
        if self.max_archive_bytes is not None and sum(sizes) > self.max_archive_bytes:
            raise Refused("LIMIT_EXCEEDED")

    def check_bucket(self, path: str) -> None:
        if self.layout == "para" and path != "/memories" and path.split("/")[2] not in BUCKETS:
            raise Refused("INVALID_PATH")

    def check_live(self, path: str) -> None:
        if self.is_archived(path):
            raise Refused("ROOT_PROTECTED")

    def check_parents(self, path: str) -> None:
        names = path.split("/")
        if any("/".join(names[:depth]) in self.files for depth in range(1, len(names))):
            raise Refused("PATH_CONFLICT")

    def check_expected(self, path: str, expected: object) -> None:
        if expected is None:
            return
        version = self.stamps[path] if path in self.files else None
        there: int | str = "directory" if version is None and self.is_directory(path) else version or "absent"
        if expected == "absent":
            wanted: Any = "absent"
        elif not isinstance(expected, dict) or len(expected) != 1:
            raise Refused("INVALID_ARGUMENT")
        elif "sha256" in expected:
            wanted = expected["sha256"]
            if (
                not isinstance(wanted, str)
                or len(wanted) != 64
                or set(wanted.lower()) - set("0123456789abcdef")
            ):
                raise Refused("INVALID_ARGUMENT")
            wanted = wanted.lower()
            if version is not None:
                there = sha256(self.files[path].encode()).hexdigest()
        else:
            wanted = expected.get("version")
            if type(wanted) is not int or wanted < 1:
                raise Refused("INVALID_ARGUMENT")
            if version is not None and version <= wanted <= self.version:
                return
        if wanted != there:
            raise Refused("CONFLICT", expected=wanted, actual=there, path=path)

    def check_extension(self, path: str) -> None:
        name = path.split("/")[-1]
        if "." not in name or "." + name.split(".")[-1] not in self.extensions:
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


def check_reason(reason: object) -> None:
    if reason is not None and (len(checked_text(reason)) > 1_000 or not str(reason).isprintable()):
        raise Refused("INVALID_ARGUMENT")


def checked_text(text: object) -> str:
    if not isinstance(text, str) or any(0xD800 <= ord(character) < 0xE000 for character in text):
        raise Refused("INVALID_ARGUMENT")
    return text


def ordinal(name: str, number: int) -> str:
    """*name* as the number-th of its kind: a.md, a-2.md, a-3.md."""
    if number == 1:
        return name
    stem, dot, extension = name.rpartition(".") if "." in name else (name, "", "")
    suffix = f"-{number}{dot}{extension}"
    return stem[: 128 - len(suffix)].rstrip("-") + suffix


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
