"""The search over an open memory: its texts are the truth, and an index only says where to look first."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from memfs.port.change import File
from memfs.port.errors import ErrorCode, PortError, StoreError
from memfs.port.memory import Memory
from memfs.port.names import ROOT, path_error
from memfs.search.index import Index, Stale
from memfs.search.passages import Passage, passages_of
from memfs.search.words import Query, Rank, folded, words_of

DEFAULT_LIMIT = 20
MOST_HITS = 100
MOST_TERMS = 50
LONGEST_QUERY = 1_000
"""In characters; it is words that are searched for, not texts."""
MOST_TRIES = 3
"""How often to look again where a store no longer has the bytes that were listed a moment before."""


class Hit(NamedTuple):
    """A passage that answers: lines ``start`` to ``end`` of the file *path*, and how well it does."""

    path: str
    start: int
    end: int
    text: str
    rank: Rank

    def to_wire(self) -> dict[str, object]:
        """A JSON object, in camelCase as those of the port."""
        return {
            "path": self.path,
            "lines": {"start": self.start, "end": self.end},
            "text": self.text,
            "phrase": self.rank.phrase,
            "terms": self.rank.terms,
            "occurrences": self.rank.occurrences,
        }


def search(
    memory: Memory, words: str, path: str = ROOT, limit: int = DEFAULT_LIMIT, index: Index | None = None
) -> list[Hit] | PortError:
    """The *limit* best passages for *words* in the file or below the directory *path*.

    First those that have the words as they were typed, then those with more of them, then those with more
    occurrences; equal ones by path and line. With an *index* it is faster, and no different.
    """
    query = _query(words)
    if isinstance(query, PortError):
        return query
    refusal = path_error(path) or limit_error(limit)
    if refusal is not None:
        return refusal
    tries = 0
    while True:
        tries += 1
        try:
            files = memory.look(lambda scope: list(scope.in_write_order()))
            chosen = files if path == ROOT else [file for file in files if _lies_in(file.path, path)]
            if not chosen and path != ROOT:
                return PortError(ErrorCode.NOT_FOUND, f"There is nothing at {path} to search in.", path)
            if index is not None and index.is_worth_it(files):
                hits = _by_index(memory, index, files, query, path, limit)
                if hits is not None:
                    return hits
            return _best(_scan(memory, chosen, query), limit)
        except StoreError as error:
            if tries == MOST_TRIES:
                return PortError(error.code, error.message)


def _query(words: object) -> Query | PortError:
    if not isinstance(words, str) or len(words) > LONGEST_QUERY:
        message = f"Search for words, in one string of at most {LONGEST_QUERY} characters."
        return PortError(ErrorCode.INVALID_ARGUMENT, message)
    query = Query(words)
    if not 1 <= len(query.terms) <= MOST_TERMS:
        message = f"Search for 1 to {MOST_TERMS} words of letters or digits, not {len(query.terms)}."
        return PortError(ErrorCode.INVALID_ARGUMENT, message)
    return query


def limit_error(limit: object) -> PortError | None:
    """Why *limit* is no number of answers, or None."""
    if isinstance(limit, int) and not isinstance(limit, bool) and 1 <= limit <= MOST_HITS:
        return None
    return PortError(ErrorCode.INVALID_ARGUMENT, f"The limit must be a number from 1 to {MOST_HITS}.")


def _lies_in(file: str, path: str) -> bool:
    return file == path or file.startswith(f"{path}/")


def _scan(memory: Memory, files: Iterable[File], query: Query) -> Iterator[Hit]:
    """Every passage of *files* that answers, from the texts themselves."""
    for file in files:
        text = memory.read(file).decode(errors="replace")
        if not query.may_match(folded(text)):
            continue
        for passage in passages_of(text, file.path):
            hit = _hit(query, file.path, passage)
            if hit is not None:
                yield hit


def _by_index(
    memory: Memory, index: Index, files: list[File], query: Query, path: str, limit: int
) -> list[Hit] | None:
    """The best passages as the index has them and the texts confirm; None where the two disagree."""
    by_id = {file.id: file for file in files}
    hits = []
    try:
        for file_id, start, rank in index.best(files, memory.read, query, path, limit):
            file = by_id[file_id]
            passages = passages_of(memory.read(file).decode(errors="replace"), file.path)
            hit = next((_hit(query, file.path, found) for found in passages if found.start == start), None)
            if hit is None or hit.rank != rank:
                index.forget()
                return None
            hits.append(hit)
    except Stale:
        return None
    return hits


def _hit(query: Query, path: str, passage: Passage) -> Hit | None:
    in_folded = folded(passage.text)
    rank = query.rank(words_of(in_folded)) if query.may_match(in_folded) else None
    return None if rank is None else Hit(path, passage.start, passage.end, passage.text, rank)


def _best(hits: Iterable[Hit], limit: int) -> list[Hit]:
    def order(hit: Hit) -> tuple[bool, int, int, str, int]:
        return (not hit.rank.phrase, -hit.rank.terms, -hit.rank.occurrences, hit.path, hit.start)

    return heapq.nsmallest(limit, hits, key=order)
