"""Finding memories by words: passages of their texts, the best first.

- ``words``: what counts as a word, in a text and in what somebody searches for.
- ``passages``: where a text is split, and how well a passage answers.
- ``find``: the search itself, over an open memory; it needs nothing but the memory.
- ``index``: an SQLite index that makes it fast on a large scope. Without it the answers are the same, and
  :func:`forget` takes it away. ``postings`` are its lists of what stands where.
"""

from memfs.search.find import Hit, search
from memfs.search.index import Index, forget

__all__ = ["Hit", "Index", "forget", "search"]
