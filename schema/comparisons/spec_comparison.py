"""Two specs beside each other: what differs, why, and what they share."""

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Annotated, Self

import strawberry
from strawberry.scalars import JSON

from schema.comparisons.cause import Cause, CauseRows, CauseStepType
from schema.comparisons.changes import FIELDS, FieldChangeType, LoadedComparison, PartRows
from schema.context import Context, LoadedRevision
from schema.fields.connections import PAGE_MAX, check_size
from schema.fields.cost import (
    LOADING,
    SPANS_OF_HASH,
    ArgumentCost,
    Cost,
    NumberOf,
    field,
    resolver,
    texts,
)
from schema.fields.many import attribute
from schema.fields.scalars import object_type
from schema.revisions.dependency import DependencyNode, types_of_mask
from schema.revisions.revision import Revision
from schema.revisions.spec import SpecType
from snapshots.changes.cause_graph import EdgeEnd
from snapshots.changes.causes import CauseStep
from snapshots.changes.pairings import FieldChange
from snapshots.changes.sides import Side
from snapshots.changes.spec_pairs import MOST_NESTED, ChangedDependency, SpecPair, variant_changes
from snapshots.frames.dependencies import DependencyType

COMPARING_SPECS = Cost(
    weight=2 * SPANS_OF_HASH + 50_000,
    each_loaded=2 * LOADING,
    arguments={"baseRef": ArgumentCost(weight=500), "headRef": ArgumentCost(weight=500)},
)
"""Two specs: their hashes are looked up, and both revisions are loaded."""

EXPLAINING_SPECS = 50_000
"""The causes of one pair, in two graphs of revisions."""

NESTING = 100_000
"""The nested difference of some hundreds of nodes."""

LISTED_DEFAULT = 100

ListedFirst = Annotated[int, strawberry.argument(description=f"How many, at most {PAGE_MAX}.")]
LISTED = NumberOf("first", default=LISTED_DEFAULT)


class ComparedSpecs:
    """Two specs of two loaded revisions; what several fields show is made once."""

    def __init__(self, base: SpecType, head: SpecType) -> None:
        self.base, self.head = base, head
        levels = head.loaded.context.budget.levels
        self.pair = SpecPair(*_side_and_row(base), *_side_and_row(head), each_level=levels)

    @cached_property
    def comparison(self) -> LoadedComparison:
        """The two alone, as if the one had taken the place of the other."""
        explanation = self.pair.explanation
        loaded = self.base.loaded, self.head.loaded
        return LoadedComparison(*loaded, explanation.comparison, explanation, self.pair.hashes)

    def steps(self, path: Sequence[CauseStep]) -> list[CauseStepType]:
        """Return the steps of a path."""
        return PartRows(CauseStepType, self.comparison, path)  # type: ignore[return-value]

    def node(self, loaded: LoadedRevision, end: EdgeEnd | None) -> DependencyNode | None:
        """Return a dependency; None for None."""
        if end is None:
            return None
        return DependencyNode(loaded=loaded, graph=loaded.dependencies(), number=end.node)


def _side_and_row(spec: SpecType) -> tuple[Side, int]:
    return Side(spec.loaded.frame, spec.loaded.dependencies()), spec.row


@object_type
class DependencyChangeType:
    """A direct dependency that differs between two specs: another hash, another edge to it, or of
    one of them alone.
    """

    compared: strawberry.Private[ComparedSpecs]
    change: strawberry.Private[ChangedDependency]

    name = attribute("change.name", "The package's name.", str)

    @resolver()
    def before(self) -> DependencyNode | None:
        """The dependency in base; null where only head has it."""
        return self.compared.node(self.compared.base.loaded, self.change.before)

    @resolver()
    def after(self) -> DependencyNode | None:
        """The dependency in head; null where only base has it."""
        return self.compared.node(self.compared.head.loaded, self.change.after)

    @resolver(texts(30))
    def types_before(self) -> list[DependencyType]:
        """What base needs it for."""
        return _types(self.change.before)

    @resolver(texts(30))
    def types_after(self) -> list[DependencyType]:
        """What head needs it for."""
        return _types(self.change.after)

    @resolver(texts(30))
    def virtuals_before(self) -> list[str]:
        """The virtual packages that it provides to base."""
        return _virtuals(self.change.before)

    @resolver(texts(30))
    def virtuals_after(self) -> list[str]:
        """The virtual packages that it provides to head."""
        return _virtuals(self.change.after)

    @resolver(Cost(weight=20, items=6))
    def path(self) -> list[CauseStepType]:
        """From this dependency down to its main cause; empty where both have one hash, or one lacks
        it.
        """
        return self.compared.steps(self.change.path)


def _types(end: EdgeEnd | None) -> list[DependencyType]:
    return [] if end is None else types_of_mask(end.types)


def _virtuals(end: EdgeEnd | None) -> list[str]:
    return [] if end is None else list(end.virtuals)


@object_type
class CausePath:
    """A shortest way from two specs down to a cause."""

    cause: Cause = field("The cause.")
    steps: list[CauseStepType] = field(
        "The chain of dependencies, the two specs first.", Cost(weight=20, items=6)
    )


@object_type
class SpecComparisonType:
    """Two specs beside each other. What the source of either does not state does not differ."""

    compared: strawberry.Private[ComparedSpecs]

    @classmethod
    def of_hashes(
        cls,
        context: Context,
        base: str,
        head: str,
        base_ref: str | None = None,
        head_ref: str | None = None,
    ) -> Self | None:
        """Return the comparison of two hashes, or beginnings of them; None where one is nowhere.

        Raises as ``Context.resolve`` and HashHistoryType do.
        """
        context.require_time()
        specs = [SpecType.sought(context, *one) for one in ((base, base_ref), (head, head_ref))]
        before, after = specs
        return (
            None if before is None or after is None else cls(compared=ComparedSpecs(before, after))
        )

    base = attribute("compared.base", "The first spec.", SpecType)

    head = attribute("compared.head", "The second spec.", SpecType)

    @resolver()
    def base_revision(self) -> Revision:
        """The revision that the first is of."""
        return Revision(info=self.compared.base.loaded.info)

    @resolver()
    def head_revision(self) -> Revision:
        """The revision that the second is of."""
        return Revision(info=self.compared.head.loaded.info)

    @resolver(FIELDS)
    def facts(self) -> list[FieldChangeType]:
        """The facts of their own that differ, the package's name first; variants and dependencies
        have lists of their own.
        """
        return _field_changes(self.compared.pair.facts)

    @resolver(FIELDS)
    def variants(self) -> list[FieldChangeType]:
        """The variants that differ, by name: `path` is variants/NAME; null where one has none."""
        return _field_changes(variant_changes(self.compared.pair.variants))

    @resolver(texts(200))
    def variants_added(self) -> list[str]:
        """The variants that only head has."""
        return list(self.compared.pair.variants.after)

    @resolver(texts(200))
    def variants_removed(self) -> list[str]:
        """The variants that only base has."""
        return list(self.compared.pair.variants.before)

    @resolver(Cost(once=EXPLAINING_SPECS, items=LISTED))
    def dependencies(
        self, first: ListedFirst = LISTED_DEFAULT
    ) -> list[DependencyChangeType] | None:
        """The direct dependencies that differ, by name; null where those of either are unknown."""
        check_size("first", first)
        pair = self.compared.pair
        if not pair.are_known:
            return None
        return [
            DependencyChangeType(compared=self.compared, change=change)
            for change in pair.dependencies[:first]
        ]

    @resolver(Cost(once=EXPLAINING_SPECS, items=LISTED, each=5))
    def causes(self, first: ListedFirst = LISTED_DEFAULT) -> list[Cause]:
        """Why their hashes differ, their own change first. Of two packages: why those of
        dependencies do that both have. None for one hash.
        """
        check_size("first", first)
        comparison = self.compared.comparison
        numbers = range(len(comparison.explanation().causes))
        return CauseRows(comparison, numbers[:first])  # type: ignore[return-value]

    @resolver(Cost(once=EXPLAINING_SPECS))
    def num_causes(self) -> int:
        """How many causes there are."""
        return len(self.compared.pair.explanation.causes)

    @resolver(Cost(once=EXPLAINING_SPECS, items=LISTED, each=20))
    def paths(self, first: ListedFirst = LISTED_DEFAULT) -> list[CausePath]:
        """The way to each cause, in the order of `causes`."""
        check_size("first", first)
        comparison = self.compared.comparison
        return [
            CausePath(
                cause=Cause(comparison=comparison, number=number), steps=self.compared.steps(path)
            )
            for number, path in enumerate(self.compared.pair.paths[:first])
        ]

    @resolver(Cost(weight=5_000))
    def num_shared_below(self) -> int:
        """How many specs both reach over any edge."""
        return len(self.compared.pair.below.shared)

    @resolver(Cost(weight=5_000))
    def num_differing_below(self) -> int:
        """How many specs below stand beside one of the same package with another hash."""
        return len(self.compared.pair.below.differing)

    @resolver(Cost(weight=5_000))
    def num_only_below_base(self) -> int:
        """How many further specs only base reaches."""
        return len(self.compared.pair.below.only_base)

    @resolver(Cost(weight=5_000))
    def num_only_below_head(self) -> int:
        """How many further specs only head reaches."""
        return len(self.compared.pair.below.only_head)

    @resolver(
        Cost(once=NESTING, num_bytes=20_000),
        description="The nested difference of the two specs and of all below, as deepdiff has it; "
        f"of the nearest {MOST_NESTED:,}.",
    )
    def document(self) -> JSON:
        return self.compared.pair.difference  # type: ignore[return-value]

    @resolver(Cost(once=NESTING, items=LISTED, num_bytes=150))
    def differences(self, first: ListedFirst = LISTED_DEFAULT) -> list[FieldChangeType]:
        """The same in a list, by path: version, variants/mpi, below/zlib/version. What only one has
        is null in the other.
        """
        check_size("first", first)
        return _field_changes(self.compared.pair.nested_changes[:first])


def _field_changes(changes: Iterable[FieldChange]) -> list[FieldChangeType]:
    return [
        FieldChangeType(path=change.path, before=change.before, after=change.after)
        for change in changes
    ]


def comparison_of_ids(
    context: Context, base: tuple[str, str], head: tuple[str, str]
) -> LoadedComparison | None:
    """Return the comparison of two specs by the keys of their revisions and their whole hashes."""
    specs = [SpecType.of_id(context, *named) for named in (base, head)]
    before, after = specs
    return None if before is None or after is None else ComparedSpecs(before, after).comparison
