"""Specs: rows of a revision's frame, with their filters, orders, pages and facets."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Self, TypeVar

import numpy as np
import strawberry

from schema.context import Context, LoadedRevision
from schema.fields.connections import (
    Connection,
    ListPage,
    Order,
    PageArguments,
    PageInfo,
    Window,
    bad_cursor,
    connection_field,
    order_by,
    window,
)
from schema.fields.cost import COST, SPANS_OF_EACH, STACKS, Cost, field, resolver, texts
from schema.fields.many import (
    ColumnSlice,
    ColumnTable,
    LazyList,
    ListedColumn,
    Places,
    RowList,
    Sublists,
    WhereKnown,
    attribute,
    column,
    for_many,
)
from schema.fields.scalars import ByteCount, deprecated, given_values, object_type, optional_field
from schema.node import Node, node_id, node_of, revision_object, revision_of_key
from schema.revisions.dependency import (
    WALK,
    DependencyConnection,
    TransitiveArgument,
    TypesArgument,
    neighbours_of,
)
from snapshots.catalog.history_answers import About, HistoryTopic
from snapshots.changes.pairings import tells_stacks
from snapshots.errors import AmbiguousHash
from snapshots.frames.columns import Mask, Rows, rows_where
from snapshots.frames.filters import SpecFilter
from snapshots.frames.frame import Frame, SpecField
from snapshots.frames.queries import MAX_DEPENDENCIES, MAX_LENGTH, UNKNOWN_NAMES_MAX
from snapshots.models import SPEC_FACTS, Fact, Kept, Unit
from snapshots.texts import versioned

if TYPE_CHECKING:
    from schema.histories import HashHistoryType
    from schema.revisions.package import Package, Stack
    from schema.revisions.revision import Revision


@strawberry.input(
    name="SpecFilter", description="Every list is any-of; the fields together are all-of."
)
class SpecFilterInput:
    """Conditions on specs."""

    search: str | None = optional_field("Case-insensitive substring of the package's name.")
    packages: list[str] | None = optional_field("Names of packages.")
    versions: list[str] | None = optional_field("Versions, exactly.")
    compilers: list[str] | None = optional_field("gcc matches every gcc; gcc@13.2.0 that one.")
    operating_systems: list[str] | None = optional_field("Operating systems.")
    platforms: list[str] | None = optional_field("Platforms.")
    targets: list[str] | None = optional_field("Microarchitectures.")
    stacks: list[str] | None = optional_field("Stacks that have the spec.")
    variants: list[str] | None = optional_field(
        "All of these must hold: +cuda, ~mpi, build_type=Release."
    )
    hash_prefix: str | None = optional_field("A prefix of the hash.")

    def to_domain(self) -> SpecFilter:
        """Return the conditions as the frame takes them."""
        return SpecFilter(**given_values(self))


MatchingArgument = Annotated[
    str | None,
    strawberry.argument(
        "Only specs that a query in Spack's own language asks for: "
        "`hdf5@1.12: +mpi target=x86_64_v3: %gcc@13 ^zlib@1.3:`. Further arguments narrow it down. "
        "What follows `%` or `^` describes that dependency, up to the next of them. `%` asks "
        "for a dependency of the spec itself, of any type; a spec of an older format is asked for "
        "the one compiler that it states. `^` asks for what the spec links or runs with, near or "
        "far, and for what it is itself built with. A virtual package stands for what provides it. "
        f"At most {MAX_LENGTH:,} characters and {MAX_DEPENDENCIES} `%` and `^`. A query that "
        "cannot be read is an error with extensions.code BAD_USER_INPUT and extensions.position, "
        "the number of characters before the one at fault. So is, without a position, `^` where "
        "the revision does not tell dependencies, and the name of a package that no revision "
        "knows: the message says which names are nearest, and extensions.nearest lists them. "
        "Behind `%` or `^` such a name is no error: nothing matches, and `unknownNames` tells why."
    ),
]
FilterArgument = Annotated[
    SpecFilterInput | None, strawberry.argument("Which specs; all unless given.")
]
OrderArgument = Annotated[
    Order | None,
    order_by(
        "SpecOrder", "specs", SpecField, ties="package and hash", default="package, newest first,"
    ),
]


LazyHistory = Annotated["HashHistoryType", strawberry.lazy("schema.histories")]

MOST_CANDIDATES = 20
"""Of so many specs whose hash begins alike an error tells."""

LazyRevision = Annotated["Revision", strawberry.lazy("schema.revisions.revision")]
LazyPackage = Annotated["Package", strawberry.lazy("schema.revisions.package")]
LazyStack = Annotated["Stack", strawberry.lazy("schema.revisions.package")]


def _ids(specs: "SpecRows") -> list[strawberry.ID]:
    """Opaque and stable."""
    key, texts = specs.loaded.info.key, specs.loaded.frame.hashes.texts_at(specs.numbers)
    return [node_id("Spec", key, text) for text in texts]


def _versions(specs: "SpecRows") -> ListedColumn:
    """The version that was built, as a list of one."""
    return ListedColumn(specs.loaded.frame, "version", specs.numbers)


def _short_forms(specs: "SpecRows") -> list[str]:
    """Spack's short form: hdf5@1.14.5+mpi~cxx build_type=Release arch=linux-ubuntu24.04-x86_64_v3
    %gcc@13.2.0. As a query (matching) it finds the spec.
    """
    spec = specs.loaded.frame.spec
    return [spec(row).short for row in specs.numbers.tolist()]


def _revisions(specs: "SpecRows") -> Sequence["Revision"]:
    """The revision that it is part of."""
    return [revision_object(specs.loaded.info)] * len(specs)


def _stack_names(specs: "SpecRows") -> Sequence[Any]:
    """The stacks that it was built in, sorted; null where the revision's source tells none."""
    frame = specs.loaded.frame
    return (
        ColumnSlice(frame, "stacks", specs.numbers) if tells_stacks(frame) else [None] * len(specs)
    )


def _stack_nodes(specs: "SpecRows") -> Sublists | WhereKnown:
    """These stacks themselves."""
    names = specs.loaded.frame.stacks.mapped_at(list, specs.numbers)
    return stacks_of_each(specs.loaded, names)


def stacks_of_each(loaded: LoadedRevision, names: Sequence[Sequence[str]]) -> Sublists | WhereKnown:
    """Return the stacks of each spec or package by their names; null where no source tells any."""
    if not tells_stacks(loaded.frame):
        return WhereKnown([], [-1] * len(names))
    stack = partial(node_of, "Stack", loaded=loaded)
    return Sublists.of(names, lambda joined: ColumnTable(stack, {"name": joined}))


def _packages(specs: "SpecRows") -> Sequence["Package"]:
    """The package in the same revision."""
    from schema.revisions.package import PackageRows

    return PackageRows(specs.loaded, specs.loaded.frame.package.codes[specs.numbers])


def _histories(specs: "SpecRows") -> WhereKnown:
    """In which revisions of all series its hash was, since when, and why it came."""
    frame, context = specs.loaded.frame, specs.loaded.context
    digest = specs.loaded.info.digest
    names = [frame.packages[code] for code in frame.package.codes[specs.numbers].tolist()]
    # By packages, whose changes are stored together, even for a few of their specs.
    histories = context.of_each(names, lambda some: HistoryTopic(About.CONTENT, digest, some))
    texts = map(frame.hashes.at, specs.numbers.tolist())
    return WhereKnown.of(
        [histories[name].get(text) for name, text in zip(names, texts, strict=True)],
        lambda history: node_of("HashHistory", history=history),
    )


STACKS_DEPRECATED = "Use `stackNames`, which is null where the source does not list stacks."

_UNITS = {Unit.BYTES: ByteCount}

Kind = TypeVar("Kind", bound=type)


def _with_fact_fields(cls: Kind) -> Kind:
    """Give a class a field for each fact of a spec but the dependencies, which have arguments."""
    for fact in SPEC_FACTS.values():
        if fact.kept is not Kept.EDGES:
            declared = column(fact.name, fact.description, _graphql_type(fact), _cost(fact))
            if fact.name == "stacks":
                deprecated(STACKS_DEPRECATED)(declared)
            setattr(cls, fact.name, declared)
    return cls


_LENGTHS = {
    "variants": 600,
    "stacks": 400,
    "patches": 300,
    "tarball": 200,
    "package_hash": 64,
    "provided_virtuals": 100,
    "external_path": 100,
    "external_modules": 100,
    "build_spec": 64,
    "installed_at": 22,
}
"""The bytes of the JSON of long facts, as the largest packages of real caches have them."""


def _cost(fact: Fact) -> Cost:
    return Cost(
        num_bytes=_LENGTHS.get(fact.name, 500 if fact.value_type == tuple[str, ...] else None)
    )


def _graphql_type(fact: Fact) -> Any:
    kind = list[str] if fact.value_type == tuple[str, ...] else fact.value_type
    if fact.unit is not None:
        kind = _UNITS[fact.unit]
    return kind | None if fact.is_optional else kind


@strawberry.type
@_with_fact_fields
class SpecFacts(Node):
    """A row of a revision's frame, with the fields that are a column of it."""

    loaded: strawberry.Private[LoadedRevision]
    row: strawberry.Private[int]


@object_type
class SpecType(SpecFacts):
    """One built configuration of a package."""

    id: strawberry.ID = for_many(_ids, cost=Cost(weight=2))
    versions: list[str] = for_many(_versions, cost=texts(14), is_fixed=True)
    short: str = for_many(_short_forms, cost=Cost(weight=30, num_bytes=500), is_fixed=True)
    package: LazyPackage = for_many(_packages, is_fixed=True)
    stack_names: list[str] | None = for_many(
        _stack_names, cost=texts(_LENGTHS["stacks"]), is_fixed=True
    )
    stack_nodes: list[LazyStack] | None = for_many(
        _stack_nodes, cost=Cost(items=STACKS), is_fixed=True
    )
    revision: LazyRevision = for_many(_revisions)
    history: LazyHistory | None = for_many(_histories, cost=Cost(weight=SPANS_OF_EACH))

    @classmethod
    def of_id(cls, context: Context, key: str, hash: str) -> Self | None:
        """Return the spec of a revision's key and a hash."""
        loaded = revision_of_key(context, key)
        return None if loaded is None else cls.of_hash(loaded, hash)

    @classmethod
    def of_hash(cls, loaded: LoadedRevision, hash: str) -> Self | None:
        """Return the spec of a revision that has this hash; None where there is none."""
        row = loaded.frame.hashes.find(hash)
        return None if row is None else cls(loaded=loaded, row=row)

    @classmethod
    def of_prefix(cls, loaded: LoadedRevision, text: str) -> Self | None:
        """Return the spec of a revision whose hash begins so; None where there is none.

        Raises AmbiguousHash where there are several.
        """
        return cls._of_rows(loaded, text, loaded.frame.hashes.with_prefix(text)) if text else None

    @classmethod
    def sought(cls, context: Context, text: str, ref: str | None) -> Self | None:
        """Return the spec whose hash begins so, in the revision of a ref or the newest that has it.

        It is None where there is none. Raises AmbiguousHash where there are several, and as
        ``Context.resolve`` and ``Context.of_history`` do.
        """
        prefix = text.removeprefix("/").lower()
        if ref is None:
            history = context.of_history(HistoryTopic(About.HASH, prefix))
            if history is None:
                return None
            return cls.of_hash(context.load(history.newest), history.hash)
        loaded = context.load(context.resolve(ref))
        return cls._of_rows(loaded, prefix, loaded.frame.hashes.with_prefix(prefix))

    @classmethod
    def _of_rows(cls, loaded: LoadedRevision, text: str, rows: Rows) -> Self | None:
        frame = loaded.frame
        if len(rows) > 1:
            shown = {
                frame.hashes.at(row): versioned(frame.package.at(row), frame.version.at(row))
                for row in rows[:MOST_CANDIDATES]
            }
            raise AmbiguousHash(text, shown, len(rows))
        return cls(loaded=loaded, row=int(rows[0])) if len(rows) else None

    def alone(self) -> "SpecRows":
        """Return the list of this spec alone."""
        return SpecRows(self.loaded, np.array([self.row], np.int32))

    @connection_field(WALK)
    def dependencies(
        self,
        *,
        page: PageArguments,
        types: TypesArgument = None,
        transitive: TransitiveArgument = False,
    ) -> DependencyConnection | None:
        """What it depends on. Null where the revision's source did not tell the spec's
        dependencies. A transitive list ends where dependencies are not known.
        """
        return neighbours_of(
            self.loaded, self.row, types, page, transitive=transitive, upward=False
        )

    @connection_field(WALK)
    def dependents(
        self,
        *,
        page: PageArguments,
        types: TypesArgument = None,
        transitive: TransitiveArgument = False,
    ) -> DependencyConnection | None:
        """What depends on it: specs of the same revision, and others that they depend on. Null
        where the revision's source told no dependencies at all.
        """
        return neighbours_of(self.loaded, self.row, types, page, transitive=transitive, upward=True)


class SpecRows(RowList[SpecType]):
    """Specs as rows of a frame; an object is created only on access."""

    def item(self, number: int) -> SpecType:
        """Return the spec of a row."""
        return SpecType(loaded=self.loaded, row=number)

    def places(self) -> Places:
        """Return the rows of the frame."""
        frame = self.loaded.frame
        return Places(("specs", frame.digest), len(frame), self.numbers)


COUNTING = 1_000
"""Units of counting all rows of a revision by a column."""

NAMING = 80_000
"""Units of comparing a few names with those of all packages."""


class SpecPage(ListPage[SpecType]):
    """A page of selected specs; ``rows`` are all of them, in their order.

    ``query`` is the query in Spack's language that selected them, if any.
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
        """Count the rows by a column's values; once, under any number of aliases."""
        counted = self._facets.get(column)
        if counted is None:
            counted = self._facets[column] = self.loaded.frame.facet(column, self.rows)
        return counted


class SpecPages(LazyList["SpecConnection"]):
    """Pages of the specs of several packages, as one list of connections.

    ``shown`` are the rows of all pages, page after page; ``counts``, ``starts`` and ``totals`` are
    for each page the number of its rows, of the rows before it, and of all. ``page_at`` returns the
    page at an index, with all of its rows.
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
        """Return the position of each page."""
        infos, offset = [], 0
        for start, count, total in zip(self._starts, self.counts, self.totals, strict=True):
            shown = self._shown[offset : offset + count]
            part = Window(start, start + count, total)
            infos.append(PageInfo.of(part, ColumnSlice(self._loaded.frame, "hashes", shown)))
            offset += count
        return infos


@object_type
class FacetCount:
    """How many of the specs have a value.

    - value: The value.
    - num_specs: How many of the specs have it.
    - count: As `numSpecs`.
    """

    value: str
    num_specs: int
    count: int = deprecated("Use `numSpecs`.")(attribute("num_specs", int, is_for_many=True))


def facet(column: str, what: str, values: int) -> Any:
    """Declare the counts of a column's values; ``values`` is about how many it may have."""

    def counts(self: Any) -> Sequence[FacetCount]:
        page: SpecPage = self.page
        counted = page.facet(column)
        return ColumnTable(
            FacetCount,
            {
                "value": [value for value, _ in counted],
                "num_specs": [num_specs for _, num_specs in counted],
            },
        )

    return strawberry.field(
        resolver=counts,
        description=f"{what}, the most frequent first.",
        metadata={COST: Cost(weight=COUNTING, items=values)},
    )


@object_type
class Facets:
    """What the specs of a connection, all pages of it, have in common."""

    page: strawberry.Private[SpecPage]

    packages: list[FacetCount] = facet("package", "Packages", 2500)
    versions: list[FacetCount] = facet("version", "Versions", 2500)
    compilers: list[FacetCount] = facet("compiler", "Compilers", 30)
    operating_systems: list[FacetCount] = facet("operating_system", "Operating systems", 10)
    platforms: list[FacetCount] = facet("platform", "Platforms", 5)
    targets: list[FacetCount] = facet("target", "Microarchitectures", 50)
    stacks: list[FacetCount] = facet("stacks", "Stacks", 50)


@object_type
class UnknownNameType:
    """A name in a query that nothing has."""

    name: str = field("The name.")
    nearest: list[str] = field("Names of packages that resemble it, best first.", texts(100))


@object_type
class SpecConnection(Connection[SpecType]):
    """A page of specs."""

    @resolver()
    def facets(self) -> Facets:
        """Counts over all specs of the connection, not the page alone."""
        assert isinstance(self.page, SpecPage)  # noqa: S101 - narrows the type of the base class
        return Facets(page=self.page)

    @resolver(
        Cost(weight=NAMING, items=UNKNOWN_NAMES_MAX),
        description="Why `matching` matches nothing, where that is because of a name behind `%` or "
        "`^` that no revision knows, or in front where only the case differs from a known one. At "
        f"most {UNKNOWN_NAMES_MAX} names.",
    )
    def unknown_names(self) -> list[UnknownNameType]:
        page = self.page
        assert isinstance(page, SpecPage)  # noqa: S101 - narrows the type of the base class
        if page.query is None or len(page.rows):
            return []
        return page.loaded.unknown_names(page.query)  # type: ignore[return-value] # the same facts


def spec_page(
    loaded: LoadedRevision,
    within: slice | Mask,
    matching: str | None,
    conditions: SpecFilterInput | None,
    order: Order | None,
    arguments: PageArguments,
) -> SpecPage:
    """Return a page of the specs of a slice or mask of the frame.

    Raises InvalidArgument for a bad cursor, and what ``snapshots.frames.queries`` raises.
    """
    frame = loaded.frame
    field = order.field if order else SpecField.PACKAGE
    falling = order is not None and order.is_descending
    rows = _selected(frame, within, conditions)
    if matching is not None:
        rows = rows[loaded.matching(matching)[rows]]
    if field is not SpecField.PACKAGE:
        order_of_all, ranks = frame.order(field)
        rows = order_of_all if len(rows) == len(frame) else rows[np.argsort(ranks[rows])]
    rows = rows[::-1] if falling else rows

    def places(cursor: str) -> tuple[int, int]:
        row = frame.hashes.find(cursor)
        if row is None:
            raise bad_cursor(cursor)
        _, ranks = frame.order(field)
        signed = -ranks[rows] if falling else ranks[rows]
        place = -ranks[row] if falling else ranks[row]
        return int(np.searchsorted(signed, place)), int(np.searchsorted(signed, place, "right"))

    return SpecPage(loaded, rows, window(arguments, len(rows), places), matching)


def _selected(frame: Frame, within: slice | Mask, filter: SpecFilterInput | None) -> Rows:
    """Return the selected rows, in the frame's own order."""
    conditions = filter.to_domain() if filter is not None else None
    if isinstance(within, slice):
        start, stop, _ = within.indices(len(frame))
        if conditions is None:
            return np.arange(start, stop, dtype=np.int32)
        return rows_where(frame.select(conditions, within)) + np.int32(start)
    mask = within if conditions is None else within & frame.select(conditions)
    return rows_where(mask)
