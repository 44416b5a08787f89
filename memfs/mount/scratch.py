"""The names of editors' and tools' temporary, lock, swap and backup files.

Such a file lives in the mount and never reaches the store. The list is data: each pattern
with the program it is for. It is for names that no memory can have; a valid memory's name
is always a memory's, and any other name is refused, because a file that would silently
never be stored is worse than an error.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import NamedTuple

from memfs.port.names import DEFAULT_EXTENSIONS, extension_of, is_segment

_EXTENSION = r"(?:txt|md|json|py|ya?ml|html)"
_MEMORY = rf"[A-Za-z0-9._-]+?\.{_EXTENSION}"
_SIX = r"[A-Za-z0-9_]{6}"
_BACKUP = "bak|bck|orig|rej|save|old|kate-swp"
_TAIL = "tmp|new|part|lock|vsctmp|gawk|kak|unison|sb-[0-9a-f]+"


class Kept(Enum):
    """How long a scratch file is of use, in seconds since its last write."""

    LOCK = 0
    """Not beyond the mount: it says which program has a file open."""
    TEMPORARY = 24 * 3600
    RECOVERY = 7 * 24 * 3600
    """Swap files, undo files, backups: what a person comes back for."""
    ALWAYS = -1


class Pattern(NamedTuple):
    """A family of names, who makes them, and for how long they matter."""

    expression: str
    program: str
    kept: Kept = Kept.TEMPORARY


FILES = (
    Pattern(r"\.(?:.+\.)?s[uvw][a-z]", "vim, nvim and nano: swap files", Kept.RECOVERY),
    Pattern(r".+~", "vim, emacs and many others: backups, undo files, numbered backups", Kept.RECOVERY),
    Pattern(r"#.*#", "emacs, jed: autosaves", Kept.RECOVERY),
    Pattern(r"\.?#.*", "emacs, joe, jed, mcedit, ne: locks", Kept.LOCK),
    Pattern(r"DEADJOE", "joe: what it had open when it was killed", Kept.RECOVERY),
    Pattern(r"\.~lock\..*#", "LibreOffice: locks", Kept.LOCK),
    Pattern(
        rf"\.?{_MEMORY}\.(?:{_BACKUP})(?:[.-][A-Za-z0-9]+)*",
        "backups under a memory's name: sed -i.bak, patch, perl, Helix; kate's swap file",
        Kept.RECOVERY,
    ),
    Pattern(
        rf"\.?(?:\.?(?:tmp|syncthing|unison)\.)?{_MEMORY}\.(?:{_BACKUP}|{_TAIL})(?:[.-][A-Za-z0-9]+)*",
        "a memory's name with a tail: agents, VS Code, gawk, kak, Syncthing, unison",
    ),
    Pattern(
        rf"\.?(?:\.?tmp\.)?{_MEMORY}\.(?:\d{{5,12}}|[or]?{_SIX}|XXXX{_SIX})",
        "a memory's name with random characters: GLib, patch, mg, rsync, dte, write-file-atomic",
    ),
    Pattern(rf"{_MEMORY}\.[0-9a-f]{{8,64}}\.tmp", "the reference filesystem MCP server"),
    Pattern(rf"{_MEMORY}{_SIX}\.(?:bck|new|tmp)", "Helix, KDE's KSaveFile"),
    Pattern(rf"{_MEMORY}___jb_(?:tmp|old|bak)___", "JetBrains' IDEs"),
    Pattern(
        rf"(?:sed|XX|cooledit|d2utmp|tilde-backup-|\.goutputstream-|qt_temp\.|\.tmp){_SIX}",
        "sed -i, perl -i, mcedit, dos2unix, tilde, GIO, Qt",
    ),
    Pattern(r"[A-Za-z0-9._-]+\.(?:bak|old|orig|swp)", "backups of people and programs", Kept.RECOVERY),
    Pattern(r"[A-Za-z0-9._-]+\.(?:tmp|temp|part|lock)", "Python's with_suffix, steno"),
    Pattern(r"tmp[A-Za-z0-9_]{6,8}", "Python's tempfile, emacs' precious files"),
    Pattern(r"\.tmp-[A-Za-z0-9-]+", "Anthropic's SDK"),
    Pattern(r"\.subl[0-9a-f]+\.tmp", "Sublime Text"),
    Pattern(r"\..+\.unison\.tmp", "unison"),
    Pattern(r"\.(?:fuse_hidden|nfs)[0-9a-f]+", "libfuse and NFS: files removed while open"),
    Pattern(r"tmpclaude-[0-9a-f]+-cwd", "Claude Code"),
    Pattern(r"\._.*", "macOS: AppleDouble"),
    Pattern(r"\.DS_Store|Thumbs\.db|desktop\.ini|\.directory", "file managers' own notes", Kept.RECOVERY),
)
DIRECTORIES = (
    Pattern(r"\.~tmp~", "rsync --delay-updates"),
    Pattern(r"\.sb-.*", "macOS: safe saves"),
    Pattern(r"\.obsidian", "Obsidian: settings", Kept.ALWAYS),
    Pattern(r"\.vscode", "VS Code: settings", Kept.ALWAYS),
    Pattern(r"\.idea", "JetBrains' IDEs: settings", Kept.ALWAYS),
)
REFUSED = (
    Pattern(r"\.git", "git: a repository in a memory would hold its own copies of everything"),
    Pattern(r"\.Trash.*", "file managers: a memory moved to the trash would leave the store"),
)
"""Directories that are refused with EPERM, so that the programs say so plainly."""


_EXAMPLES = tuple(
    stem + extension
    for extension in sorted(DEFAULT_EXTENSIONS)
    for stem in ("notes", "a", "README", "MEMORY", "2024-05-01", "_draft", "tmp", "my.plan-2")
)
"""Names of memories, for the test of an expression from elsewhere."""


def _matcher(patterns: tuple[Pattern, ...]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern.expression})" for pattern in patterns))


_FILES, _DIRECTORIES, _REFUSED = _matcher(FILES), _matcher(DIRECTORIES), _matcher(REFUSED)


def is_scratch_file(name: str) -> bool:
    """Whether *name*, which is no memory's, is a known program's temporary file."""
    return _FILES.fullmatch(name) is not None or _is_vim_probe(name)


def kept_for(name: str) -> Kept:
    """How long a scratch file or directory of this name is of use."""
    for pattern in (*DIRECTORIES, *FILES):
        if re.fullmatch(pattern.expression, name):
            return pattern.kept
    return Kept.TEMPORARY


def is_scratch_directory(name: str) -> bool:
    """Whether everything inside a directory of this name is scratch."""
    return _DIRECTORIES.fullmatch(name) is not None


def is_refused_directory(name: str) -> bool:
    """Whether a directory of this name is refused as such, and not just for its form."""
    return _REFUSED.fullmatch(name) is not None


def expression_fault(expression: str) -> str | None:
    """What is wrong with a regular expression for further scratch files, as the end of a sentence.

    None also where it matches memories that nobody thought of here: their names are tried first, so
    that nothing is lost. What is found is the slip, such as ``.*`` or the program's name for a memory.
    """
    try:
        pattern = re.compile(expression)
    except (re.error, OverflowError, RecursionError) as error:
        return f"does not compile: {error}"
    itself = re.sub(r"\\(.)|[?*+^$()]", r"\1", expression)
    for name in (*_EXAMPLES, itself):
        if pattern.fullmatch(name) and is_segment(name) and extension_of(name) in DEFAULT_EXTENSIONS:
            return f"matches {name}, which is the name of a memory"
    return None


def _is_vim_probe(name: str) -> bool:
    """Vim looks for a free name among 4913, 5036, 5159, … to try whether it may create files."""
    if not (4 <= len(name) <= 5 and name.isascii() and name.isdigit()):
        return False
    number = int(name)
    return 4913 <= number <= 99999 and (number - 4913) % 123 == 0
