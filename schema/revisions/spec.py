"""Specs, which are rows of a revision's frame, with their filters, orders, pages and facets."""

from collections.abc import Callable, Sequence
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Self, TypeVar

import numpy as np
import strawberry

from schema.context import Context, Info, LoadedRevision
from schema.fields import gql, many, relay
from schema.fields.cost import MEDIUM, SMALL, Cost, resolver
from schema.node import URL, Node, key_of, node_id, node_of, page_in, part_of_id, revision_object
from schema.revisions.dependency import neighbours_field
from snapshots.arrays import Mask, Rows
from snapshots.catalog.history_queries import HistoryQueries
from snapshots.changes.pairings import states_stacks
from snapshots.frames.columns import rows_where
from snapshots.frames.filters import SpecFilter
from snapshots.frames.frame import Frame, SpecField
from snapshots.frames.queries import (
    MAX_DEPENDENCIES,
    MAX_LENGTH,
    UNKNOWN_NAMES_MAX,
    NearMiss,
)
from snapshots.models import SHOWN_FACTS, Encoding, Fact
from snapshots.spack.names import checked_moment
from snapshots.timelines.absences import Absence

if TYPE_CHECKING:
    from schema.histories import HashHistoryType
    from schema.revisions.package import RevisionPackage, Stack
    from schema.revisions.revision import Revision


@gql.input_type("SpecFilter")
class SpecFilterInput:
    """Conditions on specs. A spec meets a list if it has any of its values, and has to meet all of
    the fields.

    - search: A substring of the package's name; case-insensitive.
    - packages: Names of packages.
    - versions: Exact versions.
    - compilers: Compilers: gcc matches every version of gcc, gcc@13.2.0 only this version.
    - operating_systems: Operating systems.
    - platforms: Platforms.
    - targets: Microarchitectures, or families of them: aarch64 is any of its targets.
    - stacks: Stacks that contain the spec.
    - variants: Variants, all of which the spec must have: +cuda, ~mpi, build_type=Release.
    - hash_prefix: A prefix of the hash.
    """

    search: str | None = gql.UNSET
    packages: list[str] | None = gql.UNSET
    versions: list[str] | None = gql.UNSET
    compilers: list[str] | None = gql.UNSET
    operating_systems: list[str] | None = gql.UNSET
    platforms: list[str] | None = gql.UNSET
    targets: list[str] | None = gql.UNSET
    stacks: list[str] | None = gql.UNSET
    variants: list[str] | None = gql.UNSET
    hash_prefix: str | None = gql.UNSET

    def to_domain(self) -> SpecFilter:
        """Return the conditions in the form that the frame accepts."""
        return SpecFilter(**gql.input_values(self))


MatchingArgument = Annotated[
    str | None,
    strawberry.argument(
        "Only specs that match a query in Spack's spec syntax: `hdf5@1.12: +mpi "
        "target=x86_64_v3: %gcc@13 ^zlib@1.3:`. It can be combined with the other arguments. The "
        "text after `%` or `^`, up to the next of them, describes a dependency. `%` matches a "
        "direct dependency of any type; for specs of older formats, it matches the compiler that "
        "the spec states. `^` matches direct and indirect link and run dependencies, and direct "
        "build dependencies. A virtual package matches its providers. The limits are "
        f"{MAX_LENGTH:,} characters and {MAX_DEPENDENCIES} `%` and `^`. The error for an "
        "invalid query has extensions.code BAD_USER_INPUT and extensions.position, the number of "
        "characters before the invalid one. It is also an error, without a position, to use `^` "
        "if the source of the revision does not list dependencies, or to name a package that no "
        "revision has; for the latter, the message and extensions.nearest list the most similar "
        "names. After `%` or `^`, such a name is no error: nothing matches, and `unknownNames` "
        "explains why."
    ),
]
FilterArgument = Annotated[
    SpecFilterInput | None, strawberry.argument("Conditions on the specs; by default, all specs.")
]
OrderArgument = Annotated[
    relay.Order | None,
    relay.order_by(
        "SpecOrder", "specs", SpecField, ties="package and hash", default="package, newest first,"
    ),
]


HISTORY_OF_HASH = 5_000
"""Units for computing the history of a hash."""

LazyHistory = Annotated["HashHistoryType", strawberry.lazy("schema.histories")]

LazyRevision = Annotated["Revision", strawberry.lazy("schema.revisions.revision")]
LazyPackage = Annotated["RevisionPackage", strawberry.lazy("schema.revisions.package")]
LazyStack = Annotated["Stack", strawberry.lazy("schema.revisions.package")]


def _ids(specs: "SpecRows") -> list[strawberry.ID]:
    """An opaque, stable id."""
    key, texts = key_of(specs.loaded.info), specs.loaded.frame.hashes.texts_at(specs.numbers)
    return [node_id("Spec", key, text) for text in texts]


def _urls(specs: "SpecRows") -> list[str | None]:
    start = page_in(specs.loaded.info, "specs", "")
    texts = specs.loaded.frame.hashes.texts_at(specs.numbers)
    return [None if start is None else start + text for text in texts]


def _short_forms(specs: "SpecRows") -> list[str]:
    """Spack's short form: hdf5@1.14.5+mpi~cxx build_type=Release arch=linux-ubuntu24.04-x86_64_v3
    %gcc@13.2.0. As a query for `matching`, it matches the spec.
    """
    spec = specs.loaded.frame.spec
    return [spec(row).short for row in specs.numbers.tolist()]


def revisions_of(rows: many.RowList[Any]) -> Sequence["Revision"]:
    """The revision to which it belongs."""
    return [revision_object(rows.loaded.info)] * len(rows)


def _stack_names(specs: "SpecRows") -> Sequence[Any]:
    """The names of the stacks that contain it, sorted; null if the source of the revision does not
    list stacks.
    """
    frame = specs.loaded.frame
    return (
        many.ColumnSlice(frame, "stacks", specs.numbers)
        if states_stacks(frame)
        else [None] * len(specs)
    )


def _stacks(specs: "SpecRows") -> many.Sublists | many.NullableObjects:
    """The stacks that contain it, ordered by name; null if the source of the revision does not list
    stacks.
    """
    names = specs.loaded.frame.stacks.mapped_at(list, specs.numbers)
    return stacks_of_each(specs.loaded, names)


def stacks_of_each(
    loaded: LoadedRevision, names: Sequence[Sequence[str]]
) -> many.Sublists | many.NullableObjects:
    """Return the stacks of each spec or package; null if the source does not list stacks."""
    if not states_stacks(loaded.frame):
        return many.NullableObjects([], [-1] * len(names))
    stack = partial(node_of, "Stack", loaded=loaded)
    return many.Sublists.of(names, lambda joined: many.ColumnTable(stack, {"name": joined}))


def _packages(specs: "SpecRows") -> Sequence["RevisionPackage"]:
    """Its package in the same revision; never null."""
    from schema.revisions.package import PackageRows

    return PackageRows(specs.loaded, specs.loaded.frame.package.codes[specs.numbers])


def _histories(specs: "SpecRows") -> many.NullableObjects:
    """The history of its hash in all series: the revisions that had it, and why it was added and
    removed.
    """
    frame, context = specs.loaded.frame, specs.loaded.context
    digest = specs.loaded.info.digest
    names = [frame.packages[code] for code in frame.package.codes[specs.numbers].tolist()]
    # By package, even for only a few of its specs: the changes of a package are stored together.
    histories = context.of_each(HistoryQueries.content_histories, digest, names)
    texts = map(frame.hashes.at, specs.numbers.tolist())
    return many.NullableObjects.of(
        [(histories[name] or {}).get(text) for name, text in zip(names, texts, strict=True)],
        lambda history: node_of("HashHistory", history=history),
    )


Kind = TypeVar("Kind", bound=type)


def _with_fact_fields(cls: Kind) -> Kind:
    """Add a field to the start of a class for each fact of a spec, except dependencies, which have
    arguments, and stacks, which are unknown in some sources: see ``stack_names``.
    """
    types: dict[str, Any] = {}
    for fact in SHOWN_FACTS.values():
        if fact.encoding is not Encoding.EDGES and fact.name != "stacks":
            values = partial(_values_of, fact.name)
            declared = many.for_many(values, fact.description, is_fixed=True)
            types[fact.name] = _graphql_type(fact)
            setattr(cls, fact.name, declared)
    cls.__annotations__ = types | cls.__annotations__
    return cls


def _values_of(column: str, specs: "SpecRows") -> many.ColumnSlice:
    return many.ColumnSlice(specs.loaded.frame, column, specs.numbers)


def _graphql_type(fact: Fact) -> Any:
    kind = list[str] if fact.value_type == tuple[str, ...] else fact.value_type
    if fact.is_bytes:
        kind = gql.ByteCount
    if fact.check is checked_moment:
        kind = gql.DateTime
    return kind | None if fact.is_optional else kind


@gql.object_type
@_with_fact_fields
class SpecType(Node):
    """One built configuration of a package."""

    loaded: strawberry.Private[LoadedRevision]
    row: strawberry.Private[int]

    id: strawberry.ID = many.for_many(_ids)
    url: str | None = many.for_many(_urls, URL)
    short: str = many.for_many(_short_forms, cost=Cost(weight=30), is_fixed=True)
    package: LazyPackage | None = many.for_many(_packages, is_fixed=True)
    stack_names: list[str] | None = many.for_many(_stack_names, is_fixed=True)
    stacks: list[LazyStack] | None = many.for_many(_stacks, is_fixed=True)
    revision: LazyRevision = many.for_many(revisions_of)
    history: LazyHistory | None = many.for_many(_histories, cost=SMALL)

    of_id = classmethod(part_of_id)

    @classmethod
    def find(cls, loaded: LoadedRevision, hash: str) -> Self | None:
        """Return the spec of a revision that has this hash; None if there is none."""
        row = loaded.frame.hashes.find(hash)
        return None if row is None else cls(loaded=loaded, row=row)

    @classmethod
    def of_prefix(cls, loaded: LoadedRevision, text: str) -> Self | None:
        """Return the spec of a revision whose hash starts with a text; None if there is none.

        Raises AmbiguousHash if there are several.
        """
        row = loaded.frame.row_of_prefix(text) if text else None
        return None if row is None else cls(loaded=loaded, row=row)

    @classmethod
    def sought(cls, context: Context, text: str, ref: str | None) -> Self | None:
        """Return the spec whose hash starts with a text, in the revision of a ref or the newest
        that has it.

        None if there is none. Raises AmbiguousHash if there are several, and the errors of
        ``Context.resolve`` and ``Context.of_history``.
        """
        prefix = text.removeprefix("/").lower()
        if ref is None:
            history = context.of_history(HistoryQueries.hash_history, prefix)
            if history is None:
                return None
            return cls.find(context.load(history.newest), history.hash)
        loaded = context.load(context.resolve(ref))
        row = loaded.frame.row_of_prefix(prefix)
        return None if row is None else cls(loaded=loaded, row=row)

    def alone(self) -> "SpecRows":
        """Return a list of only this spec."""
        return SpecRows(self.loaded, np.array([self.row], np.int32))

    dependencies = neighbours_field(
        "The specs on which it depends; null if the source of the revision does not state its "
        "dependencies. A transitive list does not go beyond specs with unknown dependencies.",
        upward=False,
    )
    dependents = neighbours_field(
        "The specs that depend on it: specs of the same revision, and nodes outside of it on which "
        "these depend. Null if the source of the revision does not list dependencies.",
        upward=True,
    )


class SpecRows(many.RowList[SpecType]):
    """Specs as rows of a frame; an object is created only on access."""

    def item(self, number: int) -> SpecType:
        """Return the spec of a row."""
        return SpecType(loaded=self.loaded, row=number)

    def origin(self) -> many.Origin:
        """Return the rows of the frame."""
        frame = self.loaded.frame
        return many.Origin(("specs", frame.digest), len(frame), self.numbers)


ABSENCE = Cost(weight=100_000)
"""Searching the revisions that had a package, and without each condition of a query."""


class SpecCursors(many.ColumnSlice):
    """The cursors of some rows of a frame."""

    def __init__(self, loaded: LoadedRevision, rows: Rows) -> None:
        super().__init__(loaded.frame, "hashes", rows)
        self.digest = loaded.info.digest

    def __getitem__(self, place: Any) -> Any:
        return relay.cursor_of(self.digest, key=super().__getitem__(place))

    def texts(self) -> list[str]:
        """Return the JSON of each cursor."""
        start = relay.cursor_of(self.digest, key="")
        return [f'"{start}{text[1:]}' for text in super().texts()]


class SpecPage(relay.ListPage[SpecType]):
    """A page of selected specs; ``rows`` are the rows of all selected specs, in order.

    ``query`` is the query in Spack's spec syntax that selected them, if any.
    """

    def __init__(
        self, loaded: LoadedRevision, rows: Rows, part: relay.Window, query: str | None = None
    ) -> None:
        self.shown = rows[part.start : part.stop]
        cursors = SpecCursors(loaded, self.shown)
        super().__init__([part], SpecRows(loaded, self.shown), cursors)
        self.loaded = loaded
        self.rows = rows
        self.query = query


class SpecPages(many.LazyList["SpecConnection"], relay.ListPage[SpecType]):
    """Pages of the specs of several packages, as a list of connections.

    ``shown`` has the rows of all pages, page after page. ``page_at`` returns the page at an index,
    with all rows of its list.
    """

    def __init__(
        self,
        loaded: LoadedRevision,
        shown: Rows,
        parts: Sequence[relay.Window],
        page_at: Callable[[int], SpecPage],
    ) -> None:
        cursors = SpecCursors(loaded, shown)
        relay.ListPage.__init__(self, parts, SpecRows(loaded, shown), cursors)
        self._page_at = page_at

    def __len__(self) -> int:
        return len(self.parts)

    def __getitem__(self, place: Any) -> Any:
        return SpecConnection(page=self._page_at(place))

    @classmethod
    def of(cls, loaded: LoadedRevision, pages: Sequence[SpecPage]) -> "SpecPages":
        """Combine pages, at least one."""
        shown = np.concatenate([page.shown for page in pages])
        return cls(loaded, shown, [page.parts[0] for page in pages], pages.__getitem__)

    @classmethod
    def of_packages(
        cls, loaded: LoadedRevision, codes: Rows, first: int | None, last: int | None
    ) -> "SpecPages":
        """Return the first or last specs of packages, in the order of the frame."""
        begins, ends = loaded.frame.starts[codes], loaded.frame.starts[codes + 1]
        stops = ends if first is None else np.minimum(ends, begins + first)
        starts = begins if last is None else np.maximum(begins, stops - last)
        counts = stops - starts
        before = np.cumsum(counts) - counts
        shown = np.repeat(starts - before, counts) + np.arange(counts.sum())
        bounds = ((places - begins).tolist() for places in (starts, stops, ends))
        parts = list(map(relay.Window, *bounds))

        def page_at(place: int) -> SpecPage:
            rows = np.arange(begins[place], ends[place], dtype=np.int32)
            return SpecPage(loaded, rows, parts[place])

        return cls(loaded, shown.astype(np.int32), parts, page_at)


class Facet(Enum):
    """A fact by whose values specs are counted.

    - PACKAGE: The package.
    - VERSION: The version.
    - COMPILER: The compiler, as name@version.
    - OPERATING_SYSTEM: The operating system.
    - PLATFORM: The platform.
    - TARGET: The microarchitecture.
    - STACK: The stacks; a spec counts in each of its stacks.
    """

    PACKAGE = "package"
    VERSION = "version"
    COMPILER = "compiler"
    OPERATING_SYSTEM = "operating_system"
    PLATFORM = "platform"
    TARGET = "target"
    STACK = "stacks"


gql.describe_enum(Facet)

FACET_DEFAULT = 100
"""Default number of values of a facet."""


@gql.object_type
class FacetCount:
    """The number of specs with a value.

    - value: The value.
    - num_specs: Number of specs with the value.
    """

    value: str
    num_specs: int


def facet_counts(counted: Sequence[tuple[str, int]]) -> Any:
    """Return the numbers of specs with some values."""
    values, numbers = ([*column] for column in zip(*counted, strict=True)) if counted else ([], [])
    return many.ColumnTable(FacetCount, {"value": values, "num_specs": numbers})


@gql.object_type
class UnknownNameType:
    """A name in a query that no revision has.

    - name: The name.
    - nearest_names: Names of similar packages, the most similar first.
    """

    name: str
    nearest_names = many.attribute("nearest", list[str])


@gql.object_type
class NearMissType:
    """The specs that meet all conditions of a query but one.

    - fact: What that condition is about: `target`, `version`, `variant mpi`, `dependency openmpi`.
    - values: What the specs have instead, the most frequent first; empty for a dependency.
    - num_specs: How many specs there are.
    """

    near_miss: strawberry.Private[NearMiss]
    loaded: strawberry.Private[LoadedRevision]

    fact = many.attribute("near_miss.fact", str)
    values = many.attribute("near_miss.values", list[str])
    num_specs = many.attribute("near_miss.rows", int, make=len)

    @resolver()
    def example(self) -> SpecType:
        """One of them: that of the newest version."""
        return SpecType(loaded=self.loaded, row=int(self.near_miss.rows[0]))


@gql.object_type
class SpecConnection(relay.Connection[SpecType]):
    """A page of specs."""

    @property
    def _specs(self) -> SpecPage:
        assert isinstance(self.page, SpecPage)  # noqa: S101 - narrows the type of the base class
        return self.page

    @property
    def _unmet_query(self) -> str | None:
        """The query in Spack's spec syntax, if there is one and it matches nothing."""
        return None if len(self._specs.rows) else self._specs.query

    @resolver(MEDIUM)
    def facet(
        self, by: Facet, first: relay.FirstArgument = FACET_DEFAULT
    ) -> list[FacetCount] | None:
        """The values of a fact that the specs of the connection have, not only those of the page,
        with the number of specs of each, the most frequent first.

        - by: The fact.
        """
        relay.check_size("first", first)
        counted = self._specs.loaded.frame.facet(by.value, self._specs.rows)[:first]
        return facet_counts(counted)  # type: ignore[no-any-return]

    @resolver(
        Cost(weight=80_000),
        description="The names because of which `matching` matches nothing: names after `%` or "
        "`^` that no revision has, and the name of the package if it differs from an existing "
        f"one only in case. At most {UNKNOWN_NAMES_MAX} names.",
    )
    def unknown_names(self) -> list[UnknownNameType]:
        query, loaded = self._unmet_query, self._specs.loaded
        return [] if query is None else loaded.unknown_names(query)  # type: ignore[return-value]

    @property
    def _absence(self) -> Absence | None:
        query, loaded = self._unmet_query, self._specs.loaded
        if query is None:
            return None
        return loaded.context.of_history(HistoryQueries.absence, loaded.info, query)

    @resolver(
        ABSENCE,
        description="If `matching` matches nothing: a sentence that states until when any series "
        "had such specs, and what the nearest specs have instead. The name of a family of targets "
        "counts as all of its targets. Null for a query without the name of a package.",
    )
    def absence(self) -> str | None:
        absent = self._absence
        return None if absent is None else absent.title

    @resolver(
        ABSENCE,
        description="If `matching` matches nothing: for each of its conditions, the specs that "
        "meet all others, if there are any, so that one fact differs. If the revision lacks the "
        "package, they are those of the last revision that has it. Empty for a query without the "
        "name of a package.",
    )
    def near_misses(self) -> list[NearMissType] | None:
        absent = self._absence
        if absent is None or not absent.near_misses:
            return []
        loaded = self._specs.loaded.context.load(absent.nearest_in)
        return [NearMissType(near_miss=miss, loaded=loaded) for miss in absent.near_misses]


def spec_connection(
    loaded: LoadedRevision, rows: Rows, arguments: relay.PageArguments
) -> SpecConnection:
    """Return a page of some rows of a frame, in their order."""
    hashes = loaded.frame.hashes

    def find(cursor: str) -> int | None:
        places = np.flatnonzero(rows == hashes.find(cursor))
        return int(places[0]) if len(places) else None

    part = relay.window_at(arguments.within(loaded.info.digest), len(rows), find)
    return SpecConnection(page=SpecPage(loaded, rows, part))


def specs_field(
    cost: Cost, scope: Callable[[Any, Info], tuple[LoadedRevision, slice | Mask]]
) -> Any:
    """Declare a connection over specs of a revision; ``scope`` returns a slice or mask of its
    frame.
    """

    @relay.connection_field(cost)
    def specs(
        self: Any,
        info: Info,
        matching: MatchingArgument = None,
        filter: FilterArgument = None,
        order_by: OrderArgument = None,
        *,
        page: relay.PageArguments,
    ) -> SpecConnection | None:
        """Its specs, by default ordered by package, newest version first."""
        shown = spec_page(*scope(self, info), matching, filter, order_by, page)
        return SpecConnection(page=shown)

    return specs


def spec_page(
    loaded: LoadedRevision,
    within: slice | Mask,
    matching: str | None,
    conditions: SpecFilterInput | None,
    order: relay.Order | None,
    arguments: relay.PageArguments,
) -> SpecPage:
    """Return a page of the specs in a slice or mask of the frame.

    Raises InvalidArgument for an invalid cursor, and the errors of ``snapshots.frames.queries``.
    """
    frame, arguments = loaded.frame, arguments.within(loaded.info.digest)
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
            raise relay.bad_cursor(cursor)
        _, ranks = frame.order(field)
        signed = -ranks[rows] if falling else ranks[rows]
        place = -ranks[row] if falling else ranks[row]
        return int(np.searchsorted(signed, place)), int(np.searchsorted(signed, place, "right"))

    return SpecPage(loaded, rows, relay.window(arguments, len(rows), places), matching)


def _selected(frame: Frame, within: slice | Mask, filter: SpecFilterInput | None) -> Rows:
    """Return the selected rows, in the order of the frame."""
    conditions = filter.to_domain() if filter is not None else None
    if isinstance(within, slice):
        start, stop, _ = within.indices(len(frame))
        if conditions is None:
            return np.arange(start, stop, dtype=np.int32)
        return rows_where(frame.select(conditions, within)) + np.int32(start)
    mask = within if conditions is None else within & frame.select(conditions)
    return rows_where(mask)
