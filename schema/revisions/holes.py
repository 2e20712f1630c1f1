"""Holes: what is missing for the specs of a revision to be installed from its cache alone."""

from collections.abc import Mapping

import numpy as np
import strawberry

from schema.context import Info, LoadedRevision
from schema.fields.connections import Connection, ListPage, PageArguments, window_at
from schema.fields.cost import LOADING, Cost, NumberOf, resolver
from schema.fields.many import attribute
from schema.fields.scalars import object_type
from schema.node import node_of
from schema.revisions.lookup import LAST_SEEN
from schema.revisions.package import First, LazyRevision, check_first
from schema.revisions.spec import SpecRows, SpecType
from snapshots.catalog.history_answers import About, HistoryTopic
from snapshots.changes.holes import Hole, Holes
from snapshots.frames.dependencies import DependencyGraph
from snapshots.refs import series
from snapshots.timelines.spans import HashHistory, last_seen

FINDING_HOLES = 50_000
"""The share of each request of following all dependencies of a revision, which is kept."""

HOLES = Cost(weight=200, each=5, once=LOADING + FINDING_HOLES)
"""A page of holes."""

AFFECTED_DEFAULT = 20
"""How many affected specs of a hole are listed unless a number is given."""

AFFECTED = Cost(weight=2_000, items=NumberOf("first", default=AFFECTED_DEFAULT), each=2)
"""What depends on one hole, however far."""


@object_type
class HoleType:
    """A spec that others need to be linked or to run, and that is neither in the cache nor
    external.

    - hash: The DAG hash.
    - name: The package's name.
    - version: The version; null where the revision's source does not tell it.
    - num_affected: How many specs cannot be installed without it.
    """

    loaded: strawberry.Private[LoadedRevision]
    holes: strawberry.Private[Holes]
    place: strawberry.Private[int]
    hole: strawberry.Private[Hole]
    topic: strawberry.Private[HistoryTopic]

    hash = attribute("hole.hash", str)
    name = attribute("hole.name", str)
    version = attribute("hole.version", str | None)
    num_affected = attribute("hole.num_affected", int)

    @resolver(AFFECTED)
    def affected(self, first: First = AFFECTED_DEFAULT) -> list[SpecType]:
        """The first of the specs that cannot be installed without it, by package, newest version
        first.
        """
        check_first(first)
        levels = self.loaded.context.budget.levels
        rows = self.holes.affected(self.loaded.dependencies(), self.place, levels)[:first]
        return SpecRows(self.loaded, rows)  # type: ignore[return-value]

    @resolver(LAST_SEEN)
    def gone_in(self, info: Info) -> LazyRevision | None:
        """The revision of the series that had it no longer, after one that had it; of another
        series where this one never had it; null where none did, or it is still there.
        """
        histories: Mapping[str, HashHistory] = info.context.of_history(self.topic)
        history = histories.get(self.hole.hash)
        gone_in = history and last_seen(history, series(self.loaded.info.tag)).gone_in
        return node_of("Revision", info=gone_in) if gone_in else None


@object_type
class HoleConnection(Connection[HoleType]):
    """A page of holes.

    - num_whole: How many specs are whole: all that they need to be installed is in the cache.
    - num_affected: How many specs lack any hole, and so are not whole.
    """

    holes: strawberry.Private[Holes]
    graph: strawberry.Private[DependencyGraph]

    num_whole = attribute("holes.num_whole", int)
    num_affected = attribute("holes.num_affected", int)

    @resolver()
    def num_unknown(self) -> int:
        """How many specs have unknown dependencies. What reaches one of them is neither whole nor
        affected, unless it reaches a hole.
        """
        return int(np.count_nonzero(~self.graph.known))


def hole_connection(loaded: LoadedRevision, arguments: PageArguments) -> HoleConnection | None:
    """Return a page of a revision's holes; None where its source tells no dependencies.

    Raises InvalidArgument for a cursor that names none of them.
    """
    graph = loaded.dependencies()
    if graph.num_rows and not graph.is_known:
        return None
    found = loaded.context.holes(loaded.info)
    part = window_at(arguments, len(found), found.find)
    shown = found[part.start : part.stop]
    items = frozenset((hole.hash, hole.name) for hole in shown)
    topic = HistoryTopic(About.HASHES, items=items)
    objects = [
        HoleType(loaded=loaded, holes=found, place=place, hole=hole, topic=topic)
        for place, hole in enumerate(shown, part.start)
    ]
    page = ListPage(part, objects, [hole.hash for hole in shown])
    return HoleConnection(page=page, holes=found, graph=graph)
