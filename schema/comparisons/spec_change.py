"""How the hashes of two revisions differ, and why."""

from collections.abc import Sequence
from itertools import chain
from typing import Annotated, Any

import numpy as np
import strawberry

from schema.comparisons.cause import Cause, CauseRows, CauseStep, StepRows
from schema.comparisons.changes import (
    Change,
    ChangeRows,
    LoadedComparison,
    NamedBy,
    change_connection,
    of_change,
    where_known,
)
from schema.comparisons.field_change import FIELDS, FieldChange
from schema.comparisons.spec_change_reason import SpecChangeReason
from schema.fields.connections import Connection
from schema.fields.cost import EXPLAINING, Cost
from schema.fields.enums import describe_enum
from schema.fields.many import Interleaved, Sublists, WhereKnown, for_many
from schema.fields.ordering import OrderDirection, direction_field
from schema.fields.paging import PageArguments
from schema.revisions.spec import Spec, SpecRows
from snapshots.changes import pairings
from snapshots.changes.diff import SpecChangeField, SpecChangeKind, SpecChanges
from snapshots.changes.pairings import code_of
from snapshots.changes.reasons import REASONS

describe_enum(
    SpecChangeKind,
    "How a hash changed.",
    {
        SpecChangeKind.ADDED: "Only in head.",
        SpecChangeKind.REMOVED: "Only in base.",
        SpecChangeKind.CHANGED: "The same hash, other facts.",
    },
)

describe_enum(
    SpecChangeField,
    "What changed hashes are ordered by; equal ones stand by package and hash.",
    {
        SpecChangeField.PACKAGE: "By package and hash.",
        SpecChangeField.KIND: "By how they changed, in the order of SpecChangeKind.",
    },
    name="SpecChangeOrderField",
)


@strawberry.input(description="An order of changed hashes.")
class SpecChangeOrder:
    """A field and a direction."""

    field: SpecChangeField = strawberry.field(description="What to order by.")
    direction: OrderDirection = direction_field()


SpecChangeOrderArgument = Annotated[
    SpecChangeOrder | None,
    strawberry.argument(description="In which order; by package and hash unless given."),
]


def _specs_before(rows: ChangeRows[Any]) -> WhereKnown:
    return where_known(rows.table.before, lambda it: SpecRows(rows.comparison.base, it))


def _specs_after(rows: ChangeRows[Any]) -> WhereKnown:
    return where_known(rows.table.after, lambda it: SpecRows(rows.comparison.head, it))


def _fields(rows: ChangeRows[Any]) -> Sublists:
    fields: list[list[pairings.FieldChange]] = rows.table.fields()
    return Sublists([*chain.from_iterable(fields)], list(map(len, fields)))


def _reasons(rows: ChangeRows[Any]) -> list[SpecChangeReason]:
    comparison = rows.comparison
    codes = comparison.explanation().reasons(rows.table, comparison.returned())
    return [REASONS[code] for code in codes.tolist()]


def _counterparts(rows: ChangeRows[Any]) -> Interleaved:
    """Return what stands against each: a spec of base for an added one, of head for a removed."""
    comparison, table = rows.comparison, rows.table
    partners = comparison.explanation().counterpart_rows(table)
    known, is_added = partners >= 0, table.before < 0
    choices = np.where(known, np.where(is_added, 0, 1), -1)
    return Interleaved(
        [
            SpecRows(comparison.base, partners[known & is_added]),
            SpecRows(comparison.head, partners[known & ~is_added]),
        ],
        choices.tolist(),
    )


def _main_causes(rows: ChangeRows[Any]) -> WhereKnown:
    numbers = rows.comparison.explanation().main_causes(rows.table)
    return where_known(numbers, lambda it: CauseRows(rows.comparison, it.tolist()))


def _causes(rows: ChangeRows[Any]) -> Sublists:
    involved = rows.comparison.explanation().involved(rows.table)
    counts = np.diff(involved.offsets).tolist()
    return Sublists(CauseRows(rows.comparison, involved.numbers.tolist()), counts)


def _paths(rows: ChangeRows[Any]) -> Sublists:
    paths = rows.comparison.explanation().paths(rows.table)
    steps = [*chain.from_iterable(paths)]
    return Sublists(StepRows(rows.comparison, steps), list(map(len, paths)))


EXPLAINED = Cost(weight=1, once=EXPLAINING)
"""What an explanation has of each hash."""

INVOLVED = Cost(weight=20, items=10, once=EXPLAINING)
"""The causes that are involved in a spec."""

PATH = Cost(weight=200, items=6, once=EXPLAINING)
"""A walk from a spec down to its main cause."""


@strawberry.type(description="How a hash changed, and why.")
class SpecChange(Change):
    """A spec change, with the spec on both sides."""

    kind: SpecChangeKind = of_change(lambda change: change.kind, "How it changed.")
    hash: str = of_change(lambda change: change.hash, "The DAG hash.")
    name: str = of_change(lambda change: change.name, "The package's name.")

    before: Spec | None = for_many(_specs_before, "The spec in base; null where it was added.")
    after: Spec | None = for_many(_specs_after, "The spec in head; null where it was removed.")
    fields: list[FieldChange] = for_many(_fields, "What differs, for CHANGED.", cost=FIELDS)
    reason: SpecChangeReason = for_many(_reasons, "Why it came, went or changed.", cost=EXPLAINED)
    counterpart: Spec | None = for_many(
        _counterparts,
        "What it took the place of, or what took its place; null where nothing did.",
        cost=EXPLAINED,
    )
    cause: Cause | None = for_many(
        _main_causes,
        "The main cause of what took its place, or of it; null without a counterpart.",
        cost=Cost(weight=5, once=EXPLAINING),
    )
    causes: list[Cause] = for_many(
        _causes, "All causes that are involved, the main one first.", cost=INVOLVED
    )
    path: list[CauseStep] = for_many(
        _paths,
        "The chain of dependencies from the spec to its main cause; only itself where the cause "
        "is its own. Empty without a counterpart.",
        cost=PATH,
    )


def spec_change_connection(
    comparison: LoadedComparison,
    table: SpecChanges,
    arguments: PageArguments,
    order: SpecChangeOrder | None = None,
) -> Connection[SpecChange]:
    """Return a page of a table of changed hashes; by package and hash unless ordered."""
    if order is not None:
        table = table.ordered(order.field, descending=order.direction is OrderDirection.DESC)
    return change_connection(SpecChange, comparison, table, NamedBy(table, "hash"), arguments)


def with_reasons(
    comparison: LoadedComparison, table: SpecChanges, wanted: Sequence[SpecChangeReason]
) -> SpecChanges:
    """Return the changes of a table that have one of the reasons."""
    reasons = comparison.explanation().reasons(table, comparison.returned())
    return table.take(np.isin(reasons, [code_of(reason) for reason in wanted]))
