"""The most recent rows of an import: contents, and the rows that determine their differences."""

from collections.abc import Callable, Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from snapshots.contents import ContentRows
from snapshots.frames.columns import Mask, Rows
from snapshots.history import Pair
from snapshots.tables import SPEC_ROWS

_MAX_BYTES = 32 << 20
"""The maximum size of rows in bytes, except for the last two contents; the same again for pairs."""


class RecentRows:
    """The contents that an import wrote last, and for each the difference from its predecessor.

    ``before`` returns the predecessor. ``pairs`` has the result of ``deciding_rows`` for each pair.
    """

    def __init__(self, before: Callable[[str], str | None] = lambda _: None) -> None:
        self.contents: dict[str, ContentRows] = {}
        self.pairs: dict[Pair, tuple[pa.Table, pa.Table]] = {}
        self._before = before

    def noted(self, contents: Iterable[ContentRows]) -> Iterator[ContentRows]:
        """Yield contents unchanged, and retain those that are to be compared."""
        num_bytes = of_pairs = 0
        for head in contents:
            base = self.contents.get(self._before(head.digest) or "")
            tables = None if base is None else deciding_rows(base, head)
            if base is not None and tables is not None and of_pairs <= _MAX_BYTES:
                self.pairs[Pair(base.digest, head.digest)] = tables
                of_pairs += sum(rows.nbytes for rows in tables)
            self.contents[head.digest] = head
            num_bytes += head.table.nbytes
            while num_bytes > _MAX_BYTES and len(self.contents) > 2:
                num_bytes -= self.contents.pop(next(iter(self.contents))).table.nbytes
            yield head


def deciding_rows(base: ContentRows, head: ContentRows) -> tuple[pa.Table, pa.Table] | None:
    """Return the rows of two contents that determine the stored changes of the pair.

    They are the rows of the packages that differ. Reasons and facts also depend on the existing
    stacks, and on the facts that a source states, so some rows of the other packages are added.
    None if the packages are unknown, or if any spec has dependencies, because changes then depend
    on those too.
    """
    if not base.packages or not head.packages:
        return None
    if any(pc.count(side.table["dependencies"]).as_py() for side in (base, head)):
        return None
    before, after, alike = base.unlike(head), head.unlike(base), head.alike(base)
    hashes = head.table["hash"]
    for changed in (before, after):
        if (alike & pc.is_in(hashes, changed["hash"].combine_chunks()).to_numpy()).any():
            return None
    representatives = head.table.take(pa.array(_representatives(head.table, alike)))
    before, after = (pa.concat_tables([rows, representatives]) for rows in (before, after))
    return before, after


def _representatives(rows: pa.Table, mask: Mask) -> Rows:
    """Return the indices of a few rows in a mask that state everything that the others do.

    They include each stack, and each fact with and without a value, as far as rows of the mask do.
    """
    places = np.flatnonzero(mask)
    first = [places[:1]]
    for name in SPEC_ROWS.names:
        if 0 < rows[name].null_count < len(rows):
            is_known = rows[name].is_valid().to_numpy()[places]
            first += [places[is_known][:1], places[~is_known][:1]]
    stacks = rows["stacks"].combine_chunks()
    codes = np.asarray(stacks.flatten().dictionary_encode().indices)
    owners = np.asarray(pc.list_parent_indices(stacks))
    items = np.flatnonzero(mask[owners])
    first.append(owners[items[np.unique(codes[items], return_index=True)[1]]])
    return np.unique(np.concatenate(first))
