"""The causes of small contents."""

from collections.abc import Iterable

import numpy as np

from snapshots.changes.causes import Causes
from snapshots.changes.explanation import explain_pairs
from snapshots.changes.sides import Side
from snapshots.frames.columns import Rows
from snapshots.models import CauseKind
from tests.snapshots.changes.cause_records import records
from tests.snapshots.changes.graphs import node


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


def all_rows(side: Side) -> Rows:
    """Return all rows of a side."""
    return np.arange(len(side.frame), dtype=np.int32)


def titles_and_numbers(causes: Causes) -> list[tuple[str, int, int]]:
    """Return the title of each cause, and how many specs it explains and is involved in."""
    return [(record.title, record.num_specs, record.num_involved) for record in records(causes)]


def named(causes: Causes) -> list[tuple[CauseKind, str | None, str | None, str | None]]:
    """Return the name of each cause."""
    return [
        (record.kind, record.package, record.before, record.after) for record in records(causes)
    ]


def names_on(causes: Causes, head: Side, label: str) -> list[str]:
    """Return the names of the packages on the path of a label."""
    return [step.name for step in causes.path(row_of(head, label))]
