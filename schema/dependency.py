"""Dependencies: what a spec needs, and what needs it."""

from collections.abc import Sequence
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import strawberry

from schema.batches import Batch, batched, json_texts
from schema.connections import Connection, Edge, Edges, Page, PageArguments, bad_cursor, window
from schema.context import LoadedRevision
from schema.scalars import given
from snapshots.frames import dependencies
from snapshots.frames.dependencies import Absent, DependencyGraph, Nodes, Reached

if TYPE_CHECKING:
    from schema.spec import Spec

LazySpec = Annotated["Spec", strawberry.lazy("schema.spec")]


@strawberry.enum(description="What a spec needs another one for.")
class DependencyType(Enum):
    """A type of dependency; a dependency can have several."""

    BUILD = strawberry.enum_value(
        dependencies.DependencyType.BUILD, description="It is used while the spec is built."
    )
    LINK = strawberry.enum_value(
        dependencies.DependencyType.LINK, description="The spec is linked to it."
    )
    RUN = strawberry.enum_value(
        dependencies.DependencyType.RUN, description="It is used when the spec runs."
    )
    TEST = strawberry.enum_value(
        dependencies.DependencyType.TEST, description="It is used to test the spec."
    )


TypesArgument = Annotated[
    list[DependencyType] | None,
    strawberry.argument(
        description="Follow only dependencies that have one of these types; all unless given."
    ),
]
TransitiveArgument = Annotated[
    bool, strawberry.argument(description="Go on to the end, not one step alone.")
]


@strawberry.type(
    description="A spec that depends on another, or that another depends on. What a spec depends "
    "on need not be in the revision: external compilers, for example, are not."
)
class Dependency:
    """A node of a revision's dependency graph; ``absent`` where it is no row of the frame."""

    loaded: strawberry.Private[LoadedRevision]
    node: strawberry.Private[int]
    absent: strawberry.Private[Absent | None]

    @strawberry.field(
        description="The package's name.", metadata=batched(lambda rows: json_texts(rows.names()))
    )
    def name(self) -> str:
        return self.absent.name if self.absent else self.loaded.frame.package.at(self.node)

    @strawberry.field(
        description="The DAG hash.", metadata=batched(lambda rows: json_texts(rows.hashes()))
    )
    def hash(self) -> str:
        return self.absent.hash if self.absent else self.loaded.frame.hashes.at(self.node)

    @strawberry.field(description="The spec itself; null where it is not in the revision.")
    def spec(self) -> LazySpec | None:
        from schema.spec import Spec

        return None if self.absent else Spec(loaded=self.loaded, row=self.node)


class DependencyRows(Batch[Dependency]):
    """Nodes of a revision's dependency graph."""

    def __init__(self, loaded: LoadedRevision, graph: DependencyGraph, nodes: Nodes) -> None:
        self._loaded = loaded
        self._graph = graph
        self._nodes = nodes.tolist()

    def __len__(self) -> int:
        return len(self._nodes)

    def __getitem__(self, place: Any) -> Any:
        node = self._nodes[place]
        return Dependency(loaded=self._loaded, node=node, absent=self._graph.absent_at(node))

    def names(self) -> list[str]:
        """Return the package's name of each node."""
        at, absent_at = self._loaded.frame.package.at, self._graph.absent_at
        return [it.name if (it := absent_at(node)) else at(node) for node in self._nodes]

    def hashes(self) -> list[str]:
        """Return the hash of each node."""
        at, absent_at = self._loaded.frame.hashes.at, self._graph.absent_at
        return [it.hash if (it := absent_at(node)) else at(node) for node in self._nodes]


@strawberry.type(description="A dependency in a list, with the cursor to go on from.")
class DependencyEdge(Edge[Dependency]):
    """An edge that knows the edge of the graph."""

    types: list[DependencyType] = strawberry.field(
        description="What the one needs the other for. In a transitive list each is shown with the "
        "last step of a shortest way to it.",
        metadata=batched(lambda edges: json_texts(edges.page.type_names())),
    )
    virtuals: list[str] = strawberry.field(
        description="The virtual packages (mpi, c, blas ...) that the one provides to the other, "
        "sorted.",
        metadata=batched(lambda edges: json_texts(edges.page.virtuals())),
    )


class DependencyPage(Page[Dependency]):
    """A page of what was reached in a graph."""

    def __init__(
        self,
        loaded: LoadedRevision,
        graph: DependencyGraph,
        reached: Reached,
        arguments: PageArguments,
    ) -> None:
        def places(cursor: str) -> tuple[int, int]:
            row = loaded.frame.hashes.find(cursor)
            node = graph.absent_index.get(cursor) if row is None else row
            found = np.flatnonzero(reached.nodes == node)
            if node is None or not len(found):
                raise bad_cursor(cursor)
            return int(found[0]), int(found[0]) + 1

        part = window(arguments, len(reached.nodes), places)
        rows = DependencyRows(loaded, graph, reached.nodes[part.start : part.stop])
        super().__init__(part, rows, ())
        self._rows = rows
        self._graph = graph
        self._edges = reached.edges[part.start : part.stop]

    @cached_property
    def cursors(self) -> Sequence[str]:
        """The hash of each spec."""
        return self._rows.hashes()

    def types_at(self, place: int) -> list[DependencyType]:
        """Return the types of one dependency."""
        return _TYPES[self._graph.types[self._edges[place]]]

    def virtuals_at(self, place: int) -> list[str]:
        """Return the virtual packages that one dependency provides."""
        return list(self._graph.virtuals.at(self._edges[place]))

    def type_names(self) -> list[list[str]]:
        """Return the types of each dependency as GraphQL names them."""
        return [[kind.name for kind in self.types_at(place)] for place in range(len(self.items))]

    def virtuals(self) -> list[list[str]]:
        """Return the virtual packages that each dependency provides."""
        return list(map(self.virtuals_at, range(len(self.items))))


class DependencyEdges(Edges[Dependency]):
    """The edges of a page of dependencies."""

    page: DependencyPage

    def __getitem__(self, place: Any) -> Any:
        page = self.page
        return DependencyEdge(
            cursor=page.cursors[place],
            node=page.items[place],
            types=page.types_at(place),
            virtuals=page.virtuals_at(place),
        )


@strawberry.type(
    description="A page of dependencies: the nearest first, equally near ones by package, newest "
    "version first, those outside the revision last."
)
class DependencyConnection(Connection[Dependency]):
    """A connection whose edges are those of the graph."""

    @strawberry.field(description="The items of the page, each with its cursor.")
    def edges(self) -> list[DependencyEdge]:
        return DependencyEdges(self.page)  # type: ignore[return-value]  # a list in GraphQL


def dependencies_of(
    loaded: LoadedRevision,
    row: int,
    types: list[DependencyType] | None,
    transitive: bool,
    arguments: PageArguments,
) -> DependencyConnection | None:
    """Return what a spec depends on; None where that is not known. Raises InvalidArgument."""
    graph = loaded.dependencies()
    if not graph.known[row]:
        return None
    reached = graph.dependencies_of(row, _mask(types), transitive=transitive)
    return DependencyConnection(page=DependencyPage(loaded, graph, reached, arguments))


def dependents_of(
    loaded: LoadedRevision,
    row: int,
    types: list[DependencyType] | None,
    transitive: bool,
    arguments: PageArguments,
) -> DependencyConnection | None:
    """Return what depends on a spec; None where no dependencies are known at all."""
    graph = loaded.dependencies()
    if not graph.is_known:
        return None
    reached = graph.dependents_of(row, _mask(types), transitive=transitive)
    return DependencyConnection(page=DependencyPage(loaded, graph, reached, arguments))


_TYPES = [
    [DependencyType(kind) for kind in dependencies.DependencyType if kind & mask]
    for mask in range(1 << len(DependencyType))
]
"""The types that each mask of the graph stands for."""


def _mask(types: list[DependencyType] | None) -> dependencies.DependencyType | None:
    wanted = given(types)
    if wanted is None:
        return None
    mask = dependencies.DependencyType(0)
    for kind in wanted:
        mask |= kind.value
    return mask
