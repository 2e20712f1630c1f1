"""Pages of specs, with facets over everything that the question is about."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import strawberry

from schema.connections import (
    Connection,
    Page,
    PageArguments,
    PageInfo,
    Window,
    bad_cursor,
    page_info,
    window,
)
from schema.context import LoadedRevision
from schema.scalars import given
from schema.spec import Spec, SpecRows
from schema.spec_arguments import OrderDirection, SpecFilter, SpecOrder
from snapshots.frames.columns import Mask, Rows, rows_where
from snapshots.frames.frame import Frame, SpecField


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

    @cached_property
    def cursors(self) -> Sequence[str]:
        """The hash of each spec."""
        return [self.loaded.frame.hashes.at(row) for row in self.shown.tolist()]

    def cursor_texts(self) -> list[str]:
        """Return the JSON text of each cursor."""
        return self.loaded.frame.hashes.texts_at(self.shown)

    def info(self) -> PageInfo:
        """Return where the page stands; makes no more cursors than it tells."""
        return _page_info(self.loaded, self.part, self.shown)


class SpecPages(NamedTuple):
    """Pages of the specs of many packages, as a batch of connections.

    ``shown`` are the rows of all pages, one page after the other; ``counts``, ``starts`` and
    ``totals`` say for each page how many it shows, how many stand before, and how many there are.
    """

    loaded: LoadedRevision
    shown: Rows
    counts: Sequence[int]
    starts: Sequence[int]
    totals: Sequence[int]

    def __len__(self) -> int:
        return len(self.counts)

    @classmethod
    def of(cls, loaded: LoadedRevision, pages: Sequence[SpecPage]) -> "SpecPages":
        """Put pages together, one at the least."""
        return cls(
            loaded,
            np.concatenate([page.shown for page in pages]),
            [len(page.items) for page in pages],
            [page.part.start for page in pages],
            [page.part.total for page in pages],
        )

    @classmethod
    def of_packages(
        cls, loaded: LoadedRevision, codes: Rows, first: int | None, last: int | None
    ) -> "SpecPages":
        """Return the first or last specs of packages, in the frame's own order."""
        begins, ends = loaded.frame.starts[codes], loaded.frame.starts[codes + 1]
        stops = ends if first is None else np.minimum(ends, begins + first)
        starts = begins if last is None else np.maximum(begins, stops - last)
        counts = stops - starts
        before = np.cumsum(counts) - counts
        shown = np.repeat(starts - before, counts) + np.arange(counts.sum())
        return cls(
            loaded,
            shown.astype(np.int32),
            counts.tolist(),
            (starts - begins).tolist(),
            (ends - begins).tolist(),
        )

    def merged(self) -> SpecPage:
        """Return all items as one page."""
        size = len(self.shown)
        return SpecPage(self.loaded, self.shown, Window(0, size, size))

    def infos(self) -> list[PageInfo]:
        """Return where each page stands."""
        infos, offset = [], 0
        for start, count, total in zip(self.starts, self.counts, self.totals, strict=True):
            part = Window(start, start + count, total)
            infos.append(_page_info(self.loaded, part, self.shown[offset : offset + count]))
            offset += count
        return infos


def _page_info(loaded: LoadedRevision, part: Window, shown: Rows) -> PageInfo:
    ends = shown[[0, -1]] if len(shown) else shown
    return page_info(part, list(map(loaded.frame.hashes.at, ends.tolist())))


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
    matching: str | None,
    wanted: SpecFilter | None,
    order: SpecOrder | None,
    arguments: PageArguments,
) -> SpecConnection:
    """Return a connection over the specs of a slice or mask of the frame, as a resolver needs it.

    Raises InvalidArgument for a bad cursor, and what ``snapshots.frames.matching`` raises.
    """
    return SpecConnection(page=spec_page(loaded, within, matching, wanted, order, arguments))


def spec_page(
    loaded: LoadedRevision,
    within: slice | Mask,
    matching: str | None,
    wanted: SpecFilter | None,
    order: SpecOrder | None,
    arguments: PageArguments,
) -> SpecPage:
    """Return a page of the specs of a slice or mask of the frame; raises as ``spec_connection``."""
    frame = loaded.frame
    order = given(order)
    field = order.field.value if order else SpecField.PACKAGE
    falling = order is not None and order.direction is OrderDirection.DESC
    rows = _selected(frame, within, given(wanted))
    if (query := given(matching)) is not None:
        rows = rows[loaded.matching(query)[rows]]
    rows = _ordered(frame, rows, field, falling)

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
        return rows_where(frame.select(conditions, within)) + np.int32(start)
    mask = within if conditions is None else within & frame.select(conditions)
    return rows_where(mask)


def _ordered(frame: Frame, rows: Rows, field: SpecField, falling: bool) -> Rows:
    if field is not SpecField.PACKAGE:
        order, ranks = frame.order(field)
        rows = order if len(rows) == len(frame) else rows[np.argsort(ranks[rows])]
    return rows[::-1] if falling else rows
