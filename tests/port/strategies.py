"""Random sessions: commands that mostly meet what earlier ones left, and sometimes make no sense.

The dice are a plain random generator, which throws a hundred times as many commands in a second as draws
of Hypothesis would; that chooses seed and length, and finds the shortest beginning of a session that fails.
"""

from __future__ import annotations

from random import Random
from typing import Any, NamedTuple

from hypothesis import strategies as st

from memfs import Limits, Policy
from tests.port.model import Model, split

FILES: tuple[str, ...] = (
    "/memories/a.md",
    "/memories/d/a.md",
    "/memories/d/e/b.txt",
    "/memories/x.md/a.py",
    "/memories/x.md",
)
ARCHIVED = (
    "/memories/archive",
    "/memories/archive/1970",
    "/memories/archive/1970/d",
    "/memories/archive/1970/x.md",
    "/memories/archive/a.md",
)
DIRECTORIES: tuple[str, ...] = ("/memories/d", "/memories/d/e", "/memories/x.md", "/memories/d2")
ODD_PATHS: tuple[object, ...] = (
    "/memories",
    "/memories/a.md/b.md",
    "/memories/a.ts",
    "/memories/areas",
    "/memories/areas/inbox",
    "/memories/",
    "/memories/.a.md",
    "/memories/../a.md",
    "/memories/a.md\n",
    "a.md",
    "",
    "\ud800",
    None,
    7,
    "/memories/" + "s" * 129 + ".md",
    "/memories" + ("/" + "s" * 128) * 7 + "/" + "f" * 108 + ".md",
)
PIECES = ("a", "a", "aa", "b", "\n", "\n", "\r\n", "\r", "\f", "\u2028", "\u00e9", "\U0001f9e0")
ODD_VALUES: tuple[object, ...] = (None, True, False, 1.5, [], {}, "\ud800", "x\udfff", "")
ODD_NUMBERS = (*ODD_VALUES, -1, 99, 2**70)
ODD_COMMANDS: tuple[Any, ...] = (
    None,
    [],
    "view",
    {},
    {"command": "write"},
    {"command": 5},
    {"command": "create"},
)
KINDS = ("create",) * 4 + ("str_replace", "insert", "lines", "rename") * 2 + ("view", "delete", "odd")
LIMITS = (
    Limits(),
    Limits(max_file_bytes=12, max_total_bytes=40, max_files=4),
    Limits(max_file_bytes=40, max_total_bytes=30, max_files=9),
    Limits(max_file_bytes=16, max_total_bytes=1_000, max_files=3),
    Limits(max_file_bytes=6, max_total_bytes=12, max_files=2),
)
PARA: dict[str, Any] = {"layout": "para", "extensions": (".md", ".txt", ".py")}
OTHER_RULES: tuple[dict[str, Any], ...] = (
    {},
    {},
    {"eviction": "refuse"},
    {"eviction": "archive"},
    {"eviction": "archive", "max_archive_bytes": 30},
    PARA | {"eviction": "archive"},
    PARA | {"eviction": "archive", "max_archive_bytes": 60},
    PARA | {"eviction": "refuse"},
    PARA,
)
"""What the rules of a scope may be beside its limits."""


class Session(NamedTuple):
    """The rules of a scope, and commands as they come off the wire."""

    policy: Policy
    sent: list[Any]


def session_of(seed: int, length: int) -> Session:
    """The first commands of the endless session of this seed, for a scope that is empty at first."""
    dice = Random(seed)
    policy = Policy(dice.choice(LIMITS), **dice.choice(OTHER_RULES))
    model = model_of(policy)
    sent: list[Any] = []
    for _ in range(length):
        sent.append(command_after(model, dice))
        model.execute(sent[-1])
    return Session(policy, sent)


sessions = st.builds(session_of, st.integers(0, 2**32 - 1), st.integers(1, 60))


def model_of(policy: Policy, year: int = 1970) -> Model:
    return Model(**policy.to_json(), year=year)


def in_buckets(paths: tuple[str, ...]) -> tuple[str, ...]:
    """The same below a bucket each."""
    return tuple(
        f"/memories/{('projects', 'areas/inbox')[number % 2]}{path[len('/memories') :]}"
        for number, path in enumerate(paths)
    )


def command_after(model: Model, dice: Random) -> Any:
    """A command for the state that *model* is in. Nearly always at most one thing in it is odd."""
    kind = dice.choice(KINDS)
    odd = dice.choice((None,) * 12 + ("path", "value", "number"))
    files, directories = FILES, DIRECTORIES
    if model.layout == "para":
        files, directories = in_buckets(FILES), in_buckets(DIRECTORIES)
    if model.layout == "para" or model.eviction != "delete":
        directories += ARCHIVED
    path: Any = dice.choice(3 * tuple(model.files) + files + directories)
    held = model.files.get(path, "")
    total = len(split(held))
    text: Any = "".join(dice.choices(PIECES, k=dice.randrange(7)))
    line: Any = dice.randint(0, total + 1)
    match odd:
        case "path":
            path = dice.choice(ODD_PATHS)
        case "value":
            text = dice.choice(ODD_VALUES)
        case "number":
            line = dice.choice(ODD_NUMBERS)
    match kind:
        case "create":
            return {"command": kind, "path": path if odd == "path" else dice.choice(files), "text": text}
        case "str_replace":
            at = dice.randint(0, max(0, len(held) - 1))
            part = held[at : at + dice.randint(1, 3)] or "a"
            old, new = dice.choice(((part, text), (part, text), ("a", text), (text, part)))
            return {"command": kind, "path": path, "oldText": old, "newText": new}
        case "insert":
            return {"command": kind, "path": path, "insertLine": line, "text": text}
        case "lines":
            start = line if odd == "number" else dice.randint(1, max(1, total))
            end = dice.choice((total, total, -1, start, total + 1, -2, 0))
            return {"command": "view", "path": path, "viewRange": text if odd == "value" else [start, end]}
        case "rename":
            new = dice.choice(files + directories)
            old, new = (new, path) if odd == "path" and dice.randrange(2) else (path, new)
            return {"command": kind, "oldPath": old, "newPath": new}
        case "view" | "delete":
            return {"command": kind, "path": path}
    return dice.choice(ODD_COMMANDS)


def comparable(answer: dict[str, Any]) -> dict[str, Any]:
    """What the contract fixes of an answer on the wire: not the words, and of the details only its own."""
    if answer["ok"]:
        return answer
    error = answer["error"]
    given = error.get("details", {})
    fixed = {"maxInsertLine"} | (
        {"byteLength", "maxFileBytes", "maxTotalBytes"} if "byteLength" in given else set()
    )
    details = {name: value for name, value in given.items() if name in fixed}
    return {"ok": False, "command": answer["command"], "code": error["code"], "details": details}
