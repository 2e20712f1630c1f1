"""Lookups and holes: the specs that a revision lacks, of given specs or of the dependencies of its
own.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import strawberry

from schema.comparisons.changes import FieldChangeType
from schema.context import MAX_CONTENTS, Info, LoadedRevision
from schema.fields import gql, many, relay
from schema.fields.cost import LOADED, MEDIUM, OF_HISTORY, SMALL, Cost, Work, resolver
from schema.node import revision_object
from schema.revisions.spec import LazyRevision, SpecConnection, SpecRows, SpecType, spec_connection
from snapshots.catalog.history_queries import HistoryQueries
from snapshots.catalog.library import RevisionCoverage
from snapshots.changes.holes import Hole, Holes
from snapshots.changes.lookup import Lookup, RequestedSpecs
from snapshots.changes.reasons import SpecChangeReason
from snapshots.changes.stored_changes import StoredCause
from snapshots.errors import CachelogError, InvalidArgument
from snapshots.frames.dependencies import DependencyGraph, DependencyType
from snapshots.history import Pair
from snapshots.models import ConcreteSpec, RevisionInfo
from snapshots.spack.names import is_hash, is_name
from snapshots.spack.notation import canonical_compiler, canonical_variants
from snapshots.texts import quoted
from snapshots.timelines.spans import HashHistory, Span, last_span

if TYPE_CHECKING:
    from schema.comparisons.explanations import Cause
    from schema.revisions.revision import Revision


MAX_DEPENDENCIES = 1_000
"""Maximum number of dependencies of a spec in a plan."""


@gql.input_type()
class DependencyInput:
    """A dependency of a concrete spec.

    - name: The package's name.
    - hash: The DAG hash, 32 characters.
    - types: The types of the dependency.
    - virtuals: The virtual packages that it provides: mpi, c.
    """

    name: str
    hash: str
    types: list[DependencyType] | None = gql.UNSET
    virtuals: list[str] | None = gql.UNSET


@gql.created_directly
@gql.input_type()
class ConcreteSpecInput:
    """A concrete spec, for example of a lock file. A lookup does not compare facts that are not
    given, and ignores those of plans. A plan needs versions; a spec of several stacks is given once
    for each of them.

    - hash: The DAG hash, 32 characters.
    - name: The package's name.
    - version: The version.
    - compiler: The compiler as name@version.
    - platform: The platform.
    - operating_system: The operating system.
    - target: The microarchitecture.
    - variants: All variants: +mpi, ~cxx, build_type=Release.
    - namespace: The package repository.
    - package_hash: The hash of the package's recipe.
    - is_root: Whether it was requested explicitly, not only as a dependency.
    - stack: For plans: the stack for which it is planned. If any spec has no stack, the specs are
      compared with the entire base.
    - is_external: For plans: whether it is external, so that it is not built.
    - dependencies: For plans: its dependencies, at most 1,000; unknown if not given.
    """

    hash: str
    name: str
    version: str | None = gql.UNSET
    compiler: str | None = gql.UNSET
    platform: str | None = gql.UNSET
    operating_system: str | None = gql.UNSET
    target: str | None = gql.UNSET
    variants: list[str] | None = gql.UNSET
    namespace: str | None = gql.UNSET
    package_hash: str | None = gql.UNSET
    is_root: bool = False
    stack: str | None = gql.UNSET
    is_external: bool | None = gql.UNSET
    dependencies: list[DependencyInput] | None = gql.UNSET

    def to_domain(self) -> ConcreteSpec:
        """Return the spec in the form that is looked up. Raises ValueError for an invalid hash or
        name.
        """
        if not is_hash(self.hash):
            raise ValueError(
                f"hash: {quoted(self.hash)} is not a hash: 32 characters of a-z and 2-7"
            )
        if not is_name(self.name):
            raise ValueError(f"name: {quoted(self.name)} cannot name a package")
        given = gql.input_values(self)
        values = {name: given[name] for name in ConcreteSpec.__struct_fields__ if name in given}
        values["compiler"] = canonical_compiler(values.get("compiler") or "")
        if (variants := values.get("variants")) is not None:
            values["variants"] = canonical_variants(variants)
        return ConcreteSpec(**values)


ConcreteSpecsArgument = Annotated[
    list[ConcreteSpecInput],
    strawberry.argument(
        "The specs to look up. A hash that is given more than once counts once; it is a root if "
        "any of them is."
    ),
]


def concrete_specs(inputs: list[ConcreteSpecInput]) -> list[ConcreteSpec]:
    """Return the specs in the form that is looked up.

    Raises InvalidArgument with the index of the first spec that has an invalid hash or name.
    """
    specs = []
    for number, spec in enumerate(inputs):
        try:
            specs.append(spec.to_domain())
        except ValueError as error:
            raise InvalidArgument(f"specs[{number}]", str(error)) from None
    return specs


LazyCause = Annotated["Cause", strawberry.lazy("schema.comparisons.explanations")]


class _Missing:
    """A page of the specs that a lookup misses, with the values that are computed for all of them
    at once; ``numbers`` are their places among the missing specs.
    """

    def __init__(self, loaded: LoadedRevision, looked_up: Lookup, numbers: range) -> None:
        self.loaded = loaded
        self.looked_up = looked_up
        self.numbers = numbers

    def spec(self, number: int) -> ConcreteSpec:
        """Return a spec as it was passed."""
        return _missing_spec(self.looked_up, number)

    def last_span(self, number: int) -> Span | None:
        """Return the last span of a spec; None if no revision ever had it."""
        if isinstance(self._histories, CachelogError):
            raise self._histories
        history = self._histories.get(self.spec(number).hash)
        return (
            None
            if history is None
            else last_span(history, self.loaded.info, self.loaded.context.history)
        )

    def causes(self, number: int) -> "list[Cause] | None":
        """Return the main causes of the package in the revision that removed a spec.

        None if the spec was not removed, or if its causes are not stored.
        """
        spec, last = self.spec(number), self.last_span(number)
        if last is None or last.gone_in is None:
            return None
        from schema.comparisons.explanations import stored_causes

        causes = self._causes.get((spec.name, Pair(last.last.digest, last.gone_in.digest)))
        if causes is None:
            return None
        sides = last.last, last.gone_in
        return stored_causes(self.loaded.context, sides, spec.name, causes)

    @cached_property
    def _causes(self) -> Mapping[tuple[str, Pair], Sequence[tuple[StoredCause, int]]]:
        """The main causes of the packages in the revisions that removed specs; empty if the history
        has none.
        """
        ends = {
            (self.spec(number).name, Pair(last.last.digest, last.gone_in.digest))
            for number in self.numbers
            if (last := self.last_span(number)) is not None and last.gone_in is not None
        }
        if not ends:
            return {}
        method = HistoryQueries.package_causes
        return self.loaded.context.of_history(method, None, frozenset(ends))

    @cached_property
    def _histories(self) -> Mapping[str, HashHistory] | CachelogError:
        """The histories of all hashes, or the error of reading them."""
        specs = map(self.spec, self.numbers)
        hashes = frozenset((spec.hash, spec.name) for spec in specs)
        try:
            return self.loaded.context.of_history(HistoryQueries.hash_histories, hashes)
        except CachelogError as error:
            return error


def _missing_spec(looked_up: Lookup, number: int) -> ConcreteSpec:
    spec: ConcreteSpec = looked_up.requested.specs[int(looked_up.missing[number])]
    return spec


class MissingRows(many.RowList["MissingSpec"]):
    """Some of the specs that a lookup lists as missing, identified by their numbers."""

    def item(self, number: int) -> "MissingSpec":
        """Return the spec of a number."""
        return MissingSpec(rows=MissingRows(self.loaded, range(number, number + 1)))

    @property
    def records(self) -> list[ConcreteSpec]:
        """The specs as they were passed."""
        return list(map(self.loaded.spec, self.numbers))

    def seen(self, fact: str) -> list[Any]:
        """Return a fact of the last span of each spec; None if no revision ever had it."""
        return [getattr(last, fact, None) for last in map(self.loaded.last_span, self.numbers)]


def _last_seen(rows: MissingRows) -> many.NullableObjects:
    """The last revision that has it: of the same series, or of any series if the same series never
    had it; null if no revision ever had it.
    """
    return many.NullableObjects.of(rows.seen("last"), revision_object)


def _gone_in(rows: MissingRows) -> many.NullableObjects:
    """The revision after `lastSeen`, which no longer has it; null if there is none, or if no
    revision ever had it.
    """
    return many.NullableObjects.of(rows.seen("gone_in"), revision_object)


def _nearest(rows: MissingRows) -> many.NullableObjects:
    """The most similar spec of the same package, compared by architecture, then version, variants,
    compiler, and recipe; null if the revision does not have the package.
    """
    nearest = rows.loaded.looked_up.nearest[rows.numbers.start : rows.numbers.stop]
    return many.NullableObjects.at(nearest, partial(SpecRows, rows.loaded.loaded))


def _differences(rows: MissingRows) -> many.Sublists:
    """The given facts that differ from `nearest`: `before` is the given value, `after` that of
    `nearest`. If the list is empty, the hashes differ because of dependencies or of facts that were
    not given.
    """
    return many.Sublists.of(list(map(rows.loaded.looked_up.differences, rows.numbers)))


@gql.object_type
class MissingSpec(many.ListedRecord):
    """A spec that was looked up, but not found.

    - hash: The DAG hash.
    - name: The package's name.
    - version: The version, if it was given.
    - is_root: Whether it was passed as a root.
    - reason: Why `goneIn` removed it; null if it was not removed, or if no revision ever had it.
    """

    hash: str = many.of_record("hash")
    name: str = many.of_record("name")
    version: str | None = many.of_record("version")
    is_root: bool = many.of_record("is_root")
    last_seen: LazyRevision | None = many.for_many(_last_seen, cost=OF_HISTORY)
    reason: SpecChangeReason | None = many.for_many(
        lambda rows: rows.seen("reason_gone"), cost=OF_HISTORY
    )
    gone_in: LazyRevision | None = many.for_many(_gone_in, cost=OF_HISTORY)
    nearest: SpecType | None = many.for_many(_nearest, cost=SMALL)

    @resolver(OF_HISTORY)
    def main_causes(self) -> list[LazyCause] | None:
        """The main causes of the specs that replaced specs of its package in `goneIn`, those that
        explain the most specs first; null if it was not removed, or if these causes are not stored.
        `Cause.numSpecs` counts only specs of the package.
        """
        causes: list[Any] | None = self.rows.loaded.causes(self.rows.numbers.start)
        return causes

    differences: list[FieldChangeType] = many.for_many(_differences)


@gql.object_type
class LookupType:
    """Which of the specs that were looked up a revision contains.

    - revision: The revision in which they were looked up.
    - num_wanted: Number of specs that were looked up, counting each hash once.
    - num_roots_wanted: Number of these specs that are roots.
    """

    info: strawberry.Private[RevisionInfo]
    specs: strawberry.Private[RequestedSpecs]
    covered: strawberry.Private[RevisionCoverage | None] = None

    revision = many.attribute("info", LazyRevision, make=revision_object)
    num_wanted = many.attribute("specs", int, make=len)

    @resolver()
    def num_found(self, info: Info) -> int:
        """Number of specs that were found."""
        return self.covered.num_found if self.covered else self._look_up(info)[1].num_found

    num_roots_wanted = many.attribute("specs.num_roots", int)

    @resolver()
    def num_roots_found(self, info: Info) -> int:
        """Number of roots that were found."""
        covered = self.covered
        return covered.num_roots_found if covered else self._look_up(info)[1].num_roots_found

    @relay.connection_field(LOADED)
    def found(self, info: Info, *, page: relay.PageArguments) -> SpecConnection | None:
        """The specs that were found: roots first, then ordered by name and hash."""
        loaded, looked_up = self._look_up(info)
        return spec_connection(loaded, looked_up.found, page)

    @relay.connection_field(LOADED)
    def missing(
        self, info: Info, *, page: relay.PageArguments
    ) -> relay.Connection[MissingSpec] | None:
        """The specs that were not found, in the same order."""
        loaded, looked_up = self._look_up(info)
        digest, total = loaded.info.digest, len(looked_up.missing)
        hashes = many.ComputedList(total, lambda place: _missing_spec(looked_up, place).hash)

        def find(cursor: str) -> int | None:
            return next((place for place, hash in enumerate(hashes) if hash == cursor), None)

        part = relay.window_at(page.within(digest), total, find)
        numbers = range(part.start, part.stop)
        shown = MissingRows(_Missing(loaded, looked_up, numbers), numbers)
        cursors = [relay.cursor_of(digest, key=hashes[number]) for number in numbers]
        return relay.Connection(page=relay.ListPage([part], shown, cursors))

    def _look_up(self, info: Info) -> tuple[LoadedRevision, Lookup]:
        loaded = info.context.load(self.info)
        return loaded, Lookup(self.specs, loaded.frame)


@resolver(LOADED)
def lookup_field(self: "Revision", specs: ConcreteSpecsArgument) -> LookupType | None:
    """Which of some concrete specs, for example those of a spack.lock, it contains."""
    return LookupType(info=self.info, specs=RequestedSpecs(concrete_specs(specs)))


@resolver(
    Cost(weight=120_000),
    gql.Omittable(),
    description="The result of `Revision.lookup` for the newest revision of each tag, or for all "
    "revisions of a series. The revisions that contain the most specs come first; ties are ordered "
    f"by the number of roots, then newest first. The newest {MAX_CONTENTS} different contents are "
    "searched. For an unknown series, the list is empty.",
)
def best_covering_field(
    self: Any,  # noqa: ARG001 - the root
    info: Info,
    specs: ConcreteSpecsArgument,
    series: str | None = None,
    first: Annotated[
        int, strawberry.argument(f"Maximum number of revisions, up to {relay.PAGE_MAX}.")
    ] = 10,
) -> list[LookupType] | None:
    """- series: Only revisions of this series."""
    relay.check_size("first", first)
    requested = RequestedSpecs(concrete_specs(specs))
    covered = info.context.best_covering(requested, series)[:first]
    return [LookupType(info=one.revision, specs=requested, covered=one) for one in covered]


# -- holes


HOLES = Cost(weight=50_000, work=Work.LOADING)
"""A page of holes."""

AFFECTED_DEFAULT = 20
"""Default number of affected specs in the list of a hole."""


@gql.object_type
class HoleType:
    """A spec on which others depend at link time or run time, and that is neither in the cache nor
    external.

    - hash: The DAG hash.
    - name: The package's name.
    - version: The version; null if the source of the revision does not state it.
    - num_affected: Number of specs that cannot be installed without it.
    """

    loaded: strawberry.Private[LoadedRevision]
    holes: strawberry.Private[Holes]
    place: strawberry.Private[int]
    hole: strawberry.Private[Hole]
    shown: strawberry.Private[frozenset[tuple[str, str]]]

    hash = many.attribute("hole.hash", str)
    name = many.attribute("hole.name", str)
    version = many.attribute("hole.version", str | None)
    num_affected = many.attribute("hole.num_affected", int)

    @resolver(MEDIUM)
    def affected(self, first: relay.FirstArgument = AFFECTED_DEFAULT) -> list[SpecType] | None:
        """The specs that cannot be installed without it, by package, newest version first."""
        relay.check_size("first", first)
        levels = self.loaded.context.budget.levels
        rows = self.holes.affected(self.loaded.dependencies(), self.place, levels)[:first]
        return SpecRows(self.loaded, rows)  # type: ignore[return-value]

    @resolver(OF_HISTORY)
    def gone_in(self, info: Info) -> LazyRevision | None:
        """The revision of the series that no longer has it, after one that had it; of another
        series if this one never had it; null if there is no such revision.
        """
        histories = info.context.of_history(HistoryQueries.hash_histories, self.shown)
        history = histories.get(self.hole.hash)
        gone_in = (
            history and last_span(history, self.loaded.info, self.loaded.context.history).gone_in
        )
        return revision_object(gone_in) if gone_in else None


@gql.object_type
class HoleConnection(relay.Connection[HoleType]):
    """A page of holes.

    - num_whole: Number of specs that can be installed from the cache alone.
    - num_affected: Number of specs that cannot be installed because of a hole.
    """

    holes: strawberry.Private[Holes]
    graph: strawberry.Private[DependencyGraph]

    num_whole = many.attribute("holes.num_whole", int)
    num_affected = many.attribute("holes.num_affected", int)

    @resolver()
    def num_unknown(self) -> int:
        """Number of specs with unknown dependencies. A spec that depends on one of them, directly
        or indirectly, counts in neither `numWhole` nor `numAffected`, unless it also depends on a
        hole.
        """
        return int(np.count_nonzero(~self.graph.known))


@relay.connection_field(HOLES)
def holes_field(
    self: "Revision", info: Info, *, page: relay.PageArguments
) -> HoleConnection | None:
    """The specs that are missing to install its specs from this cache alone, those that affect the
    most specs first; null if the source does not list dependencies.
    """
    loaded = info.context.load(self.info)
    graph = loaded.dependencies()
    if graph.num_rows and not graph.is_known:
        return None
    holes = info.context.holes(self.info)
    part = relay.window_at(page.within(self.info.digest), len(holes), holes.find)
    shown = holes[part.start : part.stop]
    hashes = frozenset((hole.hash, hole.name) for hole in shown)
    objects = [
        HoleType(loaded=loaded, holes=holes, place=place, hole=hole, shown=hashes)
        for place, hole in enumerate(shown, part.start)
    ]
    cursors = [relay.cursor_of(self.info.digest, key=hole.hash) for hole in shown]
    of_holes = relay.ListPage([part], objects, cursors)
    return HoleConnection(page=of_holes, holes=holes, graph=graph)
