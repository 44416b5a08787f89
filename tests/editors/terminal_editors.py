"""The editors that are tested: how each is started and driven, and what it shows. Data, and no more.

The steps are strings: ``<C-x>`` presses a key by tmux's name for it, ``?pattern`` waits until the screen
shows it, ``!pattern`` until it does not, and anything else is typed. ``{text}`` stands for what a test has
to type, always at the beginning of the first line.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any


class Family(StrEnum):
    """How a program saves."""

    IN_PLACE = "writes in place"
    RENAME_AWAY = "renames the old file to a backup, writes a new one"
    COPY_BACKUP = "copies the old file to a backup, writes in place"
    REPLACE = "writes a temporary file, renames it over the old one"


Steps = tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Program:
    """One editor in one way of saving.

    ``{file}`` and ``{home}`` stand for the two in the command, ``{home}`` also in the configuration.
    ``saved`` and ``refused`` are patterns for the screen; an empty one says that it shows nothing of the
    kind. ``left`` are the files beside ``notes.md`` that it leaves for its user on purpose. ``configuration``
    are files in its home.
    """

    name: str
    command: Steps
    package: str
    family: Family
    insert: Steps
    save: Steps
    quit: Steps
    abandon: Steps
    saved: str = ""
    refused: str = ""
    begin: Steps = (r"?\S",)
    """Until it takes input."""
    insert_new: Steps = ()
    """As ``insert``, in a file that does not exist; empty where that is the same."""
    latin1: Steps = ()
    """What makes its next save write ISO 8859-1; empty where it can not be asked to."""
    read_only: str = ""
    """What it shows for a file that may not be written, where that is not ``refused``."""
    dismiss: Steps = ()
    """After a refusal, until it takes input again."""
    insert_again: Steps = ()
    """As ``insert``, after a refusal, of the word ``again``; empty where that is the same."""
    asks: str = ""
    """What it may want to know when a save follows a refused one, for it finds the file's time changed."""
    confirm: Steps = ()
    """The answer."""
    asks_to_edit: str = ""
    """What it asks where it takes a refused save for somebody else's; after a yes, it is to save again."""
    left: frozenset[str] = frozenset()
    configuration: Mapping[str, str] = field(default_factory=dict)
    ignores_close: bool = False
    """Whether it takes no notice of an error that only close(2) tells."""
    creates_when_it_starts: bool = False
    """Whether it makes an empty file of a new one before its user has typed anything."""

    @property
    def executable(self) -> str:
        """The command, and what the kernel, and so the history, calls it."""
        return self.command[0]

    @property
    def is_here(self) -> bool:
        """Whether this machine has it."""
        return shutil.which(self.executable) is not None


def _with(program: Program, name: str, *options: str, **changed: Any) -> Program:
    """The same program in another way of saving."""
    command = (*program.command[:-1], *options, "{file}")
    return replace(program, name=name, command=command, **changed)


BACKUP = frozenset({"notes.md~"})

VIM = Program(
    name="vim",
    # As by default, but for /var/tmp: a swap file stays there when its vim is killed.
    command=("vim", "--cmd", "set directory=.,{home}", "{file}"),
    package="vim",
    family=Family.RENAME_AWAY,
    insert=("gg0i", "?INSERT", "{text}", "<Escape>", "!INSERT"),
    save=(":w", "<Enter>"),
    quit=(":q", "<Enter>"),
    abandon=("<Enter>", ":q!", "<Enter>"),
    saved=r"written",
    refused=r"E\d+: ",
    latin1=(":set fenc=latin1", "<Enter>"),
    dismiss=("<Enter>", "!Press ENTER"),
    asks=r"really want to write",
    confirm=("y",),
)
NANO = Program(
    name="nano",
    command=("nano", "{file}"),
    package="nano",
    family=Family.IN_PLACE,
    insert=("<C-a>", "{text}"),
    save=("<C-o>", "?Name to Write", "<Enter>"),
    quit=("<C-x>",),
    abandon=("<C-x>", "?Save modified", "n"),
    saved=r"Wrote \d+ line",
    refused=r"Error writing|Cannot make",
)
EMACS = Program(
    name="emacs",
    command=("emacs", "-nw", "-Q", "{file}"),
    package="emacs-nox",
    family=Family.RENAME_AWAY,
    begin=(r"?\(Fundamental\)",),
    insert=("<C-a>", "{text}"),
    save=("<C-x>", "<C-s>"),
    quit=("<C-x>", "<C-c>"),
    abandon=("<C-x>", "<C-c>", "?Save file", "n", "?[Ee]xit anyway", "yes", "<Enter>"),
    saved=r"Wrote ",
    refused=r"Opening output file:|Write error:|Renaming:",
    latin1=("<C-x>", "<Enter>", "f", "latin-1", "<Enter>"),
    read_only=r"read-only|No changes need",
    asks=r"Save anyway",
    confirm=("yes", "<Enter>"),
    asks_to_edit=r"really edit the buffer",
    left=BACKUP,
)
MG = Program(
    name="mg",
    command=("mg", "{file}"),
    package="mg",
    family=Family.COPY_BACKUP,
    insert=("<C-a>", "{text}"),
    insert_new=("{text}", "<Enter>"),
    save=("<C-x>", "<C-s>"),
    quit=("<C-x>", "<C-c>"),
    abandon=("<C-x>", "<C-c>", "?Save file", "n", "?exit", "yes", "<Enter>"),
    saved=r"Wrote ",
    refused=r"-\*\*-Mg",  # a sentence only where it cannot open the file; else no "Wrote"
    read_only=r"No changes need",
    left=BACKUP,
)
KAK = Program(
    name="kak",
    command=("kak", "{file}"),
    package="kakoune",
    family=Family.IN_PLACE,
    begin=("?client0",),
    insert=("ggghi", "?insert", "{text}", "<Escape>", "!insert"),
    save=(":w", "<Enter>"),
    quit=(":q", "<Enter>"),
    abandon=(":q!", "<Enter>"),
    refused=r"'w': ",
    ignores_close=True,
)
MCEDIT = Program(
    name="mcedit",
    command=("mcedit", "{file}"),
    package="mc",
    family=Family.IN_PLACE,
    begin=("?10Quit",),
    insert=("<Home>", "{text}"),
    save=("<F2>", "?Confirm save", "<Enter>"),
    quit=("<F10>",),
    abandon=("<Escape>", "<Escape>", "!Save As", "<F10>", "?modified", "n"),
    refused=r"Save As|Error|Cannot",
    dismiss=("<Escape>", "<Escape>", "!Save As"),
    asks=r"Save anyway",
    confirm=("y",),
    creates_when_it_starts=True,
)


def _mcedit_mode(mode: int) -> Mapping[str, str]:
    return {".config/mc/ini": f"[Midnight-Commander]\neditor_option_save_mode={mode}\n"}


TERMINAL = (
    VIM,
    _with(VIM, "vim-backupcopy-yes", "-c", "set backupcopy=yes", family=Family.COPY_BACKUP),
    _with(VIM, "vim-backupcopy-no", "-c", "set backupcopy=no"),
    _with(VIM, "vim-backup", "-c", "set backup", left=BACKUP),
    _with(VIM, "vim-undofile", "-c", "set undofile", left=frozenset({".notes.md.un~"})),
    replace(
        VIM,
        name="vim.tiny",
        command=("vim.tiny", "--cmd", "set directory=.,{home}", "{file}"),
        package="vim-tiny",
        insert=("gg0i{text}", "<Escape>"),
        read_only=r"W10|E45",
    ),
    replace(VIM, name="nvim", command=("nvim", "{file}"), package="neovim"),
    NANO,
    _with(NANO, "nano-backup", "-B", family=Family.COPY_BACKUP, left=BACKUP),
    EMACS,
    _with(
        EMACS,
        "emacs-by-copying",
        *("--eval", "(setq backup-by-copying t)"),
        family=Family.COPY_BACKUP,
    ),
    _with(
        EMACS,
        "emacs-precious",
        *("--eval", "(setq-default file-precious-flag t)"),
        family=Family.REPLACE,
        # It holds the buffer for saved and the file for somebody else's.
        insert_again=("<C-a>", "a", "?really edit", "y", "gain "),
        asks_to_edit="",
    ),
    Program(
        name="micro",
        command=("micro", "{file}"),
        package="micro",
        family=Family.IN_PLACE,
        begin=("?Alt-g",),
        insert=("<Home>", "{text}"),
        save=("<C-s>",),
        quit=("<C-q>",),
        abandon=("<C-q>", "?Save changes", "n"),
        saved=r"Saved",
        refused=r"(open|close|write) /.*: ",
    ),
    Program(
        name="joe",
        command=("joe", "{file}"),
        package="joe",
        family=Family.COPY_BACKUP,
        begin=("?Row 1",),
        insert=("<Home>", "{text}"),
        save=("<C-k>", "d", "?Name of file to save", "<Enter>"),
        quit=("<C-c>",),
        abandon=("<C-c>", "?Lose changes", "y"),
        saved=r"saved",
        refused=r"Error (writing|opening) file",
        read_only=r"Could not make backup",
        left=BACKUP,
        ignores_close=True,
    ),
    MG,
    Program(
        name="jed",
        command=("jed", "{file}"),
        package="jed",
        family=Family.RENAME_AWAY,
        begin=("?Emacs:",),
        insert=("<C-a>", "{text}"),
        save=("<C-x>", "<C-s>"),
        quit=("<C-x>", "<C-c>"),
        abandon=("<C-x>", "<C-c>", "?odified", "n"),
        saved=r"Wrote ",
        refused=r"Write Failed|Error|Unable to open",
        read_only=r"not modified",
        left=BACKUP,
    ),
    KAK,
    _with(
        KAK,
        "kak-replace",
        *("-e", "set-option global writemethod replace"),
        family=Family.REPLACE,
        read_only=r"^$|'w': ",  # it may end at once: the exception is not caught
        ignores_close=False,
    ),
    Program(
        name="ne",
        command=("ne", "{file}"),
        package="ne",
        family=Family.IN_PLACE,
        insert=("<Home>", "{text}"),
        save=("<C-s>",),
        quit=("<C-q>",),
        abandon=("<C-q>", r"?\(y/n\)|not saved|modified", "y"),
        saved=r"[Ss]aved",
        refused=r"I/O error|Can't open",
        read_only=r"ReadOnly; save anyway",
    ),
    Program(
        name="ed",
        command=("ed", "-v", "-p", "*", "{file}"),
        package="ed",
        family=Family.IN_PLACE,
        insert=("1s/^/{text}/", "<Enter>"),
        insert_new=("a", "<Enter>", "{text}", "<Enter>", ".", "<Enter>"),
        save=("w", "<Enter>"),
        quit=("q", "<Enter>"),
        abandon=("Q", "<Enter>"),
        refused=r"Cannot (open|close) output file",
    ),
    replace(MCEDIT, configuration=_mcedit_mode(0)),
    replace(MCEDIT, name="mcedit-safe", family=Family.REPLACE, configuration=_mcedit_mode(1)),
    replace(
        MCEDIT, name="mcedit-backup", family=Family.RENAME_AWAY, configuration=_mcedit_mode(2), left=BACKUP
    ),
    Program(
        name="dte",
        command=("dte", "{file}"),
        package="dte",
        family=Family.REPLACE,
        begin=("?1,1",),  # it asks the terminal this and that before it is ready for keys
        insert=("<Home>", "{text}"),
        save=("<C-s>",),
        quit=("<C-q>",),
        abandon=("<M-x>", "quit -f", "<Enter>"),
        refused=r"save: ",
    ),
    Program(
        name="zile",
        command=("zile", "{file}"),
        package="zile",
        family=Family.IN_PLACE,
        insert=("<C-a>", "{text}"),
        save=("<C-x>", "<C-s>"),
        quit=("<C-x>", "<C-c>"),
        abandon=("<C-x>", "<C-c>", "?Save file", "n", "?exit", "yes", "<Enter>"),
        saved=r"Wrote ",
        refused=r"Error writing",
        read_only=r"No changes need|read.only",
    ),
    Program(
        name="nvi",
        command=("nvi", "{file}"),
        package="nvi",
        family=Family.IN_PLACE,
        insert=("1G0i{text}", "<Escape>"),
        save=(":w", "<Enter>"),
        quit=(":q", "<Enter>"),
        abandon=("<Enter>", ":q!", "<Enter>"),
        configuration={".nexrc": "set recdir={home}\n"},
        saved=r"lines?, \d+ characters",
        refused=r"Error: ",
        read_only=r"Read-only file",
        dismiss=("<Enter>", "!Press any key"),
        asks=r"modified more recently",
        confirm=("<Enter>", ":w!", "<Enter>"),
    ),
    Program(
        name="jove",
        command=("jove", "{file}"),
        package="jove",
        family=Family.IN_PLACE,
        insert=("<C-a>", "{text}"),
        save=("<C-x>", "<C-s>"),
        quit=("<C-x>", "<C-c>"),
        abandon=("<C-x>", "<C-c>", "?not been saved|[Ll]eave|modified", "y"),
        saved=r"\d+ lines?",
        refused=r"error: |Couldn't create",
        read_only=r"No changes need|read.only",
    ),
    Program(
        name="tilde",
        command=("tilde", "{file}"),
        package="tilde",
        family=Family.IN_PLACE,
        begin=("?Input Handling", "<Enter>", "!Input Handling"),
        insert=("<Home>", "{text}"),
        save=("<C-s>",),
        quit=("<C-q>",),
        abandon=("<Enter>", "<C-q>", "?[Ss]ave", "n"),
        refused=r"Could not save",
        dismiss=("<Enter>", "!Could not save"),
    ),
)
