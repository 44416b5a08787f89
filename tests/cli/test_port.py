"""The port over standard input and output: a result for every line, whatever the line holds."""

from __future__ import annotations

import json
import signal
import subprocess
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.cli.conftest import SECONDS, Shell

VIEW = b'{"command": "view", "path": "/memories"}'


def answers(shell: Shell, lines: bytes, *arguments: str) -> list[Any]:
    """The results of one run of ``memfs port`` that ends well."""
    done = shell("port", *arguments, text=lines)
    assert (done.status, done.err) == (0, "")
    assert done.out.isascii()
    return [json.loads(line) for line in done.out.splitlines()]


def test_a_command_a_line_in_and_a_result_a_line_out(shell: Shell) -> None:
    lines = [
        {"command": "create", "path": "/memories/a.md", "text": "one\ntwo\n"},
        {"command": "view", "path": "/memories/a.md", "viewRange": [2, 2]},
        {"command": "fly"},
    ]
    created, viewed, unknown = answers(shell, "\n".join(map(json.dumps, lines)).encode())
    assert created["value"] == {
        "path": "/memories/a.md",
        "byteLength": 8,
        "evicted": [],
        "overwritten": False,
    }
    assert viewed["value"]["text"] == "two\n"
    assert unknown["command"] == "fly"
    assert unknown["error"]["code"] == "INVALID_COMMAND"


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"   ",
        b"{",
        b"nonsense",
        b"[]",
        b'["command"]',
        b'"view"',
        b"3",
        b"null",
        b"NaN",
        b'{"command": "view", "path": NaN}',
        b'{"command": "view", "path": -Infinity}',
        b"[" * 200_000,
        b'{"a":' * 100_000,
        b'{"command": "view", "path": "\xff"}',
        VIEW.decode().encode("utf-16"),
        b"\xef\xbb\xbf" + VIEW,
        VIEW + VIEW,
        b"\0",
    ],
)
def test_a_line_that_is_no_json_object_is_an_invalid_command(shell: Shell, line: bytes) -> None:
    bad, good = answers(shell, line + b"\n" + VIEW + b"\n")
    assert bad["ok"] is False
    assert bad["command"] == "unknown"
    assert bad["error"]["code"] == "INVALID_COMMAND"
    assert bad["error"]["message"].endswith(".")
    assert good["ok"] is True


def test_a_line_too_long_to_keep_is_refused_and_the_next_one_answered(shell: Shell) -> None:
    long = b'{"command": "view", "path": "' + b"x" * (65 << 20) + b'"}'
    bad, good = answers(shell, long + b"\n" + VIEW)
    assert bad["error"]["code"] == "INVALID_COMMAND"
    assert good["ok"] is True


def test_a_large_text_is_refused_by_the_limits_and_not_by_its_line(shell: Shell) -> None:
    command = {"command": "create", "path": "/memories/a.md", "text": "x" * (8 << 20)}
    (refused,) = answers(shell, json.dumps(command).encode())
    assert refused["error"]["code"] == "LIMIT_EXCEEDED"
    assert refused["error"]["details"]["byteLength"] == 8 << 20


@pytest.mark.parametrize("number", ["9" * 5000, "-" + "9" * 5000])
def test_a_number_of_any_length_is_a_number(shell: Shell, number: str) -> None:
    line = f'{{"command": "insert", "path": "/memories/a.md", "insertLine": {number}, "text": ""}}'
    create = b'{"command": "create", "path": "/memories/a.md", "text": ""}\n'
    _, refused = answers(shell, create + line.encode())
    assert refused["error"]["code"] == "INVALID_RANGE"


def test_lone_surrogates_come_back_as_escapes(shell: Shell) -> None:
    name, path, text = answers(
        shell,
        b'{"command": "\\ud800"}\n'
        b'{"command": "view", "path": "/memories/\\udfff.md"}\n'
        b'{"command": "create", "path": "/memories/a.md", "text": "\\ud800"}\n',
    )
    assert (name["command"], name["error"]["code"]) == ("\ud800", "INVALID_COMMAND")
    assert path["error"]["code"] == "INVALID_PATH"
    assert text["error"]["code"] == "INVALID_ARGUMENT"


def test_only_a_newline_ends_a_line(shell: Shell) -> None:
    """U+2028, U+0085 and a form feed end lines for Python's splitlines, and are text here."""
    text = "a\u2028b\u0085c\fd\x1ce"
    command = json.dumps(
        {"command": "create", "path": "/memories/a.md", "text": text}, ensure_ascii=False
    ).replace("\\f", "\\u000c")
    created, viewed = answers(
        shell, command.encode() + b"\r\n" + b'{"command": "view", "path": "/memories/a.md"}\r\n'
    )
    assert created["ok"] is True
    assert viewed["value"]["text"] == text


def test_an_answer_is_there_before_the_next_command_is_sent(shell: Shell) -> None:
    with shell.start("port") as port:
        assert port.stdin is not None
        assert port.stdout is not None
        for _ in range(3):
            port.stdin.write(VIEW + b"\n")
            port.stdin.flush()
            assert json.loads(port.stdout.readline())["ok"] is True
        port.stdin.close()
        assert port.wait(SECONDS) == 0


def test_sigterm_ends_it_without_a_word(shell: Shell) -> None:
    with shell.start("port") as port:
        assert port.stdin is not None
        assert port.stdout is not None
        assert port.stderr is not None
        port.stdin.write(VIEW + b"\n")
        port.stdin.flush()
        port.stdout.readline()
        port.send_signal(signal.SIGTERM)
        assert port.wait(SECONDS) == 0
        assert port.stdout.read() == port.stderr.read() == b""


def test_a_reader_that_has_gone_ends_it_without_a_word(shell: Shell) -> None:
    with shell.start("port") as port:
        assert port.stdin is not None
        assert port.stdout is not None
        assert port.stderr is not None
        port.stdout.close()
        port.stdin.write(VIEW + b"\n")
        port.stdin.flush()
        assert port.wait(SECONDS) == 0
        assert port.stderr.read() == b""


def test_rules_make_a_new_scope_and_must_fit_an_old_one(shell: Shell) -> None:
    limits = ["--max-files", "2", "--max-total-bytes", "20", "--max-file-bytes", "10"]
    assert answers(shell, b"", *limits) == []
    assert answers(shell, b"", "--max-files", "2") == []
    shown = shell("policy", "show", "--json").json
    assert [shown[name] for name in ("max_files", "max_total_bytes", "max_file_bytes")] == [2, 20, 10]
    refusal = shell("port", "--max-files", "3").refusal(2)
    assert "max_files is 2, not 3" in refusal
    assert "memfs policy set" in refusal


def test_a_simple_store_lives_as_long_as_the_port(shell: Shell) -> None:
    create = b'{"command": "create", "path": "/memories/a.md", "text": "x"}\n'
    created, viewed = answers(shell, create + VIEW, "--store", "simple:")
    assert created["ok"] is True
    assert [entry["name"] for entry in viewed["value"]["entries"]] == ["a.md"]
    (empty,) = answers(shell, VIEW, "--store", "simple:")
    assert empty["value"]["entries"] == []


_JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
_FIELDS = st.dictionaries(
    st.sampled_from(["path", "text", "viewRange", "insertLine", "oldText", "newText", "oldPath", "newPath"]),
    _JUNK | st.just("/memories/a.md"),
)
_NAMES = st.sampled_from(["view", "create", "str_replace", "insert", "delete", "rename", "", "VIEW"]) | _JUNK


@settings(max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    lines=st.lists(
        st.builds(lambda name, rest: json.dumps({**rest, "command": name}).encode(), _NAMES, _FIELDS)
        | _JUNK.map(lambda value: json.dumps(value).encode())
        | st.binary(max_size=20).map(lambda junk: junk.replace(b"\n", b"")),
        min_size=1,
        max_size=80,
    )
)
def test_every_line_has_its_result(shell: Shell, lines: list[bytes]) -> None:
    results = answers(shell, b"\n".join(lines) + b"\n", "--store", "simple:")
    assert len(results) == len(lines)
    for result in results:
        assert set(result) == {"ok", "command", "value" if result["ok"] else "error"}


def test_a_pipe_that_does_not_block_is_waited_for(shell: Shell) -> None:
    """Programs such as node make the pipes to their children non-blocking, for both ends."""
    import os

    reading, writing = os.pipe()
    answered, answer = os.pipe()
    for descriptor in (reading, answer):
        os.set_blocking(descriptor, False)
    text = "x" * 60_000
    with shell.start("port", stdin=reading, stdout=answer) as port:
        os.close(reading)
        os.close(answer)
        create = {"command": "create", "path": "/memories/a.md", "text": text}
        view = {"command": "view", "path": "/memories/a.md"}
        with os.fdopen(writing, "wb") as stream:
            stream.write(json.dumps(create).encode() + b"\n" + (json.dumps(view).encode() + b"\n") * 4)
        with os.fdopen(answered, "rb") as stream:
            results = [json.loads(line) for line in stream.read().splitlines()]
        assert port.wait(SECONDS) == 0
    assert [result["ok"] for result in results] == [True] * 5
    assert results[-1]["value"]["text"] == text


def test_two_ports_on_one_scope_see_each_other(shell: Shell) -> None:
    with shell.start("port") as first, shell.start("port") as second:

        def ask(port: subprocess.Popen[bytes], **command: Any) -> Any:
            assert port.stdin is not None
            assert port.stdout is not None
            port.stdin.write(json.dumps(command).encode() + b"\n")
            port.stdin.flush()
            return json.loads(port.stdout.readline())

        for turn in range(5):
            path = f"/memories/{turn}.md"
            assert ask(first, command="create", path=path, text=str(turn))["ok"]
            assert ask(second, command="view", path=path)["value"]["text"] == str(turn)
            assert ask(second, command="delete", path=path)["ok"]
            assert not ask(first, command="view", path=path)["ok"]
        for port in (first, second):
            assert port.stdin is not None
            port.stdin.close()
            assert port.wait(SECONDS) == 0
