"""Memories in the PARA layout from a shell: placing them, listing tasks, archiving."""

from __future__ import annotations

import json
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memfs import open_memory
from memfs.cli.pages import head_of, new_page
from memfs.layout import PlacementInput
from tests.cli.conftest import Place, Shell, eventually

AT = datetime(2026, 8, 2, 14, 3, 11, tzinfo=UTC)


@pytest.fixture
def para(shell: Shell) -> Shell:
    """A shell whose default memory has the layout, and takes HTML and Markdown."""
    store = f"sqlite:{shell.home / '.local/share/memfs/store'}"
    open_memory(store, layout="para", extensions=[".html", ".md"]).close()
    return shell


def archive_of(name: str) -> str:
    return f"/memories/archive/{datetime.now(UTC).year}/{name}"


class TestPlace:
    """`memfs place` prints where a memory belongs, and makes the file."""

    def test_the_path_follows_from_what_the_memory_is(self, para: Shell) -> None:
        for arguments, path in [
            (["--type", "task", "--workspace", "Atlas"], "projects/atlas/tasks/ask-ada.html"),
            (["--type", "task"], "areas/inbox/tasks/ask-ada.html"),
            (["--type", "arc"], "areas/arcs/ask-ada.html"),
            (["--type", "semantic", "--entity", "person:Ada"], "resources/people/ask-ada.html"),
            (["--type", "procedural", "--tag", "SQL tips", "--tag", "b"], "resources/sql-tips/ask-ada.html"),
            (["--type", "anything"], "areas/inbox/ask-ada.html"),
            (["--type", "task", "--path", "areas/x/y.md"], "areas/x/y.md"),
            (["--type", "task", "--path", "/memories/areas//x/y.md"], "areas/x/y.md"),
        ]:
            assert para("place", *arguments, "--title", "Ask Ada!").done() == f"/memories/{path}\n"
        assert para("view", "projects").done() == ""

    def test_what_happened_once_has_its_day_in_front(self, para: Shell) -> None:
        path = para("place", "--type", "episodic", "--title", "First day").done()
        day = path.removeprefix("/memories/areas/inbox/").partition("-")[0]
        assert abs((datetime.now(UTC) - datetime.strptime(day, "%Y%m%d").replace(tzinfo=UTC)).days) <= 1

    def test_a_path_that_no_memory_can_have_is_refused_and_says_why(self, para: Shell) -> None:
        for path, clause in [
            ("stuff/a.html", "lies in none of the buckets"),
            ("projects/a.txt", "does not have the extension .html or .md"),
            ("projects", "lies in none of the buckets"),
            ("projects/a b.html", "a character other than letters"),
            ("projects/q/../x.html", "has a '..' segment; name every directory in full"),
            ("/memories/projects/./x.html", "has a '.' segment"),
            ("projects/a\tb.html", "a character other than letters"),
            ("archive/2026/a.html", "never written"),
        ]:
            assert clause in para("place", "--type", "task", "--title", "t", "--path", path).refusal(1)

    def test_a_file_is_made_and_its_path_is_all_that_is_printed(self, para: Shell) -> None:
        created = para("place", "--type", "task", "--title", "Ask <Ada>", "--tag", "a&b", "--create").done()
        assert created == "/memories/areas/inbox/tasks/ask-ada.html\n"
        text = para("view", created.strip()).done()
        assert "<title>Ask &lt;Ada&gt;</title>" in text
        assert '<meta name="memhtml-task-status" content="todo">' in text
        assert '<meta name="memhtml-tag" content="a&amp;b">' in text

    def test_a_title_that_is_no_text_is_refused(self, para: Shell) -> None:
        placing = ["place", "--type", "task", "--create"]
        assert "no UTF-8" in para(*placing, "--title", "a\udcff").refusal(1)
        assert "no UTF-8" in para(*placing, "--title", "a", "--tag", "\udcff").refusal(1)
        assert para("view", "areas/inbox").done() == ""

    def test_a_name_that_is_taken_gets_an_ordinal(self, para: Shell) -> None:
        arguments = ("place", "--type", "task", "--title", "Ask Ada", "--create")
        assert [para(*arguments).done().rpartition("/")[2].strip() for _ in range(3)] == [
            "ask-ada.html",
            "ask-ada-2.html",
            "ask-ada-3.html",
        ]

    def test_a_path_that_is_asked_for_is_not_replaced(self, para: Shell) -> None:
        arguments = ("place", "--type", "task", "--title", "t", "--path", "areas/a.md", "--create")
        para(*arguments).done()
        assert "exists already" in para(*arguments).refusal(1)

    def test_the_extension_is_one_that_the_scope_takes(self, shell: Shell) -> None:
        assert shell("place", "--type", "x", "--title", "a").done() == "/memories/areas/inbox/a.md\n"
        shell("policy", "set", "--extensions", ".org,.txt").done()
        assert shell("place", "--type", "x", "--title", "a").done() == "/memories/areas/inbox/a.org\n"

    def test_inside_a_mount_the_path_is_one_in_it(self, place: Place) -> None:
        place.mount("--layout", "para")
        path = place.shell(
            "place", "--type", "task", "--title", "Ask Ada", "--create", cwd=place.directory / "projects"
        ).done()
        assert path == f"{place.directory}/areas/inbox/tasks/ask-ada.html\n"
        eventually(Path(path.strip()).exists)
        assert "Ask Ada" in Path(path.strip()).read_text()


class TestTasks:
    """`memfs tasks` lists what is to be done."""

    @pytest.fixture
    def busy(self, para: Shell) -> Shell:
        """Tasks in two workspaces and in the inbox."""
        meta = '<meta name="memhtml-task-status" content="{}"><meta name="memhtml-due" content="{}">'
        page = "<!doctype html><title>{}</title>" + meta + "<body><title>no</title>"
        texts = {
            "projects/atlas/tasks/b.html": page.format("Ask &amp; wait", "doing", "2026-09-01"),
            "projects/atlas/tasks/a.html": page.format("Write", "done", "2026-08-01"),
            "projects/borg/tasks/c.md": "---\nstatus: blocked\ntitle: Wait\n---\n# No\n",
            "areas/inbox/tasks/d.md": "# Think\n\nstatus: done\n",
            "projects/borg/notes.md": "---\nstatus: todo\n---\n",
        }
        commands = [
            json.dumps({"command": "create", "path": f"/memories/{path}", "text": text})
            for path, text in texts.items()
        ]
        assert para("port", text="\n".join(commands)).done().count('"ok": true') == len(texts)
        return para

    def test_open_ones_are_a_table_and_done_ones_are_offered_for_the_archive(self, busy: Shell) -> None:
        assert busy("tasks").done().splitlines() == [
            "STATUS   DUE         TITLE       PATH",
            "-        -           Think       /memories/areas/inbox/tasks/d.md",
            "doing    2026-09-01  Ask & wait  /memories/projects/atlas/tasks/b.html",
            "blocked  -           Wait        /memories/projects/borg/tasks/c.md",
            "",
            "1 done; to archive: memfs archive /memories/projects/atlas/tasks/a.html",
        ]

    def test_those_of_one_workspace(self, busy: Shell) -> None:
        assert [task["path"] for task in busy("tasks", "Borg", "--json").json] == [
            "/memories/projects/borg/tasks/c.md"
        ]
        assert busy("tasks", "nobody").done() == "No open tasks.\n"

    def test_programs_get_all_of_it(self, busy: Shell) -> None:
        tasks = busy("tasks", "atlas", "--all", "--json").json
        assert tasks[0] == {
            "workspace": "atlas",
            "title": "Write",
            "status": "done",
            "due": "2026-08-01",
            "path": "/memories/projects/atlas/tasks/a.html",
            "done": True,
        }
        assert len(tasks) == 2

    def test_what_is_offered_can_be_run_as_it_is(self, busy: Shell) -> None:
        offered = busy("tasks").done().splitlines()[-1].partition("memfs ")[2]
        assert busy(*offered.split()).done() == (
            "/memories/projects/atlas/tasks/a.html -> " + archive_of("projects/atlas/tasks/a.html") + "\n"
        )
        assert "done" not in busy("tasks").done()

    def test_no_archive_is_offered_where_there_is_none(self, shell: Shell) -> None:
        text = "---\nstatus: done\n---\n"
        shell("create", "projects/atlas/tasks/a.md", "--file", "-", text=text).done()
        assert shell("tasks").done() == "No open tasks.\n"
        assert shell("archive", "projects/atlas/tasks/a.md").status == 1

    def test_a_task_in_json_says_what_it_is_by_its_keys(self, shell: Shell) -> None:
        for name, text in {
            "a": '{"title": "Write", "status": "doing", "due": "2026-09-01", "tags": ["x"]}',
            "b": '{"title": 7, "status": null}',
            "c": '["title"]',
            "d": "{",
        }.items():
            shell("create", f"projects/atlas/tasks/{name}.json", "--file", "-", text=text).done()
        tasks = shell("tasks", "--json").json
        assert [(task["title"], task["status"], task["due"]) for task in tasks] == [
            ("Write", "doing", "2026-09-01"),
            ("b", "", ""),
            ("c", "", ""),
            ("d", "", ""),
        ]

    def test_a_memory_without_tasks_has_none(self, shell: Shell) -> None:
        assert shell("tasks").done() == "No open tasks.\n"
        assert shell("tasks", "--json").json == []

    def test_a_title_writes_nothing_but_text_to_a_terminal(self, para: Shell) -> None:
        para("create", "areas/inbox/tasks/a.md", "# \x1b[2J evil\n").done()
        assert "\x1b" not in para("tasks").done()


class TestArchive:
    """`memfs archive` moves to where an eviction would."""

    def test_files_and_directories_move_by_the_year(self, para: Shell) -> None:
        for name in ("projects/atlas/a.md", "projects/atlas/b.md", "areas/c.md"):
            para("create", name, "x").done()
        told = para("archive", "areas/c.md", "projects/atlas").done()
        assert told.splitlines() == [
            f"/memories/areas/c.md -> {archive_of('areas/c.md')}",
            f"/memories/projects/atlas -> {archive_of('projects/atlas')}",
        ]
        assert para("view", archive_of("projects/atlas")).done() == "a.md\nb.md\n"

    def test_who_and_why_is_recorded_as_of_any_change(self, para: Shell) -> None:
        why = ("--actor", "tidier", "--reason", "it is over")
        para("create", "areas/c.md", "x").done()
        para("archive", "areas/c.md", *why).done()
        placed = para("place", "--type", "task", "--title", "Next", "--create", *why).done().strip()
        for path in (archive_of("areas/c.md"), placed):
            newest = json.loads(para("log", path, "-n", "1", "--json").done())
            assert (newest["program"], newest["reason"]) == ("tidier", "it is over")

    def test_what_cannot_be_archived_does_not_keep_the_others_from_it(self, para: Shell) -> None:
        para("create", "areas/c.md", "x").done()
        done = para("archive", "areas/none.md", "areas/c.md", "projects")
        assert done.status == 1
        assert done.out == f"/memories/areas/c.md -> {archive_of('areas/c.md')}\n"
        assert "areas/none.md does not exist" in done.err
        assert "/memories/projects belongs to the layout" in done.err

    def test_a_scope_without_an_archive_says_how_to_get_one(self, shell: Shell) -> None:
        shell("create", "a.md", "x").done()
        assert "memfs policy set --eviction archive" in shell("archive", "a.md").refusal(1)

    def test_a_directory_leaves_nothing_behind_in_a_mount(self, place: Place) -> None:
        place.mount("--layout", "para")
        project = place.directory / "projects/atlas"
        project.mkdir()
        (project / "a.html").write_text("x")
        place.shell("archive", "atlas", cwd=place.directory / "projects").done()
        eventually(lambda: not project.exists())
        project.mkdir()
        (project / "b.html").write_text("x")
        place.shell("archive", "atlas", cwd=place.directory / "projects").done()
        there = place.directory / "archive" / str(datetime.now(UTC).year) / "projects/atlas"
        found = subprocess.check_output(["ls", there, place.directory / "projects"], text=True)
        assert "  archive  2 files, 2 bytes\n" in place.shell("status").done()
        assert found == f"{there}:\na.html\nb.html\n\n{place.directory}/projects:\n"


class TestRules:
    """The layout and the eviction are rules of the scope as the others are."""

    def test_the_layout_is_recorded_and_shown(self, shell: Shell) -> None:
        line = json.dumps({"command": "view", "path": "/memories"})
        shell("port", "--layout", "para", "--max-archive-bytes", "1000", text=line).done()
        shown = shell("policy", "show").done().splitlines()
        assert shown[3:] == [
            "extensions         .html",
            "layout             para",
            "eviction           archive",
            "max-archive-bytes  1000",
        ]
        assert shell("view").done() == "archive/\nareas/\nprojects/\nresources/\n"
        assert "layout is para, not flat" in shell("port", "--layout", "flat", text=line).refusal(2)
        assert (
            shell("policy", "set", "--max-archive-bytes", "none", "--json").json["max_archive_bytes"] is None
        )

    def test_a_rule_that_is_none_is_wrong_usage(self, shell: Shell) -> None:
        for name, value in {"layout": "tree", "eviction": "sell", "max-archive-bytes": "0"}.items():
            assert shell("policy", "set", f"--{name}", value).status == 2

    def test_a_refusing_scope_says_what_to_do(self, shell: Shell) -> None:
        shell("policy", "set", "--eviction", "refuse", "--max-files", "1").done()
        shell("create", "a.md", "x").done()
        assert "Delete or archive something, or raise its limits." in shell("create", "b.md", "x").refusal(1)

    def test_a_rename_out_of_the_archive_tells_what_left(self, para: Shell) -> None:
        para("create", "areas/a.md", "x").done()
        para("archive", "areas/a.md").done()
        para("create", "areas/b.md", "x").done()
        para("policy", "set", "--max-files", "1").done()
        told = para("rename", archive_of("areas/a.md"), "areas/a.md").done()
        assert told.endswith(" Evicted to make room: /memories/areas/b.md.\n")


class TestPages:
    """What a new page says of itself is read back."""

    @pytest.mark.parametrize("extension", [".html", ".md"])
    @pytest.mark.parametrize(
        "title", ["Ask Ada", "a: \"b\" <c> & 'd'", "two\nlines", "---", "# x", "déjà 😀", "a\\b"]
    )
    def test_a_new_task_is_to_be_done(self, extension: str, title: str) -> None:
        path = f"/memories/areas/inbox/tasks/a{extension}"
        text = new_page(path, title, PlacementInput("task"), AT)
        assert head_of(path, text) == (" ".join(title.split()), "todo", "")

    @pytest.mark.parametrize("extension", [".html", ".md", ".txt", ".yaml"])
    def test_another_memory_has_its_title(self, extension: str) -> None:
        path = f"/memories/areas/a{extension}"
        text = new_page(path, "A title", PlacementInput("semantic", entities=["person:Ada"]), AT)
        assert head_of(path, text) == ("A title", "", "")

    def test_a_page_in_json_is_json(self) -> None:
        text = new_page("/memories/areas/a.json", 'A "title"', PlacementInput("task"), AT)
        assert json.loads(text) == {"title": 'A "title"', "status": "todo"}

    @pytest.mark.parametrize(
        ("name", "text"),
        [
            ("a.md", ""),
            ("a.md", "---\nstatus: done\n"),
            ("a.md", "text\n---\nstatus: done\n---\n"),
            ("a.html", ""),
            ("a.html", "<!-- <title>x</title>"),
            ("a.html", "<body><meta name='memhtml-task-status' content='done'>"),
            ("a.html", "<meta name='memhtml-status' content='active'>"),
        ],
    )
    def test_a_page_that_says_nothing_is_called_by_its_name(self, name: str, text: str) -> None:
        assert head_of(f"/memories/areas/{name}", text) == ("a", "", "")

    def test_facts_are_read_as_people_write_them(self) -> None:
        text = "---\r\nTitle: 'Ask Ada'\r\nSTATUS:  doing \r\ndue: 2026-08-09\r\nnothing\r\n---\r\n"
        assert head_of("/memories/a.md", text) == ("Ask Ada", "doing", "2026-08-09")
        page = '<META NAME="memhtml-due" CONTENT="2026-08-09"><TITLE>Ask\n Ada</TITLE>'
        assert head_of("/memories/a.html", page) == ("Ask Ada", "", "2026-08-09")
