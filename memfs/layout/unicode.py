"""What the letters of the world are in ASCII, as far as Unicode itself says so.

This is Unicode 17 on every Python: the tables of Python 3.11 are those of Unicode 14, and a title must
not have another name on another machine. What came after 14 and matters here is listed below.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from itertools import chain

_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]+")

_NEW_MARKS = (
    range(0x0897, 0x0898), range(0x0ECE, 0x0ECF), range(0x1ACF, 0x1ADE), range(0x1AE0, 0x1AEC),
    range(0x10D69, 0x10D6E), range(0x10EFA, 0x10F00), range(0x11241, 0x11242), range(0x113BB, 0x113C1),
    range(0x113CE, 0x113CF), range(0x113D0, 0x113D1), range(0x113D2, 0x113D3), range(0x113E1, 0x113E3),
    range(0x11B60, 0x11B61), range(0x11B62, 0x11B65), range(0x11B66, 0x11B67), range(0x11F00, 0x11F02),
    range(0x11F36, 0x11F3B), range(0x11F40, 0x11F41), range(0x11F42, 0x11F43), range(0x11F5A, 0x11F5B),
    range(0x13440, 0x13441), range(0x13447, 0x13456), range(0x1611E, 0x1612A), range(0x1612D, 0x16130),
    range(0x1E08F, 0x1E090), range(0x1E4EC, 0x1E4F0), range(0x1E5EE, 0x1E5F0), range(0x1E6E3, 0x1E6E4),
    range(0x1E6E6, 0x1E6E7), range(0x1E6EE, 0x1E6F0), range(0x1E6F5, 0x1E6F6),
)  # fmt: skip
_SINCE_UNICODE_14 = {
    **dict.fromkeys(map(chr, chain.from_iterable(_NEW_MARKS)), ""),
    **{chr(0x1CCD6 + at): letter for at, letter in enumerate("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")},
    "\ua7f1": "S",
    "\U0001171e": "\U0001171e",  # was a nonspacing mark until 14
}


def ascii_base(text: str) -> str:
    """*text* decomposed (NFKD) and without nonspacing marks: ``é`` → ``e``, ``ﬁ`` → ``fi``, ``²`` → ``2``.

    Letters that have no such base stay as they are. Each character is decomposed by itself, which differs
    only in the order of marks: to order them is quadratic in the length of a run.
    """
    return _BEYOND_ASCII.sub(lambda run: "".join(map(_base_of, run[0])), text)


@lru_cache(maxsize=4096)
def _base_of(character: str) -> str:
    known = _SINCE_UNICODE_14.get(character)
    if known is not None:
        return known
    parts = unicodedata.normalize("NFKD", character)
    return "".join(part for part in parts if unicodedata.category(part) != "Mn")
