"""Strings that look like paths, titles and names, and strings that look like nothing at all."""

from __future__ import annotations

from hypothesis import strategies as st

from memfs.layout import PARA_BUCKETS, SLUG_MAX_LENGTH, PlacementInput

PIECES = (
    *PARA_BUCKETS, "archive/2024", "archive/00042", "archive/999", "archive/٢٠٢٤", "a", "b.html", "c.md",
    ".html", ".", "..", " ", "\n", "\0", "\ud800", "\u2028", "é", "ﬁ", "日", "😀", "e\u0301",
)  # fmt: skip
ANYTHING = st.text(st.characters(codec=None), max_size=20)
PATHS = st.one_of(
    st.builds(
        lambda start, pieces, joint, end: start + joint.join(pieces) + end,
        st.sampled_from(("", "/", "///")),
        st.lists(st.sampled_from(PIECES), max_size=6),
        st.sampled_from(("/", "//")),
        st.sampled_from(("", "/", "//", ".html", ".html/")),
    ),
    st.text("/.a", max_size=12),
    ANYTHING,
)
TITLES = st.one_of(
    ANYTHING,
    st.lists(
        st.sampled_from(("a", "-", " ", "Z9", "x" * 39, "é", "\u0301", "²", "K", "İ", "ß")), max_size=9
    ).map("".join),
)
SLUGS = st.from_regex(r"[a-z0-9]{1,4}(-[a-z0-9]{1,4}){0,15}", fullmatch=True) | st.sampled_from(
    ("x" * SLUG_MAX_LENGTH, "x-" * 39 + "xy", "x" * 78 + "-2", "x" * 77 + "-2", "x" * 75 + "-9999")
)
INPUTS = st.builds(
    PlacementInput,
    memory_type=st.sampled_from(("semantic", "procedural", "precedent", "episodic", "arc", "task", "verdict"))
    | ANYTHING,
    workspace=st.none() | TITLES,
    tags=st.none() | st.lists(TITLES, max_size=3),
    entities=st.none()
    | st.lists(st.sampled_from(("person:Ada", "person:", "person: ", "org:x")) | ANYTHING, max_size=3),
    path=st.none() | PATHS,
)
