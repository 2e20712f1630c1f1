"""Pages of specs, with facets over everything that the question is about."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import strawberry

from schema.connections import Connection, Page, PageArguments, Window, bad_cursor, window
from schema.context import LoadedRevision
from schema.scalars import given
from schema.spec import Spec, SpecRows
from schema.spec_arguments import OrderDirection, SpecFilter, SpecOrder
from snapshots.columns import Mask, Rows
from snapshots.frame import Frame, SpecField


class SpecPage(Page[Spec]):
    """A page of the specs that a question is about; ``rows`` are all of them, in their order."""

    def __init__(self, loaded: LoadedRevision, rows: Rows, part: Window) -> None:
        super().__init__(part, SpecRows(loaded, rows[part.start : part.stop]), ())
        self.loaded = loaded
        self.rows = rows

    @property
    def shown(self) -> Rows:
        """The rows of the page."""
        return self.rows[self.part.start : self.part.stop]

    @property
    def cursors(self) -> Sequence[str]:
        """The hash of each spec."""
        return [self.loaded.frame.hashes.at(row) for row in self.shown.tolist()]

    def cursor_texts(self) -> list[str]:
        """Return the JSON text of each cursor."""
        return self.loaded.frame.hashes.texts_at(self.shown)

    @staticmethod
    def merge(pages: Sequence["SpecPage"]) -> "SpecPage":
        """Put the items of several pages of one revision, some at the least, into one page."""
        rows = np.concatenate([page.shown for page in pages])
        return SpecPage(pages[0].loaded, rows, Window(0, len(rows), len(rows)))


@strawberry.type(description="How many of the specs have a value.")
class FacetCount:
    """One value of a facet."""

    value: str = strawberry.field(description="The value.")
    count: int = strawberry.field(description="How many of the specs have it.")


def facet(column: str, what: str) -> Any:
    """Declare the counts of a column's values."""

    def counts(root: Any) -> list[FacetCount]:
        page: SpecPage = root.page
        counted = page.loaded.frame.facet(column, page.rows)
        return [FacetCount(value=value, count=count) for value, count in counted]

    return strawberry.field(resolver=counts, description=f"{what}, the most frequent first.")


@strawberry.type(description="What the specs of a connection, all pages of it, have in common.")
class Facets:
    """Counts over the columns of a frame."""

    page: strawberry.Private[SpecPage]

    packages: list[FacetCount] = facet("package", "Packages")
    versions: list[FacetCount] = facet("version", "Versions")
    compilers: list[FacetCount] = facet("compiler", "Compilers")
    operating_systems: list[FacetCount] = facet("operating_system", "Operating systems")
    platforms: list[FacetCount] = facet("platform", "Platforms")
    targets: list[FacetCount] = facet("target", "Microarchitectures")
    stacks: list[FacetCount] = facet("stacks", "Stacks")


@strawberry.type(description="A page of specs.")
class SpecConnection(Connection[Spec]):
    """A connection with facets."""

    @strawberry.field(description="Counts over all specs of the connection, not the page alone.")
    def facets(self) -> Facets:
        assert isinstance(self.page, SpecPage)  # noqa: S101 - narrows the type of the base class
        return Facets(page=self.page)


def spec_connection(
    loaded: LoadedRevision,
    within: slice | Mask,
    wanted: SpecFilter | None,
    order: SpecOrder | None,
    arguments: PageArguments,
) -> SpecConnection:
    """Return a connection over the specs of a slice or mask of the frame, as a resolver needs it.

    Raises InvalidArgument for a bad cursor.
    """
    return SpecConnection(page=spec_page(loaded, within, wanted, order, arguments))


def spec_page(
    loaded: LoadedRevision,
    within: slice | Mask,
    wanted: SpecFilter | None,
    order: SpecOrder | None,
    arguments: PageArguments,
) -> SpecPage:
    """Return a page of the specs of a slice or mask of the frame; raises InvalidArgument."""
    frame = loaded.frame
    order = given(order)
    field = order.field.value if order else SpecField.PACKAGE
    falling = order is not None and order.direction is OrderDirection.DESC
    rows = _ordered(frame, _selected(frame, within, given(wanted)), field, falling)

    def places(cursor: str) -> tuple[int, int]:
        row = frame.hashes.find(cursor)
        if row is None:
            raise bad_cursor(cursor)
        _, ranks = frame.order(field)
        signed = -ranks[rows] if falling else ranks[rows]
        place = -ranks[row] if falling else ranks[row]
        return int(np.searchsorted(signed, place)), int(np.searchsorted(signed, place, "right"))

    return SpecPage(loaded, rows, window(arguments, len(rows), places))


def _selected(frame: Frame, within: slice | Mask, wanted: SpecFilter | None) -> Rows:
    """Return the rows that are asked for, in the frame's own order."""
    conditions = wanted.to_domain() if wanted is not None else None
    if isinstance(within, slice):
        start, stop, _ = within.indices(len(frame))
        if conditions is None:
            return np.arange(start, stop, dtype=np.int32)
        return np.flatnonzero(frame.select(conditions, within)).astype(np.int32) + np.int32(start)
    mask = within if conditions is None else within & frame.select(conditions)
    return np.flatnonzero(mask).astype(np.int32)


def _ordered(frame: Frame, rows: Rows, field: SpecField, falling: bool) -> Rows:
    if field is not SpecField.PACKAGE:
        order, ranks = frame.order(field)
        rows = order if len(rows) == len(frame) else rows[np.argsort(ranks[rows])]
    return rows[::-1] if falling else rows
