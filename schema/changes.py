"""What the nouns of a comparison share: the comparison with both revisions, and their fields."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any, Generic, TypeVar

import numpy as np
import strawberry

from schema.batches import Batch, Children, batched, json_texts
from schema.connections import Connection, Page, PageArguments, bad_cursor, window
from schema.context import LoadedRevision
from schema.scalars import ByteCount
from snapshots.changes import diff
from snapshots.frames.columns import Rows

Item = TypeVar("Item")


@dataclass(frozen=True)
class LoadedComparison:
    """A comparison with its two revisions."""

    base: LoadedRevision
    head: LoadedRevision
    changes: diff.Comparison


class ChangeRows(Batch[Item], Generic[Item]):
    """Changes of a table as objects of the API, each made only where somebody asks for it."""

    def __init__(self, make: Callable[..., Item], comparison: LoadedComparison, table: Any) -> None:
        self._make = make
        self.comparison = comparison
        self.table = table

    def __len__(self) -> int:
        return len(self.table)

    def __getitem__(self, place: Any) -> Any:
        return self._make(comparison=self.comparison, change=self.table[place])

    @cached_property
    def records(self) -> list[Any]:
        """The record of each change."""
        return list(self.table)


def of_change(value: Callable[[Any], Any], description: str) -> Any:
    """Declare a field whose value follows from the record of a change alone."""

    def resolve(root: Any) -> Any:
        return value(root.change)

    def texts(rows: ChangeRows[Any]) -> list[str]:
        return json_texts(map(value, rows.records))

    return strawberry.field(resolver=resolve, description=description, metadata=batched(texts))


def kind_of_change(enum: type[Enum], description: str) -> Any:
    """Declare the field that tells the kind of a change.

    ``enum`` is the API's enum, whose values are the members of the domain's, by the same names.
    """

    def resolve(root: Any) -> Any:
        return enum(root.change.kind)

    def texts(rows: ChangeRows[Any]) -> list[str]:
        return [f'"{change.kind.name}"' for change in rows.records]

    return strawberry.field(resolver=resolve, description=description, metadata=batched(texts))


def where_known(places: Rows, make: Callable[[Rows], Any]) -> Children:
    """Return one child for each place, none for -1; ``make`` makes those of the others."""
    known = places >= 0
    return Children(make(places[known]), known.astype(np.int8).tolist())


def size_delta(before: int | None, after: int | None) -> ByteCount | None:
    """Return by how many bytes a size rose; None where one of the two is not known."""
    return None if before is None or after is None else ByteCount(after - before)


def change_connection(
    make: Callable[..., Item],
    comparison: LoadedComparison,
    table: Any,
    key: str,
    arguments: PageArguments,
) -> Connection[Item]:
    """Return a connection over a table of changes, whose cursors are what ``key`` names.

    Raises InvalidArgument for a cursor that is not in the table.
    """

    def places(cursor: str) -> tuple[int, int]:
        place = table.find(cursor)
        if place is None:
            raise bad_cursor(cursor)
        return place, place + 1

    part = window(arguments, len(table), places)
    shown = ChangeRows(make, comparison, table[part.start : part.stop])
    cursors = [getattr(record, key) for record in shown.records]
    return Connection(page=Page(part, shown, cursors))
