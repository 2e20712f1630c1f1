"""Which of the specs that somebody wants a revision holds, and what is nearest to the others."""

from collections.abc import Callable, Mapping
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any

import strawberry

from schema.comparisons.changes import where_known
from schema.comparisons.field_change import FieldChange
from schema.comparisons.spec_change_reason import SpecChangeReason
from schema.context import Info, LoadedRevision
from schema.fields.cost import LOADING, Cost, NumberOf, texts
from schema.fields.many import LazyList, Sublists, WhereKnown, for_many
from schema.fields.scalars import none_if_omitted
from schema.revisions.package import LazyRevision
from schema.revisions.spec import Spec, SpecRows
from snapshots.catalog.asking.covering import Covered
from snapshots.catalog.asking.history_questions import HashesAsked
from snapshots.changes import lookup
from snapshots.changes.lookup import Wanted
from snapshots.errors import CachelogError, InvalidArgument
from snapshots.frames.columns import Rows
from snapshots.models import ConcreteSpec, RevisionInfo
from snapshots.refs import series
from snapshots.timelines.last_seen import LastSeen, last_seen
from snapshots.timelines.spans import HashHistory

if TYPE_CHECKING:
    from schema.revisions.revision import Revision

LOOKED_UP = Cost(weight=2_000, items=NumberOf("first"), once=LOADING)
"""The specs that are there, or those that are missing."""

HISTORIES = 60_000
"""The changes of all packages of which something is missing are read: that can be most of them."""

LAST_SEEN = Cost(weight=5, once=HISTORIES)
"""What the history tells of a hash, read for all that are listed at once."""

NEAREST = Cost(weight=20)
"""What is nearest to a spec that is missing, found for all that are listed at once."""

DIFFERENCES = Cost(weight=10, items=0.7)
"""The facts in which the nearest differs: of most it is none or one."""

FirstArgument = Annotated[
    int | None, strawberry.argument(description="Only this many; all unless given.")
]


class _Missing:
    """The specs that a lookup lists as missing, and what is asked of all of them at once."""

    def __init__(self, loaded: LoadedRevision, looked_up: lookup.Lookup, size: int | None) -> None:
        self.loaded = loaded
        self.looked_up = looked_up
        self.places = looked_up.missing[:size].tolist()

    def spec(self, number: int) -> ConcreteSpec:
        """Return what was wanted."""
        spec: ConcreteSpec = self.looked_up.wanted.specs[self.places[number]]
        return spec

    def last_seen(self, number: int) -> LastSeen | None:
        """Return where a spec was last; None where the catalog never saw it."""
        if isinstance(self._histories, CachelogError):
            raise self._histories
        known = self._histories.get(self.spec(number).hash)
        return None if known is None else last_seen(known, series(self.loaded.info.tag))

    @cached_property
    def _histories(self) -> Mapping[str, HashHistory] | CachelogError:
        """What is known of the hashes, or why that cannot be told: asked for all of them once."""
        specs = map(self.spec, range(len(self.places)))
        asked = HashesAsked(frozenset((spec.hash, spec.name) for spec in specs))
        try:
            found: Mapping[str, HashHistory] = self.loaded.context.of_history(asked)
        except CachelogError as error:
            return error
        return found


class MissingRows(LazyList["MissingSpec"]):
    """Some of the specs that a lookup lists as missing, by their numbers."""

    def __init__(self, missing: _Missing, numbers: range) -> None:
        self.missing = missing
        self.numbers = numbers

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, place: Any) -> Any:
        number = self.numbers[place]
        return MissingSpec(rows=MissingRows(self.missing, range(number, number + 1)))

    def nearest(self) -> Rows:
        """Return for each the row that is nearest; -1 where there is none."""
        nearest: Rows = self.missing.looked_up.nearest[self.numbers.start : self.numbers.stop]
        return nearest


def _of_spec(value: Callable[[ConcreteSpec], Any], description: str, cost: Cost) -> Any:
    """Declare a field that says what was wanted."""

    def values(rows: MissingRows) -> list[Any]:
        return [value(rows.missing.spec(number)) for number in rows.numbers]

    return for_many(values, description, cost=cost)


def _last_seen(rows: MissingRows) -> WhereKnown:
    found = list(map(rows.missing.last_seen, rows.numbers))
    are_known = [it is not None for it in found]
    return WhereKnown([_revision(it.revision) for it in found if it is not None], are_known)


def _reasons(rows: MissingRows) -> list[SpecChangeReason | None]:
    return [it and it.reason for it in map(rows.missing.last_seen, rows.numbers)]


def _gone_in(rows: MissingRows) -> WhereKnown:
    found = [it and it.gone_in for it in map(rows.missing.last_seen, rows.numbers)]
    are_known = [it is not None for it in found]
    return WhereKnown([_revision(it) for it in found if it is not None], are_known)


def _nearest(rows: MissingRows) -> WhereKnown:
    return where_known(rows.nearest(), lambda it: SpecRows(rows.missing.loaded, it))


def _differences(rows: MissingRows) -> Sublists:
    found = list(map(rows.missing.looked_up.differences, rows.numbers))
    return Sublists([*chain.from_iterable(found)], list(map(len, found)))


@strawberry.type(description="A spec that was looked for, and is not there.")
class MissingSpec:
    """A wanted spec that a revision lacks: the only one of its rows."""

    rows: strawberry.Private[MissingRows]

    hash: str = _of_spec(lambda it: it.hash, "The DAG hash.", texts(34))
    name: str = _of_spec(lambda it: it.name, "The package's name.", texts(20))
    version: str | None = _of_spec(
        lambda it: it.version, "The version, where it was given.", texts(14)
    )
    is_root: bool = _of_spec(lambda it: it.is_root, "Whether it was given as a root.", texts(5))
    last_seen: LazyRevision | None = for_many(
        _last_seen,
        "The last revision that has it: of the series of the one looked in, or of any where that "
        "series never had it; null where the catalog never saw it.",
        cost=LAST_SEEN,
    )
    reason: SpecChangeReason | None = for_many(
        _reasons,
        "Why it went after `lastSeen`; null where it did not, or the catalog never saw it.",
        cost=LAST_SEEN,
    )
    gone_in: LazyRevision | None = for_many(
        _gone_in,
        "The revision after `lastSeen`, which has it no longer; null where there is none, or the "
        "catalog never saw it.",
        cost=LAST_SEEN,
    )
    nearest: Spec | None = for_many(
        _nearest,
        "The spec of the same package that is most alike: in its architecture, then the version, "
        "the variants, the compiler, the recipe; null where the package is not there.",
        cost=NEAREST,
    )
    differences: list[FieldChange] = for_many(
        _differences,
        "The given facts in which the nearest differs: `before` as it was given, `after` as it is "
        "there. Without any, the hashes differ by those of dependencies, or by what was not given.",
        cost=DIFFERENCES,
    )

    def alone(self) -> MissingRows:
        """Return the list of this spec alone."""
        return self.rows


@strawberry.type(description="What a revision holds of the specs that were looked for.")
class Lookup:
    """Wanted specs against a revision; ``covered`` has the counts where they are known.

    Nothing of a frame is kept here: a request may have many of these, one for each revision.
    """

    info: strawberry.Private[RevisionInfo]
    wanted: strawberry.Private[Wanted]
    covered: strawberry.Private[Covered | None] = None

    @strawberry.field(description="Where they were looked for.")
    def revision(self) -> LazyRevision:
        return _revision(self.info)

    @strawberry.field(description="How many specs were looked for, each hash once.")
    def num_wanted(self) -> int:
        return len(self.wanted)

    @strawberry.field(description="How many of them are there.")
    def num_found(self, info: Info) -> int:
        return self.covered.num_found if self.covered else self._look_up(info)[1].num_found

    @strawberry.field(description="How many of the specs are roots.")
    def num_roots_wanted(self) -> int:
        return self.wanted.num_roots

    @strawberry.field(description="How many of the roots are there.")
    def num_roots_found(self, info: Info) -> int:
        known = self.covered
        return known.num_roots_found if known else self._look_up(info)[1].num_roots_found

    @strawberry.field(
        description="Those that are there: roots first, then by name and hash.",
        metadata=LOOKED_UP.metadata,
    )
    def found(self, info: Info, first: FirstArgument = strawberry.UNSET) -> list[Spec]:
        loaded, looked_up = self._look_up(info)
        return SpecRows(loaded, looked_up.found[: _size(first)])  # type: ignore[return-value]

    @strawberry.field(
        description="Those that are not there, in the same order.", metadata=LOOKED_UP.metadata
    )
    def missing(self, info: Info, first: FirstArgument = strawberry.UNSET) -> list[MissingSpec]:
        missing = _Missing(*self._look_up(info), _size(first))
        return MissingRows(missing, range(len(missing.places)))  # type: ignore[return-value]

    def _look_up(self, info: Info) -> tuple[LoadedRevision, lookup.Lookup]:
        loaded = info.context.load(self.info)
        return loaded, lookup.Lookup(self.wanted, loaded.frame)


def _size(first: int | None) -> int | None:
    """Return how many to show, None for all. Raises InvalidArgument for a negative number."""
    size: int | None = none_if_omitted(first)
    if size is not None and size < 0:
        raise InvalidArgument("first", f"{size} is below 0")
    return size


def _revision(info: RevisionInfo) -> "Revision":
    from schema.revisions.revision import Revision

    return Revision(info=info)
