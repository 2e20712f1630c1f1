"""Which hashes two frames share, and which of their facts differ.

Hashes are the stable key. A hash that only head has was added, one that only base has was removed,
and one that both have persists; a persisting hash changed if any of its facts differs. All other
results of a comparison follow from this.
"""

from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from functools import cache
from itertools import repeat
from typing import Any, Self, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt

from snapshots.arrays import Codes, Mask, Rows
from snapshots.frames.columns import Arrays, NumberColumn, differing, rows_where
from snapshots.frames.frame import Frame
from snapshots.models import COMPARED_FACTS
from snapshots.spack.names import ROOT_STACK, natural_order

Record = TypeVar("Record")


@cache
def code_of(member: Enum) -> int:
    """Return the code of a member of an enumeration: its index in the order of definition."""
    return list(type(member)).index(member)


class Records(Arrays, Sequence[Record]):
    """Records that are created from columns on access."""

    def _record(self, place: int) -> Record:
        """Return the record at an index."""
        raise NotImplementedError

    def take(self, places: Any) -> Any:
        """Return the records of a slice."""
        return [self._record(place) for place in range(len(self))[places]]

    def __iter__(self) -> Iterator[Record]:
        return map(self._record, range(len(self)))

    def __getitem__(self, place: Any) -> Any:
        """Return the record at an index, or the result of ``take`` for a slice."""
        if isinstance(place, slice):
            return self.take(place)
        return self._record(range(len(self))[place])


class ChangeTable(Records[Record]):
    """Changes of several kinds; ``kinds`` are their codes."""

    kinds: npt.NDArray[np.int8]

    def __len__(self) -> int:
        return len(self.kinds)

    def count(self, kind: Enum) -> int:
        """Return the number of changes of a kind."""
        return int(np.count_nonzero(self.kinds == code_of(kind)))

    def of_kinds(self, kinds: Iterable[Enum] | None) -> Mask:
        """Return a mask of the changes of some kinds; all changes for None."""
        if kinds is None:
            return np.ones(len(self), np.bool_)
        return np.isin(self.kinds, list(map(code_of, kinds)))

    def ordered(self, field: Enum, *, descending: bool = False) -> Self:
        """Return the changes sorted by kind if that is the field, else in the order of the table.

        Kinds are in the order of their enumeration; ``descending`` reverses the entire order.
        """
        if field.value == "kind":
            places = np.argsort(self.kinds, kind="stable").astype(np.int32)
            by_kind: Self = self.take(places[::-1] if descending else places)
            return by_kind
        return self[::-1] if descending else self


class CommonNames(Arrays):
    """The distinct names of two frames, in natural order.

    ``from_base`` and ``from_head`` contain the index in this order of each name of a frame, or -1
    if it is left out; ``in_base`` and ``in_head`` contain the index of each of these names in the
    frame's own list, or -1 if the frame does not have the name.
    """

    def __init__(
        self, base: Sequence[str], head: Sequence[str], left_out: frozenset[str] = frozenset()
    ) -> None:
        # Each list is nearly sorted: sorting their concatenation is faster than sorting a set.
        distinct = dict.fromkeys((*base, *head))
        self.names = natural_order(name for name in distinct if name not in left_out)
        self._places = {name: place for place, name in enumerate(self.names)}
        self.from_base, self.in_base = self._mapped(base)
        self.from_head, self.in_head = self._mapped(head)

    def __len__(self) -> int:
        return len(self.names)

    def place_of(self, name: str) -> int:
        """Return the index of a name; -1 if neither frame has it."""
        return self._places.get(name, -1)

    def with_text(self, text: str) -> Mask:
        """Return a mask of the names that contain a text, ignoring case."""
        lower = text.lower()
        return np.fromiter((lower in name.lower() for name in self.names), np.bool_, len(self))

    def by_text(self) -> Codes:
        """Return the rank of each name in plain text order."""
        ranks = np.empty(len(self), np.int32)
        ranks[[self._places[name] for name in sorted(self._places)]] = np.arange(len(self))
        return ranks

    def _mapped(self, names: Sequence[str]) -> tuple[Codes, Codes]:
        places = np.fromiter(map(self._places.get, names, repeat(-1)), np.int32, len(names))
        inverse = np.full(len(self), -1, np.int32)
        shared = places >= 0
        inverse[places[shared]] = np.flatnonzero(shared)
        return places, inverse


class RowPairs(Arrays, msgspec.Struct, frozen=True):
    """Rows of hashes that two frames share: ``base_rows[n]`` and ``head_rows[n]`` have one hash."""

    base: Frame
    base_rows: Rows
    head: Frame
    head_rows: Rows

    @property
    def size(self) -> int:
        """Number of hashes."""
        return len(self.base_rows)

    @property
    def state_stacks(self) -> bool:
        """Whether the sources of both sides state stacks."""
        return states_stacks(self.base) and states_stacks(self.head)

    def where(self, mask: Mask) -> "RowPairs":
        """Return the pairs that a mask marks."""
        return RowPairs(self.base, self.base_rows[mask], self.head, self.head_rows[mask])


class FieldChange(msgspec.Struct, frozen=True):
    """A fact about a hash that differs; the values are in their JSON form."""

    path: str
    before: Any
    after: Any


def states_stacks(frame: Frame) -> bool:
    """Return whether a source states stacks: it has one other than root, or it has no specs."""
    return not len(frame) or any(stack != ROOT_STACK for stack in frame.stacks.items)


def changed(pairs: RowPairs) -> RowPairs:
    """Return the pairs of which any fact differs."""
    before, after = pairs.base.fingerprints, pairs.head.fingerprints
    differing = pairs.where(before.take(pairs.base_rows) != after.take(pairs.head_rows))
    # A fact that only one side knows is not a change, but the fingerprints differ.
    return differing.where(
        np.logical_or.reduce([differs(name, differing) for name in COMPARED_FACTS])
    )


def field_changes(pairs: RowPairs) -> list[list[FieldChange]]:
    """Return for each pair the differing facts, by name."""
    changes: list[list[FieldChange]] = [[] for _ in range(pairs.size)]
    if not changes:
        return changes
    for name in sorted(COMPARED_FACTS):
        before, after = pairs.base.columns[name], pairs.head.columns[name]
        for place in np.flatnonzero(differs(name, pairs)).tolist():
            values = before.at(pairs.base_rows[place]), after.at(pairs.head_rows[place])
            changes[place].append(FieldChange(name, *(as_json(name, value) for value in values)))
    return changes


def count_changed_facts(pairs: RowPairs) -> npt.NDArray[np.int32]:
    """Return how many hashes differ in each fact: a row per fact, a column per package of head."""
    packages, size = pairs.head.package.codes[pairs.head_rows], len(pairs.head.package.values)
    counts = np.empty((len(COMPARED_FACTS), size), np.int32)
    for number, name in enumerate(COMPARED_FACTS):
        counts[number] = np.bincount(packages[differs(name, pairs)], minlength=size)
    return counts


def differs(name: str, pairs: RowPairs) -> Mask:
    """Return where a fact differs; a fact that may be unknown must be known on both sides."""
    base, base_rows, head, head_rows = pairs.base, pairs.base_rows, pairs.head, pairs.head_rows
    before, after = getattr(base, name), getattr(head, name)
    if name == "stacks":
        if not pairs.state_stacks:
            return np.zeros(pairs.size, np.bool_)
        old, new = before.codes[base_rows], after.codes[head_rows]
        of_stacks: Mask = base.stacks_without_root[old] != head.stacks_without_root[new]
        return of_stacks
    may_be_unknown = COMPARED_FACTS[name].may_be_unknown
    if may_be_unknown and not (before.is_known and after.is_known):
        return np.zeros(pairs.size, np.bool_)
    if isinstance(before, NumberColumn):
        old, new = before.numbers[base_rows], after.numbers[head_rows]
        of_numbers: Mask = (old != new) & (old >= 0) & (new >= 0)
        return of_numbers
    if len(before.values) == 1 and before.values == after.values:
        return np.zeros(pairs.size, np.bool_)
    return differing(before, base_rows, after, head_rows, may_be_unknown=may_be_unknown)


def as_json(name: str, value: Any) -> Any:
    """Return a value in its JSON form; root is left out of stacks."""
    if name == "stacks":
        return [stack for stack in value if stack != ROOT_STACK]
    return list(value) if isinstance(value, tuple) else value


class Pairing(Arrays, msgspec.Struct, frozen=True, kw_only=True):
    """The hashes that were added, removed, persist or changed, as ascending rows of two frames.

    ``base_rows`` and ``head_rows`` are the compared rows: all rows, unless the pairing is narrowed.
    ``removed`` are rows of base, ``added`` rows of head.
    """

    base: Frame
    head: Frame
    base_rows: Rows | slice
    head_rows: Rows | slice
    removed: Rows
    added: Rows
    persisting: RowPairs
    changed: RowPairs

    def narrowed_to(self, base_mask: Mask, head_mask: Mask) -> "Pairing":
        """Return the pairing of the rows that the masks over both frames mark.

        A persisting hash keeps both of its rows if one of them is marked.
        """
        base_rows, head_rows = self.persisting.base_rows, self.persisting.head_rows
        either = base_mask[base_rows] | head_mask[head_rows]
        in_base, in_head = base_mask.copy(), head_mask.copy()
        in_base[base_rows] = in_head[head_rows] = either
        return self.within(in_base, in_head)

    def within(self, base_mask: Mask, head_mask: Mask) -> "Pairing":
        """Return the pairing as if both frames contained only the rows that the masks mark.

        A persisting hash that is marked on only one side counts as removed or added.
        """
        in_base = _among(base_mask, self.base_rows)
        in_head = _among(head_mask, self.head_rows)
        persisting, changed = self.persisting, self.changed
        before, after = in_base[persisting.base_rows], in_head[persisting.head_rows]
        only_base = persisting.base_rows[before & ~after]
        only_head = persisting.head_rows[after & ~before]
        return Pairing(
            base=self.base,
            head=self.head,
            base_rows=rows_where(in_base),
            head_rows=rows_where(in_head),
            removed=np.sort(np.concatenate([self.removed[in_base[self.removed]], only_base])),
            added=np.sort(np.concatenate([self.added[in_head[self.added]], only_head])),
            persisting=persisting.where(before & after),
            changed=changed.where(in_base[changed.base_rows] & in_head[changed.head_rows]),
        )


def pair(base: Frame, head: Frame) -> Pairing:
    """Pair the hashes of two frames."""
    partners = base.hashes.match(head.hashes)
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
        changed=changed(persisting),
    )


def _among(mask: Mask, rows: Rows | slice) -> Mask:
    """Return a mask over all rows of a frame: the rows in ``rows`` that are also marked."""
    compared = np.zeros(len(mask), np.bool_)
    compared[rows] = True
    return compared & mask
