"""Queries in Spack's spec syntax on a frame: the matching rows, and unknown names.

A condition on a spec's own facts is evaluated once for each distinct value among the remaining
rows. A condition on dependencies is evaluated on the nodes of the graph, then propagated along its
edges.

The semantics of conditions are those of Spack 1.1, derived from its results for concrete specs:

- ``%x``: an edge of any type leads from the spec to an x. With types in brackets, the edge has all
  of them; with virtuals, it provides one of them.
- ``^x``: such an edge of type link or run leads from the spec or from a spec that it links to or
  runs with, or an edge of type build leads from the spec itself. With virtuals in brackets, the
  edge provides all of them; types in brackets have no effect.
- If x is a virtual package, the edge provides it. Of the conditions on the provider itself, Spack
  then checks only versions: at least one has to be among those that the spec provides. Specs record
  these from format 6 on. If only a recipe has them (``snapshots.spack.virtuals.VERSIONED``), the
  query is refused.
- ``++x``, ``x==y``: neither the spec nor any of its direct or indirect dependencies has a different
  value of the variant x.

**Specs of older formats** are built by a compiler that is not a dependency. They are the specs with
a compiler of which no build dependency provides c, cxx or fortran, and those whose dependencies are
unknown, as on the pages of a cache. For these, ``%x`` tests only that compiler.

An unknown name matches nothing, and so does a condition that no spec meets. ``require_known`` and
``unknown_names`` distinguish the two cases. A misspelt name of the spec itself is an error. After
``%`` and ``^``, Spack reports no match, and the misspelling is only a remark.
"""

from collections.abc import Callable, Collection, Iterator
from functools import cached_property
from itertools import islice
from operator import itemgetter
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace

from snapshots import errors
from snapshots.arrays import Mask, Rows
from snapshots.frames.columns import Column, rows_where
from snapshots.frames.dependencies import DependencyGraph, DependencyType
from snapshots.frames.filters import having_where
from snapshots.frames.frame import Frame
from snapshots.spack.query import ANYTHING, DependencyConstraint, SpecConstraint, parse
from snapshots.spack.versions import VersionList
from snapshots.spack.virtuals import LANGUAGES, LANGUAGES_OF_COMPILERS, VERSIONED, provides
from snapshots.texts import nearest_hint, nearest_names, quoted

MAX_LENGTH = 2_000
"""Maximum number of characters in a query."""

MAX_DEPENDENCIES = 16
"""Maximum number of ``%`` and ``^`` in a query, as each can traverse the entire graph."""

_LINK_OR_RUN = DependencyType.LINK | DependencyType.RUN


def read(query: str) -> SpecConstraint:
    """Parse a query.

    Raises ConstraintSyntaxError, and InvalidArgument for too many dependencies.
    """
    if len(query) > MAX_LENGTH:
        raise errors.ConstraintSyntaxError(
            query, MAX_LENGTH, f"a query has at most {MAX_LENGTH:,} characters"
        )
    constraint = parse(query)
    if constraint.num_dependencies > MAX_DEPENDENCIES:
        reason = f"a query has at most {MAX_DEPENDENCIES}, not {constraint.num_dependencies}"
        raise errors.InvalidArgument("dependencies (% and ^)", reason)
    return constraint


def select(frame: Frame, constraint: SpecConstraint, load: Callable[[], DependencyGraph]) -> Mask:
    """Return a mask of the rows that meet all conditions.

    ``load`` returns the frame's graph; it is called only if the query has conditions on
    dependencies. Raises DependenciesUnknown if ``^`` or a propagated variant needs dependencies
    that the graph does not have for every row, and InvalidArgument for versions of a virtual
    package that some of its providers do not record.
    """
    if constraint.is_about_dependencies:
        return _Search(frame, load()).rows(constraint)
    mask = np.zeros(len(frame), np.bool_)
    mask[_rows(frame, constraint)] = True
    return mask


class _Search:
    """Evaluates conditions on all nodes of a graph: the rows of its frame, and the nodes outside.

    The first elements of a mask over nodes are the rows.
    """

    def __init__(self, frame: Frame, graph: DependencyGraph) -> None:
        self._frame = frame
        self._graph = graph

    def rows(self, constraint: SpecConstraint) -> Mask:
        """Return a mask of the rows that meet all conditions."""
        mask = self._nodes(constraint)
        for dependency in constraint.transitive:
            self._require_known()
            edges = self._edges(dependency.spec)
            for virtual in dependency.virtuals:
                edges &= self._provides(virtual)
            mask &= self._above(edges)
        return mask[: len(self._frame)]

    def _nodes(self, constraint: SpecConstraint) -> Mask:
        """Return a mask of the nodes that meet all conditions except transitive ones."""
        mask = self._having_facts(constraint)
        for variant in constraint.variants:
            if variant.propagate:
                self._require_known()
                contrary = self._having_variant(variant.contradicts)
                mask &= ~(contrary | self._graph.nodes_above(contrary[self._graph.targets]))
        for dependency in constraint.direct:
            mask &= self._having_direct(dependency)
        return mask

    # -- a node's own facts

    def _having_facts(self, constraint: SpecConstraint) -> Mask:
        """Return a mask of the nodes whose own facts meet the conditions."""
        mask = np.zeros(self._graph.num_nodes, np.bool_)
        mask[_rows(self._frame, constraint)] = True
        mask[len(self._frame) + _rows(self._graph.outside, constraint)] = True
        return mask

    def _where(self, fact: str, accept: Callable[[Any], bool]) -> Mask:
        """Return a mask of the nodes with a known, accepted value of a fact."""
        columns: list[Column[Any]] = [
            getattr(frame, fact) for frame in (self._frame, self._graph.outside)
        ]
        masks = [
            column.where(lambda value: value is not None and accept(value))[column.codes]
            for column in columns
        ]
        return np.concatenate(masks)

    def _having_variant(self, accept: Callable[[tuple[str, ...]], bool]) -> Mask:
        """Return a mask of the nodes with a variant that is accepted."""
        columns = (self._frame.variants, self._graph.outside.variants)
        return np.concatenate(
            [having_where(column, _for_one_variant(accept))[column.codes] for column in columns]
        )

    # -- dependencies

    def _having_direct(self, dependency: DependencyConstraint) -> Mask:
        """Return a mask of the nodes with such a direct dependency."""
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
        """Mask of the nodes of specs of older formats; see the module's docstring."""
        mask = self._where("compiler", lambda _: True)
        mask[self._graph.sources[self._graph.edges_to_compilers]] = False
        mask[: len(self._frame)] |= ~self._graph.known
        return mask

    def _above(self, edges: Mask) -> Mask:
        """Return a mask of the nodes for which one of the edges counts for ``^``."""
        graph = self._graph
        mask = graph.nodes_above(edges & (graph.types & _LINK_OR_RUN != 0), _LINK_OR_RUN)
        mask[graph.sources[edges & (graph.types & DependencyType.BUILD != 0)]] = True
        return mask

    def _edges(self, constraint: SpecConstraint) -> Mask:
        """Return a mask of the edges that lead to such a spec, regardless of their types."""
        targets, name = self._graph.targets, constraint.name
        edges: Mask = self._nodes(constraint)[targets]
        if name is not None and self._graph.has_provider(name):
            edges |= self._provides(name) & self._providers(name, constraint)[targets]
        return edges

    def _provides(self, virtual: str) -> Mask:
        """Return a mask of the edges that provide a virtual package."""
        column = self._graph.virtuals
        return column.where(lambda virtuals: virtual in virtuals)[column.codes]

    def _providers(self, virtual: str, constraint: SpecConstraint) -> Mask:
        """Return a mask of the nodes that can provide a virtual package as required.

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
        """Return a mask of the nodes that provide such versions, or record no versions."""
        is_recorded = self._where("provided_virtuals", lambda _: True)
        fits = self._where("provided_virtuals", lambda names: provides(names, virtual, versions))
        providers = self._graph.targets[self._provides(virtual)]
        if virtual in VERSIONED and not is_recorded[providers].all():
            reason = (
                f"{virtual} is a virtual package; which versions are provided is not known: specs "
                "record them from format 6 (Spack 1.3), and some providers are older"
            )
            raise errors.InvalidArgument(f"versions of {virtual}", reason)
        return fits | ~is_recorded

    def _require_known(self) -> None:
        unknown = self._graph.num_rows - int(self._graph.known.sum())
        if unknown:
            raise errors.DependenciesUnknown(self._frame.digest, unknown, self._graph.num_rows)


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
            accepted = having_where(frame.variants, _for_one_variant(variant.matches))
            rows = rows[accepted[frame.variants.codes[rows]]]
    if constraint.hash_prefix is not None:
        rows = np.intersect1d(rows, frame.hashes.with_prefix(constraint.hash_prefix))
    return rows


def _conditions(
    frame: Frame, constraint: SpecConstraint
) -> Iterator[tuple[Column[Any], Callable[[Any], bool]]]:
    """Yield the columns that have a condition, each with a predicate for its values."""
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


def _for_one_variant(accept: Callable[[tuple[str, ...]], bool]) -> Callable[[str], bool]:
    """Convert a predicate for lists of variants to one for a single variant."""
    return lambda text: accept((text,))


def _is_compiler(constraint: SpecConstraint, compiler: str) -> bool:
    """Return whether the compiler of a spec of an older format meets the condition after ``%``."""
    if constraint.name in LANGUAGES:
        languages = LANGUAGES_OF_COMPILERS.get(compiler.partition("@")[0], {})
        # If the language requires a variant, whether the compiler has it is not recorded.
        return languages.get(constraint.name) == ""
    return constraint.is_compiler(compiler)


# -- near misses

MAX_NEAR_MISSES = 8
"""Maximum number of conditions of a query that are left out, one at a time."""


class NearMiss(msgspec.Struct, frozen=True):
    """Specs that meet all conditions of a query but one.

    - fact: What that condition is about: target, version, variant mpi, dependency openmpi.
    - values: What the specs have instead, the most frequent first; empty for a dependency.
    - rows: The rows of the specs.
    """

    fact: str
    values: tuple[str, ...]
    rows: Rows


def near_misses(frame: Frame, constraint: SpecConstraint, load: "Load") -> list[NearMiss]:
    """Return, for each condition but the name, the specs that meet all others, if there are any.

    A condition on dependencies is left out if those of some specs are unknown. A query without a
    name has none.
    """
    misses = []
    relaxed = [] if constraint.name is None else islice(_relaxed(constraint), MAX_NEAR_MISSES)
    for fact, others in relaxed:
        try:
            rows = rows_where(select(frame, others, load))
        except errors.CachelogError:
            continue
        if len(rows):
            misses.append(NearMiss(fact, _values(frame, fact, rows), rows))
    return misses


_SINGLE_FACTS = {
    "targets": "target",
    "versions": "version",
    "operating_system": "operating_system",
    "platform": "platform",
    "namespace": "namespace",
}
"""The columns of conditions on single facts."""

_VARIANT = "variant "


def _relaxed(constraint: SpecConstraint) -> Iterator[tuple[str, SpecConstraint]]:
    """Yield what each condition is about, and the query without it."""
    for condition, column in _SINGLE_FACTS.items():
        if getattr(constraint, condition) is not None:
            yield column, replace(constraint, **{condition: None})
    for place, variant in enumerate(constraint.variants):
        others = constraint.variants[:place] + constraint.variants[place + 1 :]
        yield f"{_VARIANT}{variant.name}", replace(constraint, variants=others)
    for field in ("direct", "transitive"):
        dependencies = getattr(constraint, field)
        for place, dependency in enumerate(dependencies):
            rest = dependencies[:place] + dependencies[place + 1 :]
            name = dependency.spec.name or "of any package"
            yield f"dependency {name}", replace(constraint, **{field: rest})


def _values(frame: Frame, fact: str, rows: Rows) -> tuple[str, ...]:
    if fact.startswith(_VARIANT):
        name = fact.removeprefix(_VARIANT)
        counts = [
            (text, count)
            for text, count in frame.variants.item_counts(rows)
            if text.lstrip("+~").partition("=")[0] == name
        ]
    elif fact in _SINGLE_FACTS.values():
        counts = getattr(frame, fact).counts(rows)
    else:
        return ()
    counts.sort(key=itemgetter(1), reverse=True)
    return tuple(value for value, count in counts if count)


# -- unknown names


_KNOWN_TO_SPACK = LANGUAGES | LANGUAGES_OF_COMPILERS.keys() | VERSIONED

UNKNOWN_NAMES_MAX = 3
"""Maximum number of unknown names reported for a query, as each is compared with thousands."""

Load = Callable[[], DependencyGraph]
"""A function that returns the graph of the frame."""

Elsewhere = Callable[[], Collection[str]]
"""A function that returns the names of packages in other revisions."""


class UnknownName(msgspec.Struct, frozen=True):
    """An unknown name in a query, and the known names that resemble it, best first."""

    name: str
    nearest: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"nothing is named {quoted(self.name)}{nearest_hint(self.nearest)}"


def names_in(constraint: SpecConstraint) -> set[str]:
    """Return the names of packages and virtual packages in a query."""
    names = set() if constraint.name is None else {constraint.name}
    for dependency in (*constraint.direct, *constraint.transitive):
        names |= names_in(dependency.spec)
        names.update(dependency.virtuals)
    return names - {""}


def names_known(frame: Frame, graph: DependencyGraph) -> set[str]:
    """Return the names of packages in a revision and of their dependencies.

    They include the virtual packages that dependencies provide, and the compilers of specs.
    """
    compilers = [value.partition("@")[0] for value in frame.compiler.values if value is not None]
    virtuals = {virtual for virtuals in graph.virtuals.values for virtual in virtuals}
    return {*frame.packages, *graph.outside.packages, *compilers, *virtuals}


def known_matches(
    constraint: SpecConstraint, frame: Frame, load: Load, elsewhere: Elsewhere
) -> Mask:
    """Return ``select``; raise what ``require_known`` raises if nothing matches."""
    mask = select(frame, constraint, load)
    if not mask.any():
        require_known(constraint, frame, load, elsewhere)
    return mask


def require_known(
    constraint: SpecConstraint, frame: Frame, load: Load, elsewhere: Elsewhere
) -> None:
    """Raise an error if a query matches nothing because of the name of the spec itself.

    Raises UnknownPackage for a name that neither this revision nor others have, and InvalidArgument
    for a virtual package instead of a real one. ``load`` and ``elsewhere`` are called only if
    needed. A name that differs from a known one only in case is not an error: ``unknown_names``
    returns it.
    """
    name = constraint.name
    if name is None or name in frame.package.index:
        return
    graph = load()
    if providers := _providers(frame, graph, name):
        reason = f"{name} is a virtual package; ask for what provides it: {', '.join(providers)}"
        raise errors.InvalidArgument("package", reason)
    for unknown in _unknown({name}, frame, graph, elsewhere):
        if unknown.name.lower() not in map(str.lower, unknown.nearest):
            raise errors.UnknownPackage(unknown.name, unknown.nearest)


def unknown_names(
    constraint: SpecConstraint, frame: Frame, load: Load, elsewhere: Elsewhere
) -> tuple[UnknownName, ...]:
    """Return the first names in a query, sorted, that neither this revision nor others have.

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
