"""Series: the families of tags that revisions follow one another in."""

from collections.abc import Sequence
from typing import Annotated, Any, Self

import strawberry

from schema.comparisons.comparison import Comparison
from schema.context import Context, Info
from schema.fields.connections import Connection, connection_field
from schema.fields.cost import TIMELINE, Cost, NumberOf
from schema.fields.many import Each, Table
from schema.fields.paging import PageArguments
from schema.fields.scalars import ByteCount, DateTime, none_if_omitted
from schema.histories.package_history import PackageHistory
from schema.node import Node, node_id, not_known
from schema.revisions.revision import Revision, revision_connection
from snapshots.catalog.asking import past
from snapshots.catalog.asking.history_questions import GrowthAsked
from snapshots.errors import InvalidArgument
from snapshots.models import RevisionInfo
from snapshots.timelines import growth

POINTS = 1_000
"""How many revisions a series may have: twenty years of weekly ones, three of daily ones."""


@strawberry.type(
    description="How large a revision is, and what came and went since the one before it."
)
class GrowthPoint:
    """A point of a chart."""

    revision: Revision = strawberry.field(description="The revision.")
    comparison: Comparison | None = strawberry.field(
        description="The whole of what changed; null for the first of the series."
    )
    tag: str = strawberry.field(description="The revision's tag.")
    taken_at: DateTime = strawberry.field(description="When the build cache stood so.")
    num_specs: int = strawberry.field(description="How many specs it has.")
    num_packages: int = strawberry.field(description="How many packages it has.")
    num_stacks: int = strawberry.field(description="How many stacks it has, without root.")
    total_size: ByteCount | None = strawberry.field(
        description="The sum of its binary packages' sizes, as far as known."
    )
    specs_added: int = strawberry.field(description="How many of its hashes the one before lacks.")
    specs_removed: int = strawberry.field(description="How many hashes of the one before it lacks.")
    specs_changed: int = strawberry.field(
        description="How many hashes both have, with other facts."
    )
    specs_rebuilt: int = strawberry.field(
        description="How many of the added specs are others built anew, with the same facts."
    )
    specs_replaced: int = strawberry.field(
        description="How many of the added specs took the place of others that differ."
    )
    packages_added: int = strawberry.field(
        description="How many of its packages the one before lacks."
    )
    packages_removed: int = strawberry.field(
        description="How many packages of the one before it lacks."
    )

    @classmethod
    def of_revision(cls, context: Context, revision: RevisionInfo) -> Self:
        """Return the point of one revision; raises IncompleteHistory where it is not kept."""
        point = past.growth_point(context.catalog, context.changing_history(), revision)
        (shown,) = _shown([point])
        return shown  # type: ignore[return-value]


@strawberry.type(
    description="Revisions that follow one another: those of one tag, or of all tags of a family "
    "(develop-DATE, vX.Y.Z)."
)
class Series(Node):
    """A series of the catalog, by its name."""

    name: str = strawberry.field(description="develop, develop-DATE, vX.Y.Z, or a tag's own name.")

    @strawberry.field(description="Opaque and stable.")
    def id(self) -> strawberry.ID:
        return node_id("Series", self.name)

    @classmethod
    def of_id(cls, context: Context, parts: list[str]) -> Self | None:
        """Return the series of a name."""
        match parts:
            case [name]:
                return cls.named(context, name)
        not_known(context)
        return None

    @classmethod
    def named(cls, context: Context, name: str) -> Self | None:
        """Return a series of the catalog; None where there is none of that name."""
        return cls(name=name) if context.changing_history().of_series(name) else None

    @strawberry.field(description="Its last revision: the newest of its newest tag.")
    def latest(self, info: Info) -> Revision:
        return Revision(info=info.context.changing_history().of_series(self.name)[0])

    @connection_field(
        "Its revisions, the last one first: those of the newest tag, then of the tag before it.",
        cost=Cost(weight=200, each=1),
    )
    def revisions(self, info: Info, *, page: PageArguments) -> Connection[Revision]:
        return revision_connection(info.context.changing_history().of_series(self.name), page)

    @strawberry.field(
        description="One point a revision, oldest first: what a chart needs.",
        metadata=Cost(weight=500, items=NumberOf("last", default=POINTS), each=3).metadata,
    )
    def growth(
        self,
        info: Info,
        since: Annotated[
            DateTime | None,
            strawberry.argument(description="Only of revisions taken then or later."),
        ] = strawberry.UNSET,
        until: Annotated[
            DateTime | None,
            strawberry.argument(description="Only of revisions taken then or earlier."),
        ] = strawberry.UNSET,
        last: Annotated[
            int | None, strawberry.argument(description="Only the newest so many of them.")
        ] = strawberry.UNSET,
    ) -> list[GrowthPoint]:
        since, until, last = none_if_omitted(since), none_if_omitted(until), none_if_omitted(last)
        if last is not None and last < 0:
            raise InvalidArgument("last", f"{last} is less than 0")
        points: list[growth.GrowthPoint] = info.context.of_history(GrowthAsked(self.name))
        chosen = [
            it
            for it in points
            if (since is None or it.revision.taken_at >= since)
            and (until is None or it.revision.taken_at <= until)
        ]
        return _shown(chosen if last is None else chosen[max(0, len(chosen) - last) :])

    @strawberry.field(
        description="A package through its revisions; null where none of them had it.",
        metadata=Cost(weight=TIMELINE).metadata,
    )
    def package(
        self,
        info: Info,
        name: Annotated[str, strawberry.argument(description="The package's name.")],
    ) -> PackageHistory | None:
        return PackageHistory.of(info.context, self.name, name)


def _shown(points: Sequence[growth.GrowthPoint]) -> list[GrowthPoint]:
    """Return points as a table: numbers alone are read column by column."""

    def comparison(place: int) -> Comparison | None:
        point = points[place]
        if point.base is None:
            return None
        return Comparison(base_info=point.base, head_info=point.revision)

    lines = [it.revision for it in points]
    columns: dict[str, Sequence[Any]] = {
        "revision": Each(len(points), lambda place: Revision(info=lines[place])),
        "comparison": Each(len(points), comparison),
        "tag": [it.tag for it in lines],
        "taken_at": [it.taken_at for it in lines],
        "num_specs": [it.num_specs for it in lines],
        "num_packages": [it.num_packages for it in lines],
        "num_stacks": [it.num_stacks for it in lines],
        "total_size": [it.total_size for it in lines],
        "specs_added": [it.counts.specs_added for it in points],
        "specs_removed": [it.counts.specs_removed for it in points],
        "specs_changed": [it.counts.specs_changed for it in points],
        "specs_rebuilt": [it.num_rebuilt for it in points],
        "specs_replaced": [it.num_replaced for it in points],
        "packages_added": [it.counts.packages_added for it in points],
        "packages_removed": [it.counts.packages_removed for it in points],
    }
    return Table(GrowthPoint, columns)  # type: ignore[return-value]
