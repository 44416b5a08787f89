"""A scope that carries out commands by plan and apply alone, without a store."""

from __future__ import annotations

from typing import Any

from memfs import Limits
from memfs.port.change import Actor, Change, Commit, File, Origin
from memfs.port.commands import parse_command
from memfs.port.errors import PortError
from memfs.port.plan import plan
from memfs.port.policy import Policy
from memfs.port.receipts import Failure, Result, Success
from memfs.port.scope import Scope

NOW_NS = 7
"""When every command is carried out: in 1970."""


class Planned:
    """Asserts at every command that planning it changes nothing and reads at most one file."""

    def __init__(self, rules: Limits | Policy) -> None:
        self.scope = Scope(Policy(rules) if isinstance(rules, Limits) else rules, 0)
        self.contents: dict[int, bytes] = {}
        self.reads = 0

    def read(self, file: File) -> bytes:
        self.reads += 1
        return self.contents[file.id]

    def execute(self, command: Any) -> Result:
        parsed = parse_command(command)
        if isinstance(parsed, tuple):
            return Failure(*parsed)
        self.reads, before = 0, picture(self.scope)
        planned = plan(self.scope, parsed, self.read, NOW_NS)
        assert picture(self.scope) == before, "planning changed the scope"
        assert self.reads <= 1
        if isinstance(planned, PortError):
            return Failure(parsed.name, planned)
        if isinstance(planned, Change):
            self.apply(planned)
            assert planned.receipt is not None
            return Success(parsed.name, planned.receipt)
        return Success(parsed.name, planned)

    def apply(self, change: Change) -> None:
        self.scope.apply(Commit(self.scope.version + 1, change, Origin(NOW_NS, Actor())))
        for put in change.puts:
            assert put.content is not None
            self.contents[put.id] = put.content


def picture(scope: Scope) -> dict[str, Any]:
    """All that can be seen of a scope."""
    files = list(scope.in_write_order())
    directories, pending = {}, ["/memories"]
    while pending:
        path = pending.pop()
        directories[path] = dict(scope.children(path))
        pending += [f"{path}/{name}" for name, is_directory in directories[path].items() if is_directory]
    return {
        "version": scope.version,
        "files": files,
        "count": len(scope),
        "live": (scope.live_files, scope.live_bytes, list(scope.live_in_write_order())),
        "archived": (scope.archived_files, scope.archived_bytes),
        "directories": directories,
        "below": sorted(scope.files_below("/memories")),
        "by path": [scope.file(file.path) for file in files],
        "by id": [scope.file_by_id(file.id) for file in files],
    }
