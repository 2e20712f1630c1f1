"""Which facts about a hash are compared, where they differ, and their values on both sides."""

from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from snapshots.frames.columns import Codes, Mask, NumberColumn, Rows
from snapshots.frames.frame import Frame
from snapshots.models import SPEC_FACTS
from snapshots.spack.names import ROOT_STACK

FACTS = [fact.name for fact in SPEC_FACTS.values() if fact.is_compared]
"""The facts that are compared, in the order that people are told them."""

_SOMETIMES_KNOWN = {name for name in FACTS if SPEC_FACTS[name].may_be_unknown}


class RowPairs(NamedTuple):
    """Rows of hashes that two frames share: ``base_rows[n]`` and ``head_rows[n]`` are of one."""

    base: Frame
    base_rows: Rows
    head: Frame
    head_rows: Rows

    @property
    def size(self) -> int:
        """How many hashes there are."""
        return len(self.base_rows)

    @property
    def tell_stacks(self) -> bool:
        """Whether the sources of both sides tell stacks."""
        return tells_stacks(self.base) and tells_stacks(self.head)

    def where(self, mask: Mask) -> "RowPairs":
        """Return the pairs that a mask marks."""
        return self._replace(base_rows=self.base_rows[mask], head_rows=self.head_rows[mask])

    @property
    def num_bytes(self) -> int:
        """How much memory the rows take, without the frames."""
        return self.base_rows.nbytes + self.head_rows.nbytes


class FieldChange(msgspec.Struct, frozen=True):
    """A fact about a hash that differs; the values are as JSON would have them."""

    path: str
    before: Any
    after: Any


def tells_stacks(frame: Frame) -> bool:
    """Tell whether a source told stacks: a spec has one beside root, or there are no specs."""
    return not len(frame) or any(stack != ROOT_STACK for stack in frame.stacks.items)


def changed(pairs: RowPairs) -> Mask:
    """Return where any fact differs."""
    base, base_rows, head, head_rows = pairs
    if not pairs.tell_stacks:  # which the fingerprints have
        any_differs: Mask = np.logical_or.reduce([*differences(pairs).values()])
        return any_differs
    mask: Mask = base.fingerprints[base_rows] != head.fingerprints[head_rows]
    for name in _SOMETIMES_KNOWN:
        mask |= _differs(name, pairs)
    return mask


def differences(pairs: RowPairs) -> dict[str, Mask]:
    """Return for each fact where it differs."""
    return {name: _differs(name, pairs) for name in FACTS}


def field_changes(pairs: RowPairs) -> list[list[FieldChange]]:
    """Return for each pair the facts that differ, by name."""
    changes: list[list[FieldChange]] = [[] for _ in range(pairs.size)]
    if not changes:
        return changes
    for name in sorted(FACTS):
        before, after = pairs.base.columns[name], pairs.head.columns[name]
        for place in np.flatnonzero(_differs(name, pairs)).tolist():
            values = before.at(pairs.base_rows[place]), after.at(pairs.head_rows[place])
            changes[place].append(FieldChange(name, *(_as_json(name, it) for it in values)))
    return changes


def count_changed_facts(pairs: RowPairs) -> npt.NDArray[np.int32]:
    """Return how many hashes differ in each fact: a row a fact, a column a package of head."""
    packages, size = pairs.head.package.codes[pairs.head_rows], len(pairs.head.package.values)
    counts = np.empty((len(FACTS), size), np.int32)
    for number, mask in enumerate(differences(pairs).values()):
        counts[number] = np.bincount(packages[mask], minlength=size)
    return counts


def _differs(name: str, pairs: RowPairs) -> Mask:
    """Return where a fact differs; one that a source may not know only where both sides know it."""
    base, base_rows, head, head_rows = pairs
    before, after = getattr(base, name), getattr(head, name)
    if name == "stacks":
        if not pairs.tell_stacks:
            return np.zeros(pairs.size, np.bool_)
        values = base.stacks_without_root, head.stacks_without_root
        return _unequal(before.codes[base_rows], values[0], after.codes[head_rows], values[1])
    if name in _SOMETIMES_KNOWN and not (before.is_known and after.is_known):
        return np.zeros(pairs.size, np.bool_)
    if isinstance(before, NumberColumn):
        old, new = before.numbers[base_rows], after.numbers[head_rows]
        of_numbers: Mask = (old != new) & (old >= 0) & (new >= 0)
        return of_numbers
    if len(before.values) == 1 and before.values == after.values:
        return np.zeros(pairs.size, np.bool_)
    old_codes, new_codes = before.codes[base_rows], after.codes[head_rows]
    mask = _unequal(old_codes, before.fingerprints, new_codes, after.fingerprints)
    if name in _SOMETIMES_KNOWN:
        mask &= before.known()[old_codes] & after.known()[new_codes]
    return mask


def _unequal(
    before: Codes,
    before_values: npt.NDArray[np.int64],
    after: Codes,
    after_values: npt.NDArray[np.int64],
) -> Mask:
    """Return where the values that the codes stand for are not equal."""
    mask: Mask = before_values[before] != after_values[after]
    return mask


def _as_json(name: str, value: Any) -> Any:
    """Return a value as JSON has it; root is left out of stacks."""
    if name == "stacks":
        return [stack for stack in value if stack != ROOT_STACK]
    return list(value) if isinstance(value, tuple) else value
