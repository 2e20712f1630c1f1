"""A package through time: what each revision of a series did to it."""

from typing import Self

import strawberry

from schema.comparisons.change_counts import ReasonCount
from schema.comparisons.comparison import Comparison
from schema.context import Context, Info
from schema.fields.connections import Connection, Edge, Page, connection_field, edges_field, page_of
from schema.fields.cost import Cost, texts
from schema.fields.paging import PageArguments
from schema.node import Node, node_id, not_known
from schema.revisions.revision import LazySeries, Revision
from snapshots.catalog.asking.history_questions import PackageAsked
from snapshots.changes.package_changes import PackageChangeKind
from snapshots.changes.reasons import SpecChangeReason
from snapshots.timelines.packages import PackageEntry, PackageTimeline

TOUCHED = 5
"""For how many reasons a revision touches a package."""


@strawberry.type(description="What a revision did to a package, from the one before it.")
class PackageHistoryEntry:
    """An entry of a timeline."""

    entry: strawberry.Private[PackageEntry]

    @strawberry.field(description="The revision that touched the package.")
    def revision(self) -> Revision:
        return Revision(info=self.entry.head)

    @strawberry.field(
        description="The whole of what changed with the revision; null for the first of the series."
    )
    def comparison(self) -> Comparison | None:
        base = self.entry.base
        return None if base is None else Comparison(base_info=base, head_info=self.entry.head)

    @strawberry.field(description="How the package changed.")
    def kind(self) -> PackageChangeKind:
        return self.entry.kind

    @strawberry.field(
        description="Versions that the revision before had not, newest first.",
        metadata=texts(60).metadata,
    )
    def versions_added(self) -> list[str]:
        return list(self.entry.versions_added)

    @strawberry.field(
        description="Versions that only the revision before had, newest first.",
        metadata=texts(60).metadata,
    )
    def versions_removed(self) -> list[str]:
        return list(self.entry.versions_removed)

    @strawberry.field(description="How many of its hashes came.")
    def specs_added(self) -> int:
        return self.entry.num_added

    @strawberry.field(description="How many of its hashes went.")
    def specs_removed(self) -> int:
        return self.entry.num_removed

    @strawberry.field(description="How many of its hashes have other facts.")
    def specs_changed(self) -> int:
        return self.entry.num_changed

    @strawberry.field(
        description="Why its hashes came, went or changed; those that came back have a reason of "
        "their own. The numbers add up to all of them.",
        metadata=Cost(items=TOUCHED).metadata,
    )
    def reasons(self) -> list[ReasonCount]:
        return [ReasonCount(reason=reason, count=count) for reason, count in _ordered(self.entry)]


def _ordered(entry: PackageEntry) -> list[tuple[SpecChangeReason, int]]:
    """Return the reasons of an entry in their own order."""
    return [(it, entry.reasons[it]) for it in SpecChangeReason if it in entry.reasons]


@strawberry.type(description="An entry in a list, with the cursor to go on from.")
class PackageHistoryEdge(Edge[PackageHistoryEntry]):
    """An edge of a timeline."""


@strawberry.type(description="A page of a package's history, newest first.")
class PackageHistoryConnection(Connection[PackageHistoryEntry]):
    """A connection over a timeline."""

    edges: list[PackageHistoryEdge] = edges_field()  # type: ignore[assignment]  # each is an Edge


class PackageHistoryPage(Page[PackageHistoryEntry]):
    """A page of a timeline."""

    edge_type = PackageHistoryEdge


@strawberry.type(
    description="A package through the revisions of a series: since when it has been there, and "
    "each revision that touched it."
)
class PackageHistory(Node):
    """A timeline."""

    timeline: strawberry.Private[PackageTimeline]

    @strawberry.field(description="Opaque and stable.")
    def id(self) -> strawberry.ID:
        return node_id("PackageHistory", self.timeline.series, self.timeline.name)

    @classmethod
    def of_id(cls, context: Context, parts: list[str]) -> Self | None:
        """Return the history of a package in a series."""
        match parts:
            case [series, name]:
                return cls.of(context, series, name)
        not_known(context)
        return None

    @classmethod
    def of(cls, context: Context, series: str, name: str) -> Self | None:
        """Return a package's history; None where no revision of the series had it.

        Raises IncompleteHistory.
        """
        timeline = context.of_history(PackageAsked(series, name))
        return None if timeline is None else cls(timeline=timeline)

    @strawberry.field(description="The package's name.")
    def name(self) -> str:
        return self.timeline.name

    @strawberry.field(description="The series whose revisions are looked at.")
    def series(self) -> LazySeries:
        from schema.histories.series import Series

        return Series(name=self.timeline.series)

    @strawberry.field(description="The first revision that has a spec of it.")
    def first_seen(self) -> Revision:
        return Revision(info=self.timeline.first_seen)

    @strawberry.field(description="The last revision that has a spec of it.")
    def last_seen(self) -> Revision:
        return Revision(info=self.timeline.last_seen)

    @strawberry.field(description="Whether the last revision of the series has it.")
    def is_current(self, info: Info) -> bool:
        revisions = info.context.changing_history().of_series(self.timeline.series)
        return bool(revisions) and revisions[0] == self.timeline.last_seen

    @connection_field(
        "One entry for each revision that touched the package, newest first.",
        cost=Cost(weight=100, each=2),
    )
    def entries(self, *, page: PageArguments) -> PackageHistoryConnection:
        entries = self.timeline.entries
        keys = [entry.head.key for entry in entries]
        shown = page_of(
            page,
            keys,
            lambda place: PackageHistoryEntry(entry=entries[place]),
            PackageHistoryPage,
        )
        return PackageHistoryConnection(page=shown)
