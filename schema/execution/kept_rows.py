"""Rendered rows: the JSON of the rows of frames, kept for each selection that comes again.

What a selection of columns says of a row follows from the content alone. So its text is made once,
when a page first shows the row, and any page, order or filter joins what is there.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from sys import getsizeof
from threading import Lock

import numpy as np

from schema.fields.many import Places
from snapshots.frames.columns import Rows

ROW_BYTES = 64 << 20
"""How many bytes rendered rows take at most."""

_ENTRY_BYTES = 4_000
"""About what a selection takes that is kept, with its key."""

_EACH_BYTES = 8
"""A place in a list."""


class KeptRows:
    """Rendered rows of all frames, within ``max_bytes``; may be used by several threads.

    When the bound is reached, the selection that was not asked for longest is dropped.
    """

    def __init__(self, max_bytes: int = ROW_BYTES) -> None:
        self.num_bytes = 0
        self._max_bytes = max_bytes
        self._kept: OrderedDict[Hashable, list[str | None]] = OrderedDict()
        self._sizes: dict[Hashable, int] = {}
        self._lock = Lock()

    def texts(
        self, selection: Hashable, places: Places, render: Callable[[Rows | None], list[str]]
    ) -> list[str]:
        """Return the text of each row; ``render`` returns those at some indices, None for all."""
        key = places.table, selection
        kept = self._texts_of(key, places.size)
        if kept is None:
            return render(None)
        rows = places.rows.tolist()
        is_run = bool(rows) and rows[-1] - rows[0] == len(rows) - 1
        if is_run and (len(rows) < 3 or bool((np.diff(places.rows) == 1).all())):
            texts = kept[rows[0] : rows[-1] + 1]
        else:
            texts = list(map(kept.__getitem__, rows))
        if None not in texts:
            return texts  # type: ignore[return-value] # there is no None in it
        missing = [number for number, text in enumerate(texts) if text is None]
        made = render(None if len(missing) == len(rows) else np.array(missing, np.int32))
        num_bytes = 0
        for number, text in zip(missing, made, strict=True):
            texts[number] = text
            if kept[rows[number]] is None:
                kept[rows[number]] = text
                num_bytes += getsizeof(text)
        self._count(key, num_bytes)
        return texts  # type: ignore[return-value] # all of them are made

    def _texts_of(self, key: Hashable, size: int) -> list[str | None] | None:
        """Return the list of a selection's texts; None where it would not fit."""
        with self._lock:
            kept = self._kept.get(key)
            if kept is not None:
                self._kept.move_to_end(key)
                return kept
        num_bytes = _ENTRY_BYTES + _EACH_BYTES * size
        if num_bytes > self._max_bytes // 2:
            return None
        with self._lock:
            kept = self._kept.setdefault(key, [None] * size)
            if key not in self._sizes:
                self._sizes[key] = 0
        self._count(key, num_bytes)
        return kept

    def _count(self, key: Hashable, num_bytes: int) -> None:
        """Count what was added to a selection; drop others, or it, beyond the bound."""
        with self._lock:
            if key not in self._sizes:  # it was dropped meanwhile
                return
            self._sizes[key] += num_bytes
            self.num_bytes += num_bytes
            while self.num_bytes > self._max_bytes:
                oldest, _ = self._kept.popitem(last=False)
                self.num_bytes -= self._sizes.pop(oldest)
