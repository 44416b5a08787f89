"""Bytes at hand: those of exactly the version that was asked for, within a bound."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memfs.port.cache import ContentCache
from memfs.port.change import File


def file(file_id: int, version: int) -> File:
    return File(file_id, f"/memories/{file_id}.md", 0, 0, version)


def test_only_the_version_that_was_put_is_found() -> None:
    cache = ContentCache()
    cache.put(1, 5, b"five")
    assert cache.get(file(1, 5)) == b"five"
    assert cache.get(file(1, 6)) is None
    assert cache.get(file(2, 5)) is None


def test_a_slow_reader_of_an_older_version_does_not_push_out_the_newer() -> None:
    cache = ContentCache()
    cache.put(1, 6, b"six")
    cache.put(1, 5, b"five")
    assert cache.get(file(1, 6)) == b"six"


def test_what_was_used_least_recently_leaves_first() -> None:
    cache = ContentCache(bound=10)
    cache.put(1, 1, b"12345")
    cache.put(2, 1, b"12345")
    cache.get(file(1, 1))
    cache.put(3, 1, b"1")
    assert cache.get(file(2, 1)) is None
    assert cache.get(file(1, 1)) == b"12345"


def test_what_is_larger_than_all_of_it_is_not_kept() -> None:
    cache = ContentCache(bound=3)
    cache.put(1, 1, b"1234")
    assert cache.get(file(1, 1)) is None
    assert cache.used == 0


@given(
    st.lists(st.tuples(st.integers(1, 4), st.integers(1, 3), st.binary(max_size=8) | st.none()), max_size=40)
)
def test_it_never_holds_more_than_its_bound_and_counts_right(
    steps: list[tuple[int, int, bytes | None]],
) -> None:
    cache = ContentCache(bound=20)
    for file_id, version, content in steps:
        if content is None:
            cache.drop(file_id)
        else:
            cache.put(file_id, version, content)
        held = [
            found
            for each in range(1, 5)
            for number in range(1, 4)
            if (found := cache.get(file(each, number))) is not None
        ]
        assert cache.used == sum(map(len, held)) <= 20
