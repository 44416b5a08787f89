"""The tools, as the official client gets them: what they are, what they answer, how they refuse."""

from __future__ import annotations

import hashlib
from typing import Any

import mcp_types as types
import pytest
from mcp.shared.exceptions import MCPError

import memfs
from memfs.search import search
from tests.agents.mcp.peer import NAME, Peer, spoken_to
from tests.cli.conftest import Shell

SIX = ["view", "create", "str_replace", "insert", "delete", "rename"]


def test_the_six_commands_the_search_and_the_history_are_tools(peer: Peer) -> None:
    tools = {tool.name: tool for tool in peer(lambda client: client.list_tools()).tools}
    assert [name.removeprefix("memory_") for name in tools] == [
        *SIX,
        "search",
        "history",
        "restore",
    ]
    for tool in tools.values():
        assert tool.title
        assert tool.description
        assert all(field["description"] for field in tool.input_schema["properties"].values())
    assert tools["memory_view"].input_schema["required"] == ["path"]
    assert tools["memory_view"].input_schema["properties"]["viewRange"]["minItems"] == 2
    assert tools["memory_insert"].input_schema["required"] == ["path", "insertLine", "text"]
    assert tools["memory_insert"].input_schema["properties"]["insertLine"]["type"] == "integer"
    hints = {name: tool.annotations for name, tool in tools.items()}
    assert all(hint is not None and hint.open_world_hint is False for hint in hints.values())
    reading = {name for name, hint in hints.items() if hint is not None and hint.read_only_hint}
    losing = {name for name, hint in hints.items() if hint is not None and hint.destructive_hint}
    assert reading == {"memory_view", "memory_search", "memory_history"}
    assert losing == {"memory_create", "memory_str_replace", "memory_delete", "memory_restore"}
    assert "reason" in tools["memory_rename"].input_schema["properties"]
    assert "reason" not in tools["memory_view"].input_schema["properties"]


def text_of(answer: types.CallToolResult) -> str:
    (text,) = answer.content
    assert isinstance(text, types.TextContent)
    return text.text


CALLS: list[tuple[str, dict[str, Any]]] = [
    ("create", {"path": "/memories/d/a.md", "text": "one\ntwo\r\nthree"}),
    ("create", {"path": "/memories/d/a.md", "text": "one\ntwo\r\nfour"}),
    ("view", {"path": "/memories/d/a.md"}),
    ("view", {"path": "/memories/d/a.md", "viewRange": [2, -1]}),
    ("view", {"path": "/memories/d/a.md", "viewRange": [9, 9]}),
    ("view", {"path": "/memories"}),
    ("view", {"path": "/memories/none"}),
    ("view", {}),
    ("view", {"path": 7}),
    ("insert", {"path": "/memories/d/a.md", "insertLine": 0, "text": "zero"}),
    ("insert", {"path": "/memories/d/a.md", "insertLine": 99, "text": "x"}),
    ("insert", {"path": "/memories/d/a.md", "insertLine": True, "text": "x"}),
    ("str_replace", {"path": "/memories/d/a.md", "oldText": "four", "newText": "5"}),
    ("str_replace", {"path": "/memories/d/a.md", "oldText": "four", "newText": "5"}),
    ("str_replace", {"path": "/memories/d/a.md", "oldText": "o", "newText": "5"}),
    ("create", {"path": "/memories/empty.md", "text": ""}),
    ("view", {"path": "/memories/empty.md"}),
    ("create", {"path": "/memories/a.exe", "text": ""}),
    ("create", {"path": "/memories/big.md", "text": "x" * 70_000}),
    ("create", {"path": "/memories/../a.md", "text": ""}),
    ("rename", {"oldPath": "/memories/d", "newPath": "/memories/e"}),
    ("rename", {"oldPath": "/memories/e/a.md", "newPath": "/memories/empty.md"}),
    ("delete", {"path": "/memories/e"}),
    ("delete", {"path": "/memories"}),
]


def test_every_call_answers_as_the_port_does(peer: Peer) -> None:
    """The twin is a memory in this process; the client checks each answer against the tool's schema."""
    with memfs.open_memory("simple:") as twin:
        for name, arguments in CALLS:
            answer, wanted = peer.tool(name, **arguments), twin.execute({"command": name, **arguments})
            text = text_of(answer)
            assert answer.is_error == (not wanted.ok), (name, arguments, answer)
            if wanted.error is not None:
                assert text == wanted.error.message
                assert answer.structured_content is None
                assert answer.meta is not None
                assert answer.meta["error"] == wanted.error.to_wire()
            else:
                assert wanted.value is not None
                assert answer.structured_content == wanted.value.to_wire()
                assert text.strip() or "empty" in str(arguments)


def test_null_is_nothing_said(peer: Peer) -> None:
    path = "/memories/null.md"
    left_out = dict.fromkeys(("expected", "reason"))
    peer.value("create", path=path, text="one", **left_out)
    assert peer.value("view", path=path, viewRange=None)["text"] == "one"
    assert peer.value("search", words="one", path=None, limit=None)["passages"]
    (created,) = peer.value("history", path=path, version=None, limit=None)["records"]
    peer.value("restore", path=path, version=created["version"], to=None, reason=None)
    assert text_of(peer.tool("view", path=None)).startswith("A path must be a string")


@pytest.mark.slow
def test_what_had_to_leave_is_told(shell: Shell) -> None:
    with spoken_to(shell.environment, "--max-files", "1") as peer:
        peer.value("create", path="/memories/a.md", text="x")
        answer = peer.tool("create", path="/memories/b.md", text="x")
        assert answer.structured_content is not None
        assert answer.structured_content["evicted"] == ["/memories/a.md"]
        assert "/memories/a.md" in text_of(answer)


def test_a_search_gives_the_passages(peer: Peer) -> None:
    peer.value("create", path="/memories/s/a.md", text="# Atlas\n\nthe deadline\n")
    peer.value("create", path="/memories/s/b.md", text="deadline of atlas\n")
    found = peer.value("search", words="atlas deadline", path="/memories/s")["passages"]
    with memfs.open_memory("simple:") as twin:
        twin.execute(memfs.Create("/memories/s/a.md", "# Atlas\n\nthe deadline\n"))
        twin.execute(memfs.Create("/memories/s/b.md", "deadline of atlas\n"))
        wanted = search(twin, "atlas deadline", "/memories/s")
        assert isinstance(wanted, list)
        assert found == [hit.to_wire() for hit in wanted]
    assert len(peer.value("search", words="deadline", path="/memories/s", limit=1)["passages"]) == 1
    refused = peer.tool("search", words="...")
    assert refused.is_error
    assert "words" in text_of(refused)
    assert peer.tool("search").is_error
    assert peer.tool("search", words=3, limit="many").is_error
    assert peer.value("search", words="zebra")["passages"] == []


def test_a_tool_that_there_is_not_is_an_error_of_the_protocol(peer: Peer) -> None:
    with pytest.raises(MCPError, match="no tool 'memory_fly'; there are memory_view"):
        peer.tool("fly")


@pytest.mark.slow
def test_the_client_is_the_actor_in_the_history(shell: Shell) -> None:
    store = f"sqlite:{shell.home / 'store'}"
    with spoken_to(shell.environment, "--store", store) as peer:
        peer.value("create", path="/memories/a.md", text="x", reason="to begin")
    with memfs.open_memory(store) as memory:
        (record,) = memory.history()
        assert (record.actor.program, record.reason) == (NAME, "to begin")


def test_what_is_expected_keeps_one_from_overwriting_another(peer: Peer) -> None:
    path = "/memories/x/a.md"
    peer.value("create", path=path, text="one", expected="absent")
    assert "absent" in text_of(peer.tool("create", path=path, text="two", expected="absent"))
    digest = hashlib.sha256(b"one").hexdigest()
    peer.value("create", path=path, text="two", expected={"sha256": digest})
    refused = peer.tool("str_replace", path=path, oldText="two", newText="three", expected={"sha256": digest})
    assert refused.meta is not None
    assert refused.meta["error"]["code"] == "CONFLICT"
    assert "expected must be" in text_of(peer.tool("delete", path=path, expected=3))


def test_the_history_shows_who_and_why_and_every_version(peer: Peer) -> None:
    path = "/memories/h/a.md"
    peer.value("create", path=path, text="one\n", reason="to begin")
    peer.value("str_replace", path=path, oldText="one", newText="two")
    peer.value("rename", oldPath=path, newPath="/memories/h/b.md")
    records = peer.value("history", path="/memories/h/b.md")["records"]
    assert [record["operation"] for record in records] == ["renamed", "modified", "created"]
    assert records[0]["oldPath"] == path
    assert (records[2]["reason"], records[2]["program"]) == ("to begin", NAME)
    assert "to begin" in text_of(peer.tool("history", path="/memories/h/b.md"))
    assert len(peer.value("history", path="/memories/h", limit=1)["records"]) == 1
    first = peer.value("history", path="/memories/h/b.md", version=records[2]["version"])
    assert first == {"records": [records[2]], "text": "one\n"}
    assert peer.value("history", path="/memories/none.md")["records"] == []


def test_a_version_and_what_was_deleted_come_back(peer: Peer) -> None:
    path = "/memories/r/a.md"
    peer.value("create", path=path, text="one")
    (created,) = peer.value("history", path=path)["records"]
    peer.value("create", path=path, text="two")
    seen = {"version": created["version"]}
    overtaken = peer.tool("restore", path=path, version=created["version"], expected=seen)
    assert overtaken.is_error
    assert "view it and try again" in text_of(overtaken)
    assert peer.value("restore", path=path, version=created["version"], reason="as it was")["path"] == path
    assert peer.value("view", path=path)["text"] == "one"
    peer.value("delete", path=path)
    assert peer.value("restore", path=path, to="/memories/r/b.md")["path"] == "/memories/r/b.md"
    assert peer.value("view", path="/memories/r/b.md")["text"] == "one"
    newest = peer.value("history", path="/memories/r/b.md")["records"][0]
    assert (newest["operation"], newest["program"]) == ("restored", NAME)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("history", {}),
        ("history", {"path": "nonsense"}),
        ("history", {"path": "/memories/none.md", "version": 7}),
        ("history", {"path": "/memories", "version": "seven"}),
        ("history", {"path": "/memories", "limit": 0}),
        ("restore", {}),
        ("restore", {"path": "/memories/none.md"}),
        ("restore", {"path": "/memories/none.md", "version": 0}),
        ("restore", {"path": "/memories/none.md", "version": 999_999}),
        ("restore", {"path": "/memories/none.md", "to": "nonsense"}),
        ("restore", {"path": "/memories/none.md", "reason": 3}),
    ],
)
def test_a_history_that_there_is_not_is_a_tool_error(
    peer: Peer, name: str, arguments: dict[str, Any]
) -> None:
    refused = peer.tool(name, **arguments)
    assert refused.is_error
    assert text_of(refused).endswith(".")
