"""``memfs tasks``: the tasks of one workspace or of all, as a table."""

from __future__ import annotations

import json
import shlex
from argparse import Namespace
from collections.abc import Iterator
from typing import NamedTuple

from memfs.cli.choose import Chosen, choose_with_rules, shown_path
from memfs.cli.complaint import Status
from memfs.cli.pages import head_of
from memfs.layout import INBOX_DIR, TASKS_SUBDIR, slugify
from memfs.opening import open_with
from memfs.port.memory import Memory
from memfs.port.names import ROOT

DONE = "done"
_PROJECTS = f"{ROOT}/projects"
_INBOX = f"{ROOT}/{INBOX_DIR}"


class Task(NamedTuple):
    """One task; ``workspace`` is empty for one in the inbox, and so is what its file does not say."""

    workspace: str
    title: str
    status: str
    due: str
    path: str

    @property
    def is_done(self) -> bool:
        """Whether nothing is left to do."""
        return self.status.casefold() == DONE


def run(options: Namespace) -> int:
    """Print the open tasks, with ``--all`` also those that are done."""
    chosen, rules = choose_with_rules(options)
    with open_with(chosen.store, chosen.scope, rules, actor="memfs") as memory:
        tasks = sorted(_tasks(memory, options.project), key=_by_workspace_and_due)
        has_archive = memory.policy.has_archive
    wanted = [task for task in tasks if options.all or not task.is_done]
    if options.json:
        print(json.dumps([task._asdict() | {"done": task.is_done} for task in wanted]))
        return Status.DONE
    print(_table(wanted, chosen) if wanted else "No open tasks.")
    done = [task for task in tasks if task.is_done]
    if done and has_archive:
        paths = shlex.join(shown_path(task.path, chosen) for task in done)
        print(f"\n{len(done)} done; to archive: memfs archive {paths}")
    return Status.DONE


def _tasks(memory: Memory, workspace: str | None) -> Iterator[Task]:
    memory.catch_up()
    scope = memory.snapshot()
    if workspace is not None:
        homes = {slugify(workspace): f"{_PROJECTS}/{slugify(workspace)}"}
    else:
        projects = sorted(scope.children(_PROJECTS)) if scope.is_directory(_PROJECTS) else []
        homes = {name: f"{_PROJECTS}/{name}" for name in projects} | {"": _INBOX}
    for name, home in homes.items():
        directory = f"{home}/{TASKS_SUBDIR}"
        if scope.is_directory(directory):
            for file in scope.files_below(directory):
                title, status, due = map(_printable, head_of(file.path, memory.read(file).decode()))
                yield Task(name, title, status, due, file.path)


def _by_workspace_and_due(task: Task) -> tuple[str, bool, str, str]:
    return task.workspace, not task.due, task.due, task.path


def _table(tasks: list[Task], chosen: Chosen) -> str:
    rows = [("STATUS", "DUE", "TITLE", "PATH")]
    rows += [
        (task.status or "-", task.due or "-", task.title, shown_path(task.path, chosen)) for task in tasks
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def _printable(text: str) -> str:
    """*text* without what a terminal would take for a command."""
    return "".join(
        character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text
    )
