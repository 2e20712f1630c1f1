"""What rebuilt most in a series: the causes of its neighbours, summed up."""

import strawberry

from schema.comparisons.changes import LoadedComparison, load_comparison
from schema.comparisons.comparison import ComparisonType
from schema.comparisons.explanations import Cause, CauseRows, CommitType
from schema.context import Info, LoadedRevision
from schema.fields.connections import FirstArgument, check_size
from schema.fields.cost import ArgumentCost, Cost, NumberOf, resolver
from schema.fields.many import attribute
from schema.fields.scalars import ByteCount, describe_enum, object_type
from schema.revisions.costs import cost_fields
from schema.revisions.revision import revision_field
from snapshots.catalog.history_answers import About, HistoryTopic
from snapshots.changes.cause_names import CauseKind
from snapshots.changes.impact import Outcome, outcome
from snapshots.refs import series as series_of
from snapshots.timelines.causes import (
    SeriesCause,
    SeriesCauseKey,
    SeriesCausePoint,
    SeriesCauses,
)

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

    package: strawberry.Private[str]
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
    came_to = outcome(loaded.explanation(), {package})
    return ImpactOutcome(package=package, loaded=loaded, outcome=came_to)
