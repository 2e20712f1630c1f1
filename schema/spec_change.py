"""What became of the hashes of two revisions."""

from collections.abc import Sequence
from enum import Enum
from typing import Any

import strawberry
from strawberry.scalars import JSON

from schema.batches import Children, batched, json_texts
from schema.changes import ChangeRows, LoadedComparison, kind_of_change, of_change, where_known
from schema.context import LoadedRevision
from schema.spec import Spec, SpecRows
from snapshots.changes import facts, spec_changes


@strawberry.enum(description="What became of a hash.")
class SpecChangeKind(Enum):
    """A kind of spec change."""

    ADDED = strawberry.enum_value(spec_changes.SpecChangeKind.ADDED, description="Only in head.")
    REMOVED = strawberry.enum_value(
        spec_changes.SpecChangeKind.REMOVED, description="Only in base."
    )
    CHANGED = strawberry.enum_value(
        spec_changes.SpecChangeKind.CHANGED, description="The same hash, other facts."
    )


def _of_field(name: str, description: str) -> Any:
    """Declare a field of FieldChange, once for one and for many."""

    def texts(changes: Sequence[Any]) -> list[str]:
        return json_texts(getattr(change, name) for change in changes)

    return strawberry.field(description=description, metadata=batched(texts))


@strawberry.type(
    description="A fact that differs: path as in stacks, compiler, variants; before and after as "
    "JSON."
)
class FieldChange:
    """A field change."""

    path: str = _of_field("path", "The field that differs.")
    before: JSON | None = _of_field("before", "Its value in base.")
    after: JSON | None = _of_field("after", "Its value in head.")


def _specs_before(rows: ChangeRows[Any]) -> Children:
    return where_known(rows.table.before, lambda it: SpecRows(rows.comparison.base, it))


def _specs_after(rows: ChangeRows[Any]) -> Children:
    return where_known(rows.table.after, lambda it: SpecRows(rows.comparison.head, it))


def _fields(rows: ChangeRows[Any]) -> Children:
    fields: list[list[facts.FieldChange]] = rows.table.fields()
    return Children([field for of_one in fields for field in of_one], list(map(len, fields)))


@strawberry.type(description="What became of a hash.")
class SpecChange:
    """A spec change, with the spec on both sides."""

    comparison: strawberry.Private[LoadedComparison]
    change: strawberry.Private[spec_changes.SpecChange]

    kind: SpecChangeKind = kind_of_change(SpecChangeKind, "What became of it.")
    hash: str = of_change(lambda change: change.hash, "The DAG hash.")
    name: str = of_change(lambda change: change.name, "The package's name.")

    @strawberry.field(
        description="The spec in base; null where it was added.", metadata=batched(_specs_before)
    )
    def before(self) -> Spec | None:
        return _spec(self.comparison.base, self.change.before)

    @strawberry.field(
        description="The spec in head; null where it was removed.", metadata=batched(_specs_after)
    )
    def after(self) -> Spec | None:
        return _spec(self.comparison.head, self.change.after)

    @strawberry.field(description="What differs, for CHANGED.", metadata=batched(_fields))
    def fields(self) -> list[FieldChange]:
        changes = self.comparison.changes.field_changes(self.change)
        return [FieldChange(path=it.path, before=it.before, after=it.after) for it in changes]


def _spec(loaded: LoadedRevision, row: int | None) -> Spec | None:
    return None if row is None else Spec(loaded=loaded, row=row)
