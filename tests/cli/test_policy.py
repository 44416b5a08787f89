"""The rules of a scope from a shell."""

from __future__ import annotations

import json

from tests.cli.conftest import Shell


def test_rules_are_shown_for_people_and_for_programs(shell: Shell) -> None:
    assert shell("policy", "show").done() == (
        "max-files          256\n"
        "max-total-bytes    1048576\n"
        "max-file-bytes     65536\n"
        "extensions         .txt,.md,.json,.py,.yaml,.yml\n"
        "layout             flat\n"
        "eviction           delete\n"
    )
    shown = shell("policy", "show", "--json").json
    assert shown["max_files"] == 256
    assert shown["extensions"][0] == ".txt"


def test_what_is_set_holds_at_every_door_and_the_rest_stays(shell: Shell) -> None:
    printed = shell("policy", "set", "--max-file-bytes", "4", "--extensions", ".md, .html", "--json").json
    assert printed == {
        "max_file_bytes": 4,
        "max_total_bytes": 1_048_576,
        "max_files": 256,
        "extensions": [".md", ".html"],
        "layout": "flat",
        "eviction": "delete",
        "max_archive_bytes": None,
    }
    assert shell("policy", "show", "--json").json == printed
    shell("create", "a.html", "1234").done()
    assert "allowed are .md, .html" in shell("create", "a.txt", "x").refusal(1)
    assert "5 bytes" in shell("create", "a.md", "12345").refusal(1)
    line = json.dumps({"command": "create", "path": "/memories/a.md", "text": "12345"})
    assert json.loads(shell("port", text=line).out)["error"]["code"] == "LIMIT_EXCEEDED"


def test_a_rule_that_is_none_is_wrong_usage_and_changes_nothing(shell: Shell) -> None:
    assert "max_files" in shell("policy", "set", "--max-files", "-1", "--max-file-bytes", "3").refusal(2)
    assert "dot" in shell("policy", "set", "--extensions", "md").refusal(2)
    assert shell("policy", "show", "--json").json["max_file_bytes"] == 65_536


def test_each_scope_has_its_own(shell: Shell) -> None:
    shell("policy", "set", "--max-files", "3", "--scope", "a").done()
    assert shell("policy", "show", "--json", "--scope", "a").json["max_files"] == 3
    assert shell("policy", "show", "--json", "--scope", "b").json["max_files"] == 256
