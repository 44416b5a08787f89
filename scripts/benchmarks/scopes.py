"""Whether a server's answers depend on how many scopes it has: a thousand, a hundred thousand, a million.

They are loaded by COPY. The stores are asked in turns for the same things, each time in another scope, as a
process does that visits it for the first time.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import psycopg

from benchmarks import report
from benchmarks.figures import Figures
from benchmarks.rounds import announce, rotated
from benchmarks.server import make_store, server_on_disk, settings_of
from memfs import Memory, Policy, open_memory
from memfs.port.commands import Create, Rename, View
from memfs.stores.postgres.rows import policy_to
from tests.stores.postgres.server import Server

SIZES = (1_000, 100_000, 1_000_000)
FILES = 3
"""Of each scope."""
SAMPLES = 300
TEXT = b"What an agent has learned, and need not learn again.\n" * 8
AT_A_TIME = 20_000
FLAT = 1.5


def scopes_figures(_work: Path) -> str:
    """A table, and what the loading took."""
    with server_on_disk() as server:
        return "\n\n".join([settings_of(server), _many_scopes(server)])


class Filled(NamedTuple):
    """A store that was loaded."""

    scopes: int
    url: str
    seconds: float
    size: int

    @property
    def name(self) -> str:
        """For a table."""
        return f"{self.scopes:,}"


def _many_scopes(server: Server) -> str:
    filled = []
    for scopes in SIZES:
        announce(f"loading {scopes:,} scopes")
        filled.append(_fill(server, scopes))
    figures = Figures()
    visits = {store.name: random.Random(7).sample(range(1, store.scopes), SAMPLES) for store in filled}
    with ExitStack() as stack:
        for store in filled:  # the connections of a process outlive its visits to any one scope
            stack.enter_context(open_memory(store.url, scope="scope-0"))
        for number in range(SAMPLES):
            announce(f"asking, {number} of {SAMPLES}")
            for store in rotated(filled, number):
                _ask(store, visits[store.name][number], figures)
    announce("")
    few, *_, many = filled
    rows = [["µs", *(store.name for store in filled), f"{many.name}/{few.name}"]]
    for row in figures.rows():
        medians = [figures.median(row, store.name) or 0.0 for store in filled]
        rows.append([row, *(f"{median:,.0f}" for median in medians), f"{medians[-1] / medians[0]:.2f}"])
    worst = max(figures.ratio(row, many.name, few.name) or 0.0 for row in figures.rows())
    loaded = [
        f"{store.name} scopes of {FILES} files: loaded by COPY in {store.seconds:.0f} s, "
        f"{store.size / 1e9:.2f} GB on disk, {store.size / store.scopes:,.0f} bytes a scope"
        for store in filled
    ]
    verdict = "reached" if worst <= FLAT else "missed"
    return "\n".join([report.aligned(rows), *loaded, f"flat (at most {FLAT}x): {worst:.2f}x, {verdict}"])


def _fill(server: Server, scopes: int) -> Filled:
    database = f"scopes_{scopes}"
    url = make_store(server, database)
    begun = time.monotonic()
    with server.connect(database) as connection:
        ids = random.Random(scopes).sample(range(1, 1 << 62), scopes)
        for table, lines in _tables(ids).items():
            _copy(connection, table, scopes, lines)
    seconds = time.monotonic() - begun
    server.execute("VACUUM (ANALYZE)", database=database)
    server.execute("CHECKPOINT")
    ((size,),) = server.execute("SELECT pg_database_size(%s)", database)
    return Filled(scopes, url, seconds, size)


def _tables(ids: Sequence[int]) -> dict[str, Callable[[int], list[str]]]:
    """The tables and columns that are loaded, each with the lines for the scope of a number."""
    policy, time_ns = policy_to(Policy()), time.time_ns()
    digest, content = rf"\\x{sha256(TEXT).hexdigest()}", rf"\\x{TEXT.hex()}"
    files = range(1, FILES + 1)

    def line(*values: object) -> str:
        return "\t".join(map(str, values))

    def file(number: int, place: int) -> str:
        key = place << 24
        return line(ids[number], place, f"/memories/note-{place}.md", len(TEXT), time_ns, key, key, key)

    def record(number: int, place: int) -> str:
        path = f"/memories/note-{place}.md"
        what = line(ids[number], place << 24, "created", place, path, len(TEXT), time_ns)
        return line(what, "ada", "bench", 1, "", digest, content)

    written = (
        'scope, record, operation, id, path, size, time_ns, "user", program, pid, reason, digest, content'
    )
    return {
        "directory (name, scope)": lambda number: [line(f"scope-{number}", ids[number])],
        "scope (scope, version, policy)": lambda number: [line(ids[number], FILES, policy)],
        "file (scope, id, path, size, mtime_ns, written, content, record)": lambda number: [
            file(number, place) for place in files
        ],
        f"history ({written})": lambda number: [record(number, place) for place in files],
    }


def _copy(
    connection: psycopg.Connection[Any], table: str, scopes: int, lines: Callable[[int], list[str]]
) -> None:
    with connection.cursor() as cursor, cursor.copy(f"COPY memfs.{table} FROM STDIN") as copy:
        for first in range(0, scopes, AT_A_TIME):
            last = min(scopes, first + AT_A_TIME)
            copy.write("".join(f"{line}\n" for number in range(first, last) for line in lines(number)))


def _ask(store: Filled, number: int, figures: Figures) -> None:
    """A visit to one scope, as a new client of it: opened, read, changed."""

    @contextmanager
    def timed(row: str) -> Iterator[None]:
        begun = time.perf_counter_ns()
        yield
        figures.cell(row, store.name).samples.append((time.perf_counter_ns() - begun) / 1_000)

    with ExitStack() as stack:
        with timed("open a scope"):
            memory = stack.enter_context(open_memory(store.url, scope=f"scope-{number}"))
        with timed("read a file, cold"):
            _must(memory, View("/memories/note-1.md"))
        with timed("create"):
            _must(memory, Create(f"/memories/{random.getrandbits(40)}.md", "A new note.\n"))
        with timed("replace"):
            _must(memory, Create("/memories/note-2.md", "Another text.\n"))
        with timed("rename"):
            _must(memory, Rename("/memories/note-3.md", f"/memories/{random.getrandbits(40)}.md"))


def _must(memory: Memory, command: Create | View | Rename) -> None:
    result = memory.execute(command)
    if result.error is not None:
        raise RuntimeError(result.error.message)
