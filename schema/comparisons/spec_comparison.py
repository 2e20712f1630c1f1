"""Comparisons of two specs: the differences, their causes, and shared dependencies."""

from collections.abc import Callable, Sequence
from functools import cached_property
from operator import attrgetter
from typing import Any

import strawberry

from schema.comparisons.changes import FieldChangeType, LoadedComparison, PartRows
from schema.comparisons.explanations import Cause, CauseStepType, cause_connection
from schema.context import Context, LoadedRevision
from schema.fields import gql, many, relay
from schema.fields.cost import MEDIUM, Cost, Work, resolver
from schema.node import URL, page_path
from schema.revisions.dependency import TYPES_OF_MASK, DependencyNode
from schema.revisions.spec import SpecType
from snapshots.changes.cause_graph import EdgeEnd
from snapshots.changes.causes import CauseStep
from snapshots.changes.sides import Side
from snapshots.changes.spec_pairs import ChangedDependency, SpecPair, variant_changes
from snapshots.frames.dependencies import DependencyType

COMPARING_SPECS = Cost(weight=60_000, work=Work.LOADING)
"""Looking up the hashes of two specs, and loading both revisions."""

EXPLAINING_SPECS = Cost(weight=50_000)
"""Computing the causes of one pair in the graphs of two revisions."""

NESTING = Cost(weight=100_000)
"""Computing the nested difference of some hundreds of nodes."""

LISTED_DEFAULT = 100


class ComparedSpecs:
    """Two specs of two loaded revisions; values that several fields need are computed once."""

    def __init__(self, base: SpecType, head: SpecType) -> None:
        self.base, self.head = base, head
        levels = head.loaded.context.budget.levels
        self.pair = SpecPair(*_side_and_row(base), *_side_and_row(head), each_level=levels)

    @cached_property
    def comparison(self) -> LoadedComparison:
        """The comparison of only these two specs, as if one had replaced the other."""
        base, head = self.base.loaded, self.head.loaded
        explained, hashes = self.pair.explanation, self.pair.hashes
        return LoadedComparison(
            base.info,
            head.info,
            head.context,
            explained=explained,
            hashes=hashes,
            pair_paths=self.pair.paths,
        )

    def steps(self, path: Sequence[CauseStep]) -> list[CauseStepType]:
        """Return the steps of a path."""
        return PartRows(CauseStepType, self.comparison, path)  # type: ignore[return-value]

    def node(self, loaded: LoadedRevision, end: EdgeEnd | None) -> DependencyNode | None:
        """Return the dependency at the end of an edge; None for None."""
        if end is None:
            return None
        return DependencyNode(loaded=loaded, number=end.node)


def _side_and_row(spec: SpecType) -> tuple[Side, int]:
    return Side(spec.loaded.frame, spec.loaded.dependencies()), spec.row


def _of_edge(side: str, values_of: Callable[[EdgeEnd], Any], graphql_type: Any) -> Any:
    """Declare a field that lists values of the edge of a side; empty if that side has no edge."""
    end_of = attrgetter(side)

    def values(change: ChangedDependency) -> Any:
        end = end_of(change)
        return [] if end is None else values_of(end)

    return many.attribute("change", graphql_type, make=values)


@gql.object_type
class DependencyChangeType:
    """A direct dependency that differs between two specs: by its hash, by the edge to it, or
    because only one of the specs has it.

    - name: The package's name.
    - types_before: The types of the dependency in base.
    - types_after: The types of the dependency in head.
    - virtuals_before: The virtual packages that it provides to base.
    - virtuals_after: The virtual packages that it provides to head.
    """

    compared: strawberry.Private[ComparedSpecs]
    change: strawberry.Private[ChangedDependency]

    name = many.attribute("change.name", str)

    @resolver()
    def before(self) -> DependencyNode | None:
        """The dependency in base; null if only head has it."""
        return self.compared.node(self.compared.base.loaded, self.change.before)

    @resolver()
    def after(self) -> DependencyNode | None:
        """The dependency in head; null if only base has it."""
        return self.compared.node(self.compared.head.loaded, self.change.after)

    types_before = _of_edge("before", lambda end: TYPES_OF_MASK[end.types], list[DependencyType])
    types_after = _of_edge("after", lambda end: TYPES_OF_MASK[end.types], list[DependencyType])
    virtuals_before = _of_edge("before", attrgetter("virtuals"), list[str])
    virtuals_after = _of_edge("after", attrgetter("virtuals"), list[str])

    @resolver()
    def path(self) -> list[CauseStepType]:
        """The chain of dependencies from this dependency to its main cause; empty if both hashes
        are equal, or if only one spec has it.
        """
        return self.compared.steps(self.change.path)


@gql.object_type
class SpecComparisonType:
    """The comparison of two specs. Facts that the source of either does not state do not count as
    different.

    - base: The first spec.
    - head: The second spec.
    - variants_added: The variants that only head has.
    - variants_removed: The variants that only base has.
    - num_shared_below: Number of specs that are direct or indirect dependencies of both.
    - num_differing_below: Number of pairs of dependencies, direct or indirect, of the same package
      with different hashes.
    - num_only_below_base: Number of the other dependencies, direct or indirect, that only base has.
    - num_only_below_head: Number of the other dependencies, direct or indirect, that only head has.
    - facts: The facts of the specs themselves that differ, the package's name first; variants and
      dependencies are in separate lists.
    - variants: The variants that differ, ordered by name: `path` is variants/NAME, and a value is
      null if its spec does not have the variant.
    """

    compared: strawberry.Private[ComparedSpecs]

    @resolver(description=URL)
    def url(self) -> str | None:
        pair = self.compared.pair
        refs = self.compared.base.loaded.info.ref, self.compared.head.loaded.info.ref
        return page_path("specs", "...".join(pair.hashes), baseRef=refs[0], headRef=refs[1])

    base = many.attribute("compared.base", SpecType)
    head = many.attribute("compared.head", SpecType)
    facts = many.attribute("compared.pair.facts", list[FieldChangeType])
    variants = many.attribute("compared.pair.variants", list[FieldChangeType], make=variant_changes)
    variants_added = many.attribute("compared.pair.variants.after", list[str])
    variants_removed = many.attribute("compared.pair.variants.before", list[str])

    @resolver(EXPLAINING_SPECS)
    def dependencies(
        self, first: relay.FirstArgument = LISTED_DEFAULT
    ) -> list[DependencyChangeType] | None:
        """The direct dependencies that differ, ordered by name; null if those of either spec are
        unknown.
        """
        relay.check_size("first", first)
        pair = self.compared.pair
        if not pair.are_known:
            return None
        return [
            DependencyChangeType(compared=self.compared, change=change)
            for change in pair.dependencies[:first]
        ]

    @relay.connection_field(EXPLAINING_SPECS)
    def causes(self, *, page: relay.PageArguments) -> relay.Connection[Cause] | None:
        """The causes of the difference between the hashes, the change of the specs themselves
        first. For specs of different packages: the causes of differences between the dependencies
        that both have. Empty if the hashes are equal.
        """
        comparison = self.compared.comparison
        return cause_connection(comparison, range(len(comparison.explanation.causes)), page)

    num_shared_below = many.attribute("compared.pair.below.shared", int, MEDIUM, make=len)
    num_differing_below = many.attribute("compared.pair.below.differing", int, MEDIUM, make=len)
    num_only_below_base = many.attribute("compared.pair.below.only_base", int, MEDIUM, make=len)
    num_only_below_head = many.attribute("compared.pair.below.only_head", int, MEDIUM, make=len)

    @resolver(NESTING)
    def differences(
        self, first: relay.FirstArgument = LISTED_DEFAULT
    ) -> list[FieldChangeType] | None:
        """The differences of the two specs and of their nearest 5,000 dependencies, ordered by
        path: version, variants/mpi, below/zlib/version. A value that only one spec has is null in
        the other.
        """
        relay.check_size("first", first)
        return self.compared.pair.nested_changes[:first]  # type: ignore[return-value] # its fields


def comparison_of_ids(
    context: Context, base: tuple[str, str], head: tuple[str, str]
) -> LoadedComparison | None:
    """Return the comparison of two specs by the keys of their revisions and their full hashes."""
    specs = [SpecType.of_id(context, *named) for named in (base, head)]
    before, after = specs
    return None if before is None or after is None else ComparedSpecs(before, after).comparison
