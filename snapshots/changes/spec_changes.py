"""The hashes that were added, removed or changed, as columns."""

from collections.abc import Iterator, Sequence
from enum import Enum
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from snapshots.changes.common_names import CommonNames
from snapshots.changes.facts import FieldChange, RowPairs, field_changes
from snapshots.changes.pairing import Pairing
from snapshots.frames.columns import Mask, Rows
from snapshots.frames.filters import SpecFilter
from snapshots.frames.frame import Frame
from snapshots.frames.hashes import WIDTH

_KEY_BITS = 60
_NO_ROW = -1


class SpecChangeKind(Enum):
    """The kind of change of a hash."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


class SpecChangeField(Enum):
    """What changed hashes can be ordered by. Equal ones stand by package and hash."""

    PACKAGE = "package"
    KIND = "kind"


_KINDS = tuple(SpecChangeKind)
_CODES = {kind: np.int8(code) for code, kind in enumerate(_KINDS)}


class SpecChange(msgspec.Struct, frozen=True):
    """A hash that was added, removed or changed, with its rows in base and in head, if any."""

    kind: SpecChangeKind
    hash: str
    name: str
    before: int | None
    after: int | None


class SpecChanges(Sequence[SpecChange]):
    """A table of changed hashes, by package and hash; a record is made where one is asked for.

    The columns are ``kinds`` (codes in the order of SpecChangeKind) and the rows in base and in
    head, ``before`` and ``after``; -1 stands for none.
    """

    def __init__(
        self, base: Frame, head: Frame, kinds: npt.NDArray[np.int8], before: Rows, after: Rows
    ) -> None:
        self.base = base
        self.head = head
        self.kinds = kinds
        self.before = before
        self.after = after

    def __len__(self) -> int:
        return len(self.kinds)

    def __iter__(self) -> Iterator[SpecChange]:
        return map(self._record, range(len(self)))

    def __getitem__(self, place: Any) -> Any:
        """Return the record at a place, or the table of a slice."""
        return self.take(place) if isinstance(place, slice) else self._record(place)

    def _record(self, place: int) -> SpecChange:
        before, after = int(self.before[place]), int(self.after[place])
        frame, row = (self.base, before) if after == _NO_ROW else (self.head, after)
        return SpecChange(
            _KINDS[self.kinds[place]],
            frame.hashes.at(row),
            frame.package.at(row),
            None if before == _NO_ROW else before,
            None if after == _NO_ROW else after,
        )

    @property
    def num_bytes(self) -> int:
        """How much memory the columns take."""
        return self.kinds.nbytes + self.before.nbytes + self.after.nbytes

    def count(self, kind: Any) -> int:
        """Return how many of the changes are of a kind."""
        return int(np.count_nonzero(self.kinds == _CODES[kind]))

    def take(self, places: slice | Mask | Rows) -> "SpecChanges":
        """Return the table of the changes at some places."""
        columns = self.kinds[places], self.before[places], self.after[places]
        return SpecChanges(self.base, self.head, *columns)

    def select(
        self, kinds: Sequence[SpecChangeKind] | None = None, conditions: SpecFilter | None = None
    ) -> "SpecChanges":
        """Return the changes of these kinds whose spec meets the conditions before or after."""
        mask = np.ones(len(self), np.bool_)
        if kinds is not None:
            mask &= np.isin(self.kinds, [_CODES[kind] for kind in kinds])
        if conditions is not None:
            met_before = _met(self.base, self.before, conditions)
            mask &= met_before | _met(self.head, self.after, conditions)
        return self if mask.all() else self.take(mask)

    def ordered(self, field: SpecChangeField, *, descending: bool = False) -> "SpecChanges":
        """Return the changes of this table, which stand by package and hash, in another order.

        Kinds stand in the order of SpecChangeKind; ``descending`` is all of it backwards.
        """
        if field is SpecChangeField.KIND:
            places = np.argsort(self.kinds, kind="stable").astype(np.int32)
            return self.take(places[::-1] if descending else places)
        return self.take(slice(None, None, -1)) if descending else self

    def find(self, text: str) -> int | None:
        """Return the place of a hash; None where it is not among the changes."""
        for frame, rows in ((self.head, self.after), (self.base, self.before)):
            row = frame.hashes.find(text)
            if row is not None:
                return next(iter(np.flatnonzero(rows == row).tolist()), None)
        return None

    def fields(self) -> list[list[FieldChange]]:
        """Return for each change the facts that differ; none unless it is of kind CHANGED."""
        fields: list[list[FieldChange]] = [[] for _ in range(len(self))]
        places = np.flatnonzero(self.kinds == _CODES[SpecChangeKind.CHANGED])
        pairs = RowPairs(self.base, self.before[places], self.head, self.after[places])
        for place, found in zip(places.tolist(), field_changes(pairs), strict=True):
            fields[place] = found
        return fields


def list_spec_changes(pairing: Pairing, packages: CommonNames) -> SpecChanges:
    """Return the table of all hashes that were added, removed or changed."""
    added, removed, changed = pairing.added, pairing.removed, pairing.changed
    rows_of = {
        SpecChangeKind.ADDED: (_no_rows(len(added)), added),
        SpecChangeKind.REMOVED: (removed, _no_rows(len(removed))),
        SpecChangeKind.CHANGED: (changed.base_rows, changed.head_rows),
    }
    kinds = [np.full(len(rows), _CODES[kind], np.int8) for kind, (rows, _) in rows_of.items()]
    before, after = zip(*rows_of.values(), strict=True)
    table = SpecChanges(pairing.base, pairing.head, *map(np.concatenate, (kinds, before, after)))
    return table.take(_by_package_and_hash(pairing, packages))


def _by_package_and_hash(pairing: Pairing, packages: CommonNames) -> Rows:
    """Return the order of the added, the removed and the changed: by package's name, by hash."""
    parts = (
        (pairing.head, packages.from_head, pairing.added),
        (pairing.base, packages.from_base, pairing.removed),
        (pairing.head, packages.from_head, pairing.changed.head_rows),
    )
    ranks = packages.by_text().astype(np.uint64)
    of_package = np.concatenate(
        [ranks[places[frame.package.codes[rows]]] for frame, places, rows in parts]
    )
    hash_keys = np.concatenate([frame.hashes.keys[rows] for frame, _, rows in parts])
    # One number to sort by: the package, and as much of the hash as there is room for beside it.
    room = min(_KEY_BITS, 64 - len(packages).bit_length())
    keys = (of_package << np.uint64(room)) | (hash_keys >> np.uint64(_KEY_BITS - room))
    order = np.argsort(keys, kind="stable")
    in_order = keys[order]
    if (in_order[1:] == in_order[:-1]).any():
        texts = np.concatenate([frame.hashes.table[rows] for frame, _, rows in parts])
        order = np.lexsort((texts.view(f"S{WIDTH}").ravel(), of_package))
    return order.astype(np.int32)


def _met(frame: Frame, rows: Rows, conditions: SpecFilter) -> Mask:
    """Return which of the rows meet the conditions; where there is no row, none are met."""
    mask = np.zeros(len(rows), np.bool_)
    there = rows != _NO_ROW
    mask[there] = frame.select(conditions)[rows[there]]
    return mask


def _no_rows(size: int) -> Rows:
    return np.full(size, _NO_ROW, np.int32)
