"""How the hashes of two revisions differ, and why."""

from functools import partial
from operator import attrgetter
from typing import Annotated, Any

import msgspec
import numpy as np
import strawberry

from schema.comparisons.cause import Cause, CauseRows, CauseStepType
from schema.comparisons.changes import (
    FIELDS,
    FieldChangeType,
    PartRows,
    change_connection,
    change_of_id,
    id_of_record,
)
from schema.fields.connections import Order, order_by
from schema.fields.cost import EXPLAINING, Cost
from schema.fields.many import (
    ListedRecord,
    Sublists,
    WhereKnown,
    attribute,
    for_many,
    of_record,
)
from schema.fields.scalars import deprecated, describe_enum, object_type
from schema.node import Node
from schema.revisions.spec import SpecRows, SpecType
from snapshots.changes.diff import SpecChangeField, SpecChangeKind
from snapshots.changes.reasons import REASONS, SpecChangeReason

describe_enum(SpecChangeKind)

SpecChangeOrderArgument = Annotated[
    Order | None,
    order_by("SpecChangeOrder", "changed hashes", SpecChangeField, ties="package and hash"),
]


def _specs_before(rows: PartRows[Any]) -> WhereKnown:
    """The spec in base; null where it was added."""
    return WhereKnown.at(rows.table.before, lambda at: SpecRows(rows.comparison.base, at))


def _specs_after(rows: PartRows[Any]) -> WhereKnown:
    """The spec in head; null where it was removed."""
    return WhereKnown.at(rows.table.after, lambda at: SpecRows(rows.comparison.head, at))


def _fields(rows: PartRows[Any]) -> Sublists:
    """What differs: of a hash that changed, or of the two of which one took the other's place."""
    counterparts = rows.comparison.explanation().counterpart_rows(rows.table)
    return Sublists.of(rows.table.fields(counterparts))


def _reasons(rows: PartRows[Any]) -> list[SpecChangeReason]:
    """Why it came, went or changed."""
    comparison = rows.comparison
    codes = comparison.explanation().reasons(rows.table, comparison.returned())
    return [REASONS[code] for code in codes.tolist()]


def _counterparts(rows: PartRows[Any]) -> WhereKnown:
    """What it took the place of, or what took its place; null where nothing did."""
    comparison, table = rows.comparison, rows.table
    partners = comparison.explanation().counterpart_rows(table)
    has_one, is_added = partners >= 0, table.before < 0
    choices = np.where(has_one, np.where(is_added, 0, 1), -1)
    return WhereKnown(
        [
            SpecRows(comparison.base, partners[has_one & is_added]),
            SpecRows(comparison.head, partners[has_one & ~is_added]),
        ],
        choices.tolist(),
    )


def _ambiguous(rows: PartRows[Any]) -> list[bool]:
    """Whether another spec could be its counterpart as well, or it could have one: the sources tell
    no difference.
    """
    return [tie is not None for tie in rows.comparison.explanation().ties(rows.table)]


def _why_ambiguous(rows: PartRows[Any]) -> list[str | None]:
    """What is not known, where it is ambiguous: 1 of 2 was rebuilt; which is not known."""
    return rows.comparison.explanation().why_ambiguous(rows.table)


def _main_causes(rows: PartRows[Any]) -> WhereKnown:
    """The main cause of what took its place, or of it; null without a counterpart."""
    numbers = rows.comparison.explanation().main_causes(rows.table)
    return WhereKnown.at(numbers, lambda at: CauseRows(rows.comparison, at.tolist()))


def _causes(rows: PartRows[Any]) -> Sublists:
    """All causes that are involved, the main one first."""
    involved = rows.comparison.explanation().involved(rows.table)
    counts = np.diff(involved.offsets).tolist()
    return Sublists(CauseRows(rows.comparison, involved.numbers.tolist()), counts)


def _paths(rows: PartRows[Any]) -> Sublists:
    """The chain of dependencies from the spec to its main cause; only itself where the cause is its
    own. Empty without a counterpart.
    """
    paths = rows.comparison.explanation().paths(rows.table)
    return Sublists.of(paths, lambda steps: PartRows(CauseStepType, rows.comparison, steps))


EXPLAINED = Cost(weight=1, once=EXPLAINING)
"""What an explanation has of each hash."""

INVOLVED = Cost(weight=20, items=10, once=EXPLAINING)
"""The causes that are involved in a spec."""

PATH = Cost(weight=200, items=6, once=EXPLAINING)
"""A walk from a spec down to its main cause."""


@object_type
class SpecChangeType(ListedRecord, Node):
    """How a hash changed, and why.

    - kind: How it changed.
    - hash: The DAG hash.
    - name: The package's name.
    """

    of_id = change_of_id(attrgetter("specs"))
    id: strawberry.ID = id_of_record("SpecChange", "hash")
    kind: SpecChangeKind = of_record("kind")
    hash: str = of_record("hash")
    name: str = of_record("name")
    before: SpecType | None = for_many(_specs_before)
    after: SpecType | None = for_many(_specs_after)
    fields: list[FieldChangeType] = for_many(
        _fields, cost=msgspec.structs.replace(FIELDS, weight=8, once=EXPLAINING)
    )
    reason: SpecChangeReason = for_many(_reasons, cost=EXPLAINED)
    counterpart: SpecType | None = for_many(_counterparts, cost=EXPLAINED)
    ambiguous: bool = for_many(_ambiguous, cost=EXPLAINED)
    why_ambiguous: str | None = for_many(_why_ambiguous, cost=EXPLAINED)
    cause: Cause | None = for_many(_main_causes, cost=Cost(weight=5, once=EXPLAINING))
    causes: list[Cause] = for_many(_causes, cost=INVOLVED)
    path: list[CauseStepType] = for_many(_paths, cost=PATH)


spec_change_connection = partial(change_connection, SpecChangeType, cursor=attrgetter("hash"))
"""Returns a page of a table of changed hashes; by package and hash unless ordered."""

REASON_COUNTS = Cost(weight=5_000, items=len(REASONS), once=EXPLAINING)
"""The reasons of all changed hashes, counted."""


@object_type
class ReasonCount:
    """How many specs were added, removed or changed for one reason.

    - reason: The reason.
    - num_specs: How many specs.
    - count: As `numSpecs`.
    """

    reason: SpecChangeReason
    num_specs: int
    count: int = deprecated("Use `numSpecs`.")(attribute("num_specs", int, is_for_many=True))
