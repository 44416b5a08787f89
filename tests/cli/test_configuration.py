"""Configured memories: strict files, variables, flags, and which of them counts."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memfs.cli.settings import SETTINGS
from tests.cli.conftest import ROOT, Place, Shell

# A good value of every setting, as TOML and as a variable, none of them the default.
GOOD = {
    "store": ('"sqlite:~/agent"', "sqlite:~/other"),
    "scope": ('"work"', "play"),
    "workspace": ("true", "on"),
    "mountpoint": ('"~/m"', "~/n"),
    "max_files": ("3", "4"),
    "max_total_bytes": ("3000", "4000"),
    "max_file_bytes": ("30", "40"),
    "extensions": ('[".md", ".html"]', ".txt,.md"),
    "layout": ('"para"', "flat"),
    "eviction": ('"archive"', "refuse"),
    "max_archive_bytes": ("50000", "none"),
    "read_only": ("true", "yes"),
    "allow_other": ("true", "on"),
    "umask": ('"022"', "027"),
    "scratch": (r"""['.*\.wip']""", ".*\\.wip2\n\\.mytool-.*"),
    "metrics": ('"127.0.0.1:9555"', "unix:/run/memfs.sock"),
    "hardened": ("true", "1"),
}
MEANT = {
    "extensions": ([".md", ".html"], [".txt", ".md"]),
    "scratch": ([r".*\.wip"], [r".*\.wip2", r"\.mytool-.*"]),
    "umask": ("022", "027"),
    "workspace": (True, True),
    "read_only": (True, True),
    "allow_other": (True, True),
    "hardened": (True, True),
    "max_files": (3, 4),
    "max_total_bytes": (3000, 4000),
    "max_file_bytes": (30, 40),
    "max_archive_bytes": (50000, "none"),
}

# --- files -----------------------------------------------------------------------------------------


def test_a_configured_memory_has_its_store_and_scope(shell: Shell) -> None:
    shell.configure("work", 'store = "sqlite:~/agent"\nscope = "work"\n')
    shell("create", "a.md", "x", "--memory", "work").done()
    assert shell("view", "--store", f"sqlite:{shell.home}/agent", "--scope", "work").done() == "a.md\n"
    assert shell("view").done() == ""


def test_what_a_configuration_leaves_out_is_the_default(shell: Shell) -> None:
    shell.configure("empty", "")
    shell("create", "a.md", "x").done()
    assert shell("view", "--memory", "empty").done() == "a.md\n"


def test_the_memory_configured_as_default_is_that_of_who_names_none(shell: Shell) -> None:
    shell.configure("default", 'store = "sqlite:~/agent"\nmax_files = 3\n')
    shell("create", "a.md", "x").done()
    assert shell("view", "--store", "sqlite:~/agent").done() == "a.md\n"
    assert shell("policy", "show", "--json").json["max_files"] == 3
    assert shell("view", "--memory", "default").done() == "a.md\n"
    assert shell("view", "--scope", "default").done() == "", "who names one part, names the memory"


@pytest.mark.parametrize("door", [["view"], ["port"], ["log"], ["search", "x"], ["policy", "show"]])
def test_every_door_makes_a_new_scope_with_the_rules_of_its_file(shell: Shell, door: list[str]) -> None:
    shell.configure("work", 'scope = "work"\nextensions = [".html"]\n')
    shell(*door, "--memory", "work")
    assert shell("policy", "show", "--scope", "work", "--json").json["extensions"] == [".html"]


@pytest.mark.parametrize(
    ("content", "named", "line"),
    [
        ('stor = "simple:"', "'stor'; did you mean 'store'?", 1),
        ("# a memory\n\nmax-files = 3", "'max-files'; did you mean 'max_files'?", 3),
        ("[store]", "'store'", 1),
        ("store = 3", "'store': it must be a string", 1),
        ('store = "ftp:x"', "'store'", 1),
        ('store = "sqlite:relative"', "begin it with / or ~", 1),
        ('scope = " "', "'scope'", 1),
        ('scope = "a\\u0001"', "'scope'", 1),
        ('mountpoint = "memories"', "'mountpoint'", 1),
        ('mountpoint = ""', "'mountpoint'", 1),
        ("mountpoint = []", "'mountpoint'", 1),
        ('scope = "a"\nmax_files = 0', "'max_files'", 2),
        ('max_files = "3"', "must be an integer", 1),
        ("max_files = true", "must be an integer", 1),
        ('extensions = ".md"', "list of strings", 1),
        ('extensions = ["md"]', "'extensions'", 1),
        ('layout = "tree"', "'tree' is none of flat, para", 1),
        ("eviction = true", "must be a string", 1),
        ('max_archive_bytes = "some"', "must be an integer", 1),
        ("max_archive_bytes = 0", "must be a positive integer", 1),
        ('read_only = "true"', "true or false", 1),
        ("umask = 77", "octal digits", 1),
        ('umask = "99"', "octal mask", 1),
        ('scratch = "x"', "'scratch'", 1),
        ("scratch = [3]", "'scratch'", 1),
        ("scratch = [\n  'fine', # (\n  '(',\n]\n", "'(' does not compile", 1),
        ("scratch = ['.*']", "the name of a memory", 1),
        ("scratch = ['[a-z]+[.]md']", "matches notes.md", 1),
        (r"scratch = ['plan-7\.md']", "matches plan-7.md", 1),
        ("scope = '''\nmax_files = 0'''\n\n'max_files' = 0", "'max_files'", 4),
        ("scratch = [\n'max_files = 0',\n]\n# so\n'max_files' = 0", "'max_files'", 5),
        ("store 3", "is no TOML", 1),
        ('scope = "a"\nscope = "b"\n', "is no TOML", 2),
    ],
)
def test_what_is_wrong_is_named_with_its_file_and_line(
    shell: Shell, content: str, named: str, line: int
) -> None:
    file = shell.configure("work", content)
    sentence = shell("view", "--memory", "work").refusal(78)
    assert str(file) in sentence
    assert named in sentence
    assert f"line {line}" in sentence


def test_a_file_that_is_no_text_is_named_with_its_line(shell: Shell) -> None:
    file = shell.configure("work", "")
    file.write_bytes(b'scope = "a"\nstore = "\xff"\n')
    assert f"{file}, line 2, is no UTF-8" in shell("view", "--memory", "work").refusal(78)


def test_a_byte_order_mark_is_no_part_of_a_file(shell: Shell) -> None:
    file = shell.configure("work", "")
    file.write_bytes(b'\xef\xbb\xbfscope = "a"\r\numask = "022"\r\n')
    shown = shell("config", "show", "work", "--json").json["settings"]
    assert shown["scope"] == {"value": "a", "from": f"{file}, line 1"}
    assert shown["umask"] == {"value": "022", "from": f"{file}, line 2"}
    file.write_text('scope = "a"\n', encoding="utf-16")
    assert f"{file}, line 1, is no UTF-8" in shell("view", "--memory", "work").refusal(78)


def test_a_memory_that_is_not_configured_is_wrong_usage(shell: Shell) -> None:
    shell.configure("work", "")
    assert "work" in shell("view", "--memory", "wrok").refusal(2)
    shell("view", "--memory", "../work").refusal(2)


# --- the environment, and precedence ---------------------------------------------------------------


def test_every_setting_is_a_key_a_variable_and_a_flag(shell: Shell) -> None:
    assert set(GOOD) == set(SETTINGS), "a setting that this test does not know"
    file = shell.configure("work", "".join(f"{key} = {toml}\n" for key, (toml, _) in GOOD.items()))
    shown = shell("config", "show", "work", "--json").json
    assert shown["file"] == str(file)
    for line, (key, (toml, _)) in enumerate(GOOD.items(), 1):
        value = MEANT[key][0] if key in MEANT else toml.strip('"')
        assert shown["settings"][key] == {"value": value, "from": f"{file}, line {line}"}
    for key, (_, text) in GOOD.items():
        variable = SETTINGS[key].variable
        shell.environment[variable] = text
        value = MEANT[key][1] if key in MEANT else text
        assert shell("config", "show", "work", "--json").json["settings"][key] == {
            "value": value,
            "from": variable,
        }
        del shell.environment[variable]
    help_text = shell("mount", "--help").done()
    for key, setting in SETTINGS.items():
        assert (setting.flag if key != "mountpoint" else "[DIR]") in help_text


def test_a_flag_counts_before_a_variable_and_a_variable_before_the_file(shell: Shell) -> None:
    for scope in ("file", "variable", "flag", "default"):
        shell("create", f"{scope}.md", "x", "--scope", scope).done()
    shell.configure("work", 'scope = "file"\n')
    assert shell("view").done() == "default.md\n"
    assert shell("view", "--memory", "work").done() == "file.md\n"
    shell.environment["MEMFS_MEMORY"] = "work"
    assert shell("view").done() == "file.md\n"
    shell.environment["MEMFS_SCOPE"] = "variable"
    assert shell("view").done() == "variable.md\n"
    assert shell("view", "--scope", "flag").done() == "flag.md\n"
    shell.environment["MEMFS_SCOPE"] = ""
    assert shell("view").done() == "file.md\n", "a variable that is empty is as good as none"


def test_a_wrong_variable_is_named(shell: Shell) -> None:
    shell.environment["MEMFS_STORE"] = "ftp:x"
    assert "MEMFS_STORE" in shell("view").refusal(78)
    shell.environment["MEMFS_STORE"] = ""
    shell.environment["MEMFS_UMASK"] = "rwx"
    assert "MEMFS_UMASK" in shell("mount", "/nowhere").refusal(78)
    assert shell("view").done() == "", "a variable counts where its flag does"


def test_settings_reach_the_mount_from_the_file_and_the_environment(shell: Shell, place: Place) -> None:
    shell.configure(
        "work", f'mountpoint = "{place.directory}"\numask = "022"\nmax_files = 7\nread_only = true\n'
    )
    shell.environment["MEMFS_READ_ONLY"] = "false"
    shell("mount", "--memory", "work").done()
    (place.directory / "a.md").write_text("x")
    assert (place.directory / "a.md").stat().st_mode & 0o777 == 0o644
    assert shell("policy", "show", "--json").json["max_files"] == 7
    shell("unmount", str(place.directory)).done()
    shell("mount", "--memory", "work", "--read-only", "--umask", "077").done()
    with pytest.raises(OSError, match="Read-only"):
        (place.directory / "a.md").write_text("y")
    assert (place.directory / "a.md").stat().st_mode & 0o777 == 0o600


# --- shown -----------------------------------------------------------------------------------------


def test_config_show_names_every_setting_and_where_it_is_from(shell: Shell) -> None:
    file = shell.configure("work", 'scope = "work"\n\numask = "022"\n')
    shell.environment["MEMFS_MAX_FILES"] = "7"
    assert shell("config", "show", "work").done() == (
        f"work: {file}\n"
        f"  store             sqlite:{shell.home}/.local/share/memfs/store  (default)\n"
        "  scope             work  (line 1)\n"
        "  workspace         false  (default)\n"
        f"  mountpoint        {shell.home}/memories-work  (default)\n"
        "  max_files         7  (MEMFS_MAX_FILES)\n"
        "  max_total_bytes   1048576  (default of a new scope)\n"
        "  max_file_bytes    65536  (default of a new scope)\n"
        "  extensions        .txt, .md, .json, .py, .yaml, .yml  (default of a new scope)\n"
        "  layout            flat  (default of a new scope)\n"
        "  eviction          delete  (default of a new scope)\n"
        "  max_archive_bytes none  (default of a new scope)\n"
        "  read_only         false  (default)\n"
        "  allow_other       false  (default)\n"
        "  umask             022  (line 3)\n"
        "  scratch           none  (default)\n"
        "  metrics           none  (default)\n"
        "  hardened          false  (default)\n"
    )


def test_a_memory_is_named_by_a_word_or_as_other_commands_do(shell: Shell) -> None:
    shell.configure("work", "")
    shown = shell("config", "show", "work").done()
    assert shell("config", "show", "--memory", "work").done() == shown
    assert shell("config", "show", "work", "--memory", "work").done() == shown
    assert shell("doctor", "--memory", "work", "--json").json["memories"][0]["name"] == "work"
    shell.environment["MEMFS_MEMORY"] = "work"
    assert shell("config", "show").done() == shown
    for command in (("config", "show"), ("doctor",)):
        refusal = shell(*command, "work", "--memory", "home").refusal(2)
        assert refusal == "'work' and --memory home are two memories; name one."


def test_config_show_needs_no_file_for_the_default_memory_only(shell: Shell) -> None:
    printed = shell("config", "show").done()
    assert f"default: {shell.home}/.config/memfs/default.toml, which is not there\n" in printed
    assert "'work'" in shell("config", "show", "work").refusal(2)


def test_the_readme_names_every_setting() -> None:
    readme = Path(ROOT / "README.md").read_text()
    for key in SETTINGS:
        assert f"`{key}`" in readme, key


def test_a_fifo_is_not_waited_for(shell: Shell) -> None:
    file = shell.configure("work", "")
    file.unlink()
    os.mkfifo(file)
    for command in (("config", "show", "work"), ("view", "--memory", "work")):
        sentence = shell(*command).refusal(78)
        assert sentence == f"The configuration {file} cannot be read: it is no ordinary file; move it away."


def test_a_link_to_a_file_is_as_good_as_the_file(shell: Shell) -> None:
    file = shell.configure("work", 'scope = "linked"\n')
    file.symlink_to(file.rename(shell.home / "elsewhere.toml"))
    assert "linked" in shell("config", "show", "work").done()


@pytest.mark.parametrize("name", [".#work", "work (copy)"])
def test_what_an_editor_leaves_beside_a_file_is_no_memory(shell: Shell, name: str) -> None:
    shell.configure("work", "").with_name(f"{name}.toml").symlink_to("nowhere")
    assert name not in shell("status").done()
    assert name not in shell("service", "list").err
