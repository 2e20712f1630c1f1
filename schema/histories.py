"""Histories of hashes, packages and series over their revisions."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Self

import msgspec
import strawberry

from schema.comparisons.changes import LoadedComparison, PartRows, load_comparison
from schema.comparisons.comparison import ComparisonType
from schema.comparisons.explanations import (
    Cause,
    CommitType,
    ReasonCount,
    cause_connection,
    stored_causes,
)
from schema.context import Context, Info, LoadedRevision
from schema.fields import gql, many, relay
from schema.fields.cost import (
    EXPLAINED,
    LARGE,
    LOADED,
    MEDIUM,
    OF_HISTORY,
    SMALL,
    Cost,
    Work,
    field,
    resolver,
)
from schema.node import Node, id_field, key_of, url_field
from schema.revisions.revision import (
    Revision,
    revision_connection,
    revision_field,
    series_field,
)
from schema.revisions.spec import SpecType
from snapshots.catalog import history_queries
from snapshots.catalog.history_queries import HistoryQueries
from snapshots.changes.coverage import CoverageDimension
from snapshots.changes.impact import Outcome, outcome
from snapshots.changes.lookup import Lookup, RequestedSpecs
from snapshots.changes.package_changes import PackageChangeKind
from snapshots.changes.reasons import SpecChangeReason
from snapshots.changes.stored_changes import StoredCause
from snapshots.errors import CatalogError, InvalidArgument
from snapshots.history import Neighbours, Pair, age
from snapshots.models import OWN_COLUMNS, CauseKind, ConcreteSpec, RevisionInfo, is_revision
from snapshots.refs import series as series_of
from snapshots.timelines.availability import (
    Cell,
    CellSpan,
    PackageCells,
    is_current,
    nearest_in_cell,
    nearest_place,
)
from snapshots.timelines.catalog_packages import CatalogPackage, PackageInSeries
from snapshots.timelines.causes import SeriesCause, SeriesCauseKey, SeriesCausePoint
from snapshots.timelines.growth import GrowthPoint
from snapshots.timelines.packages import PackageEntry, PackageTimeline
from snapshots.timelines.spans import HashHistory, Span

TIMELINE = Cost(weight=8_000)
"""Computing the history of a package in a series from its changes."""


@gql.object_type
class SpanType:
    """Consecutive revisions of a series that all have a hash, from `first` to `last`.

    - series: The series.
    - first: The first of these revisions.
    - last: The last of these revisions.
    - is_current: Whether the newest revision of the series has the hash.
    - reason_came: Why `first` added the hash; RETURNED if the series had it before, unless it
      replaced another spec.
    - reason_gone: Why `goneIn` removed the hash; null if `goneIn` is null.
    - gone_in: The revision after `last`, which no longer has the hash; null if there is none.
    """

    span: strawberry.Private[Span]

    series = series_field("span.series")
    first = revision_field("span.first")
    last = revision_field("span.last")
    is_current = many.attribute("span.is_current", bool)
    reason_came = many.attribute("span.reason_came", SpecChangeReason)
    reason_gone = many.attribute("span.reason_gone", SpecChangeReason | None)
    gone_in = revision_field("span.gone_in", Revision | None)


@gql.object_type
class HashHistoryType(Node):
    """The history of a hash in all revisions of the catalog.

    - hash: The full hash.
    - name: The name of its package.
    - version: The version that was built.
    - newest: The newest revision that has it.
    """

    history: strawberry.Private[HashHistory]

    id = id_field("HashHistory", "history.hash")
    url = url_field("hash", of="history.hash")

    @classmethod
    def of_id(cls, context: Context, hash: str) -> Self | None:
        """Return the history of a full hash."""
        history = cls.of(context, hash)
        return history if history is not None and history.history.hash == hash else None

    @classmethod
    def of(cls, context: Context, text: str) -> Self | None:
        """Return the history of a hash or of a prefix; None if no revision had it.

        Raises InvalidArgument, AmbiguousHash and IncompleteHistory.
        """
        history = context.of_history(HistoryQueries.hash_history, text)
        return None if history is None else cls(history=history)

    hash = many.attribute("history.hash", str)
    name = many.attribute("history.name", str)
    version = many.attribute("history.version", str)
    newest = revision_field("history.newest")

    @resolver(LOADED)
    def spec(self, info: Info) -> SpecType | None:
        """The spec with this hash in `newest`, with all facts."""
        return self._newest_spec(info.context)

    def _newest_spec(self, context: Context) -> SpecType:
        loaded = context.load(self.history.newest)
        row = loaded.frame.hashes.find(self.history.hash)
        if row is None:
            reason = (
                f"the history has {self.history.hash} in {loaded.info.digest}, which has not; "
                "'cachelog verify' gives details"
            )
            raise CatalogError(context.catalog.location, reason)
        return SpecType(loaded=loaded, row=row)

    @resolver(EXPLAINED)
    def successor(self, info: Info) -> SpecType | None:
        """The spec that replaced it in the revision after `newest`; null if no spec did, or if the
        series still has it.
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

    @resolver(LOADED)
    def nearest(self, info: Info) -> SpecType | None:
        """The most similar spec of the package in the newest revision of the series that had it
        last, as in `MissingSpec.nearest`; null if that revision has the hash, or no spec of the
        package.
        """
        span = self._last
        if span.gone_in is None:
            return None
        loaded = info.context.load(info.context.changing_history().of_series(span.series)[0])
        spec = self._newest_spec(info.context)
        facts = {name: spec.loaded.frame.columns[name].at(spec.row) for name in OWN_COLUMNS}
        requested = ConcreteSpec(hash=self.history.hash, name=self.history.name, **facts)
        row = int(Lookup(RequestedSpecs([requested]), loaded.frame).nearest[0])
        return None if row < 0 else SpecType(loaded=loaded, row=row)

    @property
    def _last(self) -> Span:
        """The span whose last revision is the newest."""
        return max(self.history.spans, key=lambda span: age(span.last))

    @resolver()
    def spans(self) -> list[SpanType]:
        """The spans of revisions that had it, grouped by series in the order of `allSeries`, oldest
        first within a series.
        """
        return [SpanType(span=span) for span in self.history.spans]


STORED = Cost(weight=50, work=Work.HISTORIES)
"""The causes of a package in a pair of neighbours, which are stored."""

TOGETHER = 50
"""Number of entries whose main causes are read at once."""


class _PackagePairs(msgspec.Struct, frozen=True):
    """Pairs of neighbours, of a series or of any, in which a package's causes are read at once."""

    name: str
    series: str | None
    pairs: frozenset[Pair]

    def main_causes(self, context: Context, base: RevisionInfo, head: RevisionInfo) -> list[Cause]:
        """Return the main causes of the package in one of the pairs."""
        causes = self._stored(context, base, head)
        return stored_causes(context, (base, head), self.name, causes)

    def commit(self, context: Context, base: RevisionInfo, head: RevisionInfo) -> CommitType | None:
        """Return the first commit that explains the first main cause, if any is known."""
        causes, step = self._stored(context, base, head), Neighbours(base, head)
        between = context.catalog.recipes.between(base, head) if causes else None
        recipes = context.catalog.recipes.of(head)
        if between is None or recipes is None:
            return None
        explained = context.library.stored_causes({step: [causes[0][0]]})[step]
        oids = [commit.oid for commit in explained.causes[0].commits or ()]
        commit = next((it for it in between.reached if it.oid in oids[:1]), None)
        return None if commit is None else CommitType(commit=commit, repository=recipes.repository)

    def _stored(
        self, context: Context, base: RevisionInfo, head: RevisionInfo
    ) -> Sequence[tuple[StoredCause, int]]:
        package_pairs = frozenset((self.name, each) for each in self.pairs)
        causes = context.of_history(HistoryQueries.package_causes, self.series, package_pairs)
        return causes.get((self.name, Pair(base.digest, head.digest)), ())


@gql.object_type
class PackageHistoryEntry(Node):
    """The changes of a package in one revision, compared with the previous revision of the series.

    - revision: The revision that changed the package.
    - kind: How the package changed.
    - versions_added: Versions that the previous revision does not have, newest first.
    - versions_removed: Versions that only the previous revision has, newest first.
    - num_specs_added: Number of its hashes that were added.
    - num_specs_removed: Number of its hashes that were removed.
    - num_specs_changed: Number of its hashes whose facts changed.
    """

    series_name: strawberry.Private[str]
    entry: strawberry.Private[PackageEntry]
    of_package: strawberry.Private[_PackagePairs]

    id = id_field("PackageHistoryEntry", "series_name", "entry.head", "of_package.name")

    @classmethod
    def of_id(
        cls, context: Context, series: str, key: str, name: str
    ) -> "PackageHistoryEntry | None":
        """Return the entry of a package in a revision; None if it did not change the package."""
        package = SeriesPackage.of_id(context, series, name)
        if package is None:
            return None
        for entry in package.entries_of(context):
            if key_of(entry.entry.head) == key:
                return entry
        return None

    revision = revision_field("entry.head")

    @resolver()
    def comparison(self) -> ComparisonType | None:
        """The comparison of the revision with the previous one; null for the first revision of the
        series.
        """
        base = self.entry.base
        return None if base is None else ComparisonType(base_info=base, head_info=self.entry.head)

    kind = many.attribute("entry.kind", PackageChangeKind)
    versions_added = many.attribute("entry.versions_added", list[str])
    versions_removed = many.attribute("entry.versions_removed", list[str])
    num_specs_added = many.attribute("entry.specs_added", int)
    num_specs_removed = many.attribute("entry.specs_removed", int)
    num_specs_changed = many.attribute("entry.specs_changed", int)

    @resolver()
    def reasons(self) -> list[ReasonCount]:
        """The reasons for which its hashes were added, removed or changed. The numbers add up to
        all of these hashes; hashes that returned have a separate reason.
        """
        counts = self.entry.reasons
        return [
            ReasonCount(reason=reason, num_specs=counts[reason])
            for reason in SpecChangeReason
            if reason in counts
        ]

    @resolver(STORED)
    def main_causes(self, info: Info) -> list[Cause] | None:
        """The main causes of its added specs that replaced others, those that explain the most
        specs first; null for the first revision of the series. `Cause.numSpecs` counts only specs
        of the package.
        """
        base = self.entry.base
        return (
            None
            if base is None
            else self.of_package.main_causes(info.context, base, self.entry.head)
        )

    @resolver(STORED)
    def main_commit(self, info: Info) -> CommitType | None:
        """The newest commit of the recipe repository that explains the first of `mainCauses`;
        null if none is known.
        """
        base = self.entry.base
        if base is None:
            return None
        return self.of_package.commit(info.context, base, self.entry.head)


@gql.object_type
class TargetVersion:
    """The newest version of a package for a target.

    - target: The target.
    - version: The newest version.
    - num_specs: Number of specs for the target, of any version.
    """

    target: str
    version: str
    num_specs: int


@gql.object_type
class SeriesPackage(Node):
    """A package in a series: its specs in the last revision that has it, and its history.

    - name: The package's name.
    - series: The series.
    - versions: The versions of its specs in `lastSeen`, newest first.
    - num_specs: Number of its specs in `lastSeen`.
    - num_revisions: Number of revisions of the series that have it.
    - first_seen: The first revision that has a spec of it.
    - last_seen: The last revision that has a spec of it.
    - gone_in: The revision after `lastSeen`, which no longer has it; null if the newest revision of
      the series has it.
    """

    context: strawberry.Private[Context]
    series_name: strawberry.Private[str]
    name: str
    in_series: strawberry.Private[PackageInSeries | None] = None
    timeline: strawberry.Private[PackageTimeline | None] = None

    id = id_field("SeriesPackage", "series_name", "name")

    @classmethod
    def of_id(cls, context: Context, series: str, name: str) -> Self | None:
        """Return a package of a series; None if no revision of the series had it.

        Raises IncompleteHistory.
        """
        timeline = context.of_history(HistoryQueries.package_timeline, series, name)
        if timeline is None:
            return None
        return cls(context=context, series_name=series, name=name, timeline=timeline)

    @classmethod
    def of(cls, context: Context, name: str, in_series: PackageInSeries) -> Self:
        """Return the package of a name in a series that had it."""
        return cls(context=context, series_name=in_series.series, name=name, in_series=in_series)

    def timeline_of(self, context: Context) -> PackageTimeline | None:
        """Return the history; None for a name that no package has. Raises IncompleteHistory."""
        if self.timeline is None:
            self.timeline = context.of_history(
                HistoryQueries.package_timeline, self.series_name, self.name
            )
        return self.timeline

    @property
    def _summary(self) -> PackageInSeries:
        if self.in_series is None:
            package = self.context.of_package(self.name)
            of_all = () if package is None else package.in_series
            (self.in_series,) = (one for one in of_all if one.series == self.series_name)
        return self.in_series

    @property
    def _seen(self) -> PackageTimeline | PackageInSeries:
        """Whichever is in memory."""
        return self.timeline or self._summary

    series = series_field("series_name")

    @resolver(SMALL)
    def package(self, info: Info) -> "Package | None":
        """The package in all series."""
        return catalog_package(info.context, self.name)

    versions = many.attribute("_summary.versions", list[str])
    num_specs = many.attribute("_summary.num_specs", int)

    @resolver(OF_HISTORY)
    def newest_versions(self, info: Info) -> list["TargetVersion"] | None:
        """The newest version in `lastSeen` for each target; empty if no source states targets."""
        cells = info.context.of_history(HistoryQueries.cells, self.name)
        return [
            TargetVersion(target=target, version=version, num_specs=num_specs)
            for target, (version, num_specs) in cells.newest_versions(self.series_name).items()
        ]

    num_revisions = many.attribute("_summary.num_revisions", int)
    first_seen = revision_field("_seen.first_seen")
    last_seen = revision_field("_seen.last_seen")
    gone_in = revision_field("_summary.gone_in", Revision | None)

    @resolver()
    def is_current(self, info: Info) -> bool:
        """Whether the newest revision of the series has it."""
        newest = info.context.changing_history().of_series(self.series_name)[0]
        return newest == self._seen.last_seen

    @relay.connection_field(TIMELINE)
    def entries(
        self, info: Info, *, page: relay.PageArguments
    ) -> relay.Connection[PackageHistoryEntry] | None:
        """One entry for each revision that changed the package, newest first."""
        objects = self.entries_of(info.context)
        if self.timeline is None:
            return None
        entries = self.timeline.entries
        keys = many.ComputedList(len(entries), lambda place: entries[place].head.ref)
        return relay.connection_of(page, keys, objects.__getitem__)

    def entries_of(self, context: Context) -> many.ComputedList[PackageHistoryEntry]:
        """Return an object for each entry; their main causes are read for many at once."""
        timeline = self.timeline_of(context)
        entries = () if timeline is None else timeline.entries

        def entry(place: int) -> PackageHistoryEntry:
            start = place - place % TOGETHER
            pairs = [
                Pair(one.base.digest, one.head.digest)
                for one in entries[start : start + TOGETHER]
                if one.base is not None
            ]
            of_package = _PackagePairs(self.name, self.series_name, frozenset(pairs))
            return PackageHistoryEntry(
                series_name=self.series_name, entry=entries[place], of_package=of_package
            )

        return many.ComputedList(len(entries), entry)


TargetArgument = Annotated[
    str | None,
    strawberry.argument(
        "Only specs for this target, or for the targets of this family: `aarch64` is any of its "
        "microarchitectures."
    ),
]
StackArgument = Annotated[str | None, strawberry.argument("Only specs in this stack.")]
VersionArgument = Annotated[str | None, strawberry.argument("Only specs of this version.")]


def _cell(target: str | None, stack: str | None, version: str | None) -> Cell:
    dimensions = CoverageDimension.TARGET, CoverageDimension.STACK, CoverageDimension.VERSION
    values = zip(dimensions, (target, stack, version), strict=True)
    return {dimension: value for dimension, value in values if value is not None}


@gql.object_type
class AvailabilitySpanType:
    """Consecutive revisions of a series that all have such specs, from `first` to `last`.

    - first: The first of these revisions.
    - last: The last of these revisions.
    - num_specs: Number of such specs in `last`.
    - gone_in: The revision after `last`, which has no such specs; null if there is none.
    """

    span: strawberry.Private[CellSpan]
    of_package: strawberry.Private[_PackagePairs]

    first = revision_field("span.first")
    last = revision_field("span.last")
    num_specs = many.attribute("span.num_specs", int)
    gone_in = revision_field("span.gone_in", Revision | None)

    @resolver()
    def reasons(self) -> list[ReasonCount]:
        """The reasons for which `goneIn` removed them, with the number of specs of each; empty if
        `goneIn` is null.
        """
        reasons = self.span.reasons.items()
        return [ReasonCount(reason=reason, num_specs=count) for reason, count in reasons]

    @resolver(STORED)
    def main_causes(self, info: Info) -> list[Cause] | None:
        """The main causes of the specs of the package that replaced others in `goneIn`, those that
        explain the most specs first; null if `goneIn` is null. `Cause.numSpecs` counts only specs
        of the package.
        """
        last, gone_in = self.span.last, self.span.gone_in
        return None if gone_in is None else self.of_package.main_causes(info.context, last, gone_in)


@gql.object_type
class Availability:
    """When a series had specs of a package with some values.

    - series: The series.
    - is_current: Whether the newest revision of the series has such specs.
    """

    name: strawberry.Private[str]
    spans_of_cell: strawberry.Private[list[CellSpan]]
    of_package: strawberry.Private[_PackagePairs]

    series = series_field("name")
    is_current = many.attribute("spans_of_cell", bool, make=is_current)

    @resolver()
    def spans(self) -> list[AvailabilitySpanType]:
        """The spans of revisions that had such specs, oldest first; empty if the series never had
        any.
        """
        return [
            AvailabilitySpanType(span=span, of_package=self.of_package)
            for span in self.spans_of_cell
        ]


@gql.object_type
class Package(Node):
    """A package in all series, including packages that are no longer in any newest revision.

    - name: The package's name.
    - is_gone: Whether no series has it in its newest revision.
    """

    package: strawberry.Private[CatalogPackage]

    id = id_field("Package", "package.name")
    url = url_field("packages", of="package.name")

    @classmethod
    def of_id(cls, context: Context, name: str) -> Self | None:
        """Return a package of any revision; raises IncompleteHistory."""
        package = context.of_package(name)
        return None if package is None else cls(package=package)

    name = many.attribute("package.name", str)
    is_gone = many.attribute("package.is_gone", bool)

    @resolver()
    def in_series(self, info: Info) -> list[SeriesPackage]:
        """The series that ever had it: the main series first, then the others in the order of
        `allSeries`.
        """
        package = self.package
        return [SeriesPackage.of(info.context, package.name, one) for one in package.in_series]

    @resolver()
    def best(self, info: Info) -> SeriesPackage:
        """The series to show by default: the first of `inSeries` whose newest revision has it, or,
        if there is none, the one that had it last.
        """
        return SeriesPackage.of(info.context, self.package.name, self.package.best)

    @resolver(TIMELINE)
    def series_package(self, info: Info, series: str | None = None) -> SeriesPackage | None:
        """The package in a series; null if the series never had it.

        - series: The name of the series; by default, that of `best`.
        """
        best = self.package.best.series
        return SeriesPackage.of_id(info.context, series or best, self.package.name)

    @resolver(LARGE)
    def availability(
        self,
        info: Info,
        target: TargetArgument = None,
        stack: StackArgument = None,
        version: VersionArgument = None,
    ) -> list[Availability]:
        """When each series of `inSeries` had specs of it for a target, in a stack, or of a version,
        and why these were removed. Specs have to meet all of the given conditions.
        """
        cells, cell = self._cells(info.context), _cell(target, stack, version)
        spans = [cells.spans(one.series, cell) for one in self.package.in_series]
        ends = frozenset(span.pair for one in spans for span in one if span.pair is not None)
        of_package = _PackagePairs(self.package.name, None, ends)
        return [
            Availability(name=one.series, spans_of_cell=of_series, of_package=of_package)
            for one, of_series in zip(self.package.in_series, spans, strict=True)
        ]

    @resolver(Cost(weight=20_000, work=Work.LOADING))
    def nearest_specs(
        self,
        info: Info,
        target: TargetArgument = None,
        stack: StackArgument = None,
        version: VersionArgument = None,
    ) -> list[SpecType]:
        """The most similar specs, at most three, in the newest revision of the first series that
        has specs with these values, or else in that of `best`; empty if the package is in no newest
        revision.
        """
        cells, cell = self._cells(info.context), _cell(target, stack, version)
        spans = {one.series: cells.spans(one.series, cell) for one in self.package.in_series}
        place = nearest_place(self.package, spans)
        if place is None:
            return []
        base, head = map(info.context.load, place)
        rows = nearest_in_cell(base.frame, head.frame, self.package.name, cell)
        return [SpecType(loaded=head, row=row) for row in rows.tolist()]

    @resolver(LARGE)
    def versions(self, info: Info) -> list[str]:
        """The versions that its specs ever had, newest first."""
        return self._cells(info.context).values(CoverageDimension.VERSION)

    @resolver(LARGE)
    def targets(self, info: Info) -> list[str]:
        """The targets that its specs ever had; empty if no source states them."""
        return self._cells(info.context).values(CoverageDimension.TARGET)

    @resolver(LARGE)
    def stack_names(self, info: Info) -> list[str] | None:
        """The names of the stacks, without root, that its specs ever were in; null if no source
        lists stacks.
        """
        return self._cells(info.context).values(CoverageDimension.STACK) or None

    def _cells(self, context: Context) -> PackageCells:
        return context.of_history(HistoryQueries.cells, self.package.name)


def catalog_package(context: Context, name: str) -> Package | None:
    """Return a package of any revision; raises IncompleteHistory."""
    return Package.of_id(context, name)


# -- causes of a series

gql.describe_enum(SeriesCauseKey)

CAUSES = Cost(weight=2_500, values=2_500)
"""Summing up causes, possibly of years, from the stored comparisons of neighbours."""

POINTS_DEFAULT = 100


@gql.object_type
class SeriesCausePointType:
    """The number of specs that a cause explains in one revision.

    - revision: The revision.
    - num_specs: Number of specs of which it is the main cause.
    - num_involved: Number of specs in which it is involved.
    """

    point: strawberry.Private[SeriesCausePoint]

    revision = revision_field("point.revision")
    num_specs = many.attribute("point.num_specs", int)
    num_involved = many.attribute("point.num_involved", int)


@gql.object_type
class SeriesCauseType:
    """A group of causes in several revisions of a series, which are equal in the keys that `by`
    lists.

    - package_name: The name of the package; null if causes are not grouped by package, and for the
      kinds ARCHITECTURE and FORMAT.
    - cause_kind: The kind; null if causes are not grouped by kind.
    - num_revisions: Number of revisions with one of these causes.
    - num_specs: Sum of the numbers of specs of which each is the main cause.
    - num_involved: Sum of the numbers of specs in which each is involved. A spec in which two of
      them are involved counts twice.
    - size: Sum of the known sizes of the specs that `numSpecs` counts; null if none is known.
    """

    cause: strawberry.Private[SeriesCause]

    package_name = many.attribute("cause.package", str | None)
    cause_kind = many.attribute("cause.kind", CauseKind | None)

    @resolver(SMALL)
    def package(self, info: Info) -> Package | None:
        """The package; null if no revision ever had it, and where `packageName` is null."""
        name = self.cause.package
        return None if name is None else catalog_package(info.context, name)

    @resolver()
    def commit(self, info: Info) -> CommitType | None:
        """The commit; null if causes are not grouped by commit."""
        commit = self.cause.commit
        return None if commit is None else CommitType.of_id(info.context, commit.oid)

    num_revisions = many.attribute("cause.num_revisions", int)
    num_specs = many.attribute("cause.num_specs", int)
    num_involved = many.attribute("cause.num_involved", int)
    size = many.attribute("cause.size", gql.ByteCount | None)

    @resolver()
    def points(
        self, last: relay.FirstArgument = POINTS_DEFAULT
    ) -> list[SeriesCausePointType] | None:
        """The numbers of specs in each revision with one of these causes, oldest first. If there
        are more than `last`, only the newest.
        """
        relay.check_size("last", last)
        points = self.cause.points
        return [SeriesCausePointType(point=point) for point in points[max(0, len(points) - last) :]]


@gql.object_type
class ImpactOutcome:
    """The effect of a change of packages: the specs that replaced others because of it.

    - num_specs: Number of specs of head that replaced others because of it.
    """

    loaded: strawberry.Private[LoadedComparison]
    outcome: strawberry.Private[Outcome]

    num_specs = many.attribute("outcome.num_specs", int)

    @resolver()
    def comparison(self) -> ComparisonType:
        """The comparison of the two revisions between which the packages changed."""
        return ComparisonType(base_info=self.loaded.base, head_info=self.loaded.head)

    @relay.connection_field()
    def causes(self, *, page: relay.PageArguments) -> relay.Connection[Cause] | None:
        """The causes in the packages, those that explain the most specs first."""
        return cause_connection(self.loaded, self.outcome.causes, page)


def impact_outcome(
    revision: LoadedRevision, packages: Sequence[str], stack: str | None
) -> ImpactOutcome | None:
    """Return the effect of the next change of packages after a revision; None if there is none.

    Raises IncompleteHistory.
    """
    context = revision.context
    if not is_revision(revision.info):
        return None
    series_causes = context.of_history(HistoryQueries.causes, series_of(revision.info.tag))
    context.require_time()
    pair = series_causes.next_in(packages, revision.info)
    if pair is None or pair.base is None:
        return None
    loaded = load_comparison(context, pair.base, pair.head)
    mask = None if stack is None else loaded.explanation.head.frame.in_stack(stack)
    return ImpactOutcome(loaded=loaded, outcome=outcome(loaded.explanation, packages, mask))


# -- series


@gql.object_type
class GrowthPointType(many.ListedRecord):
    """The size of a revision, and its changes since the previous revision of the series.

    - revision: The revision.
    - taken_at: When the build cache was in this state.
    - num_specs: Number of specs.
    - num_packages: Number of packages.
    - total_size: Sum of the known sizes of its binary packages; null if none is known.
    - num_specs_added: Number of its hashes that the previous revision does not have.
    - num_specs_removed: Number of hashes of the previous revision that it does not have.
    - num_specs_changed: Number of hashes in both revisions whose facts changed.
    - num_specs_rebuilt: Number of added specs that replaced a spec with the same facts of its own.
    - num_specs_replaced: Number of added specs that replaced a spec with other facts of its own.
    - num_packages_added: Number of its packages that the previous revision does not have.
    - num_packages_removed: Number of packages of the previous revision that it does not have.
    """

    revision: Revision = many.for_many(
        lambda points: [Revision(info=point.revision) for point in points.records]
    )
    taken_at: gql.DateTime = many.of_record("revision.taken_at")
    num_specs: int = many.of_record("revision.num_specs")
    num_packages: int = many.of_record("revision.num_packages")
    total_size: gql.ByteCount | None = many.of_record("revision.total_size")
    num_specs_added: int = many.of_record("counts.specs_added")
    num_specs_removed: int = many.of_record("counts.specs_removed")
    num_specs_changed: int = many.of_record("counts.specs_changed")
    num_specs_rebuilt: int = many.of_record("counts.specs_rebuilt")
    num_specs_replaced: int = many.of_record("counts.specs_replaced")
    num_packages_added: int = many.of_record("counts.packages_added")
    num_packages_removed: int = many.of_record("counts.packages_removed")

    @classmethod
    def of_revision(cls, context: Context, revision: RevisionInfo) -> Self:
        """Return the point of one revision; raises IncompleteHistory if it is not stored."""
        point = history_queries.growth_point(context.catalog, context.changing_history(), revision)
        return cls(rows=_points([point]))


def _points(points: Sequence[GrowthPoint]) -> PartRows[GrowthPointType]:
    """Return the points of a series."""
    return PartRows(GrowthPointType, None, points)


Since = Annotated[
    gql.DateTime | None, strawberry.argument("Only revisions taken at or after this time.")
]
Until = Annotated[
    gql.DateTime | None, strawberry.argument("Only revisions taken at or before this time.")
]


@gql.object_type
class Series(Node):
    """A sequence of revisions: those of one tag, or of all tags of a family (develop-DATE,
    vX.Y.Z).
    """

    name: str = field("develop, develop-DATE, vX.Y.Z, or the name of a tag.")

    id = id_field("Series", "name")
    url = url_field("series", of="name")

    @classmethod
    def of_id(cls, context: Context, name: str) -> Self | None:
        """Return a series of the catalog; None if there is none of that name."""
        return cls(name=name) if context.changing_history().of_series(name) else None

    @resolver()
    def latest(self, info: Info) -> Revision:
        """Its newest revision: the newest one of its newest tag."""
        return Revision(info=info.context.changing_history().of_series(self.name)[0])

    @relay.connection_field()
    def revisions(
        self, info: Info, *, page: relay.PageArguments
    ) -> relay.Connection[Revision] | None:
        """Its revisions, newest first: those of the newest tag, then those of the tag before it,
        and so on.
        """
        return revision_connection(info.context.changing_history().of_series(self.name), page)

    @resolver(MEDIUM, gql.Omittable())
    def growth(
        self, info: Info, since: Since = None, until: Until = None, last: int | None = None
    ) -> list[GrowthPointType] | None:
        """One point for each revision, oldest first, for charts.

        - last: Maximum number of points; the newest are returned.
        """
        if last is not None and last < 0:
            raise InvalidArgument("last", f"{last} is less than 0")
        growth = info.context.of_history(HistoryQueries.growth, self.name)
        points = [point for point in growth if _is_between(point.revision, since, until)]
        return _points(points if last is None else points[max(0, len(points) - last) :])  # type: ignore[return-value]

    @relay.connection_field(CAUSES)
    def causes(
        self,
        info: Info,
        since: Since = None,
        until: Until = None,
        by: list[SeriesCauseKey] | None = None,
        *,
        page: relay.PageArguments,
    ) -> relay.Connection[SeriesCauseType] | None:
        """The causes in revisions taken from `since` to `until`, grouped by the keys of `by`: those
        that explain the most specs first. Grouped by COMMIT, only causes in packages whose recipes
        the commit changed count.

        - by: The keys to group by; by default, PACKAGE.
        """
        series_causes = info.context.of_history(HistoryQueries.causes, self.name)
        info.context.require_time()
        keys = tuple(dict.fromkeys([SeriesCauseKey.PACKAGE] if by is None else by))
        between = info.context.catalog.recipes.between
        causes = series_causes.summed(keys, since, until, between)
        cursors = [cause.key for cause in causes]
        return relay.connection_of(
            page, cursors, lambda place: SeriesCauseType(cause=causes[place])
        )

    @resolver(TIMELINE)
    def package(self, info: Info, name: str) -> SeriesPackage | None:
        """A package in the series; null if the series never had it.

        - name: The package's name.
        """
        return SeriesPackage.of_id(info.context, self.name, name)


def _is_between(revision: RevisionInfo, since: datetime | None, until: datetime | None) -> bool:
    moment = revision.taken_at
    return (since is None or moment >= since) and (until is None or moment <= until)
