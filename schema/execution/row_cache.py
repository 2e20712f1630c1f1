"""Rendered rows: the JSON of the rows of frames, cached for each repeated selection.

The text of a row for a selection of columns depends only on the content. It is rendered once, when
a page first contains the row, and reused for any page, order or filter.
"""

from collections.abc import Callable, Hashable
from sys import getsizeof
from threading import Lock

import numpy as np
from cachetools import LRUCache

from schema.fields import many
from snapshots.arrays import Rows

ROW_BYTES = 64 << 20
"""Maximum size of rendered rows in bytes."""

_ENTRY_BYTES = 4_000
"""Approximate size of a cached selection with its key, in bytes."""

_EACH_BYTES = 8
"""Size of a list item, in bytes."""


class CachedTexts:
    """The texts of a selection, by row, and their approximate size in bytes."""

    def __init__(self, size: int) -> None:
        self.texts: list[str | None] = [None] * size
        self.num_bytes = _ENTRY_BYTES + _EACH_BYTES * size


class RowCache:
    """A cache of the rendered rows of all frames, within ``max_bytes``; safe for several threads.

    When the limit is reached, the least recently used selection is removed.
    """

    def __init__(self, max_bytes: int = ROW_BYTES) -> None:
        self._texts: LRUCache[Hashable, CachedTexts] = LRUCache(
            max_bytes, lambda selection: selection.num_bytes
        )
        self._lock = Lock()

    @property
    def num_bytes(self) -> int:
        """Approximate size of the cached texts in bytes."""
        return int(self._texts.currsize)

    def texts(
        self, selection: Hashable, origin: many.Origin, render: Callable[[Rows | None], list[str]]
    ) -> list[str]:
        """Return the text of each row; ``render`` returns the texts at some indices, or all for
        None.
        """
        key = origin.table, selection
        cached = self._selection(key, origin.size)
        if cached is None:
            return render(None)
        of_rows = cached.texts
        rows = origin.rows.tolist()
        texts = list(map(of_rows.__getitem__, rows))
        if None not in texts:
            return texts  # type: ignore[return-value] # there is no None in it
        missing = [number for number, text in enumerate(texts) if text is None]
        rendered = render(None if len(missing) == len(rows) else np.array(missing, np.int32))
        num_bytes = 0
        for number, text in zip(missing, rendered, strict=True):
            texts[number] = text
            if of_rows[rows[number]] is None:
                of_rows[rows[number]] = text
                num_bytes += getsizeof(text)
        with self._lock:
            if self._texts.pop(key, None) is cached:  # otherwise it was dropped meanwhile
                cached.num_bytes += num_bytes
                if cached.num_bytes <= self._texts.maxsize:
                    self._texts[key] = cached  # the cache measures only what is inserted
        return texts  # type: ignore[return-value] # all of them are made

    def _selection(self, key: Hashable, size: int) -> CachedTexts | None:
        """Return the texts of a selection; None if they do not fit."""
        with self._lock:
            selection: CachedTexts | None = self._texts.get(key)
            if selection is None:
                if _ENTRY_BYTES + _EACH_BYTES * size > self._texts.maxsize // 2:
                    return None
                selection = self._texts[key] = CachedTexts(size)
        return selection
