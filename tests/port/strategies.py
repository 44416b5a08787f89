"""Random commands over few paths and short texts, so that they meet: mostly sensible, sometimes not."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from memfs import Limits

FILES = (
    "/memories/a.md",
    "/memories/b.txt",
    "/memories/d/a.md",
    "/memories/d/e/b.md",
    "/memories/d/e/c.py",
    "/memories/d/e/f/g.json",
    "/memories/x.md/a.md",
    "/memories/x.md",
)
DIRECTORIES = (
    "/memories/d",
    "/memories/d/e",
    "/memories/d/e/f",
    "/memories/x.md",
    "/memories/y",
    "/memories/d2",
)
ODD_PATHS: tuple[object, ...] = (
    "/memories",
    "/memories/a.md/b.md",
    "/memories/a.ts",
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
ALPHABET = "ab\n\r \f\u2028\u00e9\U0001f9e0"
ODD_VALUES: tuple[object, ...] = (None, True, 0, 1.5, [], {}, "\ud800", "x\udfff")


def rarely(common: st.SearchStrategy[Any], odd: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Mostly from *common*, one time in eight from *odd*."""
    return st.integers(0, 7).flatmap(lambda number: odd if number == 0 else common)


texts = rarely(st.text(ALPHABET, max_size=14), st.sampled_from(ODD_VALUES))
files = rarely(st.sampled_from(FILES), st.sampled_from(ODD_PATHS + DIRECTORIES))
paths = rarely(st.sampled_from(FILES + DIRECTORIES), st.sampled_from(ODD_PATHS))
needles = rarely(st.text("ab\n\r\u00e9", min_size=1, max_size=2), st.sampled_from((*ODD_VALUES, "")))
numbers = rarely(st.integers(0, 4), st.sampled_from((*ODD_VALUES, -1, 99, 2**70)))
ranges = rarely(
    st.tuples(st.integers(0, 4), st.integers(-1, 4)).map(list),
    st.one_of(
        st.sampled_from(ODD_VALUES), st.lists(st.sampled_from((1, -1, True, 1.0, "1", None)), max_size=3)
    ),
)


def command(name: str, **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({"command": st.just(name), **fields})


view = st.one_of(command("view", path=paths), command("view", path=files, viewRange=ranges))
create = command("create", path=files, text=texts)
str_replace = command("str_replace", path=files, oldText=needles, newText=texts)
insert = command("insert", path=files, insertLine=numbers, text=texts)
delete = command("delete", path=paths)
rename = command("rename", oldPath=paths, newPath=paths)
incomplete: st.SearchStrategy[Any] = st.sampled_from(
    (
        None,
        [],
        "view",
        {},
        {"command": "write"},
        {"command": 5},
        {"command": "create", "path": "/memories/a.md"},
    )
)
commands: st.SearchStrategy[Any] = st.one_of(
    create, create, str_replace, insert, view, rename, delete, rarely(create, incomplete)
)
"""Any command, as it comes off the wire."""

limits = st.sampled_from(
    (
        Limits(),
        Limits(max_file_bytes=12, max_total_bytes=30, max_files=4),
        Limits(max_file_bytes=30, max_total_bytes=20, max_files=9),
        Limits(max_file_bytes=9, max_total_bytes=1_000, max_files=2),
        Limits(max_file_bytes=5, max_total_bytes=5, max_files=1),
    )
)


def comparable(answer: dict[str, Any]) -> dict[str, Any]:
    """What the contract fixes of an answer on the wire: not the words, and of the details only its own."""
    if answer["ok"]:
        return answer
    error = answer["error"]
    fixed = {"byteLength", "maxFileBytes", "maxTotalBytes", "maxInsertLine"}
    details = {name: value for name, value in error.get("details", {}).items() if name in fixed}
    return {"ok": False, "command": answer["command"], "code": error["code"], "details": details}
