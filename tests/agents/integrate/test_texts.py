"""One entry of a text, changed and nothing else of it: every byte that is not the entry's stays."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memfs.agents.integrate import jsonc, toml
from memfs.agents.integrate.jsonc import Unreadable

ENTRY = {"command": "/bin/memfs", "args": ["mcp", "--scope", 'a "b" ü']}
OTHER = {"command": "/bin/memfs", "args": []}
JSON_PATH, TOML_PATH = ("mcpServers", "memfs"), ("mcp_servers", "memfs")

JSON_TEXTS = [
    '{\n  "a": 1,\n  "mcpServers": {\n    "x": {"command": "y"}\n  },\n  "z": [1, 2]\n}\n',
    '{"mcpServers":{"x":{"command":"y"}},"z":1}',
    '{\n\t"mcpServers": {}\n}',
    '{\r\n    "mcpServers": {\r\n        "x": {}\r\n    }\r\n}\r\n',
    '\ufeff{"mcpServers": {"x": 1}}',
    '{ // mine\n  "mcpServers": { /* all */\n    "x": {}, // the first\n  },\n}\n',
    '{"mcpServers": {"x": "} // \\" no end", "y": "/* { */"}}',
]


@pytest.mark.parametrize("text", JSON_TEXTS)
def test_an_entry_put_in_and_taken_out_leaves_the_text_as_it_was(text: str) -> None:
    added = jsonc.put(text, JSON_PATH, ENTRY)
    assert jsonc.read(added)["mcpServers"]["memfs"] == ENTRY
    assert is_within(text, added)
    assert jsonc.take_out(added, JSON_PATH) == text
    replaced = jsonc.put(added, JSON_PATH, OTHER)
    assert jsonc.read(replaced)["mcpServers"]["memfs"] == OTHER
    assert jsonc.take_out(replaced, JSON_PATH) == text
    if "//" not in text and "\ufeff" not in text:
        json.loads(added)


def is_within(text: str, added: str) -> bool:
    """Whether *added* is *text* with something more at one place."""
    start = next((at for at, (a, b) in enumerate(zip(text, added, strict=False)) if a != b), len(text))
    return added.endswith(text[start:])


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('{"memfs": 1, "b": 2}', '{"b": 2}'),
        ('{\n  "memfs": 1,\n  "b": 2\n}', '{\n  "b": 2\n}'),
        ('{\n  "memfs": 1, // ours\n  "b": 2\n}', '{\n   // ours\n  "b": 2\n}'),
        ('{\n  "a": 1, // theirs\n  "memfs": 2\n}', '{\n  "a": 1 // theirs\n}'),
        ('{\n  "a": 1,\n  "memfs": 2,\n}', '{\n  "a": 1,\n}'),
        ('{\n  // why\n  "memfs": 2\n}', "{\n  // why\n}"),
    ],
)
def test_what_stands_around_an_entry_stays(text: str, wanted: str) -> None:
    assert jsonc.take_out(text, ("memfs",)) == wanted


@pytest.mark.parametrize(
    ("last", "comma"),
    [('"a": 1 // theirs', ""), ('"a": 1, // theirs', ","), ('"a": 1 /* its */ /* too */', "")],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_comment_stays_on_the_line_that_it_is_about(last: str, comma: str, newline: str) -> None:
    text = f"{{{newline}  {last}{newline}}}{newline}"
    lines = jsonc.put(text, ("memfs",), {}).split(newline)
    assert lines == [
        "{",
        f"  {last if comma else last.replace('1', '1,')}",
        f'  "memfs": {{}}{comma}',
        "}",
        "",
    ]
    assert jsonc.take_out(newline.join(lines), ("memfs",)) == text


def test_objects_on_the_way_are_made() -> None:
    assert (
        jsonc.put("", ("mcp", "memfs"), {"a": 1})
        == '{\n  "mcp": {\n    "memfs": {\n      "a": 1\n    }\n  }\n}\n'
    )
    assert jsonc.put('{"a": 1}', ("mcp", "memfs"), {}) == '{"a": 1, "mcp": {"memfs": {}}}'


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        '{"a": 1 "b": 2}',
        '{"a": 1, "a": 2}',
        "{a: 1}",
        "{'a': 1}",
        '{"mcpServers": []}',
        '{"a": 1} x',
    ]
    + ['{"a": \n1e}', '{"a": tru}', '{"a": "\n"}', "[" * 5000, '{"a":' * 5000, '{"a": /* }', "\0"],
)
def test_a_text_that_cannot_be_changed_for_sure_is_refused(text: str) -> None:
    with pytest.raises(Unreadable):
        jsonc.put(text, JSON_PATH, ENTRY)


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
_SERVERS = st.dictionaries(st.text(max_size=4), _VALUES, max_size=3)


@settings(max_examples=30)
@given(_SERVERS, st.none() | _SERVERS, st.sampled_from([None, 0, 2, 4, "\t"]), st.booleans())
def test_any_json_is_changed_in_that_entry_alone(
    top: dict[str, Any], servers: dict[str, Any] | None, indent: int | str | None, escaped: bool
) -> None:
    value = dict(top) if servers is None else {**top, "mcpServers": servers}
    text = json.dumps(value, indent=indent, ensure_ascii=escaped)
    added = jsonc.put(text, JSON_PATH, ENTRY)
    assert json.loads(added) == {**value, "mcpServers": {**(servers or {}), "memfs": ENTRY}}
    removed = jsonc.take_out(added, JSON_PATH)
    assert json.loads(removed) == {**value, "mcpServers": servers or {}}
    if servers:
        assert removed == text


TOML_TEXTS = [
    "",
    'model = "x"\n',
    '# mine\nmodel = "x"\n\n[mcp_servers.a]\ncommand = "b"  # why\n',
    'model = "x"\r\n\r\n[tools]\r\n',
    '[mcp_servers]\n\n[mcp_servers.a]\ncommand = "b"\n',
    "[mcp_servers]\n",
    'text = """\n[mcp_servers.memfs]\n"""\n',
]


@pytest.mark.parametrize("text", TOML_TEXTS)
def test_a_table_put_in_and_taken_out_leaves_the_text_as_it_was(text: str) -> None:
    added = toml.put(text, TOML_PATH, ENTRY)
    assert added.startswith(text)
    assert tomllib.loads(added)["mcp_servers"]["memfs"] == ENTRY
    if '"""' in text:
        with pytest.raises(Unreadable):
            toml.take_out(added, TOML_PATH)
        return
    assert toml.take_out(added, TOML_PATH) == text
    assert tomllib.loads(toml.put(added, TOML_PATH, OTHER))["mcp_servers"]["memfs"] == OTHER
    below = (
        added
        + ("\r\n" if "\r" in text else "\n")
        + '[mcp_servers.memfs.env]\nA = "b"\n\n# theirs\n[last]\nx = 1\n'
    )
    without = toml.take_out(below, TOML_PATH)
    assert "memfs" not in tomllib.loads(without).get("mcp_servers", {})
    assert without.endswith("# theirs\n[last]\nx = 1\n")


@pytest.mark.parametrize(
    "text",
    [
        "a = ",
        'mcp_servers = "none"\n',
        'mcp_servers = {a = {command = "b"}}\n',
        "a = 1\na = 2\n",
        pytest.param(f"a = 1{'0' * 5_000}\n", id="a large number"),
        pytest.param(f"a = {'[' * 5_000}{']' * 5_000}\n", id="a deep list"),
    ],
)
def test_a_toml_that_cannot_be_changed_for_sure_is_refused(text: str) -> None:
    with pytest.raises(Unreadable):
        toml.put(text, TOML_PATH, ENTRY)
