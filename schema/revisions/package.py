"""Packages and stacks of a revision: the specs of one name, or of one build environment."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Self

import numpy as np
import strawberry

from schema.context import Info, LoadedRevision
from schema.fields import gql, many, relay
from schema.fields.cost import LARGE, MEDIUM, PLAIN, SMALL, Cost, Work, resolver
from schema.node import (
    URL,
    Node,
    id_field,
    key_of,
    node_id,
    node_of,
    page_in,
    part_of_id,
    revision_object,
)
from schema.revisions import spec
from snapshots import refs
from snapshots.catalog.history_queries import HistoryQueries
from snapshots.changes.coverage import CoverageDimension, cells_of
from snapshots.changes.impact import Impact, ImpactPart, impact, rows_above
from snapshots.changes.pairings import states_stacks
from snapshots.errors import InvalidArgument
from snapshots.frames.columns import Column, ListColumn, rows_where
from snapshots.frames.frame import Frame, PackageField

if TYPE_CHECKING:
    from schema.histories import ImpactOutcome, Package, SeriesPackage


PackageOrderArgument = Annotated[
    relay.Order | None, relay.order_by("PackageOrder", "packages", PackageField, ties="name")
]


gql.describe_enum(CoverageDimension)


@gql.object_type
class CoverageCell:
    """A cell of a package's coverage: a combination of values, one for each dimension, that some of
    its specs have.

    - values: The value for each requested dimension, in the order of `by`.
    - num_specs: Number of specs of the package that have these values.
    """

    values: list[str]
    num_specs: int


OUTCOME = Cost(weight=30_000, work=Work.EXPLAINING)
"""Searching the causes of a series, and explaining one of its comparisons."""

LazyOutcome = Annotated["ImpactOutcome", strawberry.lazy("schema.histories")]


def _facet_counts(parts: Sequence[ImpactPart]) -> Any:
    return spec.facet_counts([(part.name, part.num_specs) for part in parts])


@gql.object_type
class ImpactType:
    """The specs that would be rebuilt if the recipes of some packages changed: their own specs, and
    all specs that depend on them, directly or indirectly.

    - num_specs: Number of these specs.
    - num_packages: Number of packages of these specs.
    - size: Sum of the known sizes of their binary packages; null if none is known.
    - size_label: The class of the number of specs, one of the labels of nixpkgs' pull requests: 0,
      1-10, 11-100, 101-500, 501-1000, 1001+.
    - stack_counts: Number of these specs in each stack except root, the largest number first; null
      if the source of the revision does not list stacks.
    - target_counts: Number of these specs for each target, the largest number first.
    """

    loaded: strawberry.Private[LoadedRevision]
    packages: strawberry.Private[Sequence[str]]
    stack: strawberry.Private[str | None]
    counts: strawberry.Private[Impact]

    @classmethod
    def of(
        cls, loaded: LoadedRevision, packages: Sequence[str], stack: str | None = None
    ) -> Self | None:
        """Return the impact on the specs of a stack, or on all; None without dependencies."""
        frame, graph = loaded.frame, loaded.dependencies()
        if not graph.is_known:
            return None
        mask = rows_above(frame, graph, packages)
        if stack is not None:
            mask = mask & frame.in_stack(stack)
        return cls(loaded=loaded, packages=packages, stack=stack, counts=impact(frame, mask))

    num_specs = many.attribute("counts.num_specs", int)
    num_packages = many.attribute("counts.num_packages", int)
    size = many.attribute("counts.size", gql.ByteCount | None)
    size_label = many.attribute("counts.size_label", str)

    stack_counts = many.attribute(
        "counts.by_stack", list[spec.FacetCount] | None, make=_facet_counts
    )
    target_counts = many.attribute("counts.by_target", list[spec.FacetCount], make=_facet_counts)

    @resolver(OUTCOME)
    def outcome(self) -> LazyOutcome | None:
        """The effect of the next change of one of the packages in the series; null if none has
        changed in any later revision.
        """
        from schema.histories import impact_outcome

        return impact_outcome(self.loaded, self.packages, self.stack)


LazySeriesPackage = Annotated["SeriesPackage", strawberry.lazy("schema.histories")]
LazyPackage = Annotated["Package", strawberry.lazy("schema.histories")]


def _for_each(value: Callable[[Frame, int], Any]) -> Any:
    """Declare a field whose value is computed from the frame and the package's code."""

    def values(packages: "PackageRows") -> list[Any]:
        frame = packages.loaded.frame
        return [value(frame, code) for code in packages.each_code()]

    return many.for_many(values, cost=Cost(weight=10), is_fixed=True)


def _values_in(frame: Frame, name: str, code: int) -> list[str]:
    column: Column[Any] = getattr(frame, name)
    rows = frame.slice_of(code)
    if isinstance(column, ListColumn):
        return [item for item, _ in column.item_counts(rows)]
    return column.present(rows)


def _stack_names(frame: Frame, code: int) -> list[str] | None:
    return _values_in(frame, "stacks", code) if states_stacks(frame) else None


def _stacks(packages: "PackageRows") -> many.Sublists | many.NullableObjects:
    """The stacks that contain a spec of it, ordered by name; null if the source of the revision
    does not list stacks.
    """
    frame = packages.loaded.frame
    names = [_values_in(frame, "stacks", code) for code in packages.each_code()]
    return spec.stacks_of_each(packages.loaded, names)


def _names(packages: "PackageRows") -> list[str]:
    names = packages.loaded.frame.packages
    return [names[code] for code in packages.numbers.tolist()]


def _ids(packages: "PackageRows") -> list[strawberry.ID]:
    """An opaque, stable id."""
    key = key_of(packages.loaded.info)
    return [node_id("RevisionPackage", key, name) for name in _names(packages)]


def _urls(packages: "PackageRows") -> list[str | None]:
    info = packages.loaded.info
    return [page_in(info, "packages", name) for name in _names(packages)]


def _series_packages(packages: "PackageRows") -> many.NullableObjects:
    """The package in the series of this revision, with its history."""
    loaded, names = packages.loaded, _names(packages)
    series = refs.series(loaded.info.tag)
    timelines = loaded.context.of_each(HistoryQueries.package_timelines, series, names)
    return many.NullableObjects.of(
        [timelines.get(name) for name in names],
        lambda timeline: node_of(
            "SeriesPackage",
            context=loaded.context,
            series_name=series,
            name=timeline.name,
            timeline=timeline,
        ),
    )


def _specs(
    packages: "PackageRows",
    matching: spec.MatchingArgument = None,
    filter: spec.FilterArgument = None,
    order_by: spec.OrderArgument = None,
    *,
    page: relay.PageArguments,
) -> spec.SpecPages:
    """Its specs, by default ordered by package, newest version first."""
    loaded = packages.loaded
    narrowing = (matching, filter, order_by, page.after, page.before)
    if all(value is None for value in narrowing):
        return spec.SpecPages.of_packages(loaded, packages.numbers, *page.bounds())
    slice_of = loaded.frame.slice_of
    pages = [
        spec.spec_page(loaded, slice_of(code), matching, filter, order_by, page)
        for code in packages.each_code()
    ]
    return spec.SpecPages.of(loaded, pages)


@gql.object_type
class RevisionPackage(Node):
    """All specs of one name in a revision.

    - versions: The versions of its specs, newest first, in Spack's version order.
    - targets: The microarchitectures of its specs.
    - stack_names: The names of the stacks that contain a spec of it, sorted; null if the source of
      the revision does not list stacks.
    - num_specs: Number of specs.
    - total_size: Sum of the known sizes of its binary packages; null if none is known.
    """

    loaded: strawberry.Private[LoadedRevision]
    code: strawberry.Private[int]

    id: strawberry.ID = many.for_many(_ids)
    name: str = many.for_many(_names, "The package's name.", is_fixed=True)
    url: str | None = many.for_many(_urls, URL)
    revision: spec.LazyRevision = many.for_many(spec.revisions_of)
    versions: list[str] = _for_each(
        lambda frame, code: frame.version.present(frame.slice_of(code))[::-1]
    )
    targets: list[str] = _for_each(lambda frame, code: _values_in(frame, "target", code))
    stack_names: list[str] | None = _for_each(_stack_names)
    stacks: list[spec.LazyStack] | None = many.for_many(_stacks, is_fixed=True)
    num_specs: int = _for_each(lambda frame, code: int(frame.starts[code + 1] - frame.starts[code]))
    total_size: gql.ByteCount | None = _for_each(
        lambda frame, code: frame.size.total(frame.slice_of(code))
    )
    specs: spec.SpecConnection | None = many.for_many(
        _specs,
        cost=Cost(weight=20),
        extensions=[relay.Paged()],
        is_fixed=True,
    )

    series_package: LazySeriesPackage | None = many.for_many(_series_packages, cost=MEDIUM)

    @resolver(SMALL)
    def package(self, info: Info) -> LazyPackage | None:
        """The package in all series."""
        from schema.histories import catalog_package

        return catalog_package(info.context, self.loaded.frame.packages[self.code])

    @resolver(MEDIUM)
    def coverage(
        self, by: list[CoverageDimension], first: relay.FirstArgument = relay.PAGE_MAX
    ) -> list[CoverageCell] | None:
        """The number of its specs for each combination of values, ordered by these values, versions
        and compilers in Spack's order. With the dimension STACK, a spec is in one cell for each of
        its stacks. A spec without a value for a dimension is in no cell.

        - by: The dimensions, each of which counts once; an empty list for the package as a whole.
        """
        relay.check_size("first", first)
        if len(by) > len(CoverageDimension):
            raise InvalidArgument("by", f"more than {len(CoverageDimension)} dimensions")
        frame = self.loaded.frame
        rows = np.arange(*frame.slice_of(self.code).indices(len(frame)), dtype=np.int32)
        cells = cells_of(frame, rows, [*dict.fromkeys(by)])
        texts_of_each = [
            [values[code] for code in codes[:first].tolist()]
            for values, codes in zip(cells.values, cells.codes, strict=True)
        ]
        num_specs = cells.num_specs[:first].tolist()
        values = [*map(list, zip(*texts_of_each, strict=True))] if by else [[] for _ in num_specs]
        return many.ColumnTable(CoverageCell, {"values": values, "num_specs": num_specs})  # type: ignore[return-value]

    @resolver(MEDIUM)
    def dependent_packages(
        self, first: relay.FirstArgument = relay.PAGE_MAX
    ) -> list[spec.FacetCount] | None:
        """The packages with specs that depend directly on a spec of it, those with the most such
        specs first; null if the source of the revision does not list dependencies.
        """
        relay.check_size("first", first)
        frame, graph = self.loaded.frame, self.loaded.dependencies()
        if not graph.is_known:
            return None
        own = frame.slice_of(self.code)
        rows = graph.rows_needing(np.arange(own.start, own.stop))
        counts = np.bincount(frame.package.codes[rows], minlength=len(frame.packages))
        order = np.argsort(-counts, kind="stable")[: min(first, np.count_nonzero(counts))]
        counted = [(frame.packages[code], int(counts[code])) for code in order.tolist()]
        return spec.facet_counts(counted)  # type: ignore[no-any-return]

    @resolver(LARGE)
    def impact(self) -> ImpactType | None:
        """The specs that would be rebuilt if its recipe changed; null if the source of the revision
        does not list dependencies.
        """
        return ImpactType.of(self.loaded, [self.loaded.frame.packages[self.code]])

    of_id = classmethod(part_of_id)

    @classmethod
    def find(cls, loaded: LoadedRevision, name: str) -> Self | None:
        """Return a package of a revision; None if it has none of that name."""
        code = loaded.frame.package.index.get(name)
        return None if code is None else cls(loaded=loaded, code=code)

    def alone(self) -> "PackageRows":
        """Return a list of only this package."""
        return PackageRows(self.loaded, np.array([self.code], np.int32))


class PackageRows(many.RowList[RevisionPackage]):
    """Packages identified by their codes; an object is created only on access."""

    def item(self, number: int) -> RevisionPackage:
        """Return the package of a code."""
        return RevisionPackage(loaded=self.loaded, code=number)

    def origin(self) -> many.Origin:
        """Return the codes of the frame's packages."""
        frame = self.loaded.frame
        return many.Origin(("packages", frame.digest), len(frame.packages), self.numbers)

    def each_code(self) -> Iterator[int]:
        """Yield the codes, for work that takes long for each of them; raises BudgetExceeded."""
        each: Iterator[int] = self.loaded.context.budget.each(self.numbers.tolist())
        return each


def packages_field(
    cost: Cost, description: str, scope: Callable[[Any, Info], tuple[LoadedRevision, str | None]]
) -> Any:
    """Declare a connection over the packages of a revision, or of those with a spec in a stack,
    which ``scope`` returns for an object.
    """

    @relay.connection_field(cost, description)
    def packages(
        self: Any,
        info: Info,
        filter: spec.SpecFilterInput | None = None,
        order_by: PackageOrderArgument = None,
        *,
        page: relay.PageArguments,
    ) -> relay.Connection[RevisionPackage] | None:
        """- filter: Only packages with a spec that meets these conditions; by default, all
        packages.
        """
        loaded, stack = scope(self, info)
        frame = loaded.frame
        codes = np.arange(len(frame.packages), dtype=np.int32)
        if filter is not None:
            codes = frame.select_packages(filter.to_domain())
        if stack is not None:
            codes = codes[frame.packages_having(frame.in_stack(stack))[codes]]
        if order_by is not None:
            codes = frame.sort_packages(codes, order_by.field)
            if order_by.is_descending:
                codes = codes[::-1]

        def find(cursor: str) -> int | None:
            places = np.flatnonzero(codes == frame.package.index.get(cursor, -1))
            return int(places[0]) if len(places) else None

        digest = loaded.info.digest
        part = relay.window_at(page.within(digest), len(codes), find)
        shown = PackageRows(loaded, codes[part.start : part.stop])
        names = _names(shown)
        cursors = many.ComputedList(
            len(shown), lambda place: relay.cursor_of(digest, key=names[place])
        )
        return relay.Connection(page=relay.ListPage([part], shown, cursors))

    return packages


@gql.object_type
class Stack(Node):
    """A build environment (e4s, ml-linux-x86_64-cuda ...). root is the union of all stacks.

    - name: The stack's name.
    - revision: The revision to which it belongs.
    """

    loaded: strawberry.Private[LoadedRevision]
    name: str

    of_id = classmethod(part_of_id)

    @classmethod
    def find(cls, loaded: LoadedRevision, name: str) -> Self | None:
        """Return a stack of a revision; None if it has none of that name."""
        return cls(loaded=loaded, name=name) if name in loaded.frame.stacks.item_index else None

    id = id_field("Stack", "loaded.info", "name")

    @resolver(description=URL)
    def url(self) -> str | None:
        return page_in(self.loaded.info, "stacks", self.name)

    revision = many.attribute("loaded.info", spec.LazyRevision, make=revision_object)

    @resolver(SMALL)
    def num_packages(self) -> int:
        """Number of packages with a spec in it."""
        frame = self.loaded.frame
        return int(frame.packages_having(frame.in_stack(self.name)).sum())

    @resolver(SMALL)
    def num_specs(self) -> int:
        """Number of specs."""
        return int(self.loaded.frame.in_stack(self.name).sum())

    @resolver(SMALL)
    def total_size(self) -> gql.ByteCount | None:
        """Sum of the known sizes of its binary packages; null if none is known."""
        frame = self.loaded.frame
        rows = rows_where(frame.in_stack(self.name))
        size = frame.size.total(rows)
        return None if size is None else gql.ByteCount(size)

    packages = packages_field(
        PLAIN,
        "The packages with a spec in it, by default ordered by name. Their fields describe the "
        "packages in the entire revision.",
        lambda stack, _: (stack.loaded, stack.name),
    )
    specs = spec.specs_field(
        PLAIN,
        lambda stack, _: (stack.loaded, stack.loaded.frame.in_stack(stack.name)),
    )
