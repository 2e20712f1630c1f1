"""The causes of small contents, and causes as records with all of their facts."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from snapshots.changes.causes import Causes
from snapshots.changes.explanation import explain_pairs
from snapshots.changes.pairings import FieldChange
from snapshots.changes.sides import Side
from snapshots.changes.vocabulary import cause_title
from snapshots.models import CauseKind
from tests.snapshots.changes.graphs import node


class CauseRecord(NamedTuple):
    """A cause: its name, and all values that ``Causes`` has for its number."""

    kind: CauseKind
    package: str | None
    before: str | None
    after: str | None
    title: str
    key: str
    facts: list[FieldChange]
    why_unknown: str | None
    together: tuple[int, ...]
    num_together: int
    num_specs: int
    num_involved: int
    packages: tuple[str, ...]


def records(causes: Causes) -> list[CauseRecord]:
    """Return the records of all causes, by their numbers."""
    return [_record(causes, number) for number in range(len(causes))]


def _record(causes: Causes, number: int) -> CauseRecord:
    name = causes.name_of(number)
    return CauseRecord(
        name.kind,
        name.package,
        name.before,
        name.after,
        title=cause_title(name),
        key=name.key,
        facts=causes.facts_of(number),
        why_unknown=causes.why_unknown(number),
        together=tuple(causes.together_with(number)),
        num_together=causes.num_together(number),
        num_specs=causes.num_specs(number),
        num_involved=causes.num_involved(number),
        packages=causes.packages_of(number),
    )


def causes_of(base: Side, head: Side, pairs: Iterable[tuple[str, str]] | None = None) -> Causes:
    """Return the causes of pairs of labels; by default, of specs with the same package."""
    if pairs is None:
        before, after = (
            {frame.package.at(row): row for row in range(len(frame))}
            for frame in (base.frame, head.frame)
        )
        rows = [
            (before[name], after[name])
            for name in before.keys() & after.keys()
            if base.frame.hashes.at(before[name]) != head.frame.hashes.at(after[name])
        ]
    else:
        rows = [(row_of(base, old), row_of(head, new)) for old, new in pairs]
    ours, theirs = np.array(sorted(rows), np.int32).reshape(-1, 2).T
    return explain_pairs(base, head, ours, theirs).causes


def row_of(side: Side, label: str) -> int:
    """Return the row of a label."""
    row = side.frame.hashes.find(node(label).hash)
    assert row is not None
    return row
