"""Why specs were built anew: the causes of a comparison."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Self, TypeVar

import numpy as np
import strawberry

from schema.comparisons.changes import (
    LoadedComparison,
    comparison_key,
    load_comparison,
    part_of_comparison,
    where_known,
)
from schema.comparisons.field_change import FIELDS, FieldChange
from schema.context import Context, LoadedRevision
from schema.fields.connections import Connection, Page, connection_field
from schema.fields.cost import Cost
from schema.fields.enums import describe_enum
from schema.fields.many import LazyList, Sublists, WhereKnown, for_many
from schema.fields.paging import PageArguments, bad_cursor, window
from schema.node import Node, node_id
from schema.revisions.spec import Spec, SpecRows
from snapshots.changes import causes
from snapshots.changes.cause_names import MOST_TOGETHER, CauseKind, CauseName

if TYPE_CHECKING:
    from schema.comparisons.spec_change import SpecChange

Value = TypeVar("Value")

describe_enum(
    CauseKind,
    "What set a rebuild off. Where several facts of a spec's own differ, the first of version, "
    "recipe, variants, dependencies, compiler, target.",
    {
        CauseKind.VERSION: "Another version.",
        CauseKind.RECIPE: "The same version, another recipe: the package hash differs.",
        CauseKind.VARIANTS: "Other variants.",
        CauseKind.COMPILER: "Another compiler, where compilers are no dependencies.",
        CauseKind.TARGET: "Another platform, operating system or target.",
        CauseKind.DEPENDENCY_ADDED: "A dependency that it did not have.",
        CauseKind.DEPENDENCY_REMOVED: "A dependency that it has no longer.",
        CauseKind.PROVIDER: "Another package provides a virtual package.",
        CauseKind.EXTERNAL: "A dependency outside the cache; a source tells its hash alone.",
        CauseKind.FORMAT: "Spack counts hashes otherwise: it wrote specs in another format, and "
        "nothing else explains them.",
        CauseKind.UNKNOWN: "The sources do not tell; whyUnknown says what is missing.",
    },
)

PACKAGES = Cost(weight=100, num_bytes=10_000)
"""The names of the packages that a cause led to; many where it lies deep."""

FACTS = FIELDS._replace(weight=150)
"""What differs of a node: read of both sides, dependency by dependency."""

TOGETHER = Cost(weight=5, items=MOST_TOGETHER)
"""Other causes of exactly the same specs."""


class CauseRows(LazyList["Cause"]):
    """Causes of a comparison, by their numbers."""

    def __init__(self, comparison: LoadedComparison, numbers: Sequence[int]) -> None:
        self.comparison = comparison
        self.numbers = numbers

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, place: Any) -> Any:
        return Cause(comparison=self.comparison, number=self.numbers[place])

    @property
    def known(self) -> causes.Causes:
        """All causes of the comparison."""
        return self.comparison.explanation().causes

    def told(self, value: Callable[[causes.Causes, int], Value]) -> list[Value]:
        """Return what follows from each cause; of one that stands many times, worked out once."""
        known = self.known
        made = {number: value(known, number) for number in {*self.numbers}}
        return [made[number] for number in self.numbers]


def _of_cause(
    value: Callable[[causes.Causes, int], Any], description: str, cost: Cost | None = None
) -> Any:
    """Declare a field whose value follows from one cause alone, by its number among all."""
    return for_many(lambda rows: rows.told(value), description, cost=cost)


def _of_name(value: Callable[[CauseName], Any], description: str, cost: Cost | None = None) -> Any:
    """Declare a field whose value follows from what a cause is."""
    return _of_cause(lambda known, number: value(known.name_of(number)), description, cost)


def _ids(rows: CauseRows) -> list[strawberry.ID]:
    key = comparison_key(rows.comparison.base.info, rows.comparison.head.info)
    return rows.told(lambda known, number: node_id("Cause", *key, known.name_of(number).key))


def _facts(rows: CauseRows) -> Sublists:
    facts = rows.told(causes.Causes.facts_of)
    return Sublists([fact for of_one in facts for fact in of_one], list(map(len, facts)))


def _together(rows: CauseRows) -> Sublists:
    others = rows.told(causes.Causes.together_with)
    numbers = [number for of_one in others for number in of_one]
    return Sublists(CauseRows(rows.comparison, numbers), list(map(len, others)))


LazySpecChange = Annotated["SpecChange", strawberry.lazy("schema.comparisons.spec_change")]

CAUSED = Cost(weight=500, each=10)
"""A page of the specs that hang on a cause."""


@strawberry.type(
    description="Why specs were built anew: what changed by itself in one package, whatever "
    "depends on it. Equal changes on several architectures are one cause."
)
class Cause(Node):
    """A cause of a comparison, by its number."""

    comparison: strawberry.Private[LoadedComparison]
    number: strawberry.Private[int]

    id: strawberry.ID = for_many(_ids, "Opaque and stable.", cost=Cost(weight=1.5))
    kind: CauseKind = _of_name(lambda it: it.kind, "What changed.")
    package: str | None = _of_name(
        lambda it: it.package, "The package that changed by itself; null of FORMAT alone."
    )
    before: str | None = _of_name(
        lambda it: it.before,
        "As in 3.3.1, +shared, openmpi; null where there was nothing, or where it is not known. "
        "Of FORMAT the version of the format.",
    )
    after: str | None = _of_name(lambda it: it.after, "As `before`, in head.")
    title: str = _of_name(
        lambda it: it.title, "One line for people: openssl 3.3.1 → 3.4.0.", Cost(num_bytes=80)
    )
    why_unknown: str | None = _of_cause(
        causes.Causes.why_unknown,
        "For UNKNOWN: what the sources do not tell.",
        Cost(num_bytes=150),
    )
    facts: list[FieldChange] = for_many(
        _facts,
        "Everything of the package's own that differs; the first of it gave the kind.",
        cost=FACTS,
    )
    together: list["Cause"] = for_many(
        _together,
        "Causes that are involved in exactly the same specs, which can't be told apart here: "
        f"those that explain most, {MOST_TOGETHER} at most.",
        cost=TOGETHER,
    )
    num_together: int = _of_cause(
        causes.Causes.num_together,
        "How many causes are involved in exactly the same specs; `together` may have fewer.",
    )
    num_specs: int = _of_cause(
        causes.Causes.num_specs,
        "How many specs it is the main cause of. Each spec has one main cause, so these numbers "
        "add up to all that were rebuilt or replaced.",
    )
    num_involved: int = _of_cause(
        causes.Causes.num_involved,
        "How many specs it is involved in, also where another cause is the main one.",
    )
    packages: list[str] = _of_cause(
        causes.Causes.packages_of,
        "The packages of the specs that it is the main cause of.",
        PACKAGES,
    )

    @classmethod
    def of_id(cls, context: Context, parts: list[str]) -> Self | None:
        """Return the cause of a comparison and a key, which may have the ids' separator in it."""
        if (found := part_of_comparison(context, parts)) is None:
            return None
        comparison = load_comparison(context, *found.infos)
        number = comparison.explanation().causes.find(found.key)
        return None if number is None else cls(comparison=comparison, number=number)

    def alone(self) -> CauseRows:
        """Return the list of this cause alone."""
        return CauseRows(self.comparison, [self.number])

    @connection_field(
        "The added specs that it is the main cause of, by package and hash.", cost=CAUSED
    )
    def specs(
        self,
        involved: Annotated[
            bool, strawberry.argument(description="Also those where another cause is the main one.")
        ] = False,
        *,
        page: PageArguments,
    ) -> Connection[LazySpecChange]:
        from schema.comparisons.spec_change import spec_change_connection

        table = self.comparison.explanation().specs_of(self.number, involved=involved)
        return spec_change_connection(self.comparison, table, page)


def cause_connection(
    comparison: LoadedComparison,
    kinds: Sequence[CauseKind] | None,
    package: str | None,
    arguments: PageArguments,
) -> Connection[Cause]:
    """Return a page of a comparison's causes, what explains most first.

    Raises InvalidArgument for a cursor that names none of them.
    """
    known = comparison.explanation().causes
    numbers = known.select(kinds, package)

    def places(cursor: str) -> tuple[int, int]:
        number = known.find(cursor)
        if number is None or number not in numbers:
            raise bad_cursor(cursor)
        place = numbers.index(number)
        return place, place + 1

    part = window(arguments, len(numbers), places)
    shown = CauseRows(comparison, numbers[part.start : part.stop])
    return Connection(page=Page(part, shown, shown.told(lambda it, number: it.name_of(number).key)))


def cause_named(comparison: LoadedComparison, name: CauseName) -> Cause | None:
    """Return the cause of a comparison that has this name; None where it has none."""
    number = comparison.explanation().causes.find(name.key)
    return None if number is None else Cause(comparison=comparison, number=number)


class StepRows(LazyList["CauseStep"]):
    """Steps down from specs to their causes, as nodes of the two graphs."""

    def __init__(self, comparison: LoadedComparison, steps: Sequence[causes.CauseStep]) -> None:
        self.comparison = comparison
        self.steps = steps
        self.columns = {"name": [step.name for step in steps]}

    def __len__(self) -> int:
        return len(self.steps)

    def __getitem__(self, place: Any) -> Any:
        number = range(len(self))[place]
        one = StepRows(self.comparison, self.steps[number : number + 1])
        return CauseStep(name=one.steps[0].name, rows=one)


def _steps_before(rows: StepRows) -> WhereKnown:
    return _specs_at(rows.comparison.base, [step.base_node for step in rows.steps])


def _steps_after(rows: StepRows) -> WhereKnown:
    return _specs_at(rows.comparison.head, [step.head_node for step in rows.steps])


def _specs_at(loaded: LoadedRevision, nodes: Sequence[int | None]) -> WhereKnown:
    """Return the specs of nodes; those outside the revision are none."""
    size = len(loaded.frame)
    rows = [-1 if node is None or node >= size else node for node in nodes]
    return where_known(np.array(rows, np.int32), lambda it: SpecRows(loaded, it))


@strawberry.type(description="A step on the way from a spec down to its main cause.")
class CauseStep:
    """A pair of nodes on the way to a cause."""

    name: str = strawberry.field(description="The package's name.")
    rows: strawberry.Private[StepRows]

    before: Spec | None = for_many(
        _steps_before, "The spec in base; null where it is not in the cache."
    )
    after: Spec | None = for_many(
        _steps_after, "The spec in head; null where it is not in the cache."
    )

    def alone(self) -> StepRows:
        """Return the list of this step alone."""
        return self.rows
