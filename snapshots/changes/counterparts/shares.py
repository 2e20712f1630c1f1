"""Which share of two lists is common: of the stacks, or of the variants, of two specs."""

import numpy as np
import numpy.typing as npt

from snapshots.frames.columns import ListColumn, Rows

Shares = npt.NDArray[np.float64]


def shares(
    base: ListColumn,
    base_rows: Rows,
    head: ListColumn,
    head_rows: Rows,
    left_out: frozenset[str] = frozenset(),
) -> Shares:
    """Return for each two rows the share of items that their lists have in common.

    It is what is common of all that either has, 1 where neither has any. ``left_out`` are no items.
    """
    size = len(head.values)
    pairs = base.codes[base_rows].astype(np.int64) * size + head.codes[head_rows]
    distinct, places = np.unique(pairs, return_inverse=True)
    ours = _items(base, distinct // size, left_out)
    theirs = _items(head, distinct % size, left_out)
    found = [
        len(one & other) / len(one | other) if one or other else 1.0
        for one, other in zip(ours, theirs, strict=True)
    ]
    return np.array(found, np.float64)[places]


def _items(
    column: ListColumn, codes: npt.NDArray[np.int64], left_out: frozenset[str]
) -> list[frozenset[str]]:
    """Return the items of lists; equal codes share theirs."""
    distinct, places = np.unique(codes, return_inverse=True)
    sets = [frozenset(column.values[code] or ()) - left_out for code in distinct.tolist()]
    return [sets[place] for place in places.tolist()]
