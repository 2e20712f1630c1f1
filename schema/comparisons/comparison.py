"""Comparisons: the additions, removals and changes between two revisions."""

from collections import Counter
from functools import cached_property
from typing import Annotated, Self, TypeVar, get_type_hints

import msgspec
import numpy as np
import orjson
import strawberry
from strawberry.scalars import JSON

from schema.comparisons import changes, explanations
from schema.comparisons.gates import GATE, MAX_RULES_IN_REQUEST, CheckReport, evaluate
from schema.context import Context, Info, LoadedRevision
from schema.fields import gql, many, relay
from schema.fields.cost import COMPARED, EXPLAINED, Cost, Work, resolver
from schema.node import URL, Node, node_id, revision_object
from schema.revisions.revision import Revision
from schema.revisions.spec import FilterArgument
from snapshots.catalog.library import stack_info
from snapshots.changes.causes import CauseName
from snapshots.changes.coverage import (
    CoverageChange,
    CoverageChangeKind,
    CoverageChanges,
    CoverageDimension,
    usual_dimensions,
)
from snapshots.changes.diff import SpecChangeKind
from snapshots.changes.package_changes import PackageChangeKind
from snapshots.changes.pairings import code_of
from snapshots.changes.reasons import REASONS, SpecChangeReason
from snapshots.changes.scope import ComparisonFilter
from snapshots.changes.summary import LEFT_OUT, Summary, Totals, summarize, totals
from snapshots.errors import InvalidArgument
from snapshots.models import CauseKind, RevisionInfo, StackInfo
from snapshots.notes.changelog import Changelog
from snapshots.notes.formats import NotesFormat
from snapshots.notes.sentences import plain
from snapshots.notes.templates import render
from snapshots.recipes.effects import CommitLevel

NOTES = Cost(weight=70_000, work=Work.EXPLAINING, of_state=True)
"""Release notes, which are not cached. A request may contain two formats of them.

Notes between revisions that are months apart are long.
"""

HASHES = Cost(weight=3_000, work=Work.COMPARING)
"""All hashes of one kind of change: tens of thousands between revisions that are months apart."""

COVERAGE = Cost(weight=20_000, work=Work.COMPARING, values=10_000)
"""A page of lost and gained cells."""

Kind = TypeVar("Kind")
Kinds = Annotated[
    list[Kind] | None, strawberry.argument("Only these kinds; by default, all kinds.")
]

COVERED = Cost(weight=20_000, work=Work.COMPARING)
"""The number of lost or gained cells. Both are counted together, and usually requested together."""


def _with_numbers(cls: Kind) -> Kind:
    """Add a field to a class for each number of the ``Summary`` and of the ``Totals`` of a side."""
    for name, kind in get_type_hints(Summary).items():
        is_size = name.startswith("total_size")
        graphql_type = gql.ByteCount | None if is_size else kind
        field = many.attribute(f"summary.{name}", graphql_type)
        setattr(cls, name if is_size else f"num_{name}", field)
    for name, kind in get_type_hints(Totals).items():
        for side in ("before", "after"):
            setattr(cls, f"{name}_{side}", many.attribute(f"{side}.{name}", kind))
    return cls


@gql.object_type
@_with_numbers
class ComparisonSummary:
    """The numbers of packages, specs and stacks that were added, removed and changed, and total
    sizes.

    - num_packages_added: Packages only in head.
    - num_packages_removed: Packages only in base.
    - num_packages_upgraded: Packages whose newest version increased.
    - num_packages_downgraded: Packages whose newest version decreased on an architecture or in a
      stack that both sides have.
    - num_packages_versions_changed: Packages with different versions that were neither upgraded
      nor downgraded.
    - num_packages_builds_changed: Packages with the same versions, some of whose specs were added,
      and others removed.
    - num_packages_more_builds: Packages with the same versions whose specs were only added.
    - num_packages_fewer_builds: Packages with the same versions whose specs were only removed.
    - num_packages_changed: Packages with the same hashes, but different facts.
    - num_packages_unchanged: Packages without changes.
    - num_specs_added: Hashes only in head.
    - num_specs_removed: Hashes only in base.
    - num_specs_changed: Hashes on both sides with different facts.
    - num_specs_unchanged: Hashes without changes.
    - num_binaries_replaced: Hashes on both sides whose binaries have different known checksums:
      built again, or replaced.
    - num_stacks_added: Stacks only in head; null if the source of either side does not list stacks.
    - num_stacks_removed: Stacks only in base; null if the source of either side does not list
      stacks.
    - num_packages_before: Number of packages in base.
    - num_packages_after: Number of packages in head.
    - num_specs_before: Number of specs in base.
    - num_specs_after: Number of specs in head.
    - num_stacks_before: Number of stacks in base, without root; null if its source does not list
      stacks, or if base is a single stack.
    - num_stacks_after: Number of stacks in head, without root; null if its source does not list
      stacks, or if head is a single stack.
    - total_size_before: Sum of the known sizes of base's binary packages; null if none is known.
    - total_size_after: Sum of the known sizes of head's binary packages; null if none is known.
    """

    loaded: strawberry.Private[changes.LoadedComparison]
    summary: strawberry.Private[Summary]
    before: strawberry.Private[Totals]
    after: strawberry.Private[Totals]

    @classmethod
    def of(cls, loaded: changes.LoadedComparison) -> Self:
        """Return the totals of a comparison."""
        before, after = totals(loaded.changes)
        return cls(loaded=loaded, summary=summarize(loaded.changes), before=before, after=after)

    @resolver()
    def total_size_delta(self) -> gql.ByteCount | None:
        """The difference of the total sizes; null if either is null."""
        return changes.size_delta(self.summary.total_size_before, self.summary.total_size_after)

    @resolver(EXPLAINED)
    def num_specs_rebuilt(self) -> int:
        """Added hashes that replaced a spec with the same facts of its own."""
        return self.loaded.count(SpecChangeReason.REBUILT)

    @resolver(EXPLAINED)
    def num_specs_replaced(self) -> int:
        """Added hashes that replaced a spec with other facts of its own."""
        return self.loaded.count(SpecChangeReason.REPLACES)

    @resolver(COVERED)
    def num_cells_lost(self) -> int:
        """Number of combinations of package, stack and target for which only base has specs; of
        package and target if a source does not list stacks.
        """
        return self._cells.count(CoverageChangeKind.LOST)

    @resolver(COVERED)
    def num_cells_gained(self) -> int:
        """Number of combinations of package, stack and target for which only head has specs; of
        package and target if a source does not list stacks.
        """
        return self._cells.count(CoverageChangeKind.GAINED)

    @cached_property
    def _cells(self) -> CoverageChanges:
        return self.loaded.coverage(usual_dimensions(self.loaded.changes))


gql.describe_enum(NotesFormat)


def _stack_of(info: RevisionInfo) -> str | None:
    return info.stack if isinstance(info, StackInfo) else None


@gql.object_type
class ComparisonType(Node):
    """The comparison of two revisions, base and head. The id contains both refs.

    - base: The revision before the changes.
    - head: The revision after the changes.
    - base_stack: The stack to which base is restricted, as in develop:e4s; null for the entire
      revision.
    - head_stack: The stack to which head is restricted, as in develop:e4s; null for the entire
      revision.
    """

    base_info: strawberry.Private[RevisionInfo]
    head_info: strawberry.Private[RevisionInfo]
    only: strawberry.Private[ComparisonFilter | None] = None

    @classmethod
    def of_id(cls, context: Context, base: str, head: str) -> Self | None:
        """Return the comparison of two refs."""
        if (sides := changes.comparison_of_id(context, base, head)) is None:
            return None
        before, after, only = sides
        return cls(base_info=before, head_info=after, only=only)

    def loaded(self, info: Info) -> changes.LoadedComparison:
        """Load and compare the two sides."""
        return changes.load_comparison(info.context, self.base_info, self.head_info, self.only)

    @resolver()
    def id(self) -> strawberry.ID:
        """An opaque, stable id."""
        return node_id(
            "Comparison", *changes.comparison_key(self.base_info, self.head_info, self.only)
        )

    @resolver(description=URL)
    def url(self) -> str | None:
        return changes.comparison_url(self.base_info, self.head_info, self.only)

    base = many.attribute("base_info", Revision, make=revision_object)
    head = many.attribute("head_info", Revision, make=revision_object)
    base_stack = many.attribute("base_info", str | None, make=_stack_of)
    head_stack = many.attribute("head_info", str | None, make=_stack_of)

    @resolver(COMPARED)
    def summary(self, info: Info) -> ComparisonSummary:
        """The totals of the comparison."""
        return ComparisonSummary.of(self.loaded(info))

    @resolver()
    def left_out(self) -> list[str]:
        """The differences that do not count as changes."""
        return list(LEFT_OUT)

    @resolver(HASHES)
    def added_hashes(self, info: Info) -> list[str]:
        """The hashes that only head has, ordered by package and hash."""
        return self._hashes(info, SpecChangeKind.ADDED)

    @resolver(HASHES)
    def removed_hashes(self, info: Info) -> list[str]:
        """The hashes that only base has, ordered by package and hash."""
        return self._hashes(info, SpecChangeKind.REMOVED)

    @resolver(HASHES)
    def changed_hashes(self, info: Info) -> list[str]:
        """The hashes on both sides with different facts, ordered by package and hash."""
        return self._hashes(info, SpecChangeKind.CHANGED)

    def _hashes(self, info: Info, kind: SpecChangeKind) -> list[str]:
        table = self.loaded(info).changes.specs.select([kind])
        is_removed = kind is SpecChangeKind.REMOVED
        frame, rows = (table.base, table.before) if is_removed else (table.head, table.after)
        return [*frame.hashes.texts_at(rows)]

    @relay.connection_field(COMPARED)
    def packages(
        self,
        info: Info,
        kinds: Kinds[PackageChangeKind] = None,
        search: gql.SearchArgument = None,
        order_by: changes.PackageChangeOrderArgument = None,
        *,
        page: relay.PageArguments,
    ) -> relay.Connection[changes.PackageChangeType] | None:
        """The packages that changed, by default ordered by name."""
        comparison = self.loaded(info)
        table = comparison.changes.packages.select(kinds, search)
        return changes.change_connection(
            changes.PackageChangeType, comparison, table, page, order_by
        )

    @relay.connection_field(COMPARED)
    def specs(
        self,
        info: Info,
        kinds: Kinds[SpecChangeKind] = None,
        filter: FilterArgument = None,
        reasons: list[SpecChangeReason] | None = None,
        order_by: explanations.SpecChangeOrderArgument = None,
        pairs_once: bool = False,
        *,
        page: relay.PageArguments,
    ) -> relay.Connection[explanations.SpecChangeType] | None:
        """The hashes that were added, removed or changed, by default ordered by package and hash.

        - reasons: Only these reasons; by default, all reasons.
        - pairs_once: Omit each removed spec whose counterpart is in the list, so that each pair is
          listed once.
        """
        comparison = self.loaded(info)
        conditions = None if filter is None else filter.to_domain()
        table = comparison.changes.specs.select(kinds, conditions)
        if reasons is not None:
            codes = comparison.explanation.reasons(table, comparison.returned)
            table = table.take(np.isin(codes, [code_of(reason) for reason in reasons]))
        if pairs_once:
            table = comparison.explanation.pairs_once(table)
        return explanations.spec_change_connection(comparison, table, page, order_by)

    @relay.connection_field(EXPLAINED)
    def causes(
        self,
        info: Info,
        kinds: Kinds[CauseKind] = None,
        package: str | None = None,
        order_by: explanations.CauseOrderArgument = None,
        *,
        page: relay.PageArguments,
    ) -> relay.Connection[explanations.Cause] | None:
        """The causes of rebuilt and replaced specs, by default those that explain the most first.
        `numSpecs` adds up to the number of these specs.

        - package: Only causes in the package of this name.
        """
        comparison = self.loaded(info)
        all_causes = comparison.explanation.causes
        numbers = all_causes.select(kinds, package)
        if comparison.scope is not None:
            chosen = frozenset(numbers)
            numbers = [number for number in comparison.causes_in_scope if number in chosen]
        if order_by is not None:
            numbers = explanations.ordered_causes(comparison, numbers, order_by)
        return explanations.cause_connection(comparison, numbers, page)

    @relay.connection_field(explanations.COMMITS)
    def commits(
        self,
        info: Info,
        levels: list[CommitLevel] | None = None,
        package: str | None = None,
        *,
        page: relay.PageArguments,
    ) -> relay.Connection[explanations.CommitEffectType] | None:
        """The commits between the recipes of the two revisions that explain causes, ordered by
        level and by the number of specs that they explain; null if either revision's recipe commit
        is not known.

        - levels: Only effects at these levels; by default, all levels.
        - package: Only effects on causes in the package of this name.
        """
        effects = explanations.effects_of_comparison(self.loaded(info), levels, package)
        return None if effects is None else explanations.effect_connection(effects, page)

    @resolver(EXPLAINED, gql.Omittable())
    def cause(
        self,
        info: Info,
        kind: CauseKind,
        package: str | None = None,
        before: str | None = None,
        after: str | None = None,
    ) -> explanations.Cause | None:
        """The cause with these facts, which identify it; null if the comparison has no such cause.

        - kind: Its kind.
        - package: The value of `Cause.package`; any for a cause of no package.
        - before: The value of `Cause.before`.
        - after: The value of `Cause.after`.
        """
        comparison = self.loaded(info)
        names = [CauseName(kind, of_package, before, after) for of_package in (package, None)]
        causes = (explanations.cause_of_key(comparison, name.key) for name in names)
        return next(filter(None, causes), None)

    @resolver(explanations.COUNTS)
    def cause_kinds(self, info: Info) -> list[explanations.CauseKindCount]:
        """The number of causes of each kind, and of the specs that they explain. Kinds without
        causes are omitted.
        """
        comparison = self.loaded(info)
        causes = comparison.explanation.causes
        num_causes: Counter[CauseKind] = Counter()
        num_specs: Counter[CauseKind] = Counter()
        for cause in comparison.causes_in_scope.values():
            kind = causes.name_of(cause.number).kind
            num_causes[kind] += 1
            num_specs[kind] += cause.num_specs
        return [
            explanations.CauseKindCount(
                kind=kind, num_causes=num_causes[kind], num_specs=num_specs[kind]
            )
            for kind in CauseKind
            if num_causes[kind]
        ]

    @resolver(EXPLAINED)
    def why_unknown(self, info: Info) -> str | None:
        """Why some causes cannot be determined: the facts that the source of either revision does
        not state. Null if both sources state dependencies and package hashes.
        """
        return self.loaded(info).explanation.why_unknown

    @resolver(explanations.COUNTS)
    def reasons(self, info: Info) -> list[explanations.ReasonCount]:
        """The number of hashes that were added, removed or changed for each reason. Reasons without
        hashes are omitted.
        """
        comparison = self.loaded(info)
        codes = comparison.explanation.reasons(comparison.changes.specs, comparison.returned)
        counts = np.bincount(codes, minlength=len(REASONS)).tolist()
        return [
            explanations.ReasonCount(reason=reason, num_specs=num_specs)
            for reason, num_specs in zip(REASONS, counts, strict=True)
            if num_specs
        ]

    @relay.connection_field(COVERAGE)
    def coverage(
        self,
        info: Info,
        by: list[CoverageDimension],
        kinds: Kinds[CoverageChangeKind] = None,
        search: str | None = None,
        *,
        page: relay.PageArguments,
    ) -> relay.Connection[changes.CoverageChangeType] | None:
        """The lost and gained cells, which are combinations of a package with a value for each of
        the given dimensions, ordered by package and values.

        - by: The dimensions, each of which counts once; an empty list for packages alone.
        - search: Only packages whose names contain this text; case-insensitive.
        """
        info.context.require_time()  # all specs of both sides are counted
        comparison = self.loaded(info)
        if len(by) > len(CoverageDimension):
            raise InvalidArgument("by", f"more than {len(CoverageDimension)} dimensions")
        table = comparison.coverage(by).select(kinds, search)

        def key(cell: CoverageChange) -> str:
            return orjson.dumps((cell.package, *cell.values)).decode()

        def find(key: str) -> int | None:
            try:
                package, *values = msgspec.json.decode(key, type=list[str])
            except (msgspec.DecodeError, ValueError):
                return None
            return table.find(package, values)

        return changes.change_connection(
            changes.CoverageChangeType, comparison, table, page, key=key, find=find
        )

    @resolver(COMPARED)
    def stack_changes(self, info: Info) -> list[changes.StackChangeType] | None:
        """The stacks that were added or removed, or whose specs changed, without root; null if the
        source of either side does not list stacks.
        """
        comparison = self.loaded(info)
        states_stacks = comparison.changes.pairing.persisting.state_stacks
        return _stack_changes(comparison) if states_stacks else None

    @resolver(NOTES)
    def highlights(self, info: Info) -> list[str]:
        """The first sentences of the release notes: what was added, removed, rebuilt, and why."""
        info.context.require_time()
        return [plain(sentence) for sentence in self._log(info).highlights]

    @resolver(NOTES)
    def release_notes(self, info: Info, format: NotesFormat = NotesFormat.MARKDOWN) -> str:
        """The complete release notes.

        - format: The format of the notes.
        """
        budget = info.context.budget
        info.context.require_time()  # a change of all packages takes some 100 ms to write
        log = self._log(info)
        budget.check()
        return render(log, format, budget.each)

    def _log(self, info: Info) -> Changelog:
        loaded = self.loaded(info)
        sides = {"base": _counted(loaded.before), "head": _counted(loaded.after)}
        return msgspec.structs.replace(loaded.notes(), **sides)

    @resolver(GATE)
    def check(
        self,
        info: Info,
        rules: Annotated[
            list[JSON],
            strawberry.argument(
                "The rules, each an object with the keys of a rules file, as in docs/gates.md; "
                "`cover` is a list of concrete specs, each with the fields of ConcreteSpecInput. "
                f"At most {MAX_RULES_IN_REQUEST}."
            ),
        ],
    ) -> CheckReport | None:
        """The evaluation of rules on this comparison, as by `cachelog gate`. Rules have their own
        conditions on specs, so they are evaluated on the full comparison, even if it is restricted.
        """
        return evaluate(
            info, changes.load_comparison(info.context, self.base_info, self.head_info), rules
        )


def _stack_changes(comparison: changes.LoadedComparison) -> list[changes.StackChangeType]:
    stacks = comparison.changes.stacks
    return changes.PartRows(changes.StackChangeType, comparison, stacks)  # type: ignore[return-value]


def _counted(side: LoadedRevision) -> RevisionInfo:
    """Return the facts of a side; a stack has its own counts."""
    if not isinstance(side.info, StackInfo):
        return side.info
    return stack_info(side.info.revision, side.info.stack, side.frame)
