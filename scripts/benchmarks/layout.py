"""What the layout's functions cost per character, on short and on long strings made to be costly.

Linear is what a column shows whose figures stay. The tests count steps; this is the curve beside them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from time import perf_counter_ns

from memfs.layout import memory_path_violation, normalize_path, original_path_for, slugify

SIZES = (2_048, 8_192, 32_768, 65_536)
REPEATS = 7
CURVES: dict[str, tuple[Callable[[str], object], Callable[[int], str]]] = {
    "normalize_path, slashes and a letter": (normalize_path, lambda size: "/" * size + "a"),
    "normalize_path, segments": (normalize_path, lambda size: "a/" * (size // 2)),
    "memory_path_violation, dots": (
        memory_path_violation,
        lambda size: "projects/" + "x./" * (size // 3) + ".html",
    ),
    "original_path_for, digits": (original_path_for, lambda size: "archive/" + "9" * size + "/a"),
    "slugify, words": (slugify, lambda size: "Ab " * (size // 3)),
    "slugify, hyphens": (slugify, lambda size: "a" + "-" * size + "b"),
    "slugify, marks out of order": (slugify, lambda size: "a" + "\u0301\u0323" * (size // 2)),
}


def layout_curves(_work: Path) -> str:
    """A table: nanoseconds per character, one row per function and kind of string."""
    width = max(map(len, CURVES))
    lines = [f"{'ns per character':{width}}" + "".join(f"{size:>10,}" for size in SIZES)]
    for name, (function, shape) in CURVES.items():
        figures = [_nanoseconds_per_character(function, shape(size)) for size in SIZES]
        lines.append(f"{name:{width}}" + "".join(f"{figure:>10.2f}" for figure in figures))
    return "\n".join(lines)


def _nanoseconds_per_character(function: Callable[[str], object], text: str) -> float:
    rounds = max(1, 262_144 // len(text))
    best = float("inf")
    for _ in range(REPEATS):
        begun = perf_counter_ns()
        for _ in range(rounds):
            function(text)
        best = min(best, (perf_counter_ns() - begun) / rounds)
    return best / len(text)
