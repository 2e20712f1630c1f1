"""Why specs were built anew: the causes of a comparison."""

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import msgspec
import numpy as np
import strawberry

from schema.comparisons.changes import (
    FIELDS,
    FieldChangeType,
    LoadedComparison,
    PartRows,
    loaded_of_keys,
)
from schema.comparisons.commits import (
    CAUSE_COMMITS,
    CommitEffectType,
    cause_cost,
    commits_of_cause,
)
from schema.context import Context, LoadedRevision
from schema.fields.connections import (
    Connection,
    FirstArgument,
    PageArguments,
    check_size,
    connection_field,
)
from schema.fields.cost import EXPLAINING, Cost, resolver
from schema.fields.many import ListedRecord, RowList, Sublists, WhereKnown, for_many, of_record
from schema.fields.scalars import describe_enum, object_type
from schema.node import Node, node_id
from schema.revisions.costs import cost_fields
from schema.revisions.spec import SpecRows, SpecType
from snapshots.changes.cause_names import MOST_TOGETHER, CauseKind
from snapshots.changes.causes import Causes
from snapshots.changes.costs import BuildCost
from snapshots.changes.vocabulary import cause_title

if TYPE_CHECKING:
    from schema.comparisons.spec_change import SpecChangeType

Value = TypeVar("Value")

describe_enum(CauseKind, UNKNOWN="The sources do not tell; whyUnknown says what is missing.")

PACKAGES = Cost(weight=100, num_bytes=10_000)
"""The names of the packages of a cause; many for a cause deep in the graph."""

FACTS = msgspec.structs.replace(FIELDS, weight=150)
"""What differs of a node: read of both sides, dependency by dependency."""

TOGETHER = Cost(weight=5, items=MOST_TOGETHER)
"""Other causes of exactly the same specs."""


class CauseRows(RowList["Cause"]):
    """Causes of a comparison, by their numbers."""

    def item(self, number: int) -> "Cause":
        """Return the cause of a number."""
        return Cause(comparison=self.loaded, number=number)

    def each(self, value: Callable[[Causes, int], Value]) -> list[Value]:
        """Return a value of each cause; of one that is listed many times it is computed once."""
        all_causes = self.loaded.explanation().causes
        values = {number: value(all_causes, number) for number in {*self.numbers}}
        return [values[number] for number in self.numbers]


def _of_cause(value: Callable[[Causes, int], Any], cost: Cost | None = None) -> Any:
    """Declare a field whose value follows from one cause alone, by its number among all."""
    return for_many(lambda rows: rows.each(value), cost=cost)


def _of_name(fact: str) -> Any:
    """Declare a field that is a fact of what a cause is."""
    return _of_cause(lambda all_, number: getattr(all_.name_of(number), fact))


def _ids(rows: CauseRows) -> list[strawberry.ID]:
    """Opaque and stable."""
    key = rows.loaded.key
    return rows.each(lambda all_, number: node_id("Cause", *key, all_.name_of(number).key))


def _counted(name: str) -> Any:
    """Declare a field that counts specs of a cause, those in scope."""
    value = attrgetter(name)

    def counts(rows: CauseRows) -> list[int]:
        if rows.loaded.scope is None:
            return rows.each(getattr(Causes, name))
        in_scope = rows.loaded.causes_in_scope
        return [value(in_scope[number]) if number in in_scope else 0 for number in rows.numbers]

    return for_many(counts)


def _packages(rows: CauseRows) -> list[tuple[str, ...]]:
    """The packages of the specs that it is the main cause of."""
    package = rows.loaded.head.frame.package
    return rows.each(lambda _, number: tuple(package.present(rows.loaded.rows_of_cause(number))))


def _facts(rows: CauseRows) -> Sublists:
    """Everything of the package's own that differs; the first of it gave the kind."""
    return Sublists.of(rows.each(Causes.facts_of))


def _together(rows: CauseRows) -> Sublists:
    others = rows.each(Causes.together_with)
    return Sublists.of(others, lambda numbers: CauseRows(rows.loaded, numbers))


LazySpecChange = Annotated["SpecChangeType", strawberry.lazy("schema.comparisons.spec_change")]

CAUSED = Cost(weight=500, each=10)
"""A page of the specs that hang on a cause."""


@object_type
class Cause(Node):
    """Why specs were built anew: what changed by itself in one package, whatever depends on it.
    Equal changes on several architectures are one cause. Of twins: what tells the first of a group
    from the others; of two specs, one from the other.

    - kind: What changed.
    - package: The package that changed by itself; null of ARCHITECTURE and FORMAT, which are of
      all.
    - before: As in 3.3.1, +shared, openmpi; null where there was nothing, or where it is not
      known. Of FORMAT the version of the format.
    - after: As `before`, in head.
    - title: One line for people: openssl 3.3.1 → 3.4.0.
    - why_unknown: For UNKNOWN: what the sources do not tell.
    - num_together: How many causes are involved in exactly the same specs; `together` may have
      fewer.
    - num_specs: How many specs it is the main cause of. Each spec has one main cause, so these
      numbers add up to all that were rebuilt or replaced.
    - num_involved: How many specs it is involved in, also where another cause is the main one.
    """

    comparison: strawberry.Private[LoadedComparison]
    number: strawberry.Private[int]

    id: strawberry.ID = for_many(_ids, cost=Cost(weight=1.5))
    kind: CauseKind = _of_name("kind")
    package: str | None = _of_name("package")
    before: str | None = _of_name("before")
    after: str | None = _of_name("after")
    title: str = _of_cause(
        lambda all_, number: cause_title(all_.name_of(number)), cost=Cost(num_bytes=80)
    )
    why_unknown: str | None = _of_cause(Causes.why_unknown, cost=Cost(num_bytes=150))
    facts: list[FieldChangeType] = for_many(_facts, cost=FACTS)
    together: list["Cause"] = for_many(
        _together,
        "Causes that are involved in exactly the same specs, which can't be told apart here: "
        f"those that explain most, {MOST_TOGETHER} at most.",
        cost=TOGETHER,
    )
    num_together: int = _of_cause(Causes.num_together)
    num_specs: int = _counted("num_specs")
    num_involved: int = _counted("num_involved")
    packages: list[str] = for_many(_packages, cost=PACKAGES)
    seconds, cost, cost_basis = cost_fields(lambda self, _: self.build_cost())

    @classmethod
    def of_id(
        cls, context: Context, _base: str, _head: str, base_key: str, head_key: str, key: str
    ) -> "Cause | None":
        """Return the cause of a comparison and a key, which may have the ids' separator in it."""
        comparison = loaded_of_keys(context, base_key, head_key)
        return None if comparison is None else cause_of_key(comparison, key)

    def build_cost(self) -> BuildCost | None:
        """Return what building the specs takes that it is the main cause of."""
        return cause_cost(self.comparison, [self.number])

    def alone(self) -> CauseRows:
        """Return the list of this cause alone."""
        return CauseRows(self.comparison, [self.number])

    @connection_field(CAUSED)
    def specs(self, involved: bool = False, *, page: PageArguments) -> Connection[LazySpecChange]:
        """The added specs that it is the main cause of, by package and hash.

        - involved: Also those where another cause is the main one.
        """
        from schema.comparisons.spec_change import spec_change_connection

        table = self.comparison.explanation().specs_of(self.number, involved=involved)
        if self.comparison.scope is not None:
            table = table.take(self.comparison.scope.in_head[table.after])
        return spec_change_connection(self.comparison, table, page)

    @resolver(CAUSE_COMMITS)
    def commits(self, first: FirstArgument = 10) -> list[CommitEffectType] | None:
        """The commits that explain it, nearest level first, newest first; null where a commit of
        the recipes is not known.
        """
        check_size("first", first)
        return commits_of_cause(self.comparison, self.number, first)


def cause_of_key(comparison: LoadedComparison, key: str) -> Cause | None:
    """Return the cause with a key; None where the comparison, or its scope, has none."""
    number = comparison.explanation().causes.find(key)
    if number is None:
        return None
    if comparison.scope is not None and number not in comparison.causes_in_scope:
        return None
    return Cause(comparison=comparison, number=number)


def _steps_before(rows: PartRows[Any]) -> WhereKnown:
    """The spec in base; null where it is not in the cache."""
    return _specs_at(rows.comparison.base, [step.base_node for step in rows.records])


def _steps_after(rows: PartRows[Any]) -> WhereKnown:
    """The spec in head; null where it is not in the cache."""
    return _specs_at(rows.comparison.head, [step.head_node for step in rows.records])


def _specs_at(loaded: LoadedRevision, nodes: Sequence[int | None]) -> WhereKnown:
    """Return the specs of nodes; null for those outside the revision."""
    size = len(loaded.frame)
    rows = [-1 if node is None or node >= size else node for node in nodes]
    return WhereKnown.at(np.array(rows, np.int32), lambda present: SpecRows(loaded, present))


@object_type
class CauseStepType(ListedRecord):
    """A step on the way from a spec down to its main cause.

    - name: The package's name.
    """

    name: str = of_record("name")
    before: SpecType | None = for_many(_steps_before)
    after: SpecType | None = for_many(_steps_after)


KIND_COUNTS = Cost(weight=5_000, items=len(CauseKind), once=EXPLAINING)
"""All causes, counted by their kinds."""


@object_type
class CauseKindCount:
    """How many causes are of one kind, and how many specs they explain.

    - kind: The kind.
    - num_causes: How many causes are of this kind.
    - num_specs: How many specs have a main cause of this kind. Each spec has one main cause, so
      these numbers add up to all that were rebuilt or replaced.
    """

    kind: CauseKind
    num_causes: int
    num_specs: int
