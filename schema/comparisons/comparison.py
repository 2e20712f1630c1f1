"""Comparisons: what was added, removed and changed between two revisions."""

from collections import Counter
from functools import cached_property
from typing import Annotated, Self, TypeVar

import msgspec
import numpy as np
import orjson
import strawberry

from schema.comparisons.changes import (
    CoverageChangeType,
    LoadedComparison,
    PackageChangeOrderArgument,
    PackageChangeType,
    PartRows,
    StackChangeType,
    change_connection,
    comparison_key,
    comparison_of_keys,
    load_comparison,
    size_delta,
)
from schema.comparisons.explanations import (
    COMMITS,
    KIND_COUNTS,
    REASON_COUNTS,
    Cause,
    CauseKindCount,
    CauseRows,
    CommitEffectType,
    ReasonCount,
    SpecChangeOrderArgument,
    SpecChangeType,
    attribution,
    cause_of_key,
    effect_connection,
    spec_change_connection,
)
from schema.comparisons.gates import CHECK, MOST_RULES, CheckReport, RuleInput, check
from schema.context import Context, Info, LoadedRevision
from schema.fields.connections import (
    Connection,
    ListPage,
    PageArguments,
    connection_field,
    window_at,
)
from schema.fields.cost import (
    COMPARING,
    COVERING,
    EXPLAINING,
    STACKS,
    ArgumentCost,
    Cost,
    field,
    resolver,
    texts,
)
from schema.fields.many import attribute
from schema.fields.scalars import (
    ByteCount,
    Omittable,
    SearchArgument,
    deprecated,
    describe_enum,
    object_type,
)
from schema.node import Node, node_id, revision_object
from schema.revisions.revision import Revision
from schema.revisions.spec import FilterArgument
from snapshots.catalog.library import stack_info
from snapshots.changes.cause_names import OF_NO_PACKAGE, CauseKind, CauseName
from snapshots.changes.coverage import (
    CoverageChange,
    CoverageChangeKind,
    CoverageChanges,
    CoverageDimension,
    usual_dimensions,
)
from snapshots.changes.diff import LEFT_OUT, SpecChangeKind
from snapshots.changes.package_changes import PackageChangeKind
from snapshots.changes.pairings import code_of
from snapshots.changes.reasons import REASONS, SpecChangeReason
from snapshots.errors import InvalidArgument
from snapshots.models import RevisionInfo, StackInfo
from snapshots.notes.changelog import Only, changelog, summarize, totals
from snapshots.notes.formats import NotesFormat
from snapshots.notes.templates import render
from snapshots.recipes.effects import CommitLevel

NOTES = Cost(weight=195_000, once=EXPLAINING, num_bytes=15_000_000)
"""Release notes, which are not cached. Two formats of them may be requested at once.

Notes between revisions months apart are long, as JSON most of all.
"""

MOST_LISTED = 4_000
"""So many added and removed hashes are listed in release notes; where there are more, none are."""

CHANGES = Cost(
    weight=1_000,
    each=20,
    once=COMPARING,
    arguments={
        "kinds": ArgumentCost(weight=100, each=50),
        "reasons": ArgumentCost(weight=5_000, each=50, once=EXPLAINING),
        "pairsOnce": ArgumentCost(weight=1_000, once=EXPLAINING),
        "search": ArgumentCost(weight=1_000),
        "orderBy": ArgumentCost(weight=500),
        "filter": ArgumentCost(weight=3_000, each=60),
    },
)
"""A page of the changes of a comparison."""

CAUSES = Cost(
    weight=1_500,
    each=20,
    once=EXPLAINING,
    arguments={"kinds": ArgumentCost(weight=100, each=50), "package": ArgumentCost(weight=100)},
)
"""A page of causes."""

COVERAGE = Cost(
    weight=COVERING,
    each=10,
    once=COMPARING,
    arguments={
        "by": ArgumentCost(each=20_000),
        "kinds": ArgumentCost(weight=100, each=50),
        "search": ArgumentCost(weight=1_000),
    },
)
"""A page of lost and gained cells."""

ONE_CAUSE = Cost(weight=100, once=EXPLAINING)
"""A cause by its name."""

STACK_CHANGES = Cost(weight=200, items=STACKS, each=30, once=COMPARING)
"""The changed stacks."""

WHY_UNKNOWN = Cost(weight=10, once=EXPLAINING, num_bytes=150)
"""What the sources of a comparison do not tell."""


EXPLAINED = Cost(weight=100, once=EXPLAINING)
"""What follows from the reasons of all changed hashes."""

Kind = TypeVar("Kind")
Kinds = Annotated[list[Kind] | None, strawberry.argument("Only these kinds; all unless given.")]

COVERED = Cost(weight=COVERING * 2 / 3, once=COMPARING)
"""The number of lost or gained cells. Both are counted together, and mostly requested together."""


_NUM_STACKS = "Use `numStacks{}`, which is null where a source does not list stacks."


@object_type
class ComparisonSummary:
    """How many packages, specs and stacks were added, removed and changed; total sizes.

    - packages_added: Packages only in head.
    - packages_removed: Packages only in base.
    - packages_upgraded: Packages whose newest version rose.
    - packages_downgraded: Packages whose newest version fell, on an architecture or in a stack
      that both have.
    - packages_versions_changed: Packages that have other versions for another reason.
    - packages_rebuilt: Packages with the same versions and other hashes.
    - packages_changed: Packages with the same hashes and other facts.
    - packages_unchanged: Packages where nothing changed.
    - specs_added: Hashes only in head.
    - specs_removed: Hashes only in base.
    - specs_changed: Hashes with other facts.
    - specs_unchanged: Hashes where nothing changed.
    - num_stacks_added: Stacks only in head; null where either side tells none.
    - num_stacks_removed: Stacks only in base; null where either side tells none.
    - num_packages_before: How many packages base has.
    - num_packages_after: How many packages head has.
    - num_specs_before: How many specs base has.
    - num_specs_after: How many specs head has.
    - num_stacks_before: How many stacks base has, root left out; null where it tells none, as of a
      single stack.
    - num_stacks_after: How many stacks head has, likewise.
    - total_size_before: The sum of the sizes of base's binary packages, as far as known.
    - total_size_after: The sum of the sizes of head's binary packages, as far as known.
    - total_size_delta: By how much that sum rose; null where one side knows no sizes.
    """

    packages_added: int
    packages_removed: int
    packages_upgraded: int
    packages_downgraded: int
    packages_versions_changed: int
    packages_rebuilt: int
    packages_changed: int
    packages_unchanged: int
    specs_added: int
    specs_removed: int
    specs_changed: int
    specs_unchanged: int
    num_stacks_added: int | None
    num_stacks_removed: int | None
    stacks_added: int = deprecated(_NUM_STACKS.format("Added"))(field("Stacks only in head."))
    stacks_removed: int = deprecated(_NUM_STACKS.format("Removed"))(field("Stacks only in base."))
    num_packages_before: int
    num_packages_after: int
    num_specs_before: int
    num_specs_after: int
    num_stacks_before: int | None
    num_stacks_after: int | None
    total_size_before: ByteCount | None
    total_size_after: ByteCount | None
    total_size_delta: ByteCount | None
    loaded: strawberry.Private[LoadedComparison]

    @classmethod
    def of(cls, loaded: LoadedComparison) -> Self:
        """Return the totals of a comparison."""
        summary = summarize(loaded.changes)
        delta = size_delta(summary.total_size_before, summary.total_size_after)
        before, after = map(msgspec.structs.asdict, totals(loaded.changes))
        counts = msgspec.structs.asdict(summary)
        for name in ("stacks_added", "stacks_removed"):
            counts[f"num_{name}"], counts[name] = counts[name], counts[name] or 0
        return cls(
            **counts,
            **{f"{name}_before": number for name, number in before.items()},
            **{f"{name}_after": number for name, number in after.items()},
            total_size_delta=delta,
            loaded=loaded,
        )

    @resolver(EXPLAINED)
    def specs_rebuilt(self) -> int:
        """Added hashes that replaced a spec with the same facts of its own."""
        return self.loaded.count(SpecChangeReason.REBUILT)

    @resolver(EXPLAINED)
    def specs_replaced(self) -> int:
        """Added hashes that replaced a spec with other facts of its own."""
        return self.loaded.count(SpecChangeReason.REPLACES)

    @resolver(COVERED)
    def coverage_lost(self) -> int:
        """Combinations of package, stack and target that only base has specs for; of package and
        target where a source does not list stacks.
        """
        return self._cells.count(CoverageChangeKind.LOST)

    @resolver(COVERED)
    def coverage_gained(self) -> int:
        """Combinations of package, stack and target that only head has specs for; of package and
        target where a source does not list stacks.
        """
        return self._cells.count(CoverageChangeKind.GAINED)

    @cached_property
    def _cells(self) -> CoverageChanges:
        return self.loaded.coverage(usual_dimensions(self.loaded.changes))


describe_enum(NotesFormat)


def _stack_of(info: RevisionInfo) -> str | None:
    return info.stack if isinstance(info, StackInfo) else None


@object_type
class ComparisonType(Node):
    """The difference of two revisions. A permanent object: its id names both digests, so it never
    changes.

    - base: The revision that changes are counted from.
    - head: The revision that changes lead to.
    - base_stack: The stack that base is narrowed to, as in develop:e4s; null for all of the
      revision.
    - head_stack: The stack that head is narrowed to, as in develop:e4s; null for all of the
      revision.
    """

    base_info: strawberry.Private[RevisionInfo]
    head_info: strawberry.Private[RevisionInfo]
    only: strawberry.Private[Only | None] = None

    @classmethod
    def of_id(
        cls, context: Context, _base: str, _head: str, base_key: str, head_key: str
    ) -> Self | None:
        """Return the comparison of two digests and two keys."""
        if (sides := comparison_of_keys(context, base_key, head_key)) is None:
            return None
        base, head, only = sides
        return cls(base_info=base, head_info=head, only=only)

    def loaded(self, info: Info) -> LoadedComparison:
        """Load and compare the two sides."""
        return load_comparison(info.context, self.base_info, self.head_info, self.only)

    @resolver()
    def id(self) -> strawberry.ID:
        """Opaque and stable."""
        return node_id("Comparison", *comparison_key(self.base_info, self.head_info, self.only))

    base = attribute("base_info", Revision, make=revision_object)
    head = attribute("head_info", Revision, make=revision_object)
    base_stack = attribute("base_info", str | None, make=_stack_of)
    head_stack = attribute("head_info", str | None, make=_stack_of)

    @resolver(Cost(weight=200, once=COMPARING))
    def summary(self, info: Info) -> ComparisonSummary:
        """The totals."""
        return ComparisonSummary.of(self.loaded(info))

    @resolver(texts(100))
    def left_out(self) -> list[str]:
        """What is not counted as a change."""
        return list(LEFT_OUT)

    @connection_field(CHANGES)
    def packages(
        self,
        info: Info,
        kinds: Kinds[PackageChangeKind] = None,
        search: SearchArgument = None,
        order_by: PackageChangeOrderArgument = None,
        *,
        page: PageArguments,
    ) -> Connection[PackageChangeType]:
        """The packages that changed."""
        comparison = self.loaded(info)
        table = comparison.changes.packages.select(kinds, search)
        return change_connection(PackageChangeType, comparison, table, page, order_by)

    @connection_field(CHANGES)
    def specs(
        self,
        info: Info,
        kinds: Kinds[SpecChangeKind] = None,
        filter: FilterArgument = None,
        reasons: list[SpecChangeReason] | None = None,
        order_by: SpecChangeOrderArgument = None,
        pairs_once: bool = False,
        *,
        page: PageArguments,
    ) -> Connection[SpecChangeType]:
        """The hashes that were added, removed or changed.

        - reasons: Only these reasons; all unless given.
        - pairs_once: Leave out each removed spec whose counterpart is in the list: a pair stands
          once.
        """
        comparison = self.loaded(info)
        conditions = None if filter is None else filter.to_domain()
        table = comparison.changes.specs.select(kinds, conditions)
        if reasons is not None:
            codes = comparison.explanation().reasons(table, comparison.returned())
            table = table.take(np.isin(codes, [code_of(reason) for reason in reasons]))
        if pairs_once:
            table = comparison.explanation().pairs_once(table)
        return spec_change_connection(comparison, table, page, order_by)

    @connection_field(CAUSES)
    def causes(
        self,
        info: Info,
        kinds: Kinds[CauseKind] = None,
        package: str | None = None,
        *,
        page: PageArguments,
    ) -> Connection[Cause]:
        """Why specs were rebuilt, what explains most first. The numbers of specs add up to all
        that were rebuilt or replaced.

        - package: Only causes in the package of this name.
        """
        comparison = self.loaded(info)
        all_causes = comparison.explanation().causes
        numbers = all_causes.select(kinds, package)
        if comparison.scope is not None:
            chosen = frozenset(numbers)
            numbers = [number for number in comparison.causes_in_scope if number in chosen]

        def find(cursor: str) -> int | None:
            number = all_causes.find(cursor)
            return numbers.index(number) if number is not None and number in numbers else None

        part = window_at(page, len(numbers), find)
        shown = numbers[part.start : part.stop]
        cursors = [all_causes.name_of(number).key for number in shown]
        return Connection(page=ListPage(part, CauseRows(comparison, shown), cursors))

    @connection_field(COMMITS)
    def commits(
        self,
        info: Info,
        levels: list[CommitLevel] | None = None,
        package: str | None = None,
        *,
        page: PageArguments,
    ) -> Connection[CommitEffectType] | None:
        """The commits between the two revisions' recipes that explain causes, those that explain
        closest and most first; null where a commit of the recipes is not known.

        - levels: Only effects at these levels; all unless given.
        - package: Only effects on causes in the package of this name.
        """
        comparison = self.loaded(info)
        causes = attribution(comparison)
        if causes is None:
            return None
        counts = None if comparison.scope is None else comparison.causes_in_scope.values()
        effects = causes.effects(counts, levels, package)
        shown = [CommitEffectType(effect=effect, loaded=comparison) for effect in effects]
        return effect_connection(shown, page)

    @resolver(ONE_CAUSE, Omittable())
    def cause(
        self,
        info: Info,
        kind: CauseKind,
        package: str | None = None,
        before: str | None = None,
        after: str | None = None,
    ) -> Cause | None:
        """One of the causes, by what tells it from the others; null where the comparison has no
        such cause.

        - kind: Its kind.
        - package: The package that changed; a cause of kind ARCHITECTURE or FORMAT is of none.
        - before: As `Cause.before` has it.
        - after: As `Cause.after` has it.
        """
        name = CauseName(kind, None if kind in OF_NO_PACKAGE else package, before, after)
        comparison = self.loaded(info)
        return cause_of_key(comparison, name.key)

    @resolver(KIND_COUNTS)
    def cause_kinds(self, info: Info) -> list[CauseKindCount]:
        """How many causes are of each kind, and how many specs they explain; kinds without causes
        are left out.
        """
        comparison = self.loaded(info)
        causes = comparison.explanation().causes
        num_causes: Counter[CauseKind] = Counter()
        num_specs: Counter[CauseKind] = Counter()
        for cause in comparison.causes_in_scope.values():
            kind = causes.name_of(cause.number).kind
            num_causes[kind] += 1
            num_specs[kind] += cause.num_specs
        return [
            CauseKindCount(kind=kind, num_causes=num_causes[kind], num_specs=num_specs[kind])
            for kind in CauseKind
            if num_causes[kind]
        ]

    @resolver(WHY_UNKNOWN)
    def why_unknown(self, info: Info) -> str | None:
        """Why causes are not known as they could be: what a source of the two revisions does not
        tell. Null where both tell dependencies and package hashes.
        """
        return self.loaded(info).explanation().why_unknown

    @resolver(REASON_COUNTS)
    def reasons(self, info: Info) -> list[ReasonCount]:
        """How many hashes were added, removed or changed for each reason; reasons of none are left
        out.
        """
        comparison = self.loaded(info)
        codes = comparison.explanation().reasons(comparison.changes.specs, comparison.returned())
        counts = np.bincount(codes, minlength=len(REASONS)).tolist()
        return [
            ReasonCount(reason=reason, num_specs=num_specs)
            for reason, num_specs in zip(REASONS, counts, strict=True)
            if num_specs
        ]

    @connection_field(COVERAGE)
    def coverage(
        self,
        info: Info,
        by: list[CoverageDimension],
        kinds: Kinds[CoverageChangeKind] = None,
        search: str | None = None,
        *,
        page: PageArguments,
    ) -> Connection[CoverageChangeType]:
        """What can no longer be had, and what newly can: packages in combination with the given
        dimensions, by package and values.

        - by: The dimensions; none for the packages alone.
        - search: Case-insensitive substring of the package's name.
        """
        info.context.require_time()  # all specs of both sides are counted
        comparison = self.loaded(info)
        if len(by) > len(CoverageDimension):
            raise InvalidArgument("by", f"more than {len(CoverageDimension)} dimensions")
        table = comparison.coverage(by).select(kinds, search)

        def cursor(cell: CoverageChange) -> str:
            return orjson.dumps((cell.package, *cell.values)).decode()

        def find(cursor: str) -> int | None:
            try:
                package, *values = msgspec.json.decode(cursor, type=list[str])
            except (msgspec.DecodeError, ValueError):
                return None
            return table.find(package, values)

        return change_connection(
            CoverageChangeType, comparison, table, page, cursor=cursor, find=find
        )

    @resolver(STACK_CHANGES)
    def stack_changes(self, info: Info) -> list[StackChangeType] | None:
        """The stacks that were added, removed or have other specs, never root; null where either
        side tells none.
        """
        comparison = self.loaded(info)
        tells_stacks = comparison.changes.pairing.persisting.tell_stacks
        return _stack_changes(comparison) if tells_stacks else None

    @deprecated("Use `stackChanges`, which is null where a source does not list stacks.")
    @resolver(STACK_CHANGES)
    def stacks(self, info: Info) -> list[StackChangeType]:
        """The stacks that were added, removed or have other specs; never root."""
        return _stack_changes(self.loaded(info))

    @resolver(
        NOTES,
        description="The release notes, whole; without hashes where more than "
        f"{MOST_LISTED:,} were added or removed.",
    )
    def release_notes(
        self,
        info: Info,
        format: Annotated[
            NotesFormat, strawberry.argument("How they are written.")
        ] = NotesFormat.MARKDOWN,
    ) -> str:
        context = info.context
        context.require_time()  # a change of all packages takes some 100 ms to write
        sides = self.base_info, self.head_info
        loaded = self.loaded(info)
        log = changelog(
            _counted(loaded.base),
            _counted(loaded.head),
            context.explain(*sides),
            loaded.scope,
            returned=context.returned(*sides),
            recipes=context.recipes_change(*sides),
            costs=context.costs(self.head_info),
            most_specs=MOST_LISTED,
        )
        context.budget.check()
        return render(log, format, context.budget.each)

    @resolver(CHECK)
    def check(
        self,
        info: Info,
        rules: Annotated[list[RuleInput], strawberry.argument(f"The rules, at most {MOST_RULES}.")],
    ) -> CheckReport:
        """The judgement of rules on this comparison, as `cachelog gate` judges. Rules narrow
        themselves, so it is that of all specs.
        """
        return check(info, load_comparison(info.context, self.base_info, self.head_info), rules)


def _stack_changes(comparison: LoadedComparison) -> list[StackChangeType]:
    stacks = comparison.changes.stacks
    return PartRows(StackChangeType, comparison, stacks)  # type: ignore[return-value]


def _counted(side: LoadedRevision) -> RevisionInfo:
    """Return what a side tells of itself: a stack has counts of its own."""
    if not isinstance(side.info, StackInfo):
        return side.info
    return stack_info(side.info.revision, side.info.stack, side.frame)
