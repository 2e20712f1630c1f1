"""Which hashes two frames share: what everything else that a comparison says follows from.

Hashes are the stable key. A hash that only head has was added, one that only base has was removed,
and one that both have persists; it has changed if a fact about it differs.
"""

from dataclasses import dataclass

import numpy as np

from snapshots.changes.facts import RowPairs, changed
from snapshots.frames.columns import Mask, Rows, rows_where
from snapshots.frames.filters import SpecFilter
from snapshots.frames.frame import Frame
from snapshots.frames.hashes import match


@dataclass(frozen=True, kw_only=True)
class Pairing:
    """The hashes that were added, removed, persist or changed, as rising rows of two frames.

    ``base_rows`` and ``head_rows`` are the rows that are compared: all, unless the pairing is
    narrowed. ``removed`` are rows of base, ``added`` rows of head.
    """

    base: Frame
    head: Frame
    base_rows: Rows | slice
    head_rows: Rows | slice
    removed: Rows
    added: Rows
    persisting: RowPairs
    changed: RowPairs

    @property
    def num_bytes(self) -> int:
        """How much memory the rows take, without the frames."""
        arrays = (self.base_rows, self.head_rows, self.removed, self.added)
        rows = sum(it.nbytes for it in arrays if not isinstance(it, slice))
        return rows + self.persisting.num_bytes + self.changed.num_bytes

    def narrowed(self, conditions: SpecFilter) -> "Pairing":
        """Return the pairing of the rows that meet the conditions.

        A hash that persists keeps both of its rows where it meets them on either side.
        """
        return self.narrowed_to(self.base.select(conditions), self.head.select(conditions))

    def narrowed_to(self, base_mask: Mask, head_mask: Mask) -> "Pairing":
        """Return the pairing of the rows that the masks over both frames mark.

        A hash that persists keeps both of its rows where one of them is marked.
        """
        in_base = _among(base_mask, self.base_rows)
        in_head = _among(head_mask, self.head_rows)
        persisting = self.persisting
        either = in_base[persisting.base_rows] | in_head[persisting.head_rows]
        in_base[persisting.base_rows] = either
        in_head[persisting.head_rows] = either
        return Pairing(
            base=self.base,
            head=self.head,
            base_rows=rows_where(in_base),
            head_rows=rows_where(in_head),
            removed=self.removed[in_base[self.removed]],
            added=self.added[in_head[self.added]],
            persisting=persisting.where(either),
            changed=self.changed.where(in_base[self.changed.base_rows]),
        )

    def within(self, base_mask: Mask, head_mask: Mask) -> "Pairing":
        """Return the pairing as if both frames held nothing but the rows that the masks mark.

        A hash that persists and is marked on one side alone was removed, or added.
        """
        in_base = _among(base_mask, self.base_rows)
        in_head = _among(head_mask, self.head_rows)
        persisting, changed = self.persisting, self.changed
        before, after = in_base[persisting.base_rows], in_head[persisting.head_rows]
        left = persisting.base_rows[before & ~after]
        came = persisting.head_rows[after & ~before]
        return Pairing(
            base=self.base,
            head=self.head,
            base_rows=rows_where(in_base),
            head_rows=rows_where(in_head),
            removed=np.sort(np.concatenate([self.removed[in_base[self.removed]], left])),
            added=np.sort(np.concatenate([self.added[in_head[self.added]], came])),
            persisting=persisting.where(before & after),
            changed=changed.where(in_base[changed.base_rows] & in_head[changed.head_rows]),
        )


def pair(base: Frame, head: Frame) -> Pairing:
    """Pair the hashes of two frames."""
    partners = match(base.hashes, head.hashes)
    is_shared = partners >= 0
    shared = rows_where(is_shared)
    persisting = RowPairs(base, shared, head, partners[shared])
    is_new = np.ones(len(head), np.bool_)
    is_new[persisting.head_rows] = False
    return Pairing(
        base=base,
        head=head,
        base_rows=slice(None),
        head_rows=slice(None),
        removed=rows_where(~is_shared),
        added=rows_where(is_new),
        persisting=persisting,
        changed=persisting.where(changed(persisting)),
    )


def _among(mask: Mask, rows: Rows | slice) -> Mask:
    """Return a mask over all rows of a frame: those among ``rows`` that a mask marks."""
    compared = np.zeros(len(mask), np.bool_)
    compared[rows] = True
    return compared & mask
