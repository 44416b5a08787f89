"""Resources: each memory by its URI, in pages, and a notice when one changes, whoever changed it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import anyio
import mcp_types as types
import pytest
from mcp.client.client import Client
from mcp.client.subscriptions import ResourcesListChanged, ResourceUpdated
from mcp.shared.exceptions import MCPError

import memfs
from tests.agents.mcp.peer import LEGACY, MODERN, Peer, spoken_to
from tests.cli.conftest import Place, Shell, eventually


def test_a_memory_is_a_resource(peer: Peer) -> None:
    peer.value("create", path="/memories/d/plan.json", text="[1]\n")
    listed = peer(lambda client: client.list_resources()).resources
    (resource,) = (each for each in listed if each.uri == "memory:///d/plan.json")
    assert (resource.name, resource.mime_type, resource.size) == ("d/plan.json", "application/json", 4)
    (contents,) = peer(lambda client: client.read_resource(resource.uri)).contents
    assert isinstance(contents, types.TextResourceContents)
    assert (contents.text, contents.mime_type, contents.uri) == ("[1]\n", "application/json", resource.uri)
    (template,) = peer(lambda client: client.list_resource_templates()).resource_templates
    assert template.uri_template == "memory:///{+path}"


@pytest.mark.parametrize(
    ("uri", "sentence"),
    [
        ("memory:///none.md", "/memories/none.md does not exist"),
        ("memory:///e", "/memories/e is a directory"),
        ("memory:///../a.md", "none of a memory"),
        ("memory:///%2e%2e/a.md", "none of a memory"),
        ("memory://host/a.md", "none of a memory"),
        ("file:///etc/passwd", "none of a memory"),
        ("memory:", "none of a memory"),
    ],
)
def test_what_is_no_memory_is_no_resource(peer: Peer, uri: str, sentence: str) -> None:
    peer.value("create", path="/memories/e/a.md", text="x")
    with pytest.raises(MCPError, match=sentence):
        peer(lambda client: client.read_resource(uri))


@pytest.mark.slow
def test_many_resources_come_in_pages_whatever_changes_meanwhile(shell: Shell) -> None:
    store = f"sqlite:{shell.home / 'store'}"
    paths = [f"/memories/{number:03}.md" for number in range(205)]
    with memfs.open_memory(store) as memory, spoken_to(shell.environment, "--store", store) as peer:
        for path in reversed(paths):
            assert memory.execute(memfs.Create(path, "x")).ok
        seen: list[str] = []
        cursor = None
        while True:
            page = peer(partial(Client.list_resources, cursor=cursor))
            seen += [resource.uri for resource in page.resources]
            memory.execute(memfs.Delete(paths[len(seen) - 1]))
            memory.execute(memfs.Create("/memories/000.md", "again"))
            cursor = page.next_cursor
            if cursor is None:
                break
        assert seen == [f"memory:///{number:03}.md" for number in range(205)]
        with pytest.raises(MCPError, match="cursor"):
            peer(lambda client: client.list_resources(cursor="nonsense"))


def subscribe(peer: Peer, uri: str) -> None:
    request = types.SubscribeRequest(params=types.SubscribeRequestParams(uri=uri))
    peer(lambda client: client.session.send_request(request, types.EmptyResult))


def unsubscribe(peer: Peer, uri: str) -> None:
    request = types.UnsubscribeRequest(params=types.UnsubscribeRequestParams(uri=uri))
    peer(lambda client: client.session.send_request(request, types.EmptyResult))


@pytest.mark.slow
def test_a_subscriber_hears_of_every_change_to_its_resource_and_of_no_other(shell: Shell) -> None:
    shell("create", "a.md", "1").done()
    shell("create", "b.md", "1").done()
    with spoken_to(shell.environment, mode=LEGACY) as peer:
        subscribe(peer, "memory:///a.md")
        shell("create", "b.md", "2").done()
        shell("create", "a.md", "2").done()  # by another process
        eventually(lambda: peer.updated() == ["memory:///a.md"])
        assert peer.lists_changed() == 0
        peer.value("create", path="/memories/a.md", text="3")  # by itself
        eventually(lambda: len(peer.updated()) == 2)
        shell("rename", "a.md", "c.md").done()
        eventually(lambda: len(peer.updated()) == 3 and peer.lists_changed() == 1)
        unsubscribe(peer, "memory:///a.md")
        shell("create", "a.md", "4").done()
        eventually(lambda: peer.lists_changed() == 2)
        assert len(peer.updated()) == 3
        with pytest.raises(MCPError, match="none of a memory"):
            subscribe(peer, "file:///etc/passwd")


@pytest.mark.slow
def test_a_person_who_edits_the_file_in_the_mount_is_noticed(shell: Shell, place: Place) -> None:
    store = f"sqlite:{shell.home / 'store'}"
    place.mount("--store", store)
    (place.directory / "a.md").write_text("one\n")
    with spoken_to(shell.environment, "--store", store, mode=LEGACY) as peer:
        subscribe(peer, "memory:///a.md")
        with (place.directory / "a.md").open("a") as file:
            file.write("two\n")
        eventually(lambda: peer.updated() == ["memory:///a.md"])
        assert peer.value("view", path="/memories/a.md")["text"] == "one\ntwo\n"
        (place.directory / "new.md").write_text("x\n")
        eventually(lambda: peer.lists_changed() == 1)


@pytest.mark.slow
def test_a_listener_of_the_newer_protocol_hears_the_same(shell: Shell) -> None:
    shell("create", "a.md", "1").done()

    async def listen(client: Client, change: Callable[[], object], wanted: object) -> None:
        async with client.listen(
            resources_list_changed=True, resource_subscriptions=["memory:///a.md"]
        ) as heard:
            await anyio.to_thread.run_sync(change)
            async for event in heard:
                if event == wanted:
                    return

    with spoken_to(shell.environment, mode=MODERN) as peer:
        updated = ResourceUpdated(uri="memory:///a.md")
        peer(lambda client: listen(client, lambda: shell("create", "a.md", "2").done(), updated))
        peer(
            lambda client: listen(client, lambda: shell("create", "b.md", "2").done(), ResourcesListChanged())
        )


@pytest.mark.slow
def test_the_index_of_a_search_never_lies_in_the_store(shell: Shell, tmp_path: Path) -> None:
    store = tmp_path / "store"
    with spoken_to(shell.environment, "--store", f"sqlite:{store}") as peer:
        peer.value("create", path="/memories/a.md", text="word")
        before = sorted(store.iterdir())
        peer.value("search", words="word")
        assert sorted(store.iterdir()) == before
