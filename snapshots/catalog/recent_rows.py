"""What an import wrote last: contents that need not be read, and what decides how two differ."""

from collections.abc import Callable, Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from snapshots.contents import ContentRows
from snapshots.frames.columns import Mask, Rows
from snapshots.history import Pair
from snapshots.tables import SPEC_ROWS

_MAX_BYTES = 32 << 20
"""How many bytes of rows are kept, or the last two contents; and as many of pairs."""


class RecentRows:
    """The contents that an import wrote last, and of each how it differs from the one before it.

    ``before`` tells which that is. ``pairs`` has what ``deciding_rows`` returns of the two.
    """

    def __init__(self, before: Callable[[str], str | None] = lambda _: None) -> None:
        self.contents: dict[str, ContentRows] = {}
        self.pairs: dict[Pair, tuple[pa.Table, pa.Table]] = {}
        self._before = before

    def noted(self, contents: Iterable[ContentRows]) -> Iterator[ContentRows]:
        """Yield contents, and keep what is to be compared."""
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
    """Return the rows of two contents from which all that is kept of the pair follows.

    They are those of the packages that differ. Reasons and facts also depend on which stacks there
    are, and which facts a source states: of the other packages some rows tell both. None where the
    packages are not known, or any spec has dependencies: then it depends on those, too.
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
    telling = head.table.take(pa.array(_telling(head.table, alike)))
    before, after = (pa.concat_tables([rows, telling]) for rows in (before, after))
    return before, after


def _telling(rows: pa.Table, mask: Mask) -> Rows:
    """Return the places of a few of the rows in a mask, which state all that those do.

    They have each stack, and each fact as known and as unknown, of which some row has it so.
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
