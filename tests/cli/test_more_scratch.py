"""Further programs' temporary files, named by a configuration or by ``memfs mount --scratch``."""

from __future__ import annotations

import errno

import pytest

from memfs.mount.scratch import expression_fault
from tests.cli.conftest import Place, Shell


def test_names_that_are_configured_or_given_stay_in_the_mount(shell: Shell, place: Place) -> None:
    shell.configure("work", f"scratch = ['.*\\.wip', 'LOCK-[0-9]+']\nmountpoint = '{place.directory}'\n")
    shell("mount", "--memory", "work").done()
    for name in ("notes.md.wip", "LOCK-7"):
        (place.directory / name).write_bytes(b"any bytes\xff")
        assert (place.directory / name).read_bytes() == b"any bytes\xff"
    with pytest.raises(OSError) as refused:
        (place.directory / "LOCK-x").write_text("x")
    assert refused.value.errno == errno.EINVAL
    (place.directory / "notes.md").write_text("a memory")
    assert shell("view").done() == "notes.md\n"
    shell("unmount", str(place.directory)).done()
    shell("mount", "--memory", "work", "--scratch", r"\.mytool-.*", "--scratch", "HOLD").done()
    for name in (".mytool-x", "HOLD"):
        (place.directory / name).write_bytes(b"any bytes\xff")


def test_without_them_such_names_are_refused(shell: Shell, place: Place) -> None:
    place.mount()
    with pytest.raises(OSError):
        (place.directory / "notes.wip").write_text("x")


@pytest.mark.parametrize(
    ("expression", "why"),
    [("(", "does not compile"), (".*", "the name of a memory"), (r"todo\.(md|txt)?", "")],
)
def test_a_wrong_expression_is_wrong_usage(shell: Shell, place: Place, expression: str, why: str) -> None:
    done = shell("mount", str(place.directory), "--scratch", expression)
    if why:
        assert done.status == 2
        assert why in done.err
        assert not place.is_mounted
    else:
        assert done.status == 0, "a name that nobody thought of: it is a memory's first, so nothing is lost"
        (place.directory / "todo.md").write_text("x")
        assert shell("view").done() == "todo.md\n"


@pytest.mark.parametrize("expression", [r".*\.wip", r"\.mytool-.*", "LOCK", r"notes\.md\.[0-9]+", r"~.*"])
def test_expressions_for_names_that_no_memory_has_are_fine(expression: str) -> None:
    assert expression_fault(expression) is None


@pytest.mark.parametrize("expression", [r".*\.md", r"[^.]+\.json", r"plan\.md", "plan.md", r"\w+\.ya?ml"])
def test_expressions_that_would_hide_memories_are_not(expression: str) -> None:
    assert "the name of a memory" in str(expression_fault(expression))
