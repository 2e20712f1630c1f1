"""Dependencies and dependents of a spec."""

from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import strawberry

from schema.context import LoadedRevision
from schema.fields import gql, many, relay
from schema.fields.cost import resolver
from schema.node import node_of
from snapshots.frames.dependencies import DependencyType

if TYPE_CHECKING:
    from schema.revisions.spec import SpecType

LazySpec = Annotated["SpecType", strawberry.lazy("schema.revisions.spec")]


gql.describe_enum(DependencyType)


def _of_node(fact: str, description: str) -> Any:
    """Declare a field that is a fact of specs, whether they are in the revision or not."""
    return many.for_many(lambda nodes: nodes.values(fact), description)


@strawberry.type(
    name="Dependency",
    description="A dependency or a dependent of a spec. It is not necessarily in the revision: "
    "external compilers, for example, are not.",
)
class DependencyNode:
    """A node of a revision's dependency graph, identified by its number."""

    loaded: strawberry.Private[LoadedRevision]
    number: strawberry.Private[int]

    name: str = _of_node("name", "The package's name.")
    hash: str = _of_node("hash", "The DAG hash.")
    version: str | None = _of_node(
        "version",
        "The version; null if it is not in the revision and the source does not state its version.",
    )
    external_path: str | None = _of_node(
        "external_path",
        "The path where it is installed if it is external, that is, not installed by Spack and "
        "in no build cache; null for other specs.",
    )

    @resolver()
    def spec(self) -> LazySpec | None:
        """The spec; null if it is not in the revision."""
        is_row = self.number < len(self.loaded.frame)
        return node_of("Spec", loaded=self.loaded, row=self.number) if is_row else None

    def alone(self) -> "DependencyNodes":
        """Return a list of only this node."""
        return DependencyNodes(self.loaded, [self.number])


class DependencyNodes(many.RowList[DependencyNode]):
    """Nodes of a revision's dependency graph, identified by their numbers."""

    def item(self, number: int) -> DependencyNode:
        """Return the node of a number."""
        return DependencyNode(loaded=self.loaded, number=number)

    def values(self, fact: str) -> list[Any]:
        """Return a fact of each node, whether it is a row of the frame or not."""
        graph = self.loaded.dependencies()
        parts, num_rows = (self.loaded.frame, graph.outside), graph.num_rows
        inside, outside = (part.columns[fact].at for part in parts)
        return [
            inside(node) if node < num_rows else outside(node - num_rows) for node in self.numbers
        ]


@gql.object_type
class DependencyEdge(relay.Edge[DependencyNode]):
    """A dependency in a list, with its cursor.

    - types: The types of the dependency. In a transitive list, those of the last edge of a shortest
      path to the node.
    - virtuals: The virtual packages (mpi, c, blas ...) that the dependency provides to its
      dependent, sorted.
    """

    types: list[DependencyType]
    virtuals: list[str]


@gql.object_type
class DependencyConnection(relay.Connection[DependencyNode]):
    """A page of dependencies or dependents, ordered by distance, then by package and version
    (newest first); those outside the revision are last.
    """

    edges: list[DependencyEdge] = relay.edges_field()  # type: ignore[assignment]  # each is an Edge


def neighbours_field(description: str, *, upward: bool) -> Any:
    """Declare a connection of a spec: its dependencies, or ``upward`` its dependents."""

    @relay.connection_field(description=description)
    def neighbours(
        self: "SpecType",
        *,
        page: relay.PageArguments,
        types: list[DependencyType] | None = None,
        transitive: bool = False,
    ) -> DependencyConnection | None:
        """- types: Follow only dependencies that have one of these types; by default, all types.
        - transitive: Whether to include indirect dependencies, or dependents.
        """
        return _neighbours_of(
            self.loaded, self.row, types, page, transitive=transitive, upward=upward
        )

    return neighbours


def _neighbours_of(
    loaded: LoadedRevision,
    row: int,
    types: list[DependencyType] | None,
    arguments: relay.PageArguments,
    *,
    transitive: bool,
    upward: bool,
) -> DependencyConnection | None:
    """Return the dependencies of a spec, or ``upward`` its dependents; None if they are unknown.

    Raises InvalidArgument for an invalid cursor.
    """
    graph = loaded.dependencies()
    if not (graph.is_known if upward else graph.known[row]):
        return None
    mask = None if types is None else reduce(or_, types, DependencyType(0))
    each = loaded.context.budget.levels
    reached = graph.reached_from(row, mask, upward=upward, transitive=transitive, each_level=each)

    def find(cursor: str) -> int | None:
        row = loaded.frame.hashes.find(cursor)
        node = graph.absent_index.get(cursor) if row is None else row
        places = np.flatnonzero(reached.nodes == node)
        return None if node is None or not len(places) else int(places[0])

    part = relay.window_at(arguments, len(reached.nodes), find)
    nodes = DependencyNodes(loaded, reached.nodes[part.start : part.stop].tolist())
    edges = reached.edges[part.start : part.stop]
    of_edges = {
        "types": many.ComputedList(
            len(nodes), lambda place: TYPES_OF_MASK[graph.types[edges[place]]]
        ),
        "virtuals": many.ComputedList(
            len(nodes), lambda place: list(graph.virtuals.at(edges[place]))
        ),
    }
    page = relay.ListPage([part], nodes, nodes.values("hash"), DependencyEdge, of_edges)
    return DependencyConnection(page=page)


TYPES_OF_MASK = [
    [kind for kind in DependencyType if kind & mask] for mask in range(1 << len(DependencyType))
]
"""The types in each bit mask of the graph."""
