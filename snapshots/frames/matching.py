"""Which rows of a frame a query in Spack's language asks for.

A condition is asked of the distinct values among the rows that are left, once each; ``^`` of the
dependency graph. What a query means is said in ``snapshots.spack.parser``.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from msgspec.structs import replace

from snapshots.errors import ConstraintSyntaxError, DependenciesUnknown, InvalidArgument
from snapshots.frames.columns import Column, Mask, Rows
from snapshots.frames.dependencies import DependencyGraph
from snapshots.frames.filters import having_where
from snapshots.frames.frame import Frame
from snapshots.spack.parser import SpecConstraint, VariantConstraint, parse

MAX_LENGTH = 2_000
"""How many characters a query may have."""

MAX_DEPENDENCIES = 16
"""How many ``^`` a query may have: each is a walk through the whole graph."""


def read(query: str) -> SpecConstraint:
    """Parse a query; raises ConstraintSyntaxError, and InvalidArgument where it asks too much."""
    if len(query) > MAX_LENGTH:
        reason = f"a query has {MAX_LENGTH:,} characters at the most"
        raise ConstraintSyntaxError(query, MAX_LENGTH, reason)
    wanted = parse(query)
    if len(wanted.dependencies) > MAX_DEPENDENCIES:
        reason = f"a query has {MAX_DEPENDENCIES} at the most, not {len(wanted.dependencies)}"
        raise InvalidArgument("dependencies (^)", reason)
    return wanted


def select(frame: Frame, wanted: SpecConstraint, load: Callable[[], DependencyGraph]) -> Mask:
    """Return a mask over the rows: those that meet every condition.

    A spec meets ``^`` where one of its transitive dependencies, over edges of any type, meets what
    stands behind it. A virtual package stands for what provides it to the spec or to one of its
    dependencies. Of a dependency outside the revision only name and hash are known, so it meets no
    other condition.

    ``load`` is asked for the frame's graph where there is a ``^``. Raises DependenciesUnknown where
    the graph does not know them for every row, and InvalidArgument for versions of a virtual
    package.
    """
    mask = np.zeros(len(frame), np.bool_)
    mask[_rows(frame, wanted)] = True
    if wanted.dependencies:
        graph = load()
        _require_known(frame, graph)
        for dependency in wanted.dependencies:
            mask &= graph.rows_above(_edges(frame, graph, dependency))
    return mask


def _rows(frame: Frame, wanted: SpecConstraint) -> Rows:
    """Return the rows that meet all conditions on the spec itself."""
    rows = np.arange(len(frame), dtype=np.int32)
    if wanted.name is not None:
        rows = rows[frame.rows_of(wanted.name) or slice(0)]
    for column, accepts in _conditions(frame, wanted):
        codes = column.codes[rows]
        accepted = np.zeros(len(column.values), np.bool_)
        for code in np.unique(codes).tolist():
            accepted[code] = accepts(column.values[code])
        rows = rows[accepted[codes]]
    for variant in wanted.variants:
        accepted = having_where(frame.variants, _accepting(variant))
        rows = rows[accepted[frame.variants.codes[rows]]]
    if wanted.hash_prefix is not None:
        rows = np.intersect1d(rows, frame.hashes.with_prefix(wanted.hash_prefix))
    return rows


def _conditions(
    frame: Frame, wanted: SpecConstraint
) -> Iterator[tuple[Column[Any], Callable[[Any], bool]]]:
    """Yield the columns that are asked about, each with what its values must be."""
    if wanted.versions is not None:
        yield frame.version, wanted.versions.includes
    if wanted.compiler is not None:
        yield frame.compiler, wanted.compiler.matches
    if wanted.namespace is not None:
        yield frame.namespace, (wanted.namespace,).__contains__
    for column, values in (
        (frame.platform, wanted.platforms),
        (frame.operating_system, wanted.operating_systems),
        (frame.target, wanted.targets),
    ):
        if values:
            yield column, values.__contains__


def _accepting(variant: VariantConstraint) -> Callable[[str], bool]:
    return lambda text: variant.matches((text,))


def _require_known(frame: Frame, graph: DependencyGraph) -> None:
    unknown = graph.num_rows - int(graph.known.sum())
    if unknown:
        raise DependenciesUnknown(frame.digest, unknown, graph.num_rows)


def _edges(frame: Frame, graph: DependencyGraph, wanted: SpecConstraint) -> Mask:
    """Return a mask over the edges: those to a dependency that meets all conditions."""
    edges = _nodes(frame, graph, wanted)[graph.targets]
    provides = graph.virtuals.where(lambda virtuals: wanted.name in virtuals)
    if not provides.any():
        return edges
    if wanted.versions is None:
        providers = _nodes(frame, graph, replace(wanted, name=None))
        edges |= provides[graph.virtuals.codes] & providers[graph.targets]
    elif wanted.name not in frame.package.index:
        reason = f"{wanted.name} is a virtual package; which versions are provided is not known"
        raise InvalidArgument(f"^{wanted.name}@{wanted.versions}", reason)
    return edges


def _nodes(frame: Frame, graph: DependencyGraph, wanted: SpecConstraint) -> Mask:
    """Return a mask over the nodes of the graph: those that meet all conditions."""
    mask = np.zeros(graph.num_nodes, np.bool_)
    mask[_rows(frame, wanted)] = True
    plain = SpecConstraint(name=wanted.name, hash_prefix=wanted.hash_prefix)
    if plain == wanted:
        mask[graph.num_rows :] = [
            wanted.name in (None, absent.name) and absent.hash.startswith(wanted.hash_prefix or "")
            for absent in map(graph.absent_at, range(graph.num_rows, graph.num_nodes))
            if absent is not None
        ]
    return mask
