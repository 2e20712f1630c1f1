"""The difference of two frames: a pure function by hash, then grouped by package and stack."""

from collections.abc import Sequence
from enum import Enum

import msgspec
import numpy as np
import numpy.typing as npt

from snapshots.arrays import NO_ROW, Mask, Rows
from snapshots.changes import pairings
from snapshots.changes.package_changes import PackageChanges, list_package_changes
from snapshots.changes.stack_changes import StackChanges, common_stacks
from snapshots.frames.columns import Arrays, rows_where
from snapshots.frames.filters import SpecFilter
from snapshots.frames.frame import Frame
from snapshots.frames.hashes import WIDTH
from snapshots.models import COMPARED_FACTS

_KEY_BITS = 60


class SpecChangeKind(Enum):
    """How a hash changed.

    - ADDED: Only in head.
    - REMOVED: Only in base.
    - CHANGED: The same hash, other facts.
    """

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


class SpecChangeField(Enum):
    """The fields by which changed hashes can be ordered.

    Ties are ordered by package and hash.

    - PACKAGE: By package and hash.
    - KIND: By how they changed, in the order of SpecChangeKind.
    """

    PACKAGE = "package"
    KIND = "kind"


_KINDS = tuple(SpecChangeKind)


class SpecChange(msgspec.Struct, frozen=True):
    """A hash that was added, removed or changed, with its rows in base and in head, if any."""

    kind: SpecChangeKind
    hash: str
    name: str
    before: int | None
    after: int | None


class SpecChanges(pairings.ChangeTable[SpecChange]):
    """A table of changed hashes, by package and hash; records are created on access.

    The columns are ``kinds`` (codes in the order of SpecChangeKind) and the rows in base and in
    head, ``before`` and ``after``; -1 means none.
    """

    def __init__(
        self, base: Frame, head: Frame, kinds: npt.NDArray[np.int8], before: Rows, after: Rows
    ) -> None:
        self.base = base
        self.head = head
        self.kinds = kinds
        self.before = before
        self.after = after

    def _record(self, place: int) -> SpecChange:
        before, after = int(self.before[place]), int(self.after[place])
        frame, row = (self.base, before) if after == NO_ROW else (self.head, after)
        return SpecChange(
            _KINDS[self.kinds[place]],
            frame.hashes.at(row),
            frame.package.at(row),
            None if before == NO_ROW else before,
            None if after == NO_ROW else after,
        )

    def take(self, places: slice | Mask | Rows) -> "SpecChanges":
        """Return the table of the changes at some indices."""
        columns = self.kinds[places], self.before[places], self.after[places]
        return SpecChanges(self.base, self.head, *columns)

    def select(
        self, kinds: Sequence[SpecChangeKind] | None = None, conditions: SpecFilter | None = None
    ) -> "SpecChanges":
        """Return the changes of the given kinds whose spec meets the conditions before or after."""
        mask = self.of_kinds(kinds)
        if conditions is not None:
            met_before = _met(self.base, self.before, conditions)
            mask &= met_before | _met(self.head, self.after, conditions)
        return self if mask.all() else self.take(mask)

    def find(self, text: str) -> int | None:
        """Return the index of a hash; None if it is not among the changes."""
        for frame, rows in ((self.head, self.after), (self.base, self.before)):
            row = frame.hashes.find(text)
            if row is not None:
                return next(iter(np.flatnonzero(rows == row).tolist()), None)
        return None

    def fields(self, counterparts: Rows | None = None) -> list[list[pairings.FieldChange]]:
        """Return for each change the facts that differ, including those from its counterpart.

        ``counterparts`` are rows of base for added specs and rows of head for removed ones; -1
        means none, as for changed specs. Without it, only facts of changed specs differ.
        """
        if counterparts is None:
            counterparts = _no_rows(len(self))
        fields: list[list[pairings.FieldChange]] = [[] for _ in range(len(self))]
        before = np.where(self.before == NO_ROW, counterparts, self.before)
        after = np.where(self.after == NO_ROW, counterparts, self.after)
        places = np.flatnonzero((before != NO_ROW) & (after != NO_ROW))
        pairs = pairings.RowPairs(self.base, before[places], self.head, after[places])
        for place, changes in zip(places.tolist(), pairings.field_changes(pairs), strict=True):
            fields[place] = changes
        return fields


def list_spec_changes(pairing: pairings.Pairing, packages: pairings.CommonNames) -> SpecChanges:
    """Return the table of all hashes that were added, removed or changed."""
    added, removed, changed = pairing.added, pairing.removed, pairing.changed
    rows_of = {
        SpecChangeKind.ADDED: (_no_rows(len(added)), added),
        SpecChangeKind.REMOVED: (removed, _no_rows(len(removed))),
        SpecChangeKind.CHANGED: (changed.base_rows, changed.head_rows),
    }
    kinds = [
        np.full(len(rows), pairings.code_of(kind), np.int8) for kind, (rows, _) in rows_of.items()
    ]
    before, after = zip(*rows_of.values(), strict=True)
    table = SpecChanges(pairing.base, pairing.head, *map(np.concatenate, (kinds, before, after)))
    return table.take(_by_package_and_hash(pairing, packages))


def _by_package_and_hash(pairing: pairings.Pairing, packages: pairings.CommonNames) -> Rows:
    """Return the order of added, removed and changed hashes by package name and hash."""
    parts = (
        (pairing.head, packages.from_head, pairing.added),
        (pairing.base, packages.from_base, pairing.removed),
        (pairing.head, packages.from_head, pairing.changed.head_rows),
    )
    ranks = packages.by_text().astype(np.uint64)
    of_package = np.concatenate(
        [ranks[places[frame.package.codes[rows]]] for frame, places, rows in parts]
    )
    hash_keys = np.concatenate([frame.hashes.keys_at(rows) for frame, _, rows in parts])
    # A single sort key: the package, and as many bits of the hash as fit.
    room = min(_KEY_BITS, 64 - len(packages).bit_length())
    keys = (of_package << np.uint64(room)) | (hash_keys >> np.uint64(_KEY_BITS - room))
    order = np.argsort(keys, kind="stable")  # the rows of a package are nearly sorted
    in_order = keys[order]
    if (in_order[1:] == in_order[:-1]).any():
        texts = np.concatenate([frame.hashes.words_at(rows) for frame, _, rows in parts])
        order = np.lexsort((texts.view(f"S{WIDTH}").ravel(), of_package))
    return order.astype(np.int32)


def _met(frame: Frame, rows: Rows, conditions: SpecFilter) -> Mask:
    """Return which of the rows meet the conditions; False where there is no row."""
    mask = np.zeros(len(rows), np.bool_)
    has_row = rows != NO_ROW
    mask[has_row] = frame.select(conditions)[rows[has_row]]
    return mask


def _no_rows(size: int) -> Rows:
    return np.full(size, NO_ROW, np.int32)


class Comparison(Arrays):
    """The difference from base to head, in columns that are computed immediately.

    ``specs``, ``packages`` and ``stacks`` are the tables of changes.
    """

    def __init__(self, base: Frame, head: Frame, pairing: pairings.Pairing | None = None) -> None:
        self.base = base
        self.head = head
        self.pairing = pairings.pair(base, head) if pairing is None else pairing
        names = pairings.CommonNames(base.packages, head.packages)
        self.specs: SpecChanges = list_spec_changes(self.pairing, names)
        self.packages: PackageChanges = list_package_changes(self.pairing, names)
        self.stacks = StackChanges(self.pairing, common_stacks(self.pairing), names)

    def narrowed_to(self, base_mask: Mask, head_mask: Mask) -> "Comparison":
        """Return the comparison of the specs that the masks over both frames mark.

        A hash that both sides have is included, with both rows, if one of them is marked. The
        summary, packages, stacks and unchanged specs all refer to the included specs only.
        """
        return Comparison(self.base, self.head, self.pairing.narrowed_to(base_mask, head_mask))

    @property
    def num_unchanged(self) -> int:
        """Number of hashes that both sides have with the same facts."""
        return self.pairing.persisting.size - self.pairing.changed.size

    @property
    def num_packages_unchanged(self) -> int:
        """Number of packages that both sides have with the same hashes and facts."""
        return self.packages.num_compared - len(self.packages)

    @property
    def binaries_replaced(self) -> SpecChanges:
        """The changes of hashes whose binaries have another known checksum on each side."""
        places = rows_where(self.specs.of_kinds([SpecChangeKind.CHANGED]))
        before, after = self.specs.before[places], self.specs.after[places]
        pairs = pairings.RowPairs(self.base, before, self.head, after)
        return self.specs.take(places[pairings.differs("checksum", pairs)])

    def changed_facts(self) -> dict[str, dict[str, int]]:
        """Return the number of persisting specs with another value, by package and changed fact."""
        changed = pairings.count_changed_facts(self.pairing.changed)
        packages, facts = np.nonzero(changed.T)
        counts = changed[facts, packages].tolist()
        facts_by_number = [*COMPARED_FACTS]
        by_package: dict[str, dict[str, int]] = {}
        for code, fact, count in zip(packages.tolist(), facts.tolist(), counts, strict=True):
            by_package.setdefault(self.head.package.values[code], {})[facts_by_number[fact]] = count
        return by_package
