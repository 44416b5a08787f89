"""The memory tool in the real SDK: its client, its tool loop, its errors. Only the network is a fake."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx2
import pytest
import trio
from anthropic import Anthropic, AsyncAnthropic
from anthropic.lib.tools import ToolError

from memfs import Limits, Memory, open_memory
from memfs.agents.anthropic import AsyncMemoryTool, MemoryTool
from memfs.agents.memory_tool import MemoryCommands, Refused
from memfs.port.policy import Policy
from memfs.stores.sqlite import open_sqlite
from tests.harness import failure, must, texts

Fields = dict[str, Any]
Script = Sequence[Fields]


class Model:
    """Answers requests as the service does: one tool call after the other, then a closing word."""

    def __init__(self, script: Script) -> None:
        self.requests: list[dict[str, Any]] = []
        self._script = list(script)

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(json.loads(request.content))
        turn = len(self.requests) - 1
        if turn < len(self._script):
            content = {
                "type": "tool_use", "id": f"toolu_{turn}", "name": "memory", "input": self._script[turn],
            }  # fmt: skip
        else:
            content = {"type": "text", "text": "Done."}
        message = {
            "id": f"msg_{turn}",
            "type": "message",
            "role": "assistant",
            "model": "claude-test",
            "content": [content],
            "stop_reason": "tool_use" if content["type"] == "tool_use" else "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }
        return httpx2.Response(200, json=message)

    @property
    def results(self) -> list[tuple[str, bool]]:
        """What it was told about each call: the text, and whether as an error."""
        blocks = [block for request in self.requests[1:] for block in request["messages"][-1]["content"]]
        return [(block["content"], block.get("is_error", False)) for block in blocks]


REQUEST: Any = {
    "model": "claude-test",
    "max_tokens": 100,
    "messages": [{"role": "user", "content": "Remember that I like short answers."}],
}


def run(memory: Memory, script: Script, **options: Any) -> Model:
    """Let the SDK's loop run the tool through *script*."""
    model = Model(script)
    with httpx2.Client(transport=httpx2.MockTransport(model)) as http:
        client = Anthropic(api_key="none", http_client=http)
        last = client.beta.messages.tool_runner(tools=[MemoryTool(memory, **options)], **REQUEST).until_done()
    assert last.content[0].type == "text"
    return model


async def run_async(memory: Memory, script: Script) -> Model:
    """The same with the asynchronous client."""
    model = Model(script)
    async with httpx2.AsyncClient(transport=httpx2.MockTransport(model)) as http:
        client = AsyncAnthropic(api_key="none", http_client=http)
        runner = client.beta.messages.tool_runner(tools=[AsyncMemoryTool(memory)], **REQUEST)
        last = await runner.until_done()
    assert last.content[0].type == "text"
    return model


SCRIPT: Script = (
    {"command": "view", "path": "/memories"},
    {"command": "create", "path": "/memories/user.md", "file_text": "Likes short answers.\n"},
    {"command": "create", "path": "/memories/user.md", "file_text": "Another.\n"},
    {"command": "str_replace", "path": "/memories/user.md", "old_str": "short", "new_str": "very short"},
    {"command": "insert", "path": "/memories/user.md", "insert_line": 0, "insert_text": "# User"},
    {"command": "rename", "old_path": "/memories/user.md", "new_path": "/memories/people/ada.md"},
    {"command": "view", "path": "/memories/people/ada.md"},
    {"command": "delete", "path": "/memories/people"},
)
RESULTS = [
    (
        (
            "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items:\n"
            "4K\t/memories"
        ),
        False,
    ),
    ("File created successfully at: /memories/user.md", False),
    ("File /memories/user.md already exists", True),
    (
        (
            "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n"
            "     1\tLikes very short answers."
        ),
        False,
    ),
    ("The file /memories/user.md has been edited.", False),
    ("Successfully renamed /memories/user.md to /memories/people/ada.md", False),
    (
        (
            "Here's the content of /memories/people/ada.md with line numbers:\n"
            "     1\t# User\n     2\tLikes very short answers."
        ),
        False,
    ),
    ("Successfully deleted /memories/people", False),
]


@pytest.fixture
def memory() -> Iterator[Memory]:
    """An empty memory."""
    with open_memory("simple:") as opened:
        yield opened


def test_the_sdks_loop_runs_every_command(memory: Memory) -> None:
    model = run(memory, SCRIPT)
    assert model.results == RESULTS
    assert model.requests[0]["tools"] == [{"type": "memory_20250818", "name": "memory"}]


@pytest.mark.parametrize("loop", [asyncio.run, lambda work: trio.run(lambda: work)], ids=["asyncio", "trio"])
def test_the_asynchronous_loop_runs_every_command(memory: Memory, loop: Callable[[Any], Model]) -> None:
    assert loop(run_async(memory, SCRIPT)).results == RESULTS


def test_what_the_model_did_is_in_the_history_under_the_programs_name(sqlite_url: str) -> None:
    with open_memory(sqlite_url, scope="work", actor="my-agent") as memory:
        run(memory, SCRIPT[:2])
        assert texts(memory) == {"/memories/user.md": "Likes short answers.\n"}
    store, _ = open_sqlite(Path(sqlite_url.removeprefix("sqlite:")), "work", Policy())
    with closing(store):
        records = [(record.operation, record.path, record.actor.program) for record in store.history()]
    assert records == [("created", "/memories/user.md", "my-agent")]


def test_the_tool_can_be_cached(memory: Memory) -> None:
    model = run(memory, SCRIPT[:1], cache_control={"type": "ephemeral"})
    assert model.requests[0]["tools"][0]["cache_control"] == {"type": "ephemeral"}


def test_create_replaces_where_it_was_asked_to(memory: Memory) -> None:
    assert run(memory, SCRIPT[1:3], overwrite=True).results == [RESULTS[1], RESULTS[1]]
    assert texts(memory) == {"/memories/user.md": "Another.\n"}
    must(memory, "create", path="/memories/d.md/a.md", text="x")
    directory = {"command": "create", "path": "/memories/d.md", "file_text": "x"}
    assert run(memory, [directory], overwrite=True).results == [
        ("/memories/d.md is a directory; choose another name for the file.", True)
    ]


# --- what the port refuses, and what leaves -------------------------------------------------------


def test_an_eviction_is_told() -> None:
    with open_memory("simple:", limits=Limits(max_files=2)) as memory:
        must(memory, "create", path="/memories/old.md", text="x")
        must(memory, "create", path="/memories/older.md", text="x")
        must(memory, "create", path="/memories/old.md", text="x")
        create = {"command": "create", "path": "/memories/new.md", "file_text": "x"}
        assert run(memory, [create]).results == [
            (
                (
                    "File created successfully at: /memories/new.md\n"
                    "The memory was full, so the files written longest ago have left it: /memories/older.md"
                ),
                False,
            )
        ]


def test_what_was_archived_to_make_room_is_told_with_its_place() -> None:
    with open_memory("simple:", layout="para", extensions=[".md"], limits=Limits(max_files=1)) as memory:
        must(memory, "create", path="/memories/areas/old.md", text="x")
        create = {"command": "create", "path": "/memories/projects/new.md", "file_text": "x"}
        [(text, _)] = run(memory, [create]).results
        archived = must(memory, "view", path="/memories/archive").entries[0].path + "/areas/old.md"
        assert text.endswith(f"have left it: /memories/areas/old.md (now {archived})")
        move = {"command": "rename", "old_path": archived, "new_path": "/memories/areas/old.md"}
        [(text, _)] = run(memory, [move]).results
        assert "have left it: /memories/projects/new.md (now /memories/archive/" in text
        assert MemoryTool(memory).clear_all_memory() == "All memory cleared"
        assert texts(memory) == {}


@pytest.mark.parametrize(
    ("command", "wanted"),
    [
        ({"command": "str_replace", "old_str": "x", "new_str": "y" * 30}, "     1\t" + "y" * 30),
        (
            {"command": "insert", "insert_line": 1, "insert_text": "y" * 30},
            "The file /memories/b.md has been",
        ),
    ],
    ids=["str_replace", "insert"],
)
def test_an_eviction_by_an_edit_is_told(command: Fields, wanted: str) -> None:
    with open_memory("simple:", limits=Limits(max_total_bytes=40)) as memory:
        must(memory, "create", path="/memories/a.md", text="a" * 20)
        must(memory, "create", path="/memories/b.md", text="x\n")
        [(text, is_error)] = run(memory, [{**command, "path": "/memories/b.md"}]).results
    assert wanted in text
    assert text.endswith(
        "\nThe memory was full, so the files written longest ago have left it: /memories/a.md"
    )
    assert not is_error


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        (
            {"command": "create", "path": "/memories/big.md", "file_text": "x" * 11},
            "/memories/big.md would have 11 bytes; a file may have 10. Split it or shorten it.",
        ),
        (
            {"command": "insert", "path": "/memories/a.md", "insert_line": 1, "insert_text": "x" * 9},
            "/memories/a.md would have 12 bytes; a file may have 10. Split it or shorten it.",
        ),
        (
            {"command": "create", "path": "/memories/notes", "file_text": ""},
            "The file /memories/notes has no extension; allowed are .txt, .md, .json, .py, .yaml, .yml.",
        ),
        (
            {"command": "create", "path": "/memories/.a.md", "file_text": ""},
            (
                "The path '/memories/.a.md' has a name that begins with '.'; "
                "begin with a letter, digit or underscore."
            ),
        ),
        (
            {"command": "rename", "old_path": "/memories/a.md", "new_path": "/memories/a.exe"},
            (
                "The file /memories/a.exe has the extension .exe; "
                "allowed are .txt, .md, .json, .py, .yaml, .yml."
            ),
        ),
    ],
)
def test_what_the_port_refuses_is_told_in_its_sentence(command: Fields, sentence: str) -> None:
    with open_memory("simple:", limits=Limits(max_file_bytes=10)) as memory:
        must(memory, "create", path="/memories/a.md", text="a\n")
        assert run(memory, [command]).results == [(sentence, True)]
        assert texts(memory) == {"/memories/a.md": "a\n"}


@pytest.mark.parametrize("command", ["view", "create", "delete"])
def test_a_store_that_fails_is_told(memory: Memory, command: str) -> None:
    memory.close()
    fields = {"command": command, "path": "/memories/a.md", "file_text": ""}
    assert run(memory, [fields]).results == [("This memory is closed; open it again.", True)]


@pytest.mark.parametrize("command", ["view", "str_replace", "insert", "delete"])
def test_a_file_that_the_store_leaves_alone_is_told(tmp_path: Path, command: str) -> None:
    folder = tmp_path / "memory"
    folder.mkdir()
    (folder / "link.md").symlink_to("/etc/hostname")
    fields = {"old_str": "x", "new_str": "y", "insert_line": 0, "insert_text": "x"}
    with open_memory(f"directory:{folder}") as memory:
        asked = {"command": command, "path": "/memories/link.md", **fields}
        [(text, is_error)] = run(memory, [asked]).results
        assert is_error
        assert text == failure(memory, "view", path="/memories/link.md").message
        assert "does not exist" not in text


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"command": "view"}, "`path` must be a string such as /memories/notes.md."),
        ({"command": "view", "path": 7}, "`path` must be a string such as /memories/notes.md."),
        ({"command": "rename", "old_path": "/memories/a.md"}, "`new_path` must be a string such as"),
        ({"command": "create", "path": "/memories/a.md"}, "`file_text` must be a string."),
        ({"command": "str_replace", "path": "/memories/a.md", "old_str": "a"}, "`new_str` must be a string."),
        (
            {"command": "insert", "path": "/memories/a.md", "insert_text": "x"},
            "parameter: None. It should be",
        ),
        (
            {"command": "insert", "path": "/memories/a.md", "insert_text": "x", "insert_line": "end"},
            "parameter: 'end'. It should be",
        ),
        ({"command": "view", "path": "/memories/a.md", "view_range": ["one", 2]}, "must be two line numbers"),
        ({"command": "view", "path": "/memories/a.md", "view_range": 3}, "must be two line numbers"),
    ],
)
def test_a_field_that_makes_no_sense_is_told(memory: Memory, fields: Fields, sentence: str) -> None:
    must(memory, "create", path="/memories/a.md", text="a\n")
    [(text, is_error)] = run(memory, [fields]).results
    assert sentence in text
    assert is_error


HALF = "\ud83d"


@pytest.mark.parametrize(
    "fields",
    [
        {"command": "view", "path": HALF},
        {"command": "view", "path": f"/memories/{HALF}.md"},
        {"command": "create", "path": "/memories/b.md", "file_text": HALF},
        {"command": "str_replace", "path": "/memories/a.md", "old_str": HALF, "new_str": ""},
        {"command": "insert", "path": f"/memories/{HALF}", "insert_line": 0, "insert_text": ""},
        {"command": "insert", "path": "/memories/a.md", "insert_line": HALF, "insert_text": ""},
        {"command": "delete", "path": f"/memories/../{HALF}"},
        {"command": "rename", "old_path": "/memories/a.md", "new_path": f"/memories/{HALF}"},
        {"command": "rename", "old_path": f"/memories/{HALF}", "new_path": "/memories/c.md"},
    ],
)
def test_half_of_a_surrogate_pair_is_in_no_answer(memory: Memory, fields: Fields) -> None:
    must(memory, "create", path="/memories/a.md", text="a\n")
    with pytest.raises(Refused) as refused:
        MemoryCommands(memory).carry_out(fields)
    str(refused.value).encode()  # as it has to be for the next request
    assert texts(memory) == {"/memories/a.md": "a\n"}


def test_a_command_of_a_later_tool_is_told(memory: Memory) -> None:
    [(_, is_error)] = run(memory, [{"command": "append", "path": "/memories/a.md"}]).results
    assert is_error
    with pytest.raises(Refused, match="must be one of view, create, str_replace, insert, delete, rename"):
        MemoryCommands(memory).carry_out({"command": "append"})


# --- what the program may do ----------------------------------------------------------------------


def test_all_memory_is_cleared_in_one_change(memory: Memory) -> None:
    must(memory, "create", path="/memories/a.md", text="a")
    must(memory, "create", path="/memories/d/b.md", text="b")
    version = memory.snapshot().version
    assert MemoryTool(memory).clear_all_memory() == "All memory cleared"
    assert texts(memory) == {}
    assert memory.snapshot().version == version + 1
    assert asyncio.run(AsyncMemoryTool(memory).clear_all_memory()) == "All memory cleared"
    memory.close()
    with pytest.raises(ToolError, match="closed"):
        MemoryTool(memory).clear_all_memory()


@pytest.mark.parametrize("store", ["simple:", "sqlite"])
def test_of_many_creations_and_renames_at_once_one_wins(store: str, sqlite_url: str) -> None:
    with open_memory("simple:" if store == "simple:" else sqlite_url) as memory:
        tool = MemoryTool(memory)
        for number in range(8):
            must(memory, "create", path=f"/memories/{number}.md", text=str(number))
        answers: list[str] = []
        start = threading.Barrier(16)

        def call(fields: Fields) -> None:
            start.wait()
            try:
                answers.append(str(tool.call(fields)))
            except ToolError as error:
                answers.append(str(error))

        calls: list[Fields] = [
            {"command": "create", "path": "/memories/made.md", "file_text": str(number)}
            for number in range(8)
        ] + [
            {"command": "rename", "old_path": f"/memories/{number}.md", "new_path": "/memories/moved.md"}
            for number in range(8)
        ]
        threads = [threading.Thread(target=call, args=(fields,)) for fields in calls]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sum("created successfully" in answer for answer in answers) == 1
        assert sum("Successfully renamed" in answer for answer in answers) == 1
        assert answers.count("File /memories/made.md already exists") == 7
        assert answers.count("The destination /memories/moved.md already exists") == 7
        assert len(texts(memory)) == 9


def test_without_the_sdk_the_import_says_what_to_install() -> None:
    code = "import sys; sys.modules['anthropic'] = None; import memfs.agents.anthropic"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "run: pip install 'memfs-mount[anthropic]'" in done.stderr.splitlines()[-1]


def test_the_commands_need_no_sdk() -> None:
    code = "import sys; sys.modules['anthropic'] = None; import memfs.agents.memory_tool, memfs.agents"
    subprocess.run([sys.executable, "-c", code], check=True)
