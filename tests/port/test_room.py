"""What there is for new files, as ``df`` says it, agrees with what a write then meets."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memfs import Limits
from memfs.port.change import File
from memfs.port.errors import PortError
from memfs.port.eviction import make_room, room_left
from memfs.port.policy import Eviction, Policy
from memfs.port.scope import Scope

NOW_NS = 1_800_000_000 * 10**9


def scope_of(
    live: list[int], archived: list[int], eviction: Eviction, cap: int | None, files: int = 4
) -> Scope:
    policy = Policy(
        Limits(max_file_bytes=100, max_total_bytes=300, max_files=files),
        eviction=eviction,
        max_archive_bytes=cap,
    )
    paths = [f"/memories/archive/2026/{n}.md" for n in range(len(archived))]
    paths += [f"/memories/l{n}.md" for n in range(len(live))]
    sizes = archived + live
    return Scope(policy, 9, [File(n + 1, path, sizes[n], 0, 1) for n, path in enumerate(paths)])


def takes(scope: Scope, size: int) -> bool:
    return not isinstance(make_room(scope, {"/memories/new.md": size}, NOW_NS), PortError)


def test_archived_files_take_no_room() -> None:
    assert room_left(scope_of([50], [100, 100], "archive", None)) == (250, 3)


def test_a_full_scope_has_room_for_one_largest_file_where_eviction_can_make_it() -> None:
    assert room_left(scope_of([100, 100, 100], [], "delete", None)) == (100, 1)
    assert room_left(scope_of([100, 100, 100], [], "archive", None)) == (100, 1)
    assert room_left(scope_of([100, 100, 100], [], "refuse", None)) == (0, 1)


@pytest.mark.parametrize(("cap", "room"), [(100, (0, 1)), (160, (60, 1)), (260, (100, 1))])
def test_a_full_archive_leaves_the_rest_of_the_limits(cap: int, room: tuple[int, int]) -> None:
    assert room_left(scope_of([60, 100, 140], [100], "archive", cap)) == room


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.integers(0, 100), max_size=5),
    st.lists(st.integers(0, 100), max_size=3),
    st.sampled_from(["delete", "archive", "refuse"]),
    st.none() | st.integers(1, 400),
)
def test_what_is_left_can_be_written_and_no_more(
    live: list[int], archived: list[int], eviction: Eviction, cap: int | None
) -> None:
    scope = scope_of(live, archived, eviction, cap)
    room = room_left(scope)
    if room.files and room.total_bytes:
        assert takes(scope, min(room.total_bytes, 100))
    if room.files and room.total_bytes < 100:
        assert not takes(scope, room.total_bytes + 1)
    if not room.files:
        assert not takes(scope, 0)
