"""Pages of specs, with facets over everything that the question is about."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import strawberry

from schema.context import LoadedRevision
from schema.fields.connections import Connection, Page, PageInfo
from schema.fields.cost import Cost, texts
from schema.fields.many import ColumnSlice, LazyList, Table
from schema.fields.ordering import OrderDirection
from schema.fields.paging import PageArguments, Window, bad_cursor, window
from schema.fields.scalars import none_if_omitted
from schema.revisions.spec import Spec, SpecRows
from schema.revisions.spec_arguments import SpecFilter, SpecOrder
from snapshots.frames.columns import Mask, Rows, rows_where
from snapshots.frames.frame import Frame, SpecField
from snapshots.frames.matching import UNKNOWN_NAMES_MAX

COUNTING = 1_000
"""Units of counting all rows of a revision by a column."""

NAMING = 80_000
"""Units of comparing a few names with those of all packages."""


class SpecPage(Page[Spec]):
    """A page of the specs that a question is about; ``rows`` are all of them, in their order.

    ``query`` is what they were asked for by, in Spack's language.
    """

    def __init__(
        self, loaded: LoadedRevision, rows: Rows, part: Window, query: str | None = None
    ) -> None:
        self.shown = rows[part.start : part.stop]
        cursors = ColumnSlice(loaded.frame, "hashes", self.shown)
        super().__init__(part, SpecRows(loaded, self.shown), cursors)
        self.loaded = loaded
        self.rows = rows
        self.query = query
        self._facets: dict[str, list[tuple[str, int]]] = {}

    def facet(self, column: str) -> list[tuple[str, int]]:
        """Count the rows by a column's values; once, under however many names it is asked for."""
        counted = self._facets.get(column)
        if counted is None:
            counted = self._facets[column] = self.loaded.frame.facet(column, self.rows)
        return counted


class SpecPages(LazyList["SpecConnection"]):
    """Pages of the specs of several packages, as one list of connections.

    ``shown`` are the rows of all pages, one page after the other; ``counts``, ``starts`` and
    ``totals`` say for each page how many it shows, how many stand before, and how many there are.
    ``page_at`` makes the page at a place, with all of its rows.
    """

    def __init__(
        self,
        loaded: LoadedRevision,
        shown: Rows,
        counts: Sequence[int],
        starts: Sequence[int],
        totals: Sequence[int],
        page_at: Callable[[int], SpecPage],
    ) -> None:
        self.counts = counts
        self.totals = totals
        self._loaded = loaded
        self._shown = shown
        self._starts = starts
        self._page_at = page_at

    def __len__(self) -> int:
        return len(self.counts)

    def __getitem__(self, place: Any) -> Any:
        return SpecConnection(page=self._page_at(place))

    @classmethod
    def of(cls, loaded: LoadedRevision, pages: Sequence[SpecPage]) -> "SpecPages":
        """Put pages together, at least one."""
        return cls(
            loaded,
            np.concatenate([page.shown for page in pages]),
            [len(page.items) for page in pages],
            [page.part.start for page in pages],
            [page.part.total for page in pages],
            pages.__getitem__,
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

        def page_at(place: int) -> SpecPage:
            begin, end = int(begins[place]), int(ends[place])
            part = Window(int(starts[place]) - begin, int(stops[place]) - begin, end - begin)
            return SpecPage(loaded, np.arange(begin, end, dtype=np.int32), part)

        return cls(
            loaded,
            shown.astype(np.int32),
            counts.tolist(),
            (starts - begins).tolist(),
            (ends - begins).tolist(),
            page_at,
        )

    def merged(self) -> SpecPage:
        """Return all items as one page."""
        size = len(self._shown)
        return SpecPage(self._loaded, self._shown, Window(0, size, size))

    def infos(self) -> list[PageInfo]:
        """Return where each page stands."""
        infos, offset = [], 0
        for start, count, total in zip(self._starts, self.counts, self.totals, strict=True):
            shown = self._shown[offset : offset + count]
            part = Window(start, start + count, total)
            infos.append(PageInfo.of(part, ColumnSlice(self._loaded.frame, "hashes", shown)))
            offset += count
        return infos


@strawberry.type(description="How many of the specs have a value.")
class FacetCount:
    """One value of a facet."""

    value: str = strawberry.field(description="The value.")
    count: int = strawberry.field(description="How many of the specs have it.")


def facet(column: str, what: str, values: int) -> Any:
    """Declare the counts of a column's values; ``values`` is about how many it may have."""

    def counts(root: Any) -> Sequence[FacetCount]:
        page: SpecPage = root.page
        counted = page.facet(column)
        return Table(
            FacetCount,
            {"value": [value for value, _ in counted], "count": [count for _, count in counted]},
        )

    return strawberry.field(
        resolver=counts,
        description=f"{what}, the most frequent first.",
        metadata=Cost(weight=COUNTING, items=values).metadata,
    )


@strawberry.type(description="What the specs of a connection, all pages of it, have in common.")
class Facets:
    """Counts over the columns of a frame."""

    page: strawberry.Private[SpecPage]

    packages: list[FacetCount] = facet("package", "Packages", 2500)
    versions: list[FacetCount] = facet("version", "Versions", 2500)
    compilers: list[FacetCount] = facet("compiler", "Compilers", 30)
    operating_systems: list[FacetCount] = facet("operating_system", "Operating systems", 10)
    platforms: list[FacetCount] = facet("platform", "Platforms", 5)
    targets: list[FacetCount] = facet("target", "Microarchitectures", 50)
    stacks: list[FacetCount] = facet("stacks", "Stacks", 50)


@strawberry.type(description="A name in a query that nothing has.")
class UnknownName:
    """A slip of the pen, perhaps."""

    name: str = strawberry.field(description="The name.")
    nearest: list[str] = strawberry.field(
        description="Names of packages that resemble it, best first.",
        metadata=texts(100).metadata,
    )


@strawberry.type(description="A page of specs.")
class SpecConnection(Connection[Spec]):
    """A connection with facets and with the unknown names of its query."""

    @strawberry.field(description="Counts over all specs of the connection, not the page alone.")
    def facets(self) -> Facets:
        assert isinstance(self.page, SpecPage)  # noqa: S101 - narrows the type of the base class
        return Facets(page=self.page)

    @strawberry.field(
        description="Why `matching` matches nothing, where that is because of a name behind `%` or "
        "`^` that no revision knows, or in front where only the case differs from a known one. At "
        f"most {UNKNOWN_NAMES_MAX} names.",
        metadata=Cost(weight=NAMING, items=UNKNOWN_NAMES_MAX).metadata,
    )
    def unknown_names(self) -> list[UnknownName]:
        page = self.page
        assert isinstance(page, SpecPage)  # noqa: S101 - narrows the type of the base class
        if page.query is None or len(page.rows):
            return []
        names = page.loaded.unknown_names(page.query)
        return [UnknownName(name=it.name, nearest=list(it.nearest)) for it in names]


def spec_connection(
    loaded: LoadedRevision,
    within: slice | Mask,
    matching: str | None,
    conditions: SpecFilter | None,
    order: SpecOrder | None,
    arguments: PageArguments,
) -> SpecConnection:
    """Return a connection over the specs of a slice or mask of the frame, as a resolver needs it.

    Raises InvalidArgument for a bad cursor, and what ``snapshots.frames.matching`` raises.
    """
    return SpecConnection(page=spec_page(loaded, within, matching, conditions, order, arguments))


def spec_page(
    loaded: LoadedRevision,
    within: slice | Mask,
    matching: str | None,
    conditions: SpecFilter | None,
    order: SpecOrder | None,
    arguments: PageArguments,
) -> SpecPage:
    """Return a page of the specs of a slice or mask of the frame; raises as ``spec_connection``."""
    frame = loaded.frame
    order = none_if_omitted(order)
    field = order.field if order else SpecField.PACKAGE
    falling = order is not None and order.direction is OrderDirection.DESC
    rows = _selected(frame, within, none_if_omitted(conditions))
    if (query := none_if_omitted(matching)) is not None:
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

    return SpecPage(loaded, rows, window(arguments, len(rows), places), query)


def _selected(frame: Frame, within: slice | Mask, filter: SpecFilter | None) -> Rows:
    """Return the rows that are asked for, in the frame's own order."""
    conditions = filter.to_domain() if filter is not None else None
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
