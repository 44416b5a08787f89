"""Slugs: one name for a title, on every machine, and another one where it is taken."""

from __future__ import annotations

import re
import unicodedata
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memfs.layout import SLUG_MAX_LENGTH, filename_for, is_slug, slugify, with_collision_ordinal
from tests.layout.strategies import ANYTHING, SLUGS, TITLES

ORDINALS = st.integers(-2, 12) | st.integers(0, 10**30)


@given(TITLES)
def test_every_title_has_a_slug(title: str) -> None:
    assert is_slug(slugify(title))


@given(TITLES | SLUGS)
def test_slugs_are_what_slugify_leaves_as_it_is(title: str) -> None:
    assert slugify(slugify(title)) == slugify(title)
    assert is_slug(title) == (slugify(title) == title)


def by_definition(title: str) -> str:
    """The rule, step by step on the whole title, as Unicode 14 or later has it."""
    folded = "".join(
        character
        for character in unicodedata.normalize("NFKD", title)
        if unicodedata.category(character) != "Mn"
    )
    joined = re.sub("[^a-z0-9]+", "-", folded.lower()).strip("-")
    return joined[:80].rstrip("-") or "untitled"


OLD = st.characters(codec=None).filter(lambda c: unicodedata.ucd_3_2_0.category(c) != "Cn")


@given(st.text(OLD, max_size=100))
def test_character_by_character_comes_to_the_same_as_the_whole(title: str) -> None:
    assert slugify(title) == by_definition(title)


@pytest.mark.parametrize(
    ("title", "slug"),
    [
        ("Déployé à Zürich", "deploye-a-zurich"),
        ("de\u0301ploye\u0301", "deploye"),
        ("  --What's *next*?-- ", "what-s-next"),
        ("ﬁle №2 ½", "file-no2-1-2"),
        ("İstanbul K", "istanbul-k"),
        ("Straße", "stra-e"),
        ("日本語", "untitled"),
        ("...", "untitled"),
        ("", "untitled"),
        ("\0\ud800a", "a"),
        ("x" * 79 + " y", "x" * 79),
        ("x" * 78 + " yz", "x" * 78 + "-y"),
    ],
)
def test_titles_and_their_slugs(title: str, slug: str) -> None:
    assert slugify(title) == slug


@pytest.mark.parametrize(
    ("title", "slug"),
    [
        ("a\U00011f00b", "ab"),  # a mark since Unicode 15
        ("a\u0897b", "ab"),  # since 16
        ("a\u1acfb", "ab"),  # since 17
        ("\U0001ccd6\U0001ccef\U0001ccf0\U0001ccf9", "az09"),  # letters and digits since 16
        ("\ua7f1", "s"),  # since 17
        ("a\U0001171eb", "a-b"),  # a mark until 14
    ],
)
def test_a_title_has_the_same_slug_on_every_python(title: str, slug: str) -> None:
    assert slugify(title) == slug


@pytest.mark.parametrize(
    "value", ["", "-", "a-", "-a", "a--b", "A", "é", "a b", "a\n", "١", "a" * 81, "a.html"]
)
def test_these_are_no_slugs(value: str) -> None:
    assert not is_slug(value)


@given(SLUGS, ORDINALS, ORDINALS)
def test_two_ordinals_never_give_one_name(slug: str, one: int, other: int) -> None:
    if max(1, one) != max(1, other):
        assert with_collision_ordinal(slug, one) != with_collision_ordinal(slug, other)


@given(SLUGS, ORDINALS)
def test_a_name_with_an_ordinal_is_a_slug_that_shows_it(slug: str, n: int) -> None:
    name = with_collision_ordinal(slug, n)
    assert is_slug(name)
    assert name == slug if n <= 1 else name.endswith(f"-{n}")


@given(st.integers(2, 10**6), st.integers(66, 80), st.text("ab-", min_size=80, max_size=80))
def test_a_slug_whose_tail_is_the_suffix_gets_another_name(n: int, length: int, letters: str) -> None:
    suffix = f"-{n}"
    slug = "x" + letters[: length - len(suffix) - 1] + suffix
    name = with_collision_ordinal(slug, n)
    assert name != slug
    assert len(name) <= SLUG_MAX_LENGTH
    assert name.endswith(suffix)


@pytest.mark.parametrize(
    ("slug", "n", "name"),
    [
        ("plan", 0, "plan"),
        ("plan", 1, "plan"),
        ("plan", 2, "plan-2"),
        ("plan-2", 2, "plan-2-2"),
        ("x" * 80, 2, "x" * 78 + "-2"),
        ("x" * 78 + "-2", 2, "x" * 77 + "-2"),
        ("x" * 76 + "y-2", 2, "x" * 76 + "-2"),
        ("x" * 77 + "-yy", 2, "x" * 77 + "-2"),
        ("-" * 80, 2, "untitled-2"),
        ("", 2, "untitled-2"),
    ],
)
def test_names_that_are_taken_and_the_next(slug: str, n: int, name: str) -> None:
    assert with_collision_ordinal(slug, n) == name


@given(ANYTHING, st.integers(-5, 10**9))
def test_any_string_can_have_an_ordinal(text: str, n: int) -> None:
    assert (with_collision_ordinal(text, n) == text) == (n <= 1)


LATE = datetime(2026, 8, 1, 23, 30, tzinfo=timezone(timedelta(hours=-2)))


@pytest.mark.parametrize(
    ("at", "episodic", "name"),
    [
        (LATE, True, "20260802-plan.html"),
        (LATE, False, "plan.html"),
        (datetime(2026, 8, 1, 23, 30), True, "20260801-plan.html"),
        (datetime(7, 1, 2, tzinfo=UTC), True, "00070102-plan.html"),
        (datetime.max.replace(tzinfo=timezone(timedelta(hours=-2))), True, "99991231-plan.html"),
        (datetime.min.replace(tzinfo=timezone(timedelta(hours=2))), True, "00010101-plan.html"),
    ],
)
def test_a_file_is_called_by_its_slug_and_an_episode_by_its_day_too(
    at: datetime, episodic: bool, name: str
) -> None:
    assert filename_for("plan", episodic, at) == name
