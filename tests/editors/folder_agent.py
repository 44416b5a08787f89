"""How coding agents work on a folder: read before you edit, replace one place, search by grep and glob."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any


class FolderAgent:
    """The file tools of a coding agent, which work on any folder and know nothing of memories."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._read_at: dict[str, int] = {}

    def read(self, name: str, first: int = 1, count: int = 2000) -> str:
        """Lines of a file; an edit asks for a read before it."""
        with (self.folder / name).open() as file:
            text = file.read()
            self._read_at[name] = os.fstat(file.fileno()).st_mtime_ns
        return "".join(text.splitlines(keepends=True)[first - 1 : first - 1 + count])

    def write(self, name: str, text: str) -> None:
        """Make or replace a file, through a temporary one beside it."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f"{path.name}.tmp.{os.getpid()}.{os.urandom(6).hex()}")
        try:
            with temporary.open("x") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            temporary.rename(path)
        except OSError:
            temporary.unlink(missing_ok=True)
            raise
        self._read_at[name] = path.stat().st_mtime_ns

    def edit(self, name: str, old: str, new: str) -> None:
        """Replace the one place where *old* is. Raises ValueError where it must look again."""
        path = self.folder / name
        if self._read_at.get(name) != path.stat().st_mtime_ns:
            raise ValueError("changed since it was read")
        text = path.read_text()
        if text.count(old) != 1:
            raise ValueError("not exactly once")
        self.write(name, text.replace(old, new))

    def grep(self, program: str, pattern: str) -> list[str]:
        """``name:line:text`` of each line with *pattern*, sorted; *program* is ``rg`` or ``grep``."""
        options = ["-n", "--no-heading"] if program == "rg" else ["-rn"]
        done = subprocess.run(
            [program, *options, pattern, "."],
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        return sorted(line.removeprefix("./") for line in done.stdout.splitlines())

    def glob(self, pattern: str) -> list[str]:
        """The names that match, the latest written first."""
        found = sorted(self.folder.glob(pattern), key=lambda path: path.stat().st_mtime_ns, reverse=True)
        return [str(path.relative_to(self.folder)) for path in found]


class ToolServer:
    """A client of an MCP server on its standard input and output: one JSON-RPC message a line."""

    def __init__(self, *command: str, environment: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=dict(environment),
            text=True,
        )
        self._last = 0
        client = {"name": "memfs-tests", "version": "1"}
        self._ask("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=client)
        self._send({"method": "notifications/initialized"})

    def call(self, tool: str, **arguments: Any) -> tuple[str, bool]:
        """What a tool answers, as text, and whether as an error."""
        result = self._ask("tools/call", name=tool, arguments=arguments)
        return "".join(block["text"] for block in result["content"]), result.get("isError", False)

    def __enter__(self) -> ToolServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.communicate()

    def _ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._last += 1
        self._send({"id": self._last, "method": method, "params": parameters})
        assert self._process.stdout is not None
        for line in self._process.stdout:
            message = json.loads(line)
            if message.get("id") == self._last and "method" not in message:
                assert "result" in message, message
                result: dict[str, Any] = message["result"]
                return result
        raise AssertionError("the server has ended")

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self._process.stdin.flush()
