"""Queries in Spack's language on a frame: the rows that match, and the names that nothing has.

A condition on a spec's own facts is evaluated once for each distinct value among the remaining
rows; one on dependencies is evaluated on the nodes of the graph, then propagated along its edges.

What the conditions mean is Spack's (version 1.1), as its answers about concrete specs show it:

- ``%x``: an edge of any type leads from the spec to an x. With types in brackets it has all of
  them, with virtuals it provides one of them.
- ``^x``: so does an edge of type link or run, from the spec or from what it links or runs with; or
  an edge of type build from the spec itself. With virtuals in brackets it provides all of them;
  types in brackets have no effect.
- Where x is a virtual package, the edge provides it. Of the provider itself Spack then checks
  versions only: some of them are among those that it provides. Specs record these from format 6 on;
  where only a recipe has them (``snapshots.spack.virtuals.VERSIONED``) the query is refused.
- ``++x``, ``x==y``: neither the spec nor anything below it has the variant x otherwise.

**Specs of older formats** are built by a compiler that is not a dependency. They are those with a
compiler of which no build dependency provides c, cxx or fortran, and those whose dependencies are
not known at all, as on the pages of a cache. ``%x`` tests that compiler only.

A name that nothing has matches nothing, like conditions that nothing meets. ``require_known`` and
``unknown_names`` tell the two apart. A misspelt name of the spec itself is an error; after ``%``
and ``^`` Spack answers that nothing matches, and the misspelling is a remark.
"""

from collections.abc import Callable, Collection, Iterator
from functools import cached_property
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace

from snapshots.errors import (
    ConstraintSyntaxError,
    DependenciesUnknown,
    InvalidArgument,
    UnknownPackage,
)
from snapshots.frames.columns import Column, Mask, Rows
from snapshots.frames.dependencies import DependencyGraph, DependencyType
from snapshots.frames.filters import having_where
from snapshots.frames.frame import Frame
from snapshots.spack.query import ANYTHING, DependencyConstraint, SpecConstraint, parse
from snapshots.spack.versions import VersionList
from snapshots.spack.virtuals import LANGUAGES, LANGUAGES_OF_COMPILERS, VERSIONED, provides
from snapshots.texts import nearest_hint, nearest_names, quoted

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


def select(frame: Frame, constraint: SpecConstraint, load: Callable[[], DependencyGraph]) -> Mask:
    """Return a mask over the rows: those that meet every condition.

    ``load`` returns the frame's graph; it is called where the query is about dependencies. Raises
    DependenciesUnknown where ``^`` or a propagated variant needs dependencies that the graph does
    not have for every row, and InvalidArgument for versions of a virtual package that some of its
    providers do not record.
    """
    if constraint.is_about_dependencies:
        return _Search(frame, load()).rows(constraint)
    mask = np.zeros(len(frame), np.bool_)
    mask[_rows(frame, constraint)] = True
    return mask


class _Search:
    """Evaluates conditions on the nodes of one graph: the rows of its frame, and those outside.

    Masks over nodes begin with the rows.
    """

    def __init__(self, frame: Frame, graph: DependencyGraph) -> None:
        self._frame = frame
        self._graph = graph

    def rows(self, constraint: SpecConstraint) -> Mask:
        """Return a mask over the rows: those that meet every condition."""
        mask = self._nodes(constraint)
        for dependency in constraint.transitive:
            self._require_known()
            edges = self._edges(dependency.spec)
            for virtual in dependency.virtuals:
                edges &= self._provides(virtual)
            mask &= self._above(edges)
        return mask[: len(self._frame)]

    def _nodes(self, constraint: SpecConstraint) -> Mask:
        """Return a mask over the nodes: those that meet all conditions but the transitive ones."""
        mask = self._having_facts(constraint)
        for variant in constraint.variants:
            if variant.propagate:
                self._require_known()
                contrary = self._having_variant(variant.contradicts)
                mask &= ~(contrary | self._graph.nodes_above(contrary[self._graph.targets]))
        for dependency in constraint.direct:
            mask &= self._having_direct(dependency)
        return mask

    # -- the facts of a node itself

    def _having_facts(self, constraint: SpecConstraint) -> Mask:
        """Return a mask over the nodes: those that meet the conditions on their own facts."""
        mask = np.zeros(self._graph.num_nodes, np.bool_)
        mask[_rows(self._frame, constraint)] = True
        outside = mask[len(self._frame) :]
        outside[_rows(self._graph.outside, constraint)] = True
        if constraint.versions is not None:
            rows = _rows(self._graph.outside, replace(constraint, versions=None)).tolist()
            for row in self._compiler_versions.keys() & rows:
                outside[row] |= constraint.versions.includes(self._compiler_versions[row])
        return mask

    def _where(self, fact: str, accept: Callable[[Any], bool]) -> Mask:
        """Return a mask over the nodes: those whose value of a fact is known and accepted."""
        columns: list[Column[Any]] = [
            getattr(frame, fact) for frame in (self._frame, self._graph.outside)
        ]
        masks = [
            column.where(lambda value: value is not None and accept(value))[column.codes]
            for column in columns
        ]
        return np.concatenate(masks)

    def _having_variant(self, accept: Callable[[tuple[str, ...]], bool]) -> Mask:
        """Return a mask over the nodes: those with a variant that is accepted."""
        columns = (self._frame.variants, self._graph.outside.variants)
        return np.concatenate(
            [having_where(column, _one(accept))[column.codes] for column in columns]
        )

    @cached_property
    def _compiler_versions(self) -> dict[int, str]:
        """The versions of compilers outside the cache that only what they compiled records.

        By their rows among those outside. An old catalog has nothing but their names.
        """
        graph, compiler, outside = self._graph, self._frame.compiler, self._graph.outside
        versions: dict[int, str] = {}
        if graph.stated.all():
            return versions
        edges = graph.edges_to_compilers
        sources, rows = graph.sources[edges], graph.targets[edges] - graph.num_rows
        unstated = (sources < graph.num_rows) & (rows >= 0)
        unstated[unstated] = ~graph.stated[rows[unstated]]
        pairs = np.stack((rows[unstated], compiler.codes[sources[unstated]]), axis=1)
        for row, code in np.unique(pairs, axis=0).tolist():
            name, _, version = (compiler.values[code] or "").partition("@")
            if name == outside.package.at(row):
                versions[row] = version
        return versions

    # -- dependencies

    def _having_direct(self, dependency: DependencyConstraint) -> Mask:
        """Return a mask over the nodes: those with such a dependency of their own."""
        edges = self._edges(dependency.spec)
        if dependency.virtuals:
            edges &= np.logical_or.reduce(list(map(self._provides, dependency.virtuals)))
        types = sum(DependencyType[name.upper()] for name in dependency.types)
        edges &= self._graph.types & types == types
        mask = np.zeros(self._graph.num_nodes, np.bool_)
        mask[self._graph.sources[edges]] = True
        compiled = self._where("compiler", lambda value: _is_compiler(dependency.spec, value))
        return np.where(self._of_older_formats, compiled, mask)

    @cached_property
    def _of_older_formats(self) -> Mask:
        """A mask over the nodes: the specs of older formats, as the module's docstring has them."""
        mask = self._where("compiler", lambda _: True)
        mask[self._graph.sources[self._graph.edges_to_compilers]] = False
        mask[: len(self._frame)] |= ~self._graph.known
        return mask

    def _above(self, edges: Mask) -> Mask:
        """Return a mask over the nodes: those for which one of the edges counts for ``^``."""
        graph = self._graph
        mask = graph.nodes_above(edges & (graph.types & _LINK_OR_RUN != 0), _LINK_OR_RUN)
        mask[graph.sources[edges & (graph.types & DependencyType.BUILD != 0)]] = True
        return mask

    def _edges(self, constraint: SpecConstraint) -> Mask:
        """Return a mask over the edges: those to such a spec, whatever their types."""
        targets, name = self._graph.targets, constraint.name
        edges: Mask = self._nodes(constraint)[targets]
        if name is not None and self._graph.has_provider(name):
            edges |= self._provides(name) & self._providers(name, constraint)[targets]
        return edges

    def _provides(self, virtual: str) -> Mask:
        """Return a mask over the edges: those that provide a virtual package."""
        column = self._graph.virtuals
        return column.where(lambda virtuals: virtual in virtuals)[column.codes]

    def _providers(self, virtual: str, constraint: SpecConstraint) -> Mask:
        """Return a mask over the nodes: those that can provide a virtual package as required.

        Raises InvalidArgument for versions that only a recipe has.
        """
        mask = np.ones(self._graph.num_nodes, np.bool_)
        if constraint.versions is not None:
            mask = self._providing(virtual, constraint.versions)
        for compiler, languages in LANGUAGES_OF_COMPILERS.items():
            if variant := languages.get(virtual):
                lacking = self._having_facts(SpecConstraint(name=compiler))
                lacking &= ~self._having_facts(parse(f"{compiler} {variant}"))
                lacking[len(self._frame) :] &= self._graph.stated
                mask &= ~lacking
        for dependency in constraint.direct:
            mask &= self._having_direct(dependency)
        return mask

    def _providing(self, virtual: str, versions: VersionList) -> Mask:
        """Return a mask over the nodes: those that provide such versions, if they provide any."""
        is_recorded = self._where("provided_virtuals", lambda _: True)
        fits = self._where("provided_virtuals", lambda names: provides(names, virtual, versions))
        providers = self._graph.targets[self._provides(virtual)]
        if virtual in VERSIONED and not is_recorded[providers].all():
            reason = (
                f"{virtual} is a virtual package; which versions are provided is not known: specs "
                "tell it from format 6 on (Spack 1.3), and some that provide it are older"
            )
            raise InvalidArgument(f"versions of {virtual}", reason)
        return fits | ~is_recorded

    def _require_known(self) -> None:
        unknown = self._graph.num_rows - int(self._graph.known.sum())
        if unknown:
            raise DependenciesUnknown(self._frame.digest, unknown, self._graph.num_rows)


def _rows(frame: Frame, constraint: SpecConstraint) -> Rows:
    """Return the rows that meet all conditions on the spec's own facts."""
    rows = np.arange(len(frame), dtype=np.int32)
    if constraint.name is not None:
        rows = rows[frame.rows_of(constraint.name) or slice(0)]
    for column, accepts in _conditions(frame, constraint):
        codes = column.codes[rows]
        accepted = np.zeros(len(column.values), np.bool_)
        for code in np.unique(codes).tolist():
            value = column.values[code]
            accepted[code] = value is not None and accepts(value)
        rows = rows[accepted[codes]]
    for variant in constraint.variants:
        if not variant.propagate:
            accepted = having_where(frame.variants, _one(variant.matches))
            rows = rows[accepted[frame.variants.codes[rows]]]
    if constraint.hash_prefix is not None:
        rows = np.intersect1d(rows, frame.hashes.with_prefix(constraint.hash_prefix))
    return rows


def _conditions(
    frame: Frame, constraint: SpecConstraint
) -> Iterator[tuple[Column[Any], Callable[[Any], bool]]]:
    """Yield the columns that the query is about, each with a predicate for its values."""
    if constraint.versions is not None:
        yield frame.version, constraint.versions.includes
    if constraint.namespace is not None:
        yield frame.namespace, constraint.namespace.__eq__
    if constraint.platform not in (None, ANYTHING):
        yield frame.platform, constraint.platform.__eq__
    if constraint.operating_system not in (None, ANYTHING):
        yield frame.operating_system, constraint.operating_system.__eq__
    if constraint.targets is not None:
        yield frame.target, constraint.targets.includes


def _one(accept: Callable[[tuple[str, ...]], bool]) -> Callable[[str], bool]:
    """Turn a predicate for lists of variants into one for a single variant."""
    return lambda text: accept((text,))


def _is_compiler(constraint: SpecConstraint, compiler: str) -> bool:
    """Tell whether the one compiler of a spec of an older format meets what ``%`` requires."""
    if constraint.name in LANGUAGES:
        languages = LANGUAGES_OF_COMPILERS.get(compiler.partition("@")[0], {})
        # Whether it has the variant that it needs to provide the language is not recorded.
        return languages.get(constraint.name) == ""
    return constraint.is_compiler(compiler)


# -- names that nothing has


_KNOWN_TO_SPACK = LANGUAGES | LANGUAGES_OF_COMPILERS.keys() | VERSIONED

UNKNOWN_NAMES_MAX = 3
"""How many unknown names of a query are reported: each is compared with thousands."""

Load = Callable[[], DependencyGraph]
"""Returns the graph of the frame."""

Elsewhere = Callable[[], Collection[str]]
"""Returns the names of packages that other revisions know."""


class UnknownName(msgspec.Struct, frozen=True):
    """A name in a query that nothing has, and the known names that resemble it, best first."""

    name: str
    nearest: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"nothing is named {quoted(self.name)}{nearest_hint(self.nearest)}"


def names_in(constraint: SpecConstraint) -> set[str]:
    """Return the names of packages, virtual ones included, in a query."""
    names = set() if constraint.name is None else {constraint.name}
    for dependency in (*constraint.direct, *constraint.transitive):
        names |= names_in(dependency.spec)
        names.update(dependency.virtuals)
    return names - {""}


def names_known(frame: Frame, graph: DependencyGraph) -> set[str]:
    """Return the names of packages that a revision knows: its own, and those of dependencies.

    The virtual packages that dependencies provide are among them, and the compilers of specs.
    """
    compilers = [value.partition("@")[0] for value in frame.compiler.values if value is not None]
    virtuals = {virtual for virtuals in graph.virtuals.values for virtual in virtuals}
    return {*frame.packages, *graph.outside.packages, *compilers, *virtuals}


def require_known(
    constraint: SpecConstraint, frame: Frame, load: Load, elsewhere: Elsewhere
) -> None:
    """Raise an error where a query matches nothing because of the name of the spec itself.

    That is UnknownPackage for a name that neither this revision nor others know, and
    InvalidArgument for a virtual package in the place of a real one. ``load`` and ``elsewhere`` are
    called only where needed. A name that differs from a known one in case alone is no error:
    ``unknown_names`` returns it.
    """
    name = constraint.name
    if name is None or name in frame.package.index:
        return
    graph = load()
    if providers := _providers(frame, graph, name):
        reason = f"{name} is a virtual package; ask for what provides it: {', '.join(providers)}"
        raise InvalidArgument("package", reason)
    for unknown in _unknown({name}, frame, graph, elsewhere):
        if unknown.name.lower() not in map(str.lower, unknown.nearest):
            raise UnknownPackage(unknown.name, unknown.nearest)


def unknown_names(
    constraint: SpecConstraint, frame: Frame, load: Load, elsewhere: Elsewhere
) -> tuple[UnknownName, ...]:
    """Return the first names in a query, in order, that neither this revision nor others know.

    Names that Spack itself defines (compilers, languages, mpi) are always known.
    """
    names = names_in(constraint)
    if names <= frame.package.index.keys():
        return ()
    return _unknown(names, frame, load(), elsewhere)


def _unknown(
    names: set[str], frame: Frame, graph: DependencyGraph, elsewhere: Elsewhere
) -> tuple[UnknownName, ...]:
    candidates = names_known(frame, graph)
    missing = names - _KNOWN_TO_SPACK - candidates
    if not missing:
        return ()
    candidates |= {*elsewhere()}
    unknown = sorted(missing - candidates)[:UNKNOWN_NAMES_MAX]
    return tuple(UnknownName(name, tuple(nearest_names(name, candidates))) for name in unknown)


def _providers(frame: Frame, graph: DependencyGraph, virtual: str) -> list[str]:
    """Return the packages in the revision that provide a virtual package to others."""
    provided = graph.virtuals.where(lambda virtuals: virtual in virtuals)
    rows = graph.targets[provided[graph.virtuals.codes]]
    return frame.package.present(rows[rows < len(frame)])
