"""Histories: hashes, packages and whole series through their revisions."""

from datetime import datetime
from functools import cached_property, partial
from typing import Annotated, Any, Self

import numpy as np
import strawberry

from schema.comparisons.changes import LoadedComparison, load_comparison
from schema.comparisons.comparison import ComparisonType
from schema.comparisons.explanations import Cause, CauseRows, CommitType, ReasonCount
from schema.context import Context, Info, LoadedRevision
from schema.fields.connections import (
    Connection,
    Edge,
    FirstArgument,
    PageArguments,
    check_size,
    connection_field,
    edges_field,
    page_of,
)
from schema.fields.cost import (
    COMPARING,
    EXPLAINING,
    LOADING,
    TIMELINE,
    ArgumentCost,
    Cost,
    NumberOf,
    field,
    resolver,
    texts,
)
from schema.fields.many import (
    Each,
    ListedRecord,
    Places,
    RowList,
    WhereKnown,
    attribute,
    for_many,
    of_record,
)
from schema.fields.scalars import (
    ByteCount,
    DateTime,
    Omittable,
    deprecated,
    describe_enum,
    object_type,
)
from schema.node import Node, id_field
from schema.revisions.costs import cost_fields
from schema.revisions.revision import (
    NUM_STACKS_DEPRECATED,
    Revision,
    revision_connection,
    revision_field,
    series_field,
)
from schema.revisions.spec import SpecType
from snapshots.catalog import past
from snapshots.catalog.history_answers import About, HistoryTopic
from snapshots.changes.cause_names import CauseKind, CauseName
from snapshots.changes.coverage import NUM_NEAREST, CoverageDimension, nearest_rows
from snapshots.changes.impact import Outcome, outcome
from snapshots.changes.kept_changes import KeptCause
from snapshots.changes.lookup import COMPARED, Lookup, Wanted
from snapshots.changes.package_changes import PackageChangeKind
from snapshots.changes.reasons import SpecChangeReason
from snapshots.changes.vocabulary import cause_title
from snapshots.errors import CatalogError, InvalidArgument
from snapshots.history import Pair, age
from snapshots.models import ConcreteSpec, RevisionInfo
from snapshots.refs import series as series_of
from snapshots.timelines.availability import Cell, CellSpan, PackageCells, is_current, nearest_place
from snapshots.timelines.catalog_packages import CatalogPackage, PackageInSeries
from snapshots.timelines.causes import (
    SeriesCause,
    SeriesCauseKey,
    SeriesCausePoint,
    SeriesCauses,
)
from snapshots.timelines.growth import Growth, GrowthPoint
from snapshots.timelines.packages import PackageEntry, PackageTimeline
from snapshots.timelines.spans import HashHistory, Span

REPLACED = Cost(weight=COMPARING + EXPLAINING, each_loaded=2 * LOADING)
"""What replaced a hash: two revisions are compared."""

SPANS = 4
"""In how many spans of all series a hash usually was."""


@object_type
class SpanType:
    """Revisions of a series that follow one another and have a hash: first and last have it, as all
    between them.

    - series: The name of the series.
    - series_node: The series itself.
    - series_info: As `seriesNode`.
    - first: The first revision that has it.
    - last: The last revision that has it.
    - is_current: Whether the last revision of the series has it.
    - reason_came: Why it came with the first. RETURNED where the series had it before, unless it
      replaced another spec.
    - reason_gone: Why it went; null where it is still there.
    - gone_in: The revision after the last, which has it no longer; null where there is none.
    """

    span: strawberry.Private[Span]

    series = attribute("span.series", str)
    series_node = series_field("span.series")
    series_info = deprecated("Use `seriesNode`.")(series_field("span.series"))
    first = revision_field("span.first")
    last = revision_field("span.last")
    is_current = attribute("span.is_current", bool)
    reason_came = attribute("span.reason_came", SpecChangeReason)
    reason_gone = attribute("span.reason_gone", SpecChangeReason | None)
    gone_in = revision_field("span.gone_in", Revision | None)


@object_type
class HashHistoryType(Node):
    """What the catalog knows of a hash, in whatever revision.

    - hash: The whole hash.
    - name: The name of its package.
    - version: The version that was built.
    - newest: The newest revision that has it.
    """

    history: strawberry.Private[HashHistory]

    id = id_field("HashHistory", "history.hash")

    @classmethod
    def of_id(cls, context: Context, hash: str) -> Self | None:
        """Return the history of a whole hash."""
        history = cls.of(context, hash)
        return history if history is not None and history.history.hash == hash else None

    @classmethod
    def of(cls, context: Context, text: str) -> Self | None:
        """Return the history of a hash or of a prefix; None where no revision had it.

        Raises InvalidArgument, AmbiguousHash and IncompleteHistory.
        """
        history = context.of_history(HistoryTopic(About.HASH, text))
        return None if history is None else cls(history=history)

    hash = attribute("history.hash", str)
    name = attribute("history.name", str)
    version = attribute("history.version", str | None)
    newest = revision_field("history.newest")

    @resolver(Cost(weight=20, each_loaded=LOADING))
    def spec(self, info: Info) -> SpecType:
        """All its facts, from the newest revision that has it."""
        loaded = info.context.load(self.history.newest)
        row = loaded.frame.hashes.find(self.history.hash)
        if row is None:
            reason = (
                f"the history has {self.history.hash} in {loaded.info.digest}, which has not; "
                "'cachelog verify' gives details"
            )
            raise CatalogError(info.context.catalog.location, reason)
        return SpecType(loaded=loaded, row=row)

    @resolver(REPLACED)
    def successor(self, info: Info) -> SpecType | None:
        """What replaced it in the revision after `newest`; null where nothing did, or the series
        still has it.
        """
        span = self._last
        if span.gone_in is None or span.reason_gone is not SpecChangeReason.REPLACED:
            return None
        base, head = map(info.context.load, (span.last, span.gone_in))
        row = base.frame.hashes.find(self.history.hash)
        if row is None:
            return None
        counterparts = info.context.explain(span.last, span.gone_in).counterparts
        return SpecType(loaded=head, row=int(counterparts.head_of[row]))

    @resolver(Cost(weight=20, each_loaded=2 * LOADING))
    def nearest(self, info: Info) -> SpecType | None:
        """The spec of the package that is most alike in the newest revision of the series that had
        it last, as `MissingSpec.nearest`; null where that has the hash, or nothing of the package.
        """
        span = self._last
        if span.gone_in is None:
            return None
        loaded = info.context.load(info.context.changing_history().of_series(span.series)[0])
        spec = self.spec(info)
        facts = {name: spec.loaded.frame.columns[name].at(spec.row) for name in COMPARED}
        needed = ConcreteSpec(hash=self.history.hash, name=self.history.name, **facts)
        row = int(Lookup(Wanted([needed]), loaded.frame).nearest[0])
        return None if row < 0 else SpecType(loaded=loaded, row=row)

    @property
    def _last(self) -> Span:
        """The span whose last revision is the newest."""
        return max(self.history.spans, key=lambda span: age(span.last))

    @resolver(Cost(items=SPANS))
    def spans(self) -> list[SpanType]:
        """Where it was: the spans of each series, oldest first, series after series in the order of
        `allSeries`.
        """
        return [SpanType(span=span) for span in self.history.spans]


TOUCHED = 5
"""For how many reasons a revision touches a package."""


TOGETHER = 50
"""Of so many entries the main causes are read at once."""

MAIN_CAUSES = Cost(weight=50, items=TOUCHED, once=20_000)
"""The main causes of a package in some revisions."""


@object_type
class MainCause:
    """A cause, and how many specs of one package it is the main one of.

    - num_specs: How many specs of the package it is the main cause of.
    - kind: What changed.
    - package: The package that changed by itself; null of FORMAT alone.
    - before: As `Cause.before`.
    - after: As `Cause.after`.
    """

    cause: strawberry.Private[KeptCause]
    num_specs: int

    kind = attribute("cause.kind", CauseKind)
    package = attribute("cause.package", str | None)
    before = attribute("cause.before", str | None)
    after = attribute("cause.after", str | None)

    @resolver(Cost(num_bytes=80))
    def title(self) -> str:
        """One line for people: openssl 3.3.1 → 3.4.0."""
        cause = self.cause
        return cause_title(CauseName(cause.kind, cause.package, cause.before, cause.after))


@object_type
class PackageHistoryEntry:
    """What a revision did to a package, from the one before it.

    - revision: The revision that touched the package.
    - kind: How the package changed.
    - versions_added: Versions that the revision before had not, newest first.
    - versions_removed: Versions that only the revision before had, newest first.
    - specs_added: How many of its hashes came.
    - specs_removed: How many of its hashes went.
    - specs_changed: How many of its hashes have other facts.
    """

    entry: strawberry.Private[PackageEntry]
    topic: strawberry.Private[HistoryTopic]

    revision = revision_field("entry.head")

    @resolver()
    def comparison(self) -> ComparisonType | None:
        """The whole of what changed with the revision; null for the first of the series."""
        base = self.entry.base
        return None if base is None else ComparisonType(base_info=base, head_info=self.entry.head)

    kind = attribute("entry.kind", PackageChangeKind)
    versions_added = attribute("entry.versions_added", list[str], texts(60))
    versions_removed = attribute("entry.versions_removed", list[str], texts(60))
    specs_added = attribute("entry.specs_added", int)
    specs_removed = attribute("entry.specs_removed", int)
    specs_changed = attribute("entry.specs_changed", int)

    @resolver(Cost(items=TOUCHED))
    def reasons(self) -> list[ReasonCount]:
        """Why its hashes came, went or changed; those that came back have a reason of their own.
        The numbers add up to all of them.
        """
        counts = self.entry.reasons
        return [
            ReasonCount(reason=reason, num_specs=counts[reason])
            for reason in SpecChangeReason
            if reason in counts
        ]

    @resolver(MAIN_CAUSES)
    def main_causes(self, info: Info) -> list[MainCause] | None:
        """The main causes of its added specs that replaced others, what explains most of
        them first; null for the first of the series.
        """
        base = self.entry.base
        if base is None:
            return None
        key = self.topic.text, Pair(base.digest, self.entry.head.digest)
        causes = info.context.of_history(self.topic).get(key, ())
        return [MainCause(cause=cause, num_specs=num_specs) for cause, num_specs in causes]


@object_type
class PackageHistoryEdge(Edge[PackageHistoryEntry]):
    """An entry in a list, with the cursor to go on from."""


@object_type
class PackageHistoryConnection(Connection[PackageHistoryEntry]):
    """A page of a package's history, newest first."""

    edges: list[PackageHistoryEdge] = edges_field()  # type: ignore[assignment]  # each is an Edge


@object_type
class PackageHistory(Node):
    """A package through the revisions of a series: since when it has been there, and each revision
    that touched it.

    - name: The package's name.
    - series: The series whose revisions are looked at.
    - first_seen: The first revision that has a spec of it.
    - last_seen: The last revision that has a spec of it.
    """

    timeline: strawberry.Private[PackageTimeline]

    id = id_field("PackageHistory", "timeline.series", "timeline.name")

    @classmethod
    def of_id(cls, context: Context, series: str, name: str) -> Self | None:
        """Return a package's history; None where no revision of the series had it.

        Raises IncompleteHistory.
        """
        timeline = context.of_history(HistoryTopic(About.PACKAGE, name, series=series))
        return None if timeline is None else cls(timeline=timeline)

    name = attribute("timeline.name", str)
    series = series_field("timeline.series")
    first_seen = revision_field("timeline.first_seen")
    last_seen = revision_field("timeline.last_seen")

    @resolver()
    def is_current(self, info: Info) -> bool:
        """Whether the last revision of the series has it."""
        revisions = info.context.changing_history().of_series(self.timeline.series)
        return bool(revisions) and revisions[0] == self.timeline.last_seen

    @connection_field(Cost(weight=100, each=2))
    def entries(self, *, page: PageArguments) -> PackageHistoryConnection:
        """One entry for each revision that touched the package, newest first."""
        entries = self.timeline.entries
        keys = Each(len(entries), lambda place: entries[place].head.key)

        def entry(place: int) -> PackageHistoryEntry:
            start = place - place % TOGETHER
            pairs = [
                Pair(one.base.digest, one.head.digest)
                for one in entries[start : start + TOGETHER]
                if one.base is not None
            ]
            topic = HistoryTopic(
                About.PACKAGE_CAUSES,
                self.timeline.name,
                frozenset((self.timeline.name, pair) for pair in pairs),
                series=self.timeline.series,
            )
            return PackageHistoryEntry(entry=entries[place], topic=topic)

        shown = page_of(page, keys, entry, PackageHistoryEdge)
        return PackageHistoryConnection(page=shown)


SERIES_OF_PACKAGE = 4
"""In how many series a package usually is."""

ALL_PACKAGES = 20_000
"""The share of each request of looking through what became of all packages, which is kept."""


@object_type
class PackageInSeriesType:
    """A package in a series: as the last revision that has it has it.

    - series: The series.
    - versions: Its versions in `lastSeen`, newest first.
    - num_specs: How many specs `lastSeen` has of it.
    - num_revisions: How many revisions of the series have it.
    - first_seen: The first revision that has a spec of it.
    - last_seen: The last revision that has a spec of it.
    - gone_in: The revision after the last, which has it no longer; null where the newest has it.
    """

    one: strawberry.Private[PackageInSeries]

    series = series_field("one.series")
    versions = attribute("one.versions", list[str], texts(80))
    num_specs = attribute("one.num_specs", int)
    num_revisions = attribute("one.num_revisions", int)
    first_seen = revision_field("one.first_seen")
    last_seen = revision_field("one.last_seen")
    gone_in = revision_field("one.gone_in", Revision | None)

    @resolver()
    def is_current(self) -> bool:
        """Whether the newest revision of the series has it."""
        return self.one.gone_in is None


CELLS = 20_000
"""The cells of a package in every series, from what is kept of each neighbours."""

SPANS_OF_CELL = 3
"""In how many spans of a series a cell usually has specs."""

TargetArgument = Annotated[str | None, strawberry.argument("Only specs for this target.")]
StackArgument = Annotated[str | None, strawberry.argument("Only specs in this stack.")]
VersionArgument = Annotated[str | None, strawberry.argument("Only specs of this version.")]


def _cell(target: str | None, stack: str | None, version: str | None) -> Cell:
    dimensions = CoverageDimension.TARGET, CoverageDimension.STACK, CoverageDimension.VERSION
    values = zip(dimensions, (target, stack, version), strict=True)
    return {dimension: value for dimension, value in values if value is not None}


@object_type
class AvailabilitySpanType:
    """Revisions of a series that follow one another and have such specs: first and last have some,
    as all between them.

    - first: The first revision that has some.
    - last: The last revision that has some.
    - num_specs: How many `last` has.
    - gone_in: The revision after the last, which has none; null where there is none.
    """

    span: strawberry.Private[CellSpan]
    topic: strawberry.Private[HistoryTopic]

    first = revision_field("span.first")
    last = revision_field("span.last")
    num_specs = attribute("span.num_specs", int)
    gone_in = revision_field("span.gone_in", Revision | None)

    @resolver(Cost(items=TOUCHED))
    def reasons(self) -> list[ReasonCount]:
        """Why they went with `goneIn`, by how many specs; empty where they are still there."""
        reasons = self.span.reasons.items()
        return [ReasonCount(reason=reason, num_specs=count) for reason, count in reasons]

    @resolver()
    def comparison(self) -> ComparisonType | None:
        """The whole of what changed from `last` to `goneIn`; null where they are still there."""
        last, gone_in = self.span.last, self.span.gone_in
        return None if gone_in is None else ComparisonType(base_info=last, head_info=gone_in)

    @resolver(MAIN_CAUSES)
    def main_causes(self, info: Info) -> list[MainCause]:
        """The main causes of the specs of the package that replaced others with `goneIn`,
        what explains most of them first.
        """
        pair, every = self.span.pair, self.topic
        causes = info.context.of_history(every).get((every.text, pair), ()) if pair else ()
        return [MainCause(cause=cause, num_specs=num_specs) for cause, num_specs in causes]


@object_type
class Availability:
    """Since when a series has specs of a package, or no longer has any.

    - series: The series.
    - is_current: Whether its newest revision has such specs.
    """

    name: strawberry.Private[str]
    spans_of_cell: strawberry.Private[list[CellSpan]]
    topic: strawberry.Private[HistoryTopic]

    series = series_field("name")
    is_current = attribute("spans_of_cell", bool, make=is_current)

    @resolver(Cost(items=SPANS_OF_CELL))
    def spans(self) -> list[AvailabilitySpanType]:
        """When it had such specs, oldest first; empty where it never had any."""
        return [AvailabilitySpanType(span=span, topic=self.topic) for span in self.spans_of_cell]


def _values_of(dimension: CoverageDimension, num_bytes: int) -> Any:
    """Declare a field that lists the values of a dimension in the cells of its object."""
    return attribute(
        "cells", list[str], texts(num_bytes), make=lambda cells: cells.values(dimension)
    )


@object_type
class CoverageValues:
    """What specs of a package there ever were, in any series.

    - versions: Versions, newest first.
    - targets: Targets; none where no source tells them.
    - stacks: Stacks, without root; none where no source tells them.
    """

    cells: strawberry.Private[PackageCells]

    versions = _values_of(CoverageDimension.VERSION, 200)
    targets = _values_of(CoverageDimension.TARGET, 100)
    stacks = _values_of(CoverageDimension.STACK, 400)


@object_type
class CatalogPackageType:
    """A package over all series, also one that no newest revision has any longer.

    - name: The package's name.
    - is_gone: Whether the newest revision of no series has it.
    """

    package: strawberry.Private[CatalogPackage]

    name = attribute("package.name", str)
    is_gone = attribute("package.is_gone", bool)

    @resolver(Cost(items=SERIES_OF_PACKAGE))
    def in_series(self) -> list[PackageInSeriesType]:
        """Each series that ever had it: the main one first, then in the order of `allSeries`."""
        return [PackageInSeriesType(one=one) for one in self.package.in_series]

    @resolver()
    def best(self) -> PackageInSeriesType:
        """Where it is best looked at: the first of `inSeries` that has it, or, where it is gone,
        the one that had it last.
        """
        return PackageInSeriesType(one=self.package.best)

    @resolver(Cost(weight=TIMELINE))
    def history(self, info: Info, series: str | None = None) -> PackageHistory | None:
        """Its history in a series, that of `best` unless one is named; null where it was never
        there.

        - series: A series.
        """
        return PackageHistory.of_id(
            info.context, series or self.package.best.series, self.package.name
        )

    @resolver(Cost(weight=CELLS, items=SERIES_OF_PACKAGE))
    def availability(
        self,
        info: Info,
        target: TargetArgument = None,
        stack: StackArgument = None,
        version: VersionArgument = None,
    ) -> list[Availability]:
        """Since when each series of `inSeries` has specs of it for a target, in a stack, of a
        version, or of all that are given; and why they went.
        """
        cells, cell = self._cells(info.context), _cell(target, stack, version)
        spans = [cells.spans(one.series, cell) for one in self.package.in_series]
        name = self.package.name
        ends = {(name, span.pair) for one in spans for span in one if span.pair is not None}
        topic = HistoryTopic(About.PACKAGE_CAUSES, name, frozenset(ends))
        return [
            Availability(name=one.series, spans_of_cell=of_series, topic=topic)
            for one, of_series in zip(self.package.in_series, spans, strict=True)
        ]

    @resolver(Cost(weight=CELLS, items=NUM_NEAREST, each_loaded=LOADING))
    def nearest(
        self,
        info: Info,
        target: TargetArgument = None,
        stack: StackArgument = None,
        version: VersionArgument = None,
    ) -> list[SpecType]:
        """The specs, three at the most, that are nearest to such ones: of the newest revision of
        the first series that has some, else of that of `best`; none where the package is gone.
        """
        cells, cell = self._cells(info.context), _cell(target, stack, version)
        spans = {one.series: cells.spans(one.series, cell) for one in self.package.in_series}
        place = nearest_place(self.package, spans)
        if place is None:
            return []
        base, head = map(info.context.load, place)
        values = dict.fromkeys(cell.items(), 1)
        rows = nearest_rows(base.frame, head.frame, self.package.name, values)
        return [SpecType(loaded=head, row=row) for row in rows.tolist()]

    @resolver(Cost(weight=CELLS))
    def had(self, info: Info) -> CoverageValues:
        """What specs of it there ever were, in any series."""
        return CoverageValues(cells=self._cells(info.context))

    def _cells(self, context: Context) -> PackageCells:
        cells: PackageCells = context.of_history(HistoryTopic(About.CELLS, self.package.name))
        return cells


def catalog_package(context: Context, name: str) -> CatalogPackageType | None:
    """Return a package of any revision; raises IncompleteHistory."""
    package = context.of_package(name)
    return None if package is None else CatalogPackageType(package=package)


# -- what rebuilt most in a series

describe_enum(SeriesCauseKey)

CAUSES = Cost(weight=60_000, each=5, arguments={"by": ArgumentCost(each=60_000)})
"""Causes of years, from what is kept of each neighbours, summed up."""

POINTS_DEFAULT = 100
CAUSES_DEFAULT = 10


@object_type
class SeriesCausePointType:
    """What a cause explains in one revision.

    - revision: The revision that it came with.
    - num_specs: How many specs it is the main cause of.
    - num_involved: How many specs it is involved in.
    """

    point: strawberry.Private[SeriesCausePoint]

    revision = revision_field("point.revision")
    num_specs = attribute("point.num_specs", int)
    num_involved = attribute("point.num_involved", int)


@object_type
class SeriesCauseType:
    """Causes of several revisions of a series that have in common what they are summed up by.

    - package: The package; null where they are not summed up by package, and of the kind FORMAT.
    - kind: The kind; null where they are not summed up by kind.
    - num_revisions: In how many revisions they were seen.
    - num_specs: The sum of the specs that each is the main cause of.
    - num_involved: The sum of the specs that each is involved in; one in which two of them are
      counts twice.
    - size: The sum of the known sizes of the specs of numSpecs; null where none is known.
    """

    cause: strawberry.Private[SeriesCause]

    package = attribute("cause.package", str | None)
    kind = attribute("cause.kind", CauseKind | None)

    @resolver()
    def commit(self, info: Info) -> CommitType | None:
        """The commit; null where they are not summed up by commit."""
        commit = self.cause.commit
        return None if commit is None else CommitType.named(info.context, commit.oid)

    num_revisions = attribute("cause.num_revisions", int)
    num_specs = attribute("cause.num_specs", int)
    num_involved = attribute("cause.num_involved", int)
    size = attribute("cause.size", ByteCount | None)
    seconds, cost, cost_basis = cost_fields(lambda self, _: self.cause.build_cost)

    @resolver(Cost(weight=5, items=NumberOf("last", default=POINTS_DEFAULT)))
    def points(self, last: FirstArgument = POINTS_DEFAULT) -> list[SeriesCausePointType]:
        """What they explain in each revision where they were seen, oldest first; of more than
        `last` the newest.
        """
        check_size("last", last)
        points = self.cause.points
        return [SeriesCausePointType(point=point) for point in points[max(0, len(points) - last) :]]


@object_type
class ImpactOutcome:
    """What a change of a package came to: how many specs its causes reached.

    - num_specs: How many specs of head were built again for it.
    """

    loaded: strawberry.Private[LoadedComparison]
    outcome: strawberry.Private[Outcome]

    num_specs = attribute("outcome.num_specs", int)

    @resolver()
    def comparison(self) -> ComparisonType:
        """The comparison of the two revisions between which it changed."""
        return ComparisonType(base_info=self.loaded.base.info, head_info=self.loaded.head.info)

    @resolver(Cost(weight=5, items=NumberOf("first", default=CAUSES_DEFAULT)))
    def causes(self, first: FirstArgument = CAUSES_DEFAULT) -> list[Cause]:
        """What changed of it, what explains most first."""
        check_size("first", first)
        return CauseRows(self.loaded, self.outcome.causes[:first])  # type: ignore[return-value]


def impact_outcome(revision: LoadedRevision, package: str) -> ImpactOutcome | None:
    """Return what the next change of a package after a revision came to; None where there is none.

    Raises IncompleteHistory.
    """
    context = revision.context
    topic = HistoryTopic(About.CAUSES, series=series_of(revision.info.tag))
    every: SeriesCauses = context.of_history(topic)
    context.require_time()
    pair = every.next_in({package}, revision.info)
    if pair is None or pair.base is None:
        return None
    loaded = load_comparison(context, pair.base, pair.head)
    return ImpactOutcome(loaded=loaded, outcome=outcome(loaded.explanation(), {package}))


# -- series

POINTS = 1_000
"""How many revisions a series may have: twenty years of weekly ones, three of daily ones."""


class GrowthRows(RowList["GrowthPointType"]):
    """Some points of a series; the text of each is kept, as of specs, while the history stands."""

    def item(self, number: int) -> "GrowthPointType":
        """Return the point of a number."""
        return GrowthPointType(rows=GrowthRows(self.loaded, np.array([number], np.int32)))

    @cached_property
    def records(self) -> list[GrowthPoint]:
        """The records of the points."""
        return [self.loaded[number] for number in self.numbers.tolist()]

    def places(self) -> Places:
        """Return which points of the whole series they are."""
        return Places(("growth", self.loaded.name), len(self.loaded), self.numbers)


def _comparisons(points: GrowthRows) -> WhereKnown:
    pairs = [point.base and (point.base, point.revision) for point in points.records]
    return WhereKnown.of(pairs, lambda pair: ComparisonType(base_info=pair[0], head_info=pair[1]))


_of_point = partial(of_record, is_fixed=True)


@object_type
class GrowthPointType(ListedRecord):
    """How large a revision is, and what came and went since the one before it.

    - revision: The revision.
    - comparison: The whole of what changed; null for the first of the series.
    - tag: The revision's tag.
    - taken_at: When the build cache was in this state.
    - num_specs: How many specs it has.
    - num_packages: How many packages it has.
    - num_known_stacks: How many stacks it has, without root; null where its source tells none.
    - num_stacks: How many stacks it has, without root.
    - total_size: The sum of its binary packages' sizes, as far as known.
    - specs_added: How many of its hashes the one before lacks.
    - specs_removed: How many hashes of the one before it lacks.
    - specs_changed: How many hashes both have, with other facts.
    - specs_rebuilt: How many of the added specs are others built anew, with the same facts.
    - specs_replaced: How many of the added specs replaced others that differ.
    - packages_added: How many of its packages the one before lacks.
    - packages_removed: How many packages of the one before it lacks.
    """

    revision: Revision = for_many(
        lambda points: [Revision(info=point.revision) for point in points.records]
    )
    comparison: ComparisonType | None = for_many(_comparisons)
    tag: str = _of_point("revision.tag")
    taken_at: DateTime = _of_point("revision.taken_at")
    num_specs: int = _of_point("revision.num_specs")
    num_packages: int = _of_point("revision.num_packages")
    num_known_stacks: int | None = _of_point("revision.known_stacks")
    num_stacks: int = deprecated(NUM_STACKS_DEPRECATED)(_of_point("revision.num_stacks"))
    total_size: ByteCount | None = _of_point("revision.total_size")
    specs_added: int = _of_point("counts.specs_added")
    specs_removed: int = _of_point("counts.specs_removed")
    specs_changed: int = _of_point("counts.specs_changed")
    specs_rebuilt: int = _of_point("num_rebuilt")
    specs_replaced: int = _of_point("num_replaced")
    packages_added: int = _of_point("counts.packages_added")
    packages_removed: int = _of_point("counts.packages_removed")

    @classmethod
    def of_revision(cls, context: Context, revision: RevisionInfo) -> Self:
        """Return the point of one revision; raises IncompleteHistory where it is not kept."""
        point = past.growth_point(context.catalog, context.changing_history(), revision)
        return GrowthRows(Growth([point]), np.zeros(1, np.int32))[0]  # type: ignore[no-any-return]


Since = Annotated[DateTime | None, strawberry.argument("Only of revisions taken then or later.")]
Until = Annotated[DateTime | None, strawberry.argument("Only of revisions taken then or earlier.")]


@object_type
class Series(Node):
    """Revisions that follow one another: those of one tag, or of all tags of a family
    (develop-DATE, vX.Y.Z).
    """

    name: str = field("develop, develop-DATE, vX.Y.Z, or a tag's own name.")

    id = id_field("Series", "name")

    @classmethod
    def of_id(cls, context: Context, name: str) -> Self | None:
        """Return a series of the catalog; None where there is not one of that name."""
        return cls(name=name) if context.changing_history().of_series(name) else None

    @resolver()
    def latest(self, info: Info) -> Revision:
        """Its last revision: the newest of its newest tag."""
        return Revision(info=info.context.changing_history().of_series(self.name)[0])

    @connection_field(Cost(weight=200, each=1))
    def revisions(self, info: Info, *, page: PageArguments) -> Connection[Revision]:
        """Its revisions, the last one first: those of the newest tag, then of the tag before it."""
        return revision_connection(info.context.changing_history().of_series(self.name), page)

    @resolver(Cost(weight=500, items=NumberOf("last", default=POINTS), each=3), Omittable())
    def growth(
        self, info: Info, since: Since = None, until: Until = None, last: int | None = None
    ) -> list[GrowthPointType]:
        """One point a revision, oldest first: what a chart needs.

        - last: Only the newest so many of them.
        """
        if last is not None and last < 0:
            raise InvalidArgument("last", f"{last} is less than 0")
        growth: Growth = info.context.of_history(HistoryTopic(About.GROWTH, series=self.name))
        rows = np.arange(len(growth), dtype=np.int32)
        if since is not None or until is not None:
            rows = rows[[_is_between(point.revision, since, until) for point in growth]]
        return GrowthRows(growth, rows if last is None else rows[max(0, len(rows) - last) :])  # type: ignore[return-value]

    @connection_field(CAUSES)
    def causes(
        self,
        info: Info,
        since: Since = None,
        until: Until = None,
        by: list[SeriesCauseKey] | None = None,
        *,
        page: PageArguments,
    ) -> Connection[SeriesCauseType]:
        """What rebuilt most in the revisions taken from since to until, summed up by each of `by`:
        what explains most specs first. By commit only causes in packages whose recipes it touched
        count.

        - by: What they are summed up by; PACKAGE unless given.
        """
        catalog = info.context.catalog
        about = About.COSTED_CAUSES if catalog.costs.is_there else About.CAUSES
        every: SeriesCauses = info.context.of_history(HistoryTopic(about, series=self.name))
        info.context.require_time()
        keys = tuple(dict.fromkeys([SeriesCauseKey.PACKAGE] if by is None else by))
        costs = catalog.costs.current if about is About.COSTED_CAUSES else None
        causes = every.summed(keys, since, until, catalog.recipes.between, costs)
        cursors = [cause.key for cause in causes]
        return Connection(
            page=page_of(page, cursors, lambda place: SeriesCauseType(cause=causes[place]))
        )

    @resolver(Cost(weight=TIMELINE))
    def package(self, info: Info, name: str) -> PackageHistory | None:
        """A package through its revisions; null where none of them had it.

        - name: The package's name.
        """
        return PackageHistory.of_id(info.context, self.name, name)


def _is_between(revision: RevisionInfo, since: datetime | None, until: datetime | None) -> bool:
    moment = revision.taken_at
    return (since is None or moment >= since) and (until is None or moment <= until)
