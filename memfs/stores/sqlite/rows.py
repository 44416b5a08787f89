"""What the rows of the history mean: keys, contents, and older bytes kept as deltas.

A superseded version is stored as a deflate stream with the next version as its preset
dictionary: a few lines' edit of 4 KiB takes some tens of bytes.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import apsw

from memfs.port.errors import UnsafeStorage

WINDOW = 32_768
"""Deflate looks back this far, so a dictionary's last bytes are the ones that count."""
LONGEST_CHAIN = 20
"""Every so many versions of a memory, the bytes stay whole: it bounds the cost of reading an old one."""

_DELTAS = """
WITH RECURSIVE chain (base, content, size, length) AS (
  SELECT base, content, size, 1 FROM history WHERE record = ?1
  UNION ALL
  SELECT history.base, history.content, history.size, length + 1
  FROM chain JOIN history ON history.record = chain.base WHERE chain.content IS NOT NULL AND length < ?2
)
SELECT base, content, size FROM chain ORDER BY length
"""


def select(connection: apsw.Connection, query: str, values: Sequence[Any] = ()) -> list[Any]:
    """All rows of *query*: STRICT tables hold the types that the schema says."""
    return connection.execute(query, values).fetchall()


def read_content(connection: apsw.Connection, key: int) -> bytes | None:
    """The bytes that the record *key* brought, whole; None where it brought none."""
    found = select(connection, _DELTAS, (key, 4 * LONGEST_CHAIN + 1))
    if not found or found[0][1] is None:
        return None
    if len(found) > 4 * LONGEST_CHAIN:
        raise UnsafeStorage("The history's versions refer to each other in a circle.")
    if found[-1][0] is not None or found[-1][1] is None:
        raise UnsafeStorage("The history lacks the version that an older one is kept against.")
    expected: int = found[0][2]
    deltas: list[bytes] = [content for _, content, _ in found]
    whole = deltas.pop()
    while deltas:
        whole = _from_delta(deltas.pop(), whole)
    if len(whole) != expected:
        raise UnsafeStorage(f"A stored version has {len(whole)} bytes where {expected} were written.")
    return whole


def delta(old: bytes, new: bytes) -> bytes | None:
    """*old* as a delta against *new*, or None where that saves too little to be worth it."""
    packer = zlib.compressobj(level=6, wbits=-15, zdict=new[-WINDOW:])
    packed = packer.compress(old) + packer.flush()
    return packed if len(packed) < len(old) * 9 // 10 else None


def _from_delta(packed: bytes, new: bytes) -> bytes:
    unpacker = zlib.decompressobj(wbits=-15, zdict=new[-WINDOW:])
    try:
        return unpacker.decompress(packed) + unpacker.flush()
    except zlib.error as error:
        raise UnsafeStorage("A stored version cannot be unpacked.") from error
