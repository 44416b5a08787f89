"""The tools, as the official client gets them: what they are, what they answer, how they refuse."""

from __future__ import annotations

from typing import Any

import mcp_types as types
import pytest
from mcp.shared.exceptions import MCPError

import memfs
from memfs.search import search
from tests.agents.mcp.peer import NAME, Peer, spoken_to
from tests.cli.conftest import Shell

SIX = ["view", "create", "str_replace", "insert", "delete", "rename"]


def test_the_six_commands_and_the_search_are_tools(peer: Peer) -> None:
    tools = {tool.name: tool for tool in peer(lambda client: client.list_tools()).tools}
    assert [name.removeprefix("memory_") for name in tools][:7] == [*SIX, "search"]
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
    assert {"memory_view", "memory_search"} <= reading
    assert {"memory_create", "memory_str_replace", "memory_delete"} <= losing
    assert not reading & losing
    assert "memory_rename" not in losing


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


def test_the_client_is_the_actor_in_the_history(shell: Shell) -> None:
    store = f"sqlite:{shell.home / 'store'}"
    with spoken_to(shell.environment, "--store", store) as peer:
        peer.value("create", path="/memories/a.md", text="x")
    with memfs.open_memory(store) as memory:
        (record,) = memory._store.history()
        assert record.actor.program == NAME
