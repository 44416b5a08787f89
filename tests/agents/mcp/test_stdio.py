"""``memfs mcp`` as a process: its start, its end, and what it prints."""

from __future__ import annotations

import array
import fcntl
import json
import os
import signal
import subprocess
import sys
import termios
from typing import IO, Any

import pytest

from tests.cli.conftest import SECONDS, Shell, eventually
from tests.editors import packages


def initialize(version: str = "2025-06-18", name: str = "a client") -> bytes:
    return _line(
        "initialize",
        {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": name, "version": "1"}},
    )


def _line(method: str, params: dict[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode() + b"\n"


@pytest.mark.parametrize(
    "version",
    [
        pytest.param("2024-11-05", marks=pytest.mark.slow),
        "2025-06-18",
        pytest.param("2025-11-25", marks=pytest.mark.slow),
    ],
)
def test_a_client_of_each_version_is_answered_and_the_end_of_its_input_is_the_end(
    shell: Shell, version: str
) -> None:
    done = shell("mcp", text=initialize(version))
    assert (done.status, done.err) == (0, "")
    (answer,) = map(json.loads, done.out.splitlines())
    assert answer["result"]["protocolVersion"] == version
    assert answer["result"]["serverInfo"]["name"] == "memfs"
    assert answer["result"]["capabilities"] == {
        "tools": {"listChanged": False},
        "resources": {"listChanged": True, "subscribe": True},
    }
    assert "/memories" in answer["result"]["instructions"]


def test_a_model_is_told_the_rules_before_it_meets_them(shell: Shell) -> None:
    def told(*rules: str) -> str:
        (answer,) = map(
            json.loads, shell("mcp", "--store", "simple:", *rules, text=initialize()).out.splitlines()
        )
        return str(answer["result"]["instructions"])

    flat = told("--max-file-bytes", "123", "--extensions", ".md,.txt")
    assert "end in .md, .txt; each has at most 123 bytes." in flat
    assert "/memories/" not in flat
    para = told("--layout", "para")
    assert "end in .html;" in para
    assert "only below /memories/projects, /memories/areas, /memories/resources." in para
    assert "What is below /memories/archive can be read" in para


@pytest.mark.slow
def test_sigterm_ends_it_at_once_and_with_no_word(shell: Shell) -> None:
    with shell.start("mcp") as server:
        assert server.stdin is not None
        assert server.stdout is not None
        assert server.stderr is not None
        server.stdin.write(initialize())
        server.stdin.flush()
        assert json.loads(server.stdout.readline())["id"] == 1
        server.send_signal(signal.SIGTERM)
        assert server.wait(SECONDS) == 0
        assert server.stdout.read() == server.stderr.read() == b""


@pytest.mark.slow
def test_sigterm_ends_it_at_once_while_nobody_reads_the_answers(shell: Shell) -> None:
    with shell.start("mcp") as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(initialize())
        server.stdin.flush()
        assert json.loads(server.stdout.readline())["id"] == 1
        fcntl.fcntl(server.stdout, fcntl.F_SETPIPE_SZ, 4096)
        # The list is longer than that: the rest of it waits for a reader.
        server.stdin.write(_line("tools/list", {}))
        server.stdin.flush()
        eventually(lambda: readable(server.stdout) == 4096)
        server.send_signal(signal.SIGTERM)
        assert server.wait(SECONDS) == 0


def readable(pipe: IO[bytes] | None) -> int:
    """How many bytes wait in *pipe*."""
    waiting = array.array("i", [0])
    assert pipe is not None
    fcntl.ioctl(pipe, termios.FIONREAD, waiting)
    return waiting[0]


@pytest.mark.slow
def test_half_of_a_surrogate_pair_is_answered(shell: Shell) -> None:
    with shell.start("mcp") as server:
        assert server.stdin is not None
        assert server.stdout is not None
        text = {"path": "/memories/a.md", "text": "half \ud83d whole \U0001f600"}
        for line in (
            initialize(),
            _line("tools/call", {"name": "memory_create", "arguments": text}),
            _line("tools/call", {"name": "memory_view", "arguments": {"path": "/memories/a.md"}}),
        ):
            server.stdin.write(line)
            server.stdin.flush()
            answer = json.loads(server.stdout.readline())
        assert answer["result"]["structuredContent"]["text"] == "half \ufffd whole \U0001f600"
        server.stdin.close()


@pytest.mark.slow
def test_a_line_that_is_no_message_ends_nothing(shell: Shell) -> None:
    done = shell("mcp", text=b"nonsense\n\xff\xfe\n[]\n" + initialize())
    assert done.status == 0
    assert json.loads(done.out.splitlines()[-1])["result"]["serverInfo"]["name"] == "memfs"


def test_a_store_that_cannot_be_opened_is_said_before_anything_else(shell: Shell) -> None:
    assert "must be one of" in shell("mcp", "--store", "nonsense").refusal(2)


def test_without_the_sdk_it_says_what_to_install(shell: Shell) -> None:
    program = "import sys; sys.modules['mcp'] = None; from memfs.cli import main; sys.exit(main(['mcp']))"
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env=shell.environment,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 1
    assert "pip install 'memfs-mount[mcp]'" in done.stderr


@pytest.mark.slow
def test_pipes_that_do_not_block_are_waited_for(shell: Shell) -> None:
    reading, writing = os.pipe()
    answered, answer = os.pipe()
    for descriptor in (reading, answer):
        os.set_blocking(descriptor, False)
    with shell.start("mcp", stdin=reading, stdout=answer) as server:
        os.close(reading)
        os.close(answer)
        with open(writing, "wb") as requests, open(answered, "rb") as messages:
            answers = (message["result"] for message in map(json.loads, messages) if "id" in message)
            create = {"path": "/memories/a.md", "text": "x" * 60_000}
            view = {"path": "/memories/a.md"}
            requests.write(initialize())
            requests.flush()
            next(answers)
            requests.write(_line("tools/call", {"name": "memory_create", "arguments": create}))
            requests.flush()
            assert next(answers)["structuredContent"]["byteLength"] == 60_000
            # More than a pipe holds, while nobody reads.
            requests.write(10 * _line("tools/call", {"name": "memory_view", "arguments": view}))
            requests.flush()
            views = [next(answers) for _ in range(10)]
        assert server.wait(SECONDS) == 0
    assert [len(view["structuredContent"]["text"]) for view in views] == [60_000] * 10


@pytest.mark.slow
@pytest.mark.packages
def test_the_official_inspector_sees_the_tools_and_calls_them(shell: Shell) -> None:
    program = packages.node_program("mcp-inspector")
    if program is None:
        pytest.skip("machine: npm cannot install the inspector")

    def inspected(*arguments: str) -> Any:
        done = subprocess.run(
            [str(program), "--cli", *shell.command("mcp"), *arguments],
            capture_output=True,
            env=shell.environment,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == 0, done
        return json.loads(done.stdout)

    created = inspected(
        *("--method", "tools/call", "--tool-name", "memory_create"),
        *("--tool-arg", "path=/memories/a.md", "--tool-arg", "text=hello"),
    )
    assert created["structuredContent"]["byteLength"] == 5
    tools = inspected("--method", "tools/list")["tools"]
    assert {"memory_view", "memory_search"} <= {tool["name"] for tool in tools}
    resources = inspected("--method", "resources/list")["resources"]
    assert [resource["uri"] for resource in resources] == ["memory:///a.md"]
