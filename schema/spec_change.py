"""How the hashes of two revisions differ."""

from typing import Any

import strawberry
from strawberry.scalars import JSON

from schema.changes import Change, ChangeRows, of_change, where_known
from schema.cost import Cost
from schema.enums import describe_enum
from schema.many import Sublists, WhereKnown, for_many
from schema.spec import Spec, SpecRows
from snapshots.changes import facts
from snapshots.changes.spec_changes import SpecChangeKind

describe_enum(
    SpecChangeKind,
    "How a hash changed.",
    {
        SpecChangeKind.ADDED: "Only in head.",
        SpecChangeKind.REMOVED: "Only in base.",
        SpecChangeKind.CHANGED: "The same hash, other facts.",
    },
)

FIELDS = Cost(weight=5, items=10)
"""The facts of a spec that can differ."""


@strawberry.type(
    description="A fact that differs: path as in stacks, compiler, variants; before and after as "
    "JSON."
)
class FieldChange:
    """A field change."""

    path: str = strawberry.field(description="The field that differs.")
    before: JSON | None = strawberry.field(description="Its value in base.")
    after: JSON | None = strawberry.field(description="Its value in head.")


def _specs_before(rows: ChangeRows[Any]) -> WhereKnown:
    return where_known(rows.table.before, lambda it: SpecRows(rows.comparison.base, it))


def _specs_after(rows: ChangeRows[Any]) -> WhereKnown:
    return where_known(rows.table.after, lambda it: SpecRows(rows.comparison.head, it))


def _fields(rows: ChangeRows[Any]) -> Sublists:
    fields: list[list[facts.FieldChange]] = rows.table.fields()
    return Sublists([field for of_one in fields for field in of_one], list(map(len, fields)))


@strawberry.type(description="How a hash changed.")
class SpecChange(Change):
    """A spec change, with the spec on both sides."""

    kind: SpecChangeKind = of_change(lambda change: change.kind, "How it changed.")
    hash: str = of_change(lambda change: change.hash, "The DAG hash.")
    name: str = of_change(lambda change: change.name, "The package's name.")

    before: Spec | None = for_many(_specs_before, "The spec in base; null where it was added.")
    after: Spec | None = for_many(_specs_after, "The spec in head; null where it was removed.")
    fields: list[FieldChange] = for_many(_fields, "What differs, for CHANGED.", cost=FIELDS)
