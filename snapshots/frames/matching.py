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
  nothing but versions, and some of those that it provides are among them. Specs tell these from
  format 6 on; where only a recipe does (``snapshots.spack.virtuals.VERSIONED``) the question is
  refused.
- ``++x``, ``x==y``: neither the spec nor anything below it has the variant x otherwise.

**Specs of older formats** are built by a compiler that is no dependency. They are those with a
compiler of which no build dependency provides c, cxx or fortran, and those whose dependencies are
not known at all, as on the pages of a cache. ``%x`` asks them for that compiler only.

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
from snapshots.wording import nearest_hint, nearest_names, quoted

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
    not know for every row, and InvalidArgument for versions of a virtual package that some of its
    providers do not tell.
    """
    if asked.is_about_dependencies:
        return _Search(frame, load()).rows(asked)
    mask = np.zeros(len(frame), np.bool_)
    mask[_rows(frame, asked)] = True
    return mask


class _Search:
    """Answers conditions on the nodes of one graph: the rows of its frame, and the specs outside.

    Masks over nodes begin with the rows.
    """

    def __init__(self, frame: Frame, graph: DependencyGraph) -> None:
        self._frame = frame
        self._graph = graph

    def rows(self, asked: SpecConstraint) -> Mask:
        """Return a mask over the rows: those that meet every condition."""
        mask = self._nodes(asked)
        for dependency in asked.transitive:
            self._require_known()
            edges = self._edges(dependency.spec)
            for virtual in dependency.virtuals:
                edges &= self._provides(virtual)
            mask &= self._above(edges)
        return mask[: len(self._frame)]

    def _nodes(self, asked: SpecConstraint) -> Mask:
        """Return a mask over the nodes: those that meet all conditions but the transitive ones."""
        mask = self._having_facts(asked)
        for variant in asked.variants:
            if variant.propagate:
                self._require_known()
                other = self._having_variant(variant.contradicts)
                mask &= ~(other | self._graph.nodes_above(other[self._graph.targets]))
        for dependency in asked.direct:
            mask &= self._having_direct(dependency)
        return mask

    # -- the facts of a node itself

    def _having_facts(self, asked: SpecConstraint) -> Mask:
        """Return a mask over the nodes: those that meet the conditions on their own facts."""
        mask = np.zeros(self._graph.num_nodes, np.bool_)
        mask[_rows(self._frame, asked)] = True
        mask[len(self._frame) + _rows(self._graph.outside, asked)] = True
        if asked.versions is not None:
            rows = _rows(self._graph.outside, replace(asked, versions=None)).tolist()
            for row in self._told_versions.keys() & rows:
                if asked.versions.includes(self._told_versions[row]):
                    mask[len(self._frame) + row] = True
        return mask

    def _having_variant(self, accept: Callable[[tuple[str, ...]], bool]) -> Mask:
        """Return a mask over the nodes: those with a variant that is accepted."""
        columns = (self._frame.variants, self._graph.outside.variants)
        masks = [having_where(it, _alone(accept))[it.codes] for it in columns]
        return np.concatenate(masks)

    def _having_compiler(self, accept: Callable[[str], bool]) -> Mask:
        """Return a mask over the nodes: those with a compiler that is accepted."""
        columns = (self._frame.compiler, self._graph.outside.compiler)
        masks = [it.where(lambda value: value is not None and accept(value)) for it in columns]
        return np.concatenate([mask[it.codes] for mask, it in zip(masks, columns, strict=True)])

    @cached_property
    def _told_versions(self) -> dict[int, str]:
        """The versions of compilers outside the cache that are told by what they compiled only.

        By their rows among those outside. A catalog of old knows no more than their names.
        """
        graph, compiler, outside = self._graph, self._frame.compiler, self._graph.outside
        versions: dict[int, str] = {}
        if graph.stated.all():
            return versions
        edges = graph.edges_to_compilers
        sources, rows = graph.sources[edges], graph.targets[edges] - graph.num_rows
        told = (sources < graph.num_rows) & (rows >= 0)
        told[told] = ~graph.stated[rows[told]]
        pairs = np.stack((rows[told], compiler.codes[sources[told]]), axis=1)
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
        types = sum(DependencyType[it.upper()] for it in dependency.types)
        edges &= self._graph.types & types == types
        mask = np.zeros(self._graph.num_nodes, np.bool_)
        mask[self._graph.sources[edges]] = True
        compiled = self._having_compiler(lambda it: _is_compiler(dependency.spec, it))
        return np.where(self._asked_by_compiler, compiled, mask)

    @cached_property
    def _asked_by_compiler(self) -> Mask:
        """A mask over the nodes: the specs of older formats, as the module's docstring has them."""
        mask = self._having_compiler(lambda _: True)
        mask[self._graph.sources[self._graph.edges_to_compilers]] = False
        mask[: len(self._frame)] |= ~self._graph.known
        return mask

    def _above(self, edges: Mask) -> Mask:
        """Return a mask over the nodes: those for which ``^`` finds one of the edges."""
        graph = self._graph
        mask = graph.nodes_above(edges & (graph.types & _LINK_OR_RUN != 0), _LINK_OR_RUN)
        mask[graph.sources[edges & (graph.types & DependencyType.BUILD != 0)]] = True
        return mask

    def _edges(self, asked: SpecConstraint) -> Mask:
        """Return a mask over the edges: those to such a spec, whatever their types."""
        edges: Mask = self._nodes(asked)[self._graph.targets]
        if asked.name is not None and self._graph.has_provider(asked.name):
            edges |= self._provides(asked.name) & self._providers(asked)[self._graph.targets]
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
        mask = np.ones(self._graph.num_nodes, np.bool_)
        if asked.versions is not None:
            mask = self._providing(virtual, asked.versions)
        for compiler, languages in LANGUAGES_OF_COMPILERS.items():
            if variant := languages.get(virtual):
                lacking = self._having_facts(SpecConstraint(name=compiler))
                lacking &= ~self._having_facts(parse(f"{compiler} {variant}"))
                lacking[len(self._frame) :] &= self._graph.stated
                mask &= ~lacking
        for dependency in asked.direct:
            mask &= self._having_direct(dependency)
        return mask

    def _providing(self, virtual: str, versions: VersionList) -> Mask:
        """Return a mask over the nodes: those that provide such versions, if they provide any."""
        columns = (self._frame.provided_virtuals, self._graph.outside.provided_virtuals)
        is_told = np.concatenate([it.known()[it.codes] for it in columns])
        masks = [
            it.where(lambda told: told is not None and provides(told, virtual, versions))[it.codes]
            for it in columns
        ]
        providers = self._graph.targets[self._provides(virtual)]
        if virtual in VERSIONED and not is_told[providers].all():
            reason = (
                f"{virtual} is a virtual package; which versions are provided is not known: specs "
                "tell it from format 6 on (Spack 1.3), and some that provide it are older"
            )
            raise InvalidArgument(f"versions of {virtual}", reason)
        mask: Mask = np.concatenate(masks) | ~is_told
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


def _is_compiler(asked: SpecConstraint, compiler: str) -> bool:
    """Tell whether the one compiler of a spec of an older format is what ``%`` asks for."""
    if asked.name in LANGUAGES:
        languages = LANGUAGES_OF_COMPILERS.get(compiler.partition("@")[0], {})
        # A variant that it takes to provide the language is not known of it.
        return languages.get(asked.name) == ""
    return asked.is_compiler(compiler)


# -- names that nothing has


_KNOWN_TO_SPACK = LANGUAGES | LANGUAGES_OF_COMPILERS.keys() | VERSIONED

UNKNOWN_NAMES_MAX = 3
"""How many unknown names of a query are reported: each is compared with thousands."""

Load = Callable[[], DependencyGraph]
"""Returns the graph of the frame that is asked."""

Elsewhere = Callable[[], Collection[str]]
"""Returns the names of packages that other revisions know."""


class UnknownName(msgspec.Struct, frozen=True):
    """A name in a query that nothing has, and the known names that resemble it, best first."""

    name: str
    nearest: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"nothing is named {quoted(self.name)}{nearest_hint(self.nearest)}"


def names_asked(asked: SpecConstraint) -> set[str]:
    """Return the names of the packages, virtual ones too, that a query goes by."""
    names = {asked.name} - {None, ""}
    for dependency in (*asked.direct, *asked.transitive):
        names |= names_asked(dependency.spec)
        names.update(dependency.virtuals)
    return {name for name in names if name is not None}


def names_known(frame: Frame, graph: DependencyGraph) -> set[str]:
    """Return the names of packages that a revision knows: its own, and those of dependencies.

    The virtual packages that dependencies provide are among them, and the compilers of specs.
    """
    compilers = [value.partition("@")[0] for value in frame.compiler.values if value is not None]
    virtuals = {virtual for virtuals in graph.virtuals.values for virtual in virtuals}
    return {*frame.packages, *graph.outside.packages, *compilers, *virtuals}


def require_known(asked: SpecConstraint, frame: Frame, load: Load, elsewhere: Elsewhere) -> None:
    """Raise an error where a query finds nothing because of the name of the spec itself.

    That is UnknownPackage for a name that neither this revision nor others know, and
    InvalidArgument for a virtual package in the place of a real one. ``load`` and ``elsewhere`` are
    asked only where there is need to. A name that differs from a known one in case alone is no
    error: ``unknown_names`` returns it.
    """
    name = asked.name
    if name is None or name in frame.package.index:
        return
    graph = load()
    if providers := _providers(frame, graph, name):
        what = f"{name} is a virtual package"
        raise InvalidArgument(
            "package", f"{what}; ask for what provides it: {', '.join(providers)}"
        )
    for unknown in _unknown({name}, frame, graph, elsewhere):
        if unknown.name.lower() not in map(str.lower, unknown.nearest):
            raise UnknownPackage(unknown.name, unknown.nearest)


def unknown_names(
    asked: SpecConstraint, frame: Frame, load: Load, elsewhere: Elsewhere
) -> tuple[UnknownName, ...]:
    """Return the first names in a query, in order, that neither this revision nor others know.

    What a cache need not have to be asked for it (compilers, languages, mpi) is always known.
    """
    names = names_asked(asked)
    if names <= frame.package.index.keys():
        return ()
    return _unknown(names, frame, load(), elsewhere)


def _unknown(
    names: set[str], frame: Frame, graph: DependencyGraph, elsewhere: Elsewhere
) -> tuple[UnknownName, ...]:
    known = names_known(frame, graph)
    missing = names - _KNOWN_TO_SPACK - known
    if not missing:
        return ()
    known |= {*elsewhere()}
    unknown = sorted(missing - known)[:UNKNOWN_NAMES_MAX]
    return tuple(UnknownName(name, tuple(nearest_names(name, known))) for name in unknown)


def _providers(frame: Frame, graph: DependencyGraph, virtual: str) -> list[str]:
    """Return the packages in the revision that provide a virtual package to others."""
    provided = graph.virtuals.where(lambda virtuals: virtual in virtuals)
    rows = graph.targets[provided[graph.virtuals.codes]]
    return frame.package.present(rows[rows < len(frame)])
