"""How often each word stands in each passage: lists in the index's file, made for adding up quickly.

The list of a word is cut into blocks of passages that were numbered one after the other, so that what some
passages change is short. FTS5 knows as much, but tells it one occurrence at a time.
"""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import apsw

# An entry is two numbers of 32 bits: a passage, and how often it has the word.
SCHEMA = """
CREATE TABLE posting (
  word TEXT NOT NULL,
  block INTEGER NOT NULL,
  entries BLOB NOT NULL,
  PRIMARY KEY (word, block)
) STRICT, WITHOUT ROWID
"""
_APPEND = """
INSERT INTO posting VALUES (?, ?, ?)
ON CONFLICT DO UPDATE SET entries = CAST(entries || excluded.entries AS BLOB)
"""
_BLOCK_BITS = 9
_MOST_BLOCKS = 64
"""How many to hold in memory while an index is made."""

ONE_TERM = 1 << 32
"""A tally counts terms in units of this, and occurrences below it."""


class Changes:
    """Passages that come and go, gathered until :meth:`write`: so each list is written once.

    Raises apsw.Error, and ValueError where the lists are damaged.
    """

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._added: dict[int, dict[str, list[int]]] = {}  # by block and word: the entries
        self._removed: dict[int, dict[str, list[int]]] = {}  # by block and word: the passages

    def add(self, passage: int, words: Sequence[str]) -> None:
        """A new passage, and its words in any order, each as often as it occurs."""
        lists = self._lists(self._added, passage)
        for word, times in Counter(words).items():
            lists[word] += passage, times

    def remove(self, passage: int, words: Iterable[str]) -> None:
        """A passage that was there before, and the words that it has, each once."""
        lists = self._lists(self._removed, passage)
        for word in words:
            lists[word].append(passage)

    def _lists(self, blocks: dict[int, dict[str, list[int]]], passage: int) -> dict[str, list[int]]:
        block = passage >> _BLOCK_BITS
        if block not in blocks:
            if len(blocks) == _MOST_BLOCKS:
                self.write()
            blocks[block] = defaultdict(list)
        return blocks[block]

    def write(self) -> None:
        """Make the lists those with all changes so far."""
        for block, lists in self._removed.items():
            for word, passages in lists.items():
                self._take_out((word, block), passages)
        # Word by word, as the file has them: so each of its pages is written once.
        self._connection.executemany(
            _APPEND,
            (
                (word, block, array("I", lists[word]).tobytes())
                for word in sorted(set().union(*self._added.values()))
                for block, lists in self._added.items()
                if word in lists
            ),
        )
        self._removed.clear()
        self._added.clear()

    def _take_out(self, key: tuple[str, int], passages: Iterable[int]) -> None:
        where = "WHERE word = ? AND block = ?"
        (blob,) = self._connection.execute(f"SELECT entries FROM posting {where}", key).fetchone() or (b"",)  # noqa: S608
        entries = array("I", blob)
        for passage in passages:
            place = 2 * entries[::2].index(passage)
            del entries[place : place + 2]
        if entries:
            self._connection.execute(
                f"UPDATE posting SET entries = ? {where}",  # noqa: S608
                (entries.tobytes(), *key),
            )
        else:
            self._connection.execute(f"DELETE FROM posting {where}", key)  # noqa: S608


def tally(connection: apsw.Connection, spans: Iterable[tuple[str, str]]) -> dict[int, int]:
    """For each passage with words of *spans*: how many, plus ONE_TERM for each more span than one.

    A span is from its first word to before its second, by code points. Raises as :class:`Changes`.
    """
    total: dict[int, int] = {}
    for span in spans:
        few, total = sorted((_occurrences(connection, span), total), key=len)
        for passage, count in few.items():
            before = total.get(passage)
            total[passage] = count if before is None else before + ONE_TERM + count
    return total


def passages_with(connection: apsw.Connection, word: str) -> list[int]:
    """The passages that have exactly this word. Raises as :class:`Changes`."""
    found: list[int] = []
    for (blob,) in connection.execute("SELECT entries FROM posting WHERE word = ?", (word,)):
        found += array("I", blob)[::2]
    return found


def _occurrences(connection: apsw.Connection, span: tuple[str, str]) -> dict[int, int]:
    found: dict[int, int] = {}
    for (blob,) in connection.execute("SELECT entries FROM posting WHERE word >= ? AND word < ?", span):
        entries = array("I", blob)
        passages, times = entries[::2], entries[1::2]
        if found.keys().isdisjoint(passages):  # as for a frequent word: ten times as fast
            found.update(zip(passages, times, strict=True))
        else:
            for passage, count in zip(passages, times, strict=True):
                found[passage] = found.get(passage, 0) + count
    return found
