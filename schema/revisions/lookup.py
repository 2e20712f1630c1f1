"""Lookups and holes: which specs a revision lacks of some, and of those that its own need."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import strawberry

from schema.comparisons.changes import FieldChangeType
from schema.context import Info, LoadedRevision
from schema.fields.connections import Connection, ListPage, PageArguments, window_at
from schema.fields.cost import LOADING, ArgumentCost, Cost, NumberOf, field, resolver, texts
from schema.fields.many import (
    ListedRecord,
    RowList,
    Sublists,
    WhereKnown,
    attribute,
    for_many,
    of_record,
)
from schema.fields.scalars import Omittable, given_values, made_at_once, object_type, optional_field
from schema.node import revision_object
from schema.revisions.package import First, LazyRevision, check_first
from schema.revisions.spec import SpecRows, SpecType
from snapshots.catalog.history_answers import About, HistoryTopic
from snapshots.catalog.library import Covered
from snapshots.changes.holes import Hole, Holes
from snapshots.changes.kept_changes import KeptCause
from snapshots.changes.lookup import Lookup, Wanted
from snapshots.changes.reasons import SpecChangeReason
from snapshots.errors import CachelogError, InvalidArgument
from snapshots.frames.dependencies import DependencyGraph
from snapshots.history import Pair
from snapshots.models import ConcreteSpec, RevisionInfo
from snapshots.refs import series
from snapshots.spack.names import is_hash, is_name
from snapshots.spack.notation import canonical_compiler, canonical_variants
from snapshots.texts import quoted
from snapshots.timelines.spans import HashHistory, LastSeen, last_seen

if TYPE_CHECKING:
    from schema.histories import MainCause


@made_at_once
@strawberry.input(
    description="A concrete spec as a lock file has it; what is left out is not compared."
)
class ConcreteSpecInput:
    """A concrete spec: its hash, and facts where they are given."""

    hash: str = field("The DAG hash, 32 characters.")
    name: str = field("The package's name.")
    version: str | None = optional_field("The version.")
    compiler: str | None = optional_field("The compiler as name@version.")
    platform: str | None = optional_field("The platform.")
    operating_system: str | None = optional_field("The operating system.")
    target: str | None = optional_field("The microarchitecture.")
    variants: list[str] | None = optional_field("All variants: +mpi, ~cxx, build_type=Release.")
    namespace: str | None = optional_field("The package repository.")
    package_hash: str | None = optional_field("The hash of the package's recipe.")
    is_root: bool = strawberry.field(
        default=False, description="Whether it was requested itself, not only as a dependency."
    )

    def to_domain(self) -> ConcreteSpec:
        """Return the spec as it is looked up. Raises ValueError for a malformed hash or name."""
        if not is_hash(self.hash):
            raise ValueError(
                f"hash: {quoted(self.hash)} is not a hash: 32 characters of a-z and 2-7"
            )
        if not is_name(self.name):
            raise ValueError(f"name: {quoted(self.name)} cannot name a package")
        values = given_values(self)
        values["compiler"] = canonical_compiler(values.get("compiler") or "")
        if (variants := values.get("variants")) is not None:
            values["variants"] = canonical_variants(variants)
        return ConcreteSpec(**values)


ConcreteSpecsArgument = Annotated[
    list[ConcreteSpecInput],
    strawberry.argument(
        "The specs that are looked for. A hash that is there twice counts once; it is "
        "a root where it is one anywhere."
    ),
]

CONCRETE_SPECS = ArgumentCost(each=120)
"""The cost of reading and looking up one spec."""


def concrete_specs(inputs: list[ConcreteSpecInput]) -> list[ConcreteSpec]:
    """Return the specs as they are looked up.

    Raises InvalidArgument with the place of one that has no good hash or name.
    """
    specs = []
    for number, spec in enumerate(inputs):
        try:
            specs.append(spec.to_domain())
        except ValueError as error:
            raise InvalidArgument(f"specs[{number}]", str(error)) from None
    return specs


LOOKED_UP = Cost(weight=2_000, items=NumberOf("first"), once=LOADING)
"""The specs that are there, or those that are missing."""

HISTORIES = 60_000
"""The changes of all packages of which something is missing are read: that can be most of them."""

LAST_SEEN = Cost(weight=5, once=HISTORIES)
"""The history of a hash, read for all listed hashes at once."""

NEAREST = Cost(weight=20)
"""The spec nearest to a missing one, found for all listed ones at once."""

DIFFERENCES = Cost(weight=10, items=0.7)
"""The facts in which the nearest spec differs: most differ in one or none."""

MAIN_CAUSES = Cost(weight=50, items=2, once=20_000)
"""The main causes of a package where a hash of it went, read for all listed hashes at once."""

LazyMainCause = Annotated["MainCause", strawberry.lazy("schema.histories")]

FirstArgument = Annotated[int | None, strawberry.argument("Only this many; all unless given.")]


class _Missing:
    """The specs that a lookup lists as missing, with what is computed for all of them at once."""

    def __init__(self, loaded: LoadedRevision, looked_up: Lookup, size: int | None) -> None:
        self.loaded = loaded
        self.looked_up = looked_up
        self.places = looked_up.missing[:size].tolist()

    def spec(self, number: int) -> ConcreteSpec:
        """Return a spec as it was given."""
        spec: ConcreteSpec = self.looked_up.wanted.specs[self.places[number]]
        return spec

    def last_seen(self, number: int) -> LastSeen | None:
        """Return where a spec was last; None where the catalog never saw it."""
        if isinstance(self._histories, CachelogError):
            raise self._histories
        history = self._histories.get(self.spec(number).hash)
        return None if history is None else last_seen(history, series(self.loaded.info.tag))

    def causes(self, number: int) -> Sequence[tuple[KeptCause, int]] | None:
        """Return the main causes of the package where a spec went, with the numbers of specs.

        None where it did not go, or its causes are not kept.
        """
        spec, last = self.spec(number), self.last_seen(number)
        if last is None or last.gone_in is None:
            return None
        return self._causes.get((spec.name, Pair(last.revision.digest, last.gone_in.digest)))

    @cached_property
    def _causes(self) -> Mapping[tuple[str, Pair], Sequence[tuple[KeptCause, int]]]:
        """The main causes of the packages where they went; none where the history has none."""
        ends = {
            (self.spec(number).name, Pair(last.revision.digest, last.gone_in.digest))
            for number in range(len(self.places))
            if (last := self.last_seen(number)) is not None and last.gone_in is not None
        }
        question = HistoryTopic(About.PACKAGE_CAUSES, items=frozenset(ends))
        try:
            causes: Mapping[Any, Any] = self.loaded.context.of_history(question) if ends else {}
        except CachelogError:
            return {}
        return causes

    @cached_property
    def _histories(self) -> Mapping[str, HashHistory] | CachelogError:
        """The history of the hashes, or the error of reading it; read once for all of them."""
        specs = map(self.spec, range(len(self.places)))
        question = HistoryTopic(
            About.HASHES, items=frozenset((spec.hash, spec.name) for spec in specs)
        )
        try:
            histories: Mapping[str, HashHistory] = self.loaded.context.of_history(question)
        except CachelogError as error:
            return error
        return histories


class MissingRows(RowList["MissingSpec"]):
    """Some of the specs that a lookup lists as missing, by their numbers."""

    def item(self, number: int) -> "MissingSpec":
        """Return the spec of a number."""
        return MissingSpec(rows=MissingRows(self.loaded, range(number, number + 1)))

    @property
    def records(self) -> list[ConcreteSpec]:
        """The specs as they were given."""
        return list(map(self.loaded.spec, self.numbers))

    def seen(self, fact: str) -> list[Any]:
        """Return a fact of where each was last; None where the catalog never saw it."""
        return [getattr(last, fact, None) for last in map(self.loaded.last_seen, self.numbers)]


def _last_seen(rows: MissingRows) -> WhereKnown:
    """The last revision that has it: of the series of the one looked in, or of any where that
    series never had it; null where the catalog never saw it.
    """
    return WhereKnown.of(rows.seen("revision"), revision_object)


def _gone_in(rows: MissingRows) -> WhereKnown:
    """The revision after `lastSeen`, which has it no longer; null where there is none, or the
    catalog never saw it.
    """
    return WhereKnown.of(rows.seen("gone_in"), revision_object)


def _nearest(rows: MissingRows) -> WhereKnown:
    """The spec of the same package that is most alike: in its architecture, then the version, the
    variants, the compiler, the recipe; null where the package is not there.
    """
    nearest = rows.loaded.looked_up.nearest[rows.numbers.start : rows.numbers.stop]
    return WhereKnown.at(nearest, lambda at: SpecRows(rows.loaded.loaded, at))


def _differences(rows: MissingRows) -> Sublists:
    """The given facts in which the nearest differs: `before` as it was given, `after` as it is
    there. Without any, the hashes differ by those of dependencies, or by what was not given.
    """
    return Sublists.of(list(map(rows.loaded.looked_up.differences, rows.numbers)))


@object_type
class MissingSpec(ListedRecord):
    """A spec that was looked for, and is not there.

    - hash: The DAG hash.
    - name: The package's name.
    - version: The version, where it was given.
    - is_root: Whether it was given as a root.
    - reason: Why it went after `lastSeen`; null where it did not, or the catalog never saw it.
    """

    hash: str = of_record("hash", cost=texts(34))
    name: str = of_record("name", cost=texts(20))
    version: str | None = of_record("version", cost=texts(14))
    is_root: bool = of_record("is_root", cost=texts(5))
    last_seen: LazyRevision | None = for_many(_last_seen, cost=LAST_SEEN)
    reason: SpecChangeReason | None = for_many(lambda rows: rows.seen("reason"), cost=LAST_SEEN)
    gone_in: LazyRevision | None = for_many(_gone_in, cost=LAST_SEEN)
    nearest: SpecType | None = for_many(_nearest, cost=NEAREST)

    @resolver(MAIN_CAUSES)
    def main_causes(self) -> list[LazyMainCause] | None:
        """The main causes of what replaced its package's specs in `goneIn`, what explains
        most first; null where it did not go, or the catalog keeps no causes of that.
        """
        from schema.histories import MainCause

        causes = self.rows.loaded.causes(self.rows.numbers.start)
        if causes is None:
            return None
        return [MainCause(cause=cause, num_specs=count) for cause, count in causes]

    differences: list[FieldChangeType] = for_many(_differences, cost=DIFFERENCES)


@object_type
class LookupType:
    """What a revision holds of the specs that were looked for.

    - revision: Where they were looked for.
    - num_wanted: How many specs were looked for, each hash once.
    - num_roots_wanted: How many of the specs are roots.
    """

    info: strawberry.Private[RevisionInfo]
    specs: strawberry.Private[Wanted]
    covered: strawberry.Private[Covered | None] = None

    revision = attribute("info", LazyRevision, make=revision_object)
    num_wanted = attribute("specs", int, make=len)

    @resolver()
    def num_found(self, info: Info) -> int:
        """How many of them are there."""
        return self.covered.num_found if self.covered else self._look_up(info)[1].num_found

    num_roots_wanted = attribute("specs.num_roots", int)

    @resolver()
    def num_roots_found(self, info: Info) -> int:
        """How many of the roots are there."""
        covered = self.covered
        return covered.num_roots_found if covered else self._look_up(info)[1].num_roots_found

    @resolver(LOOKED_UP, Omittable())
    def found(self, info: Info, first: FirstArgument = None) -> list[SpecType]:
        """Those that are there: roots first, then by name and hash."""
        loaded, looked_up = self._look_up(info)
        return SpecRows(loaded, looked_up.found[: _size(first)])  # type: ignore[return-value]

    @resolver(LOOKED_UP, Omittable())
    def missing(self, info: Info, first: FirstArgument = None) -> list[MissingSpec]:
        """Those that are not there, in the same order."""
        missing = _Missing(*self._look_up(info), _size(first))
        return MissingRows(missing, range(len(missing.places)))  # type: ignore[return-value]

    def _look_up(self, info: Info) -> tuple[LoadedRevision, Lookup]:
        loaded = info.context.load(self.info)
        return loaded, Lookup(self.specs, loaded.frame)


def _size(first: int | None) -> int | None:
    """Return how many to show, None for all. Raises InvalidArgument for a negative number."""
    if first is not None and first < 0:
        raise InvalidArgument("first", f"{first} is below 0")
    return first


# -- holes


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
        return revision_object(gone_in) if gone_in else None


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
    """Return a page of a revision's holes; None where its source does not list dependencies.

    Raises InvalidArgument for a cursor that names none of them.
    """
    graph = loaded.dependencies()
    if graph.num_rows and not graph.is_known:
        return None
    holes = loaded.context.holes(loaded.info)
    part = window_at(arguments, len(holes), holes.find)
    shown = holes[part.start : part.stop]
    items = frozenset((hole.hash, hole.name) for hole in shown)
    topic = HistoryTopic(About.HASHES, items=items)
    objects = [
        HoleType(loaded=loaded, holes=holes, place=place, hole=hole, topic=topic)
        for place, hole in enumerate(shown, part.start)
    ]
    page = ListPage(part, objects, [hole.hash for hole in shown])
    return HoleConnection(page=page, holes=holes, graph=graph)
