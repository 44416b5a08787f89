"""Every command's arguments and help text, on one page. Nothing here runs a command.

A command is a row in ``COMMANDS``: its module has a ``run(options)`` that returns the exit status.
"""

from __future__ import annotations

from argparse import SUPPRESS, ArgumentParser
from collections.abc import Callable
from typing import NamedTuple

from memfs.cli import values
from memfs.cli.settings import MEMORY, MOUNT, MOUNTPOINT, RULES, SETTINGS, integer


class Row(NamedTuple):
    """One command: where it runs, one line about it, an example, and its arguments."""

    module: str
    summary: str
    example: str
    declare: Callable[[ArgumentParser], None]


# --- arguments that several commands share ---------------------------------------------------------


def _declare_memory(parser: ArgumentParser, has_project: bool = False) -> None:
    """*has_project*: the command has a ``--workspace`` of its own, which names a project."""
    group = parser.add_argument_group("which memory")
    group.add_argument("--memory", metavar="NAME", help="a configured one")
    for setting in MEMORY:
        if not (has_project and setting.key == "workspace"):
            setting.declare(group)


def _declare_name(
    parser: ArgumentParser, help_text: str = "the configured memory (default: 'default')"
) -> None:
    parser.add_argument("name", nargs="?", metavar="NAME", help=help_text)
    parser.add_argument("--memory", metavar="NAME", help="the same, as other commands have it")


def _declare_rules(parser: ArgumentParser, title: str) -> None:
    group = parser.add_argument_group(title)
    for setting in RULES:
        setting.declare(group)


def _declare_json(parser: ArgumentParser, what: str) -> None:
    parser.add_argument("--json", action="store_true", help=f"print {what} as JSON")


def _declare_result(parser: ArgumentParser) -> None:
    _declare_json(parser, "the port's result")
    _declare_memory(parser)


def _declare_change(parser: ArgumentParser, actor: str = "memfs") -> None:
    group = parser.add_argument_group("for the history")
    group.add_argument("--actor", metavar="NAME", help=f"who makes this change (default: {actor})")
    group.add_argument("--reason", metavar="TEXT", default="", help="why, in one line")


def _declare_expected(parser: ArgumentParser, help_: str = "") -> None:
    parser.add_argument(
        "--expected",
        type=values.expected,
        metavar="WHAT",
        help=help_ or "refuse unless this is there: sha256:DIGEST, version:N, or absent",
    )


def _declare_command(parser: ArgumentParser) -> None:
    _declare_expected(parser)
    _declare_result(parser)
    _declare_change(parser)


def _declare_text(parser: ArgumentParser) -> None:
    parser.add_argument("text", nargs="?", metavar="TEXT", help="the text; after -- if it begins with -")
    parser.add_argument(
        "--file", metavar="FILE", help="take the text from FILE (without both: standard input)"
    )


# --- the commands ----------------------------------------------------------------------------------


def _view(parser: ArgumentParser) -> None:
    parser.add_argument(
        "path", nargs="?", default=".", metavar="PATH", help="default: the directory you are in"
    )
    parser.add_argument(
        "--range",
        type=values.line_range,
        metavar="A:B",
        help="the lines A to B, also as two words; -1 is the last",
    )
    _declare_result(parser)


def _create(parser: ArgumentParser) -> None:
    parser.add_argument("path", metavar="PATH")
    _declare_text(parser)
    _declare_command(parser)


def _str_replace(parser: ArgumentParser) -> None:
    parser.add_argument("path", metavar="PATH")
    parser.add_argument("old", nargs="?", metavar="OLD", help="the text to replace, which must occur once")
    parser.add_argument("new", nargs="?", metavar="NEW", help="the text that takes its place")
    parser.add_argument("--old-file", metavar="FILE", help="take OLD from FILE (- is standard input)")
    parser.add_argument("--new-file", metavar="FILE", help="take NEW from FILE (- is standard input)")
    _declare_command(parser)


def _insert(parser: ArgumentParser) -> None:
    parser.add_argument("path", metavar="PATH")
    parser.add_argument("line", type=integer, metavar="LINE", help="insert after this line; 0 is before all")
    _declare_text(parser)
    _declare_command(parser)


def _delete(parser: ArgumentParser) -> None:
    parser.add_argument("path", metavar="PATH")
    _declare_command(parser)


def _rename(parser: ArgumentParser) -> None:
    parser.add_argument("path", metavar="OLD")
    parser.add_argument("new_path", metavar="NEW", help="must not exist: a rename never overwrites")
    _declare_command(parser)


def _log(parser: ArgumentParser) -> None:
    parser.add_argument(
        "path",
        nargs="?",
        metavar="PATH",
        help="a memory, also one that has left, or a directory; default: all of the scope",
    )
    parser.add_argument("--deleted", action="store_true", help="only memories that have left, each once")
    parser.add_argument(
        "--since",
        type=values.moment,
        metavar="WHEN",
        help="such as yesterday, 10:00, 2026-11-30, 2026-11-30T10:00, 90m, 12h, 7d or 2w",
    )
    parser.add_argument("--actor", metavar="NAME", help="only changes of this user, program or client")
    parser.add_argument("-n", type=values.positive, dest="count", metavar="N", help="the newest N")
    _declare_json(parser, "one record a line")
    _declare_memory(parser)


def _watch(parser: ArgumentParser) -> None:
    parser.add_argument(
        "path", nargs="?", metavar="PATH", help="only what happens at PATH, or below it; default: all"
    )
    parser.add_argument(
        "--since",
        type=values.since,
        metavar="WHEN",
        help="begin with what came after a version, such as 42, or a time, such as 2026-11-30T10:00, 90m or "
        "7d (default: with the next change)",
    )
    _declare_json(parser, "one record a line")
    _declare_memory(parser)


def _show(parser: ArgumentParser) -> None:
    parser.add_argument("path", metavar="PATH@VERSION", help="without @VERSION: the newest")
    _declare_memory(parser)


def _diff(parser: ArgumentParser) -> None:
    parser.add_argument("path", metavar="PATH", help="PATH@A is the same as PATH A")
    parser.add_argument("old", nargs="?", type=values.version, metavar="A", help="default: the one before B")
    parser.add_argument("new", nargs="?", type=values.version, metavar="B", help="default: the newest")
    _declare_memory(parser)


def _restore(parser: ArgumentParser) -> None:
    parser.add_argument(
        "path",
        metavar="PATH[@VERSION]",
        help="what is archived moves out, what was deleted or evicted gets its last content back; with "
        "@VERSION that version",
    )
    parser.add_argument("--to", metavar="PATH", help="restore to PATH, which must be free")
    _declare_expected(parser)
    _declare_result(parser)
    _declare_change(parser)


def _undo(parser: ArgumentParser) -> None:
    _declare_expected(parser, "refuse unless the last change is this one: version:N")
    _declare_result(parser)
    _declare_change(parser)


def _redact(parser: ArgumentParser) -> None:
    parser.add_argument(
        "names",
        nargs="*",
        metavar="PATH@VERSION",
        help="not what the memory holds now: change or delete that first",
    )
    parser.add_argument(
        "--text-from",
        metavar="FILE",
        help="all versions, refused saves and temporary files that have the text in FILE (-: standard input)",
    )
    parser.add_argument("--dry-run", action="store_true", help="say what would be done, and do nothing")
    _declare_json(parser, "what was done")
    _declare_memory(parser)
    _declare_change(parser)


def _prune(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--keep-days", type=values.count, metavar="N", help="keep versions younger than N days"
    )
    parser.add_argument(
        "--keep-versions", type=values.count, metavar="N", help="keep the last N versions of each memory"
    )
    _declare_json(parser, "what was done")
    _declare_memory(parser)


def _search(parser: ArgumentParser) -> None:
    parser.add_argument(
        "words", nargs="+", metavar="WORD", help="one of three letters or more also finds what begins with it"
    )
    parser.add_argument("--path", metavar="PATH", help="search this file, or below this directory, only")
    parser.add_argument(
        "-n",
        type=values.count,
        dest="count",
        default=20,
        metavar="N",
        help="the N best passages (default: 20)",
    )
    _declare_json(parser, "the passages")
    _declare_memory(parser)


def _port(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--actor", metavar="NAME", default="memfs port", help="who makes the changes, for the history"
    )
    _declare_memory(parser)
    _declare_rules(parser, "rules of a scope that is new (one that exists must have these)")


def _mcp(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--http",
        metavar="ADDRESS",
        help="serve several clients over HTTP, at 127.0.0.1:PORT (default: one, over standard input)",
    )
    parser.add_argument(
        "--token-file", metavar="FILE", help="where the token for HTTP is; made when missing (0600)"
    )
    _declare_memory(parser)
    _declare_rules(parser, "rules of a scope that is new (one that exists must have these)")


def _integrate(parser: ArgumentParser) -> None:
    parser.add_argument("program", choices=("claude-code", "codex", "cursor", "opencode"))
    parser.add_argument("--remove", action="store_true", help="take the entry out again")
    parser.add_argument("--dry-run", action="store_true", help="say what would be done, and do nothing")
    _declare_memory(parser)


def _policy(parser: ArgumentParser) -> None:
    parser.add_argument("action", choices=("show", "set"), help="print the rules, or record others")
    _declare_json(parser, "the rules")
    _declare_rules(parser, "rules to set (what is not named stays)")
    _declare_memory(parser)


def _place(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--type",
        required=True,
        metavar="TYPE",
        help="semantic, procedural, precedent, episodic, arc, task, verdict, or any other word",
    )
    parser.add_argument("--title", required=True, metavar="TITLE", help="the file's name is made from it")
    parser.add_argument("--workspace", dest="project", metavar="NAME", help="the project it belongs to")
    parser.add_argument("--tag", action="append", metavar="TAG", help="may be repeated; the first one counts")
    parser.add_argument(
        "--entity", action="append", metavar="KIND:NAME", help="such as person:Ada; may be repeated"
    )
    parser.add_argument("--path", metavar="PATH", help="this place, if a memory can have it, and no other")
    parser.add_argument("--create", action="store_true", help="make the file, with its title and no content")
    _declare_memory(parser, has_project=True)
    _declare_change(parser)


def _tasks(parser: ArgumentParser) -> None:
    parser.add_argument("project", nargs="?", metavar="WORKSPACE", help="default: all, and the inbox")
    parser.add_argument("--all", action="store_true", help="also those that are done")
    _declare_json(parser, "the list")
    _declare_memory(parser)


def _archive(parser: ArgumentParser) -> None:
    parser.add_argument("paths", nargs="+", metavar="PATH", help="a file, or a directory with its files")
    _declare_expected(parser)
    _declare_memory(parser)
    _declare_change(parser)


def _init(parser: ArgumentParser) -> None:
    parser.add_argument("workspace", metavar="WORKSPACE", help="the agent's folder; made when missing")


def _config(parser: ArgumentParser) -> None:
    parser.add_argument("action", choices=("show",), help="print every setting, and where it comes from")
    _declare_name(parser)
    _declare_json(parser, "them")


def _mount(parser: ArgumentParser) -> None:
    parser.add_argument(
        MOUNTPOINT.key,
        nargs="?",
        metavar=MOUNTPOINT.metavar,
        help=MOUNTPOINT.help,
    )
    parser.add_argument("--foreground", action="store_true", help="stay, and log to standard error")
    parser.add_argument("--first-memory", action="store_true", help=SUPPRESS)
    group = parser.add_argument_group("how to mount")
    for setting in MOUNT:
        setting.declare(group)
    _declare_memory(parser)
    _declare_rules(parser, "rules of a scope that is new (one that exists must have these)")


def _service(parser: ArgumentParser) -> None:
    parser.add_argument(
        "action",
        choices=("install", "remove", "list", "start", "stop", "restart", "logs"),
        help="set it up and start it; undo that; or what to do with one that is set up",
    )
    _declare_name(parser)
    _declare_json(parser, "the list")
    logs = parser.add_argument_group("logs")
    logs.add_argument("--follow", "-f", action="store_true", help="go on as new lines come")
    logs.add_argument("-n", type=values.count, dest="count", metavar="N", help="the last N")
    install = parser.add_argument_group("install: what to write into the memory's configuration")
    install.add_argument(
        "--linger", action="store_true", help="run from boot on, also while you are not logged in"
    )
    for setting in SETTINGS.values():
        if setting.key != "hardened":  # the service's mount is
            setting.declare(install)


def _uninstall(_parser: ArgumentParser) -> None:
    """It takes none."""


def _unmount(parser: ArgumentParser) -> None:
    parser.add_argument("directory", nargs="?", metavar="DIR")
    parser.add_argument("--memory", metavar="NAME", help="the mount of a configured memory")
    parser.add_argument("--process", metavar="PID", help="the mount that this process serves, if it does")
    parser.add_argument("--all", action="store_true", help="every mount of this user")
    parser.add_argument(
        "--lazy", action="store_true", help="take it out of the tree now, also while programs use it"
    )


def _export(parser: ArgumentParser) -> None:
    where = parser.add_argument_group("where to (one of them)")
    where.add_argument(
        "--git",
        metavar="DIR",
        help="a git repository, made when missing: every change a commit; a later run adds what is new",
    )
    where.add_argument("--tar", metavar="FILE", help="a new tar; FILE.gz, .bz2 or .xz is compressed")
    where.add_argument("--dir", metavar="DIR", help="a new directory of plain files")
    parser.add_argument(
        "--ref", metavar="REF", help="with --git: a reference in full (default: the private one of the scope)"
    )
    _declare_memory(parser)


def _import(parser: ArgumentParser) -> None:
    source = parser.add_argument_group("where from (one of them)")
    source.add_argument("--dir", metavar="DIR", help="a folder of text files")
    source.add_argument("--tar", metavar="FILE", help="a tar, compressed or not")
    source.add_argument("--git", metavar="DIR", help="a tree in a git repository; --ref says which")
    source.add_argument("--memhtml", metavar="DIR", help="a memhtml repository, as its HEAD has it")
    source.add_argument("--obversa", metavar="DIR", help="a git repository with a memory of Obversa")
    parser.add_argument("--ref", metavar="REF", help="with --git: a reference or commit (default: HEAD)")
    parser.add_argument(
        "--from-scope", metavar="NAME", help="with --obversa: the scope there (default: 'default')"
    )
    parser.add_argument("--to", metavar="PATH", help="bring the files in below PATH")
    parser.add_argument("--dry-run", action="store_true", help="say what would come in, and change nothing")
    _declare_json(parser, "what came in, and what could not")
    _declare_memory(parser)
    _declare_rules(parser, "rules of a scope that is new (one that exists must have these)")
    _declare_change(parser, "memfs import")


def _scopes(parser: ArgumentParser) -> None:
    parser.add_argument("--like", default="", metavar="TEXT", help="only names with TEXT in them")
    parser.add_argument(
        "--limit",
        type=values.positive,
        metavar="N",
        help="the first N; the next page is `--after` the last of them",
    )
    parser.add_argument("--after", default="", metavar="NAME", help="only names that come after NAME")
    _declare_json(parser, "one scope a line")
    group = parser.add_argument_group("which store")
    group.add_argument("--memory", metavar="NAME", help="that of a configured memory")
    SETTINGS["store"].declare(group)


def _store(parser: ArgumentParser) -> None:
    parser.add_argument(
        "action",
        choices=("status", "check", "migrate", "init", "grant"),
        help="how a store is; whether what it holds adds up; take scopes into another store, whole; make the "
        "tables on a server, or bring them up to date; say which role may use which scope there",
    )
    parser.add_argument("url", metavar="URL", help="the store; with migrate, the one to take from")
    parser.add_argument(
        "other", nargs="?", metavar="URL|ROLE", help="migrate: the store to take into; grant: who may"
    )
    parser.add_argument(
        "--scope", action="append", metavar="NAME", help="this scope; may be repeated (default: all)"
    )
    parser.add_argument("--to-scope", metavar="NAME", help="migrate: what the one scope is called there")
    _declare_json(parser, "what was found or done, one object a line,")
    grant = parser.add_argument_group("grant (without any of these: list what is granted)")
    grant.add_argument("--all", action="store_true", help="every scope there is and will be")
    grant.add_argument("--create", action="store_true", help="make scopes, and use those")
    grant.add_argument("--revoke", action="store_true", help="take back what else is named")


def _status(parser: ArgumentParser) -> None:
    parser.add_argument("directory", nargs="?", metavar="DIR", help="a mount; default: every memory of yours")
    parser.add_argument("--watch", "-w", action="store_true", help="go on, until Ctrl-C or q")
    _declare_json(parser, "all of it")


def _top(parser: ArgumentParser) -> None:
    parser.add_argument(
        "directory", nargs="?", metavar="DIR", help="a mount; default: the one you are in, else all"
    )
    parser.add_argument("--once", action="store_true", help="one view, and no more")
    parser.add_argument(
        "--interval",
        type=values.seconds,
        default=2.0,
        metavar="S",
        help="seconds that a view covers (default: 2)",
    )
    _declare_json(parser, "a view as one object a line")


def _doctor(parser: ArgumentParser) -> None:
    _declare_name(parser, "a configured memory, or a mount's directory; default: all")
    parser.add_argument("--fix", action="store_true", help="mend what is safe to mend, and look again")
    _declare_json(parser, "what was found")


def _events(parser: ArgumentParser) -> None:
    parser.add_argument(
        "directory",
        nargs="?",
        metavar="DIR",
        help="of the mount on DIR, up or down; default: the one you are in, else the only one that is up, "
        "else all",
    )
    parser.add_argument("--follow", "-f", action="store_true", help="go on as new ones come; Ctrl-C ends it")
    parser.add_argument(
        "-n",
        type=values.count,
        dest="count",
        metavar="N",
        help="the last N (default: all; with --follow, 10)",
    )
    parser.add_argument(
        "--json",
        action="store_true",
        help="print the lines as the mount wrote them, one object each; those of several mounts each with "
        "its mountpoint",
    )


def _completion(parser: ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "fish", "words"), metavar="bash|zsh|fish")
    parser.add_argument("names", nargs="*", metavar="WORD", help=SUPPRESS)


def _man(parser: ArgumentParser) -> None:
    parser.add_argument(
        "page", nargs="?", metavar="COMMAND", help="the page of one command; default: memfs(1)"
    )
    parser.add_argument("--to", metavar="DIR", help="write all pages into DIR, for MANPATH or a package")


def _rejected(parser: ArgumentParser) -> None:
    parser.add_argument(
        "action",
        nargs="?",
        default="list",
        choices=("list", "show", "restore", "drop"),
        help="list them (default); print the bytes of one as they are; put one back through the port; or "
        "forget some",
    )
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help="a name from the list, or its beginning or end; with list: the directory of one mount",
    )
    parser.add_argument("--to", metavar="PATH", help="restore to PATH instead of where it should have gone")
    parser.add_argument("--overwrite", action="store_true", help="restore also over a file that is there")
    parser.add_argument("--all", action="store_true", help="drop all of them")
    _declare_json(parser, "the list")


_SIX = "memfs.cli.commands"
COMMANDS = {
    "view": Row(_SIX, "print a file, some of its lines, or the names in a directory",
                "memfs view notes.md --range 1:20", _view),
    "create": Row(_SIX, "make a file, or replace its text",
                  "memfs create notes.md 'Prefers short answers.'", _create),
    "str-replace": Row(_SIX, "replace a text that occurs once in a file",
                       "memfs str-replace notes.md short 'short, plain'", _str_replace),
    "insert": Row(_SIX, "insert lines after a line of a file",
                  "memfs insert notes.md 0 '# Preferences'", _insert),
    "delete": Row(_SIX, "delete a file, or a directory with its files", "memfs delete drafts", _delete),
    "rename": Row(_SIX, "move a file or a directory", "memfs rename notes.md archive/notes.md", _rename),
    "log": Row("memfs.cli.log", "what happened to a memory or in the scope: versions, who, why",
               "memfs log notes.md\n  memfs log --deleted\n  memfs log --since 7d --actor vim", _log),
    "watch": Row("memfs.cli.watch", "what happens in a scope, as it happens; Ctrl-C ends it",
                 "memfs watch\n  memfs watch projects --since 42 --json", _watch),
    "show": Row("memfs.cli.show", "print what a memory was", "memfs show notes.md@42", _show),
    "diff": Row("memfs.cli.diff", "show how two versions of a memory differ",
                "memfs diff notes.md\n  memfs diff notes.md 38 42", _diff),
    "restore": Row("memfs.cli.restore", "bring back a version, what was deleted, or what is archived",
                   "memfs restore notes.md@38\n  memfs restore gone.md --to kept.md", _restore),
    "undo": Row("memfs.cli.undo", "take the last change back; undone again, it is redone",
                "memfs undo --reason 'that was another project'", _undo),
    "redact": Row("memfs.cli.redact", "take the bytes of versions out of history and disk, for good",
                  "memfs redact notes.md@41 notes.md@42 --reason 'a password'\n"
                  "  memfs redact --text-from - --dry-run", _redact),
    "prune": Row("memfs.cli.prune", "forget old versions; by itself memfs keeps 90 days, then 20 each",
                 "memfs prune --keep-days 30 --keep-versions 5", _prune),
    "search": Row("memfs.cli.search", "the passages that have some words, the best first",
                  "memfs search deadline atlas --path projects", _search),
    "port": Row("memfs.cli.port", "the six commands as JSON, one a line in, one result a line out",
                """echo '{"command": "view", "path": "/memories"}' | memfs port""", _port),
    "mcp": Row("memfs.cli.mcp", "serve a memory to programs that speak the Model Context Protocol",
               "memfs mcp --store sqlite:~/agent --scope work\n  memfs mcp --http 127.0.0.1:8321", _mcp),
    "integrate": Row("memfs.cli.integrate", "write a memory into the MCP configuration of a program",
                     "memfs integrate claude-code\n  memfs integrate codex --store sqlite:~/agent --dry-run",
                     _integrate),
    "policy": Row("memfs.cli.policy", "show or set the rules of a scope: limits, names, layout, eviction",
                  "memfs policy set --max-files 512 --extensions .md,.txt", _policy),
    "place": Row("memfs.cli.place", "print the path where a memory belongs, and make the file",
                 'memfs place --type task --workspace Atlas --title "Ask Ada" --create', _place),
    "tasks": Row("memfs.cli.tasks", "the open tasks of a workspace, or of all",
                 "memfs tasks atlas", _tasks),
    "archive": Row("memfs.cli.archive", "move memories to the archive, by this year",
                   "memfs archive projects/atlas/tasks/ask-ada.html", _archive),
    "config": Row("memfs.cli.config", "what is set for a memory, and where that comes from",
                  "memfs config show work", _config),
    "init": Row("memfs.cli.init", "make the memory/ of an agent's workspace, and print its path",
                "memfs init ~/agents/ada", _init),
    "mount": Row("memfs.cli.mount", "mount a memory as a directory",
                 "memfs mount ~/memories --store sqlite:~/agent --scope work\n"
                 "  memfs mount ~/memories --store directory:~/agents/ada --workspace\n"
                 r"  memfs mount --memory work --scratch '.*\.wip' --scratch '\.mytool-.*'", _mount),
    "unmount": Row("memfs.cli.unmount", "end a mount; everything written is stored when it returns",
                   "memfs unmount ~/memories", _unmount),
    "export": Row("memfs.cli.export", "copy a memory out, into git with its history, a tar or a folder",
                  "memfs export --git ~/memory.git\n  memfs export --tar ~/memory.tar.gz", _export),
    "import": Row("memfs.cli.bring_in", "bring in files of a folder, a tar, git, memhtml or Obversa",
                  "memfs import --dir ~/notes --to /memories/notes\n  memfs import --memhtml ~/mem --dry-run",
                  _import),
    "scopes": Row("memfs.cli.scopes", "the scopes of a store: how large they are, who changed them last",
                  "memfs scopes --store sqlite:~/agent\n  memfs scopes --like atlas --json", _scopes),
    "store": Row("memfs.cli.store", "a whole store: how it is, whether it adds up, moving into another",
                 "memfs store status sqlite:~/agent\n  memfs store check git:~/memory.git --scope work\n"
                 "  memfs store init postgresql://db.example/memory\n"
                 "  memfs store migrate sqlite:~/agent postgresql://db.example/memory --scope work\n"
                 "  memfs store grant postgresql://db.example/memory ada --scope work", _store),
    "status": Row("memfs.cli.status", "your memories: their mounts' health, and how full they are",
                  "memfs status\n  memfs status --watch", _status),
    "top": Row("memfs.cli.top", "what programs ask of the mounts, and how long it takes",
               "memfs top\n  memfs top ~/memories --once --interval 5", _top),
    "doctor": Row("memfs.cli.doctor", "test the machine and every memory; say what mends them",
                  "memfs doctor\n  memfs doctor work --fix", _doctor),
    "service": Row("memfs.cli.service", "a memory that is mounted at login or boot, and after a crash",
                   "memfs service install --linger\n  memfs service install work --store sqlite:~/agent\n"
                   "  memfs service logs work --follow", _service),
    "uninstall": Row("memfs.cli.uninstall", "take memfs away with its services and mounts; memories stay",
                     "memfs uninstall", _uninstall),
    "events": Row("memfs.cli.events", "why something was refused, and what left or was overtaken",
                  "memfs events -n 5\n  memfs events ~/memories --follow", _events),
    "rejected": Row("memfs.cli.rejected", "the bytes of refused saves: list, show, restore, drop",
                    "memfs rejected list\n  memfs rejected show big.md > ~/big.md\n"
                    "  memfs rejected restore big.md --to archive/big.md", _rejected),
    "completion": Row("memfs.cli.completion", "what a shell needs to complete commands, options, paths",
                      "source <(memfs completion bash)        # in ~/.bashrc\n"
                      "  source <(memfs completion zsh)         # in ~/.zshrc, after compinit\n"
                      "  memfs completion fish | source         # in config.fish", _completion),
    "man": Row("memfs.cli.man", "the manual: one page, or all of them into a directory",
               "memfs man status\n  memfs man --to ~/.local/share/man/man1", _man),
}  # fmt: skip
