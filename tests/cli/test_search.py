"""``memfs search``: for a person, for a program, and in a mount."""

from __future__ import annotations

from tests.cli.conftest import Place, Shell


def test_passages_with_their_lines(shell: Shell) -> None:
    shell("create", "atlas/plan.md", "# Atlas\n\nask Ada about the deadline\n\nother\n").done()
    shell("create", "ada.md", "Ada.\n").done()
    assert shell("search", "ada", "deadline").done() == (
        "/memories/atlas/plan.md:1-3\n  # Atlas\n\n  ask Ada about the deadline\n"
        "\n/memories/ada.md:1\n  Ada.\n"
    )
    assert (
        shell("search", "ada", "--path", "atlas", "-n", "1")
        .done()
        .startswith("/memories/atlas/plan.md:1-3\n")
    )


def test_a_program_gets_the_ports_form_of_a_result(shell: Shell) -> None:
    shell("create", "ada.md", "Ada, Ada.\n").done()
    assert shell("search", "ada", "--json").json == {
        "ok": True,
        "command": "search",
        "value": {
            "passages": [
                {
                    "path": "/memories/ada.md",
                    "lines": {"start": 1, "end": 1},
                    "text": "Ada, Ada.",
                    "phrase": True,
                    "terms": 1,
                    "occurrences": 2,
                }
            ]
        },
    }
    refused = shell("search", "ada", "--path", "none", "--json")
    assert refused.status == 1
    assert refused.json["error"]["code"] == "NOT_FOUND"


def test_words_that_nothing_has(shell: Shell) -> None:
    assert shell("search", "nothing").refusal(0) == "no memory has any of these words."
    assert "1 to 50 words" in shell("search", "--", "--").refusal(1)


def test_in_a_mount_a_search_is_about_the_memory_there(shell: Shell, place: Place) -> None:
    place.mount("--scope", "mounted")
    (place.directory / "notes").mkdir()
    (place.directory / "notes" / "a.md").write_text("a word\n")
    (place.directory / "b.md").write_text("a word\n")
    found = shell("search", "word", "--path", "notes", cwd=place.directory).done()
    assert found == "/memories/notes/a.md:1\n  a word\n"
