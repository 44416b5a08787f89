"""What a search over many memories costs: with its index warm, with one file changed, and without it."""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path
from time import perf_counter

import memfs
from memfs.opening import canonical_url
from memfs.search import Index, search

FILES = 10_000
PARAGRAPHS, WORDS = 3, 50
VOCABULARY = 8_000
REPEATS = 9
SCOPE = "search"
LIMITS = memfs.Limits(max_files=2 * FILES, max_total_bytes=1 << 30)


def search_times(work: Path) -> str:
    """A table: milliseconds at the median for words of several frequencies (Zipf's, as in real texts)."""
    chance = random.Random(1)
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["".join(chance.choices(letters, k=chance.randint(3, 9))) for _ in range(VOCABULARY)]
    weights = [1 / (rank + 1) for rank in range(VOCABULARY)]
    url = canonical_url(f"sqlite:{work / 'search'}")
    with memfs.open_memory(url, scope=SCOPE, limits=LIMITS) as memory:
        for number in range(FILES):
            text = "\n\n".join(" ".join(chance.choices(words, weights, k=WORDS)) for _ in range(PARAGRAPHS))
            memory.execute(memfs.Create(f"/memories/{number % 100}/{number}.md", text))
        index = Index(url, SCOPE)
        begun = perf_counter()
        search(memory, words[0], index=index)
        made = perf_counter() - begun
        versions = count()

        def edit() -> None:
            memory.execute(memfs.Create("/memories/0/0.md", f"version {next(versions)}"))

        lines = [f"{FILES:,} memories; the index is made in {made:.1f} s", _HEAD]
        for title, query in (
            ("a rare word", words[5_000]),
            ("two words", f"{words[300]} {words[301]}"),
            ("four words", " ".join(words[100:104])),
            ("the most frequent word", words[0]),
        ):
            by_index = partial(search, memory, query, index=index)
            warm, changed = _median(by_index), _median(by_index, edit)
            plain = _median(partial(search, memory, query))
            lines.append(f"{title:24}{warm:14.1f}{changed:18.1f}{plain:12.1f}")
        index.close()
    return "\n".join(lines)


_HEAD = f"{'ms':24}{'index, warm':>14}{'one file changed':>18}{'no index':>12}"


def _median(measured: Callable[[], object], before: Callable[[], object] = lambda: None) -> float:
    times = []
    for _ in range(REPEATS):
        before()
        begun = perf_counter()
        measured()
        times.append(perf_counter() - begun)
    return statistics.median(times) * 1_000
