"""Which rows of a frame a query in Spack's language asks for.

A condition on a spec's own facts is asked of the distinct values among the rows that are left, once
each; one on dependencies is asked of the nodes of the graph first, then carried along its edges.

What the conditions mean is Spack's (version 1.1), as its answers about concrete specs show it:

- ``%x``: an edge of any type leads from the spec to an x. With types in brackets it has all of
  them, with virtuals it provides one of them.
- ``^x``: so does an edge of type link or run, from the spec or from what it links or runs with; or
  an edge of type build from the spec itself. With virtuals in brackets it provides all of them;
  types in brackets say nothing.
- Where x is a virtual package, the edge provides it. Of the provider itself Spack then asks for
  nothing but versions, and those are the versions that it provides. Where only a recipe tells them
  (``snapshots.spack.virtuals.VERSIONED``) the question is refused.
- ``++x``, ``x==y``: neither the spec nor anything below it has the variant x otherwise.

**Specs of older formats** are built by a compiler that is no dependency. They are those with a
compiler of which no build dependency provides c, cxx or fortran, and those whose dependencies are
not known at all, as on the pages of a cache. ``%x`` asks them for that compiler only.
"""

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import numpy as np
from msgspec.structs import replace

from snapshots.errors import ConstraintSyntaxError, DependenciesUnknown, InvalidArgument
from snapshots.frames.columns import Column, Mask, Rows
from snapshots.frames.dependencies import DependencyGraph, DependencyType
from snapshots.frames.filters import having_where
from snapshots.frames.frame import Frame
from snapshots.spack.constraints import ANYTHING, DependencyConstraint, SpecConstraint
from snapshots.spack.parser import parse
from snapshots.spack.virtuals import LANGUAGES, LANGUAGES_OF_COMPILERS, VERSIONED

MAX_LENGTH = 2_000
"""How many characters a query may have."""

MAX_DEPENDENCIES = 16
"""How many ``%`` and ``^`` a query may have: each can be a walk through the whole graph."""

_LINK_OR_RUN = DependencyType.LINK | DependencyType.RUN


def read(query: str) -> SpecConstraint:
    """Parse a query; raises ConstraintSyntaxError, and InvalidArgument where it asks too much."""
    if len(query) > MAX_LENGTH:
        raise ConstraintSyntaxError(
            query, MAX_LENGTH, f"a query has at most {MAX_LENGTH:,} characters"
        )
    constraint = parse(query)
    if constraint.num_dependencies > MAX_DEPENDENCIES:
        reason = f"a query has at most {MAX_DEPENDENCIES}, not {constraint.num_dependencies}"
        raise InvalidArgument("dependencies (% and ^)", reason)
    return constraint


def select(frame: Frame, asked: SpecConstraint, load: Callable[[], DependencyGraph]) -> Mask:
    """Return a mask over the rows: those that meet every condition.

    ``load`` is asked for the frame's graph where the query is about dependencies. Raises
    DependenciesUnknown where ``^`` or a propagated variant needs dependencies that the graph does
    not know for every row, and InvalidArgument for versions of a virtual package that no record
    tells.
    """
    if asked.is_about_dependencies:
        return _Search(frame, load()).rows(asked)
    mask = np.zeros(len(frame), np.bool_)
    mask[_rows(frame, asked)] = True
    return mask


class _Search:
    """Answers conditions on the nodes of one graph: the rows of its frame, and the absent specs.

    Masks over nodes begin with the rows.
    """

    def __init__(self, frame: Frame, graph: DependencyGraph) -> None:
        self._frame = frame
        self._graph = graph

    def rows(self, asked: SpecConstraint) -> Mask:
        """Return a mask over the rows: those that meet every condition."""
        mask = self._nodes(asked)[: len(self._frame)]
        for dependency in asked.transitive:
            self._require_known()
            edges = self._edges(dependency.spec)
            for virtual in dependency.virtuals:
                edges &= self._provides(virtual)
            mask &= self._rows_above(edges)
        return mask

    def _nodes(self, asked: SpecConstraint) -> Mask:
        """Return a mask over the nodes: those that meet all conditions but the transitive ones."""
        mask = self._having_facts(asked)
        for variant in asked.variants:
            if variant.propagate:
                contradicting = self._having_variant(variant.contradicts)
                mask &= ~(contradicting | self._above_any(contradicting))
        for dependency in asked.direct:
            mask &= self._having_direct(dependency)
        return mask

    # -- the facts of a node itself

    def _having_facts(self, asked: SpecConstraint) -> Mask:
        """Return a mask over the nodes: those that meet the conditions on their own facts."""
        mask = np.zeros(self._graph.num_nodes, np.bool_)
        mask[_rows(self._frame, asked)] = True
        absent = self._graph.absent_frame
        if absent is not None:
            mask[self._nodes_of_absent[_rows(absent, asked)]] = True
        bare = SpecConstraint(
            name=asked.name, versions=asked.versions, hash_prefix=asked.hash_prefix
        )
        if replace(asked, direct=(), transitive=()) == bare:
            for node, version in self._bare_nodes.items():
                mask[node] = _is_bare(self._graph, node, version, asked)
        return mask

    def _having_variant(self, accept: Callable[[tuple[str, ...]], bool]) -> Mask:
        """Return a mask over the nodes: those with a variant that is accepted."""
        mask = np.zeros(self._graph.num_nodes, np.bool_)
        column = self._frame.variants
        mask[: len(self._frame)] = having_where(column, _alone(accept))[column.codes]
        if (absent := self._graph.absent_frame) is not None:
            column = absent.variants
            mask[self._nodes_of_absent] = having_where(column, _alone(accept))[column.codes]
        return mask

    @cached_property
    def _nodes_of_absent(self) -> Rows:
        """The node of each row of the frame of absent specs."""
        absent = self._graph.absent_frame
        hashes = [] if absent is None else absent.hashes.texts
        return np.array([self._graph.absent_index[it] for it in hashes], np.int32)

    @cached_property
    def _bare_nodes(self) -> dict[int, str | None]:
        """The nodes of which no more is told than name and hash, each with its version or None.

        The version of a compiler is told by those that it compiles.
        """
        graph, frame = self._graph, self._frame
        told = set(self._nodes_of_absent.tolist())
        bare = {node for node in range(graph.num_rows, graph.num_nodes) if node not in told}
        versions: dict[int, str | None] = dict.fromkeys(sorted(bare))
        edges = np.flatnonzero(self._provides_language & (graph.targets >= graph.num_rows))
        for row, node in zip(graph.sources[edges], graph.targets[edges], strict=True):
            name, _, version = (frame.compiler.at(row) or "").partition("@")
            if node in bare and name == graph.absent[node - graph.num_rows].name:
                versions[int(node)] = version
        return versions

    # -- dependencies

    def _having_direct(self, dependency: DependencyConstraint) -> Mask:
        """Return a mask over the nodes: those with such a dependency of their own."""
        edges = self._edges(dependency.spec)
        if dependency.virtuals:
            edges &= np.logical_or.reduce(list(map(self._provides, dependency.virtuals)))
        types = sum(DependencyType[it.upper()] for it in dependency.types)
        edges &= self._graph.types & types == types
        mask = np.zeros(self._graph.num_nodes, np.bool_)
        mask[self._graph.sources[edges]] = True
        by_compiler = self._frame.compiler.where(
            lambda it: it is not None and _is_compiler(dependency.spec, it)
        )
        rows = self._asked_by_compiler
        mask[: len(rows)][rows] = by_compiler[self._frame.compiler.codes[rows]]
        return mask

    @cached_property
    def _asked_by_compiler(self) -> Mask:
        """A mask over the rows: the specs of older formats, as the module's docstring has them."""
        graph = self._graph
        mask = self._frame.compiler.known()[self._frame.compiler.codes]
        mask[graph.sources[self._provides_language]] = False
        return mask | ~graph.known

    @cached_property
    def _provides_language(self) -> Mask:
        """A mask over the edges: those to a compiler."""
        graph = self._graph
        provided = graph.virtuals.where(lambda it: not LANGUAGES.isdisjoint(it))
        mask: Mask = provided[graph.virtuals.codes] & (graph.types & DependencyType.BUILD != 0)
        return mask

    def _rows_above(self, edges: Mask) -> Mask:
        """Return a mask over the rows: those for which ``^`` finds one of the edges."""
        graph = self._graph
        linked = edges & (graph.types & _LINK_OR_RUN != 0)
        mask = graph.rows_above(linked, _LINK_OR_RUN)
        built = edges & (graph.types & DependencyType.BUILD != 0)
        mask[graph.sources[built]] = True
        return mask

    def _above_any(self, nodes: Mask) -> Mask:
        """Return a mask over the nodes: those with one of the nodes somewhere below them."""
        self._require_known()
        mask = np.zeros(self._graph.num_nodes, np.bool_)
        mask[: len(self._frame)] = self._graph.rows_above(nodes[self._graph.targets])
        return mask

    def _edges(self, asked: SpecConstraint) -> Mask:
        """Return a mask over the edges: those to such a spec, whatever their types."""
        graph = self._graph
        edges: Mask = self._nodes(asked)[graph.targets]
        if asked.name is not None:
            provides = self._provides(asked.name)
            if provides.any():
                edges |= provides & self._providers(asked)[graph.targets]
        return edges

    def _provides(self, virtual: str) -> Mask:
        """Return a mask over the edges: those that provide a virtual package."""
        column = self._graph.virtuals
        return column.where(lambda virtuals: virtual in virtuals)[column.codes]

    def _providers(self, asked: SpecConstraint) -> Mask:
        """Return a mask over the nodes: those that can provide the virtual package asked for.

        Raises InvalidArgument for versions that only a recipe tells.
        """
        virtual = asked.name or ""
        if asked.versions is not None and virtual in VERSIONED:
            reason = f"{virtual} is a virtual package; which versions are provided is not known"
            raise InvalidArgument(f"{virtual}@{asked.versions}", reason)
        mask = np.ones(self._graph.num_nodes, np.bool_)
        for compiler, languages in LANGUAGES_OF_COMPILERS.items():
            if variant := languages.get(virtual):
                lacking = self._having_facts(SpecConstraint(name=compiler))
                lacking &= ~self._having_facts(parse(f"{compiler} {variant}"))
                lacking[list(self._bare_nodes)] = False
                mask &= ~lacking
        for dependency in asked.direct:
            mask &= self._having_direct(dependency)
        return mask

    def _require_known(self) -> None:
        unknown = self._graph.num_rows - int(self._graph.known.sum())
        if unknown:
            raise DependenciesUnknown(self._frame.digest, unknown, self._graph.num_rows)


def _rows(frame: Frame, asked: SpecConstraint) -> Rows:
    """Return the rows that meet all conditions on the spec's own facts."""
    rows = np.arange(len(frame), dtype=np.int32)
    if asked.name is not None:
        rows = rows[frame.rows_of(asked.name) or slice(0)]
    for column, accepts in _conditions(frame, asked):
        codes = column.codes[rows]
        accepted = np.zeros(len(column.values), np.bool_)
        for code in np.unique(codes).tolist():
            value = column.values[code]
            accepted[code] = value is not None and accepts(value)
        rows = rows[accepted[codes]]
    for variant in asked.variants:
        if not variant.propagate:
            accepted = having_where(frame.variants, _alone(variant.matches))
            rows = rows[accepted[frame.variants.codes[rows]]]
    if asked.hash_prefix is not None:
        rows = np.intersect1d(rows, frame.hashes.with_prefix(asked.hash_prefix))
    return rows


def _conditions(
    frame: Frame, asked: SpecConstraint
) -> Iterator[tuple[Column[Any], Callable[[Any], bool]]]:
    """Yield the columns that are asked about, each with what its values must be."""
    if asked.versions is not None:
        yield frame.version, asked.versions.includes
    if asked.namespace is not None:
        yield frame.namespace, asked.namespace.__eq__
    for column, name in (
        (frame.platform, asked.platform),
        (frame.operating_system, asked.operating_system),
    ):
        if name is not None and name != ANYTHING:
            yield column, name.__eq__
    if asked.targets is not None:
        yield frame.target, asked.targets.includes


def _alone(accept: Callable[[tuple[str, ...]], bool]) -> Callable[[str], bool]:
    """Make what judges lists of variants judge one variant."""
    return lambda text: accept((text,))


def _is_bare(graph: DependencyGraph, node: int, version: str | None, asked: SpecConstraint) -> bool:
    """Tell whether a node of which only name, hash and perhaps version are known is asked for."""
    spec = graph.absent[node - graph.num_rows]
    if asked.name not in (None, spec.name) or not spec.hash.startswith(asked.hash_prefix or ""):
        return False
    return asked.versions is None or (version is not None and asked.versions.includes(version))


def _is_compiler(asked: SpecConstraint, compiler: str) -> bool:
    """Tell whether the one compiler of a spec of an older format is what ``%`` asks for."""
    if asked.name in LANGUAGES:
        languages = LANGUAGES_OF_COMPILERS.get(compiler.partition("@")[0], {})
        # A variant that it takes to provide the language is not known of it.
        return languages.get(asked.name) == ""
    return asked.is_compiler(compiler)
