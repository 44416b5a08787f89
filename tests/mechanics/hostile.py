"""Texts that try to look like a part of the prompt that they stand in."""

from __future__ import annotations

from hypothesis import strategies as st

from memfs.mechanics.prompt import MARK, WARNING

LINE_ENDS = ("\n", "\r", "\r\n", "\v", "\f", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029")
PIECES = (
    *LINE_ENDS,
    WARNING,
    MARK,
    "|",
    "# /memories/b.md",
    "# Brief",
    "#",
    "a",
    " ",
    "é",
    "🧠",
    "e\u0301",
    "\0",
)
hostile_text = st.lists(st.sampled_from(PIECES), max_size=12).map("".join)


def frame_of(prompt: str) -> list[str]:
    """The lines of the prompt that are its own, blank ones aside."""
    return [line for line in prompt.splitlines() if line and not line.startswith(MARK)]


def texts_in(prompt: str) -> list[str]:
    """The text of each section, line ends and all, as if each ended in one."""
    texts: list[str] = []
    for line in prompt.splitlines(keepends=True)[2:]:
        if line.startswith("# "):
            texts.append("")
        elif line.startswith(MARK):
            texts[-1] += line.removeprefix(MARK)
        else:
            assert line == "\n", "the frame has no other line"
            if texts and texts[-1] and not texts[-1].endswith("\n"):
                texts[-1] += line
    return texts


def ended(text: str) -> str:
    """*text* as :func:`texts_in` finds it."""
    return text if text.endswith("\n") or not text else text + "\n"
