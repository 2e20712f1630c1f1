"""What the nouns of a comparison share: the comparison with both revisions, and their fields."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import strawberry

from schema.context import Context, LoadedRevision
from schema.fields.connections import Connection, Page
from schema.fields.cost import VALUE, Cost
from schema.fields.many import LazyList, WhereKnown, for_many
from schema.fields.paging import PageArguments, bad_cursor, window
from schema.fields.scalars import ByteCount
from schema.node import ID_SEPARATOR, not_known
from snapshots.changes import diff
from snapshots.changes.coverage import CoverageChanges, CoverageDimension
from snapshots.changes.explanation import Explanation
from snapshots.frames.columns import Mask, Rows
from snapshots.models import RevisionInfo

Item = TypeVar("Item")


@dataclass(frozen=True)
class LoadedComparison:
    """A comparison with its two revisions, and the way to why hashes came and went."""

    base: LoadedRevision
    head: LoadedRevision
    changes: diff.Comparison

    def explanation(self) -> Explanation:
        """Return the counterparts, reasons and causes of the comparison."""
        return self.head.context.explain(self.base.info, self.head.info)

    def coverage(self, by: Sequence[CoverageDimension]) -> CoverageChanges:
        """Return the cells that were lost and gained, by dimensions."""
        return self.head.context.coverage(self.changes, by)

    def returned(self) -> Mask:
        """Return a mask over head's rows: those that an earlier revision of the series had."""
        return self.head.context.returned(self.base.info, self.head.info)


def load_comparison(context: Context, base: RevisionInfo, head: RevisionInfo) -> LoadedComparison:
    """Load and compare two revisions."""
    return LoadedComparison(context.load(base), context.load(head), context.compare(base, head))


def comparison_key(base: RevisionInfo, head: RevisionInfo) -> tuple[str, str, str, str]:
    """Return the parts of ids that name a comparison: both digests, both keys."""
    return base.digest, head.digest, base.key, head.key


class PartOfComparison(NamedTuple):
    """Two revisions, and what names a part of their comparison; empty for the whole."""

    infos: tuple[RevisionInfo, RevisionInfo]
    key: str


def part_of_comparison(context: Context, parts: list[str]) -> PartOfComparison | None:
    """Return what the parts of an id name that begin with ``comparison_key``; None for nothing."""
    known = context.history.by_key
    match parts:
        case [_, _, base, head, *rest] if base in known and head in known:
            return PartOfComparison((known[base], known[head]), ID_SEPARATOR.join(rest))
    not_known(context)
    return None


class ChangeRows(LazyList[Item], Generic[Item]):
    """Changes of a table as objects of the API, each made only where somebody asks for it."""

    def __init__(self, make: Callable[..., Item], comparison: LoadedComparison, table: Any) -> None:
        self._make = make
        self.comparison = comparison
        self.table = table

    def __len__(self) -> int:
        return len(self.table)

    def __getitem__(self, place: Any) -> Any:
        number = range(len(self))[place]
        table = self.table[number : number + 1]
        return self._make(rows=ChangeRows(self._make, self.comparison, table))

    @cached_property
    def records(self) -> list[Any]:
        """The record of each change."""
        return list(self.table)


@strawberry.type
class Change:
    """A change: the only one of its rows."""

    rows: strawberry.Private[ChangeRows[Any]]

    def alone(self) -> ChangeRows[Any]:
        """Return the list of this change alone."""
        return self.rows


def of_change(value: Callable[[Any], Any], description: str, cost: Cost = VALUE) -> Any:
    """Declare a field whose value follows from the record of a change alone."""

    def values(rows: ChangeRows[Any]) -> list[Any]:
        return list(map(value, rows.records))

    return for_many(values, description, cost=cost)


def where_known(places: Rows, make: Callable[[Rows], Any]) -> WhereKnown:
    """Return an object for each place, none for -1; ``make`` makes those of the others."""
    known = places >= 0
    return WhereKnown(make(places[known]), known.tolist())


def size_delta(before: int | None, after: int | None) -> ByteCount | None:
    """Return by how many bytes a size rose; None where one of the two is not known."""
    return None if before is None or after is None else ByteCount(after - before)


class Cursors(Protocol):
    """What cursors name in a table of changes."""

    def of(self, record: Any) -> str:
        """Return the cursor of a change."""
        ...

    def find(self, cursor: str) -> int | None:
        """Return the place of the change that a cursor names; None where it names none."""
        ...


class NamedBy:
    """Cursors that are a fact of the changes, by which their table finds them."""

    def __init__(self, table: Any, fact: str) -> None:
        self.of: Callable[[Any], str] = attrgetter(fact)
        self.find: Callable[[str], int | None] = table.find


def change_connection(
    make: Callable[..., Item],
    comparison: LoadedComparison,
    table: Any,
    cursors: Cursors,
    arguments: PageArguments,
) -> Connection[Item]:
    """Return a connection over a table of changes.

    Raises InvalidArgument for a cursor that names nothing in the table.
    """

    def places(cursor: str) -> tuple[int, int]:
        place = cursors.find(cursor)
        if place is None:
            raise bad_cursor(cursor)
        return place, place + 1

    part = window(arguments, len(table), places)
    shown = ChangeRows(make, comparison, table[part.start : part.stop])
    return Connection(page=Page(part, shown, list(map(cursors.of, shown.records))))
