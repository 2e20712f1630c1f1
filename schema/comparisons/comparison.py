"""Comparisons: what was added, removed and changed between two revisions."""

from typing import Annotated, Self

import strawberry

from schema.comparisons.cause import Cause, cause_connection, cause_named
from schema.comparisons.change_counts import (
    KIND_COUNTS,
    REASON_COUNTS,
    CauseKindCount,
    ReasonCount,
    cause_kind_counts,
    reason_counts,
)
from schema.comparisons.changes import (
    ChangeRows,
    LoadedComparison,
    comparison_key,
    load_comparison,
    part_of_comparison,
)
from schema.comparisons.check import CHECK, CheckReport, check
from schema.comparisons.comparison_costs import (
    CAUSES,
    CHANGES,
    COVERAGE,
    NOTES,
    ONE_CAUSE,
    WHY_UNKNOWN,
)
from schema.comparisons.comparison_summary import ComparisonSummary
from schema.comparisons.coverage import CoverageChange, coverage_connection
from schema.comparisons.coverage_dimension import CoverageDimension
from schema.comparisons.package_change import (
    PackageChange,
    PackageChangeOrderArgument,
    package_change_connection,
)
from schema.comparisons.rule_input import MOST_RULES, RuleInput
from schema.comparisons.spec_change import (
    SpecChange,
    SpecChangeOrderArgument,
    spec_change_connection,
    with_reasons,
)
from schema.comparisons.stack_change import StackChange
from schema.context import Context, Info
from schema.execution.loading import NotLoaded
from schema.fields.connections import Connection, connection_field
from schema.fields.cost import COMPARING, STACKS, Cost, texts
from schema.fields.enums import describe_enum
from schema.fields.paging import PageArguments
from schema.fields.scalars import none_if_omitted
from schema.node import Node, node_id
from schema.revisions.revision import Revision
from schema.revisions.spec_arguments import FilterArgument
from snapshots.changes.cause_names import CauseKind, CauseName
from snapshots.changes.coverage import CoverageChangeKind
from snapshots.changes.diff import LEFT_OUT, SpecChangeKind
from snapshots.changes.package_changes import PackageChangeKind
from snapshots.changes.reasons import SpecChangeReason
from snapshots.models import RevisionInfo
from snapshots.notes.changelog import changelog
from snapshots.notes.rendering import NotesFormat, render

describe_enum(
    NotesFormat,
    "How release notes are written.",
    {
        NotesFormat.MARKDOWN: "For people.",
        NotesFormat.HTML: "For people: a page that needs nothing else.",
        NotesFormat.JSON: "For programs: the same facts. docs/notes.md describes them.",
    },
)


@strawberry.type(
    description="The difference of two revisions. A permanent object: its id names both digests, "
    "so it never changes."
)
class Comparison(Node):
    """Two lines of the catalog; their frames are compared when something is asked."""

    base_info: strawberry.Private[RevisionInfo]
    head_info: strawberry.Private[RevisionInfo]

    @classmethod
    def of_id(cls, context: Context, parts: list[str]) -> Self | None:
        """Return the comparison of two digests and two keys."""
        if (found := part_of_comparison(context, parts)) is None or found.key:
            return None
        base, head = found.infos
        return cls(base_info=base, head_info=head)

    def loaded(self, info: Info) -> LoadedComparison:
        """Load and compare the two revisions."""
        return load_comparison(info.context, self.base_info, self.head_info)

    @strawberry.field(description="Opaque and stable.")
    def id(self) -> strawberry.ID:
        return node_id("Comparison", *comparison_key(self.base_info, self.head_info))

    @strawberry.field(description="The revision that changes are counted from.")
    def base(self) -> Revision:
        return Revision(info=self.base_info)

    @strawberry.field(description="The revision that changes lead to.")
    def head(self) -> Revision:
        return Revision(info=self.head_info)

    @strawberry.field(description="The totals.", metadata=Cost(weight=200, once=COMPARING).metadata)
    def summary(self, info: Info) -> ComparisonSummary:
        return ComparisonSummary.of(self.loaded(info))

    @strawberry.field(description="What is not counted as a change.", metadata=texts(100).metadata)
    def left_out(self) -> list[str]:
        return list(LEFT_OUT)

    @connection_field("The packages that changed.", cost=CHANGES)
    def packages(
        self,
        info: Info,
        kinds: Annotated[
            list[PackageChangeKind] | None,
            strawberry.argument(description="Only these kinds; all unless given."),
        ] = strawberry.UNSET,
        search: Annotated[
            str | None,
            strawberry.argument(description="Case-insensitive substring of the name."),
        ] = strawberry.UNSET,
        order_by: PackageChangeOrderArgument = strawberry.UNSET,
        *,
        page: PageArguments,
    ) -> Connection[PackageChange]:
        only = none_if_omitted(kinds), none_if_omitted(search)
        order = none_if_omitted(order_by)
        return package_change_connection(self.loaded(info), *only, order, page)

    @connection_field("The hashes that were added, removed or changed.", cost=CHANGES)
    def specs(
        self,
        info: Info,
        kinds: Annotated[
            list[SpecChangeKind] | None,
            strawberry.argument(description="Only these kinds; all unless given."),
        ] = strawberry.UNSET,
        filter: FilterArgument = strawberry.UNSET,
        reasons: Annotated[
            list[SpecChangeReason] | None,
            strawberry.argument(description="Only these reasons; all unless given."),
        ] = strawberry.UNSET,
        order_by: SpecChangeOrderArgument = strawberry.UNSET,
        *,
        page: PageArguments,
    ) -> Connection[SpecChange]:
        comparison, conditions = self.loaded(info), none_if_omitted(filter)
        domain_filter = None if conditions is None else conditions.to_domain()
        table = comparison.changes.select_specs(none_if_omitted(kinds), domain_filter)
        wanted = none_if_omitted(reasons)
        if wanted is not None:
            table = with_reasons(comparison, table, wanted)
        return spec_change_connection(comparison, table, page, none_if_omitted(order_by))

    @connection_field(
        "Why specs were built anew, what explains most first. The numbers of specs add up to all "
        "that were rebuilt or replaced.",
        cost=CAUSES,
    )
    def causes(
        self,
        info: Info,
        kinds: Annotated[
            list[CauseKind] | None,
            strawberry.argument(description="Only these kinds; all unless given."),
        ] = strawberry.UNSET,
        package: Annotated[
            str | None,
            strawberry.argument(description="Only causes in the package of this name."),
        ] = strawberry.UNSET,
        *,
        page: PageArguments,
    ) -> Connection[Cause]:
        only = none_if_omitted(kinds), none_if_omitted(package)
        return cause_connection(self.loaded(info), *only, page)

    @strawberry.field(
        description="One of the causes, by what tells it from the others; null where the "
        "comparison has no such cause.",
        metadata=ONE_CAUSE.metadata,
    )
    def cause(
        self,
        info: Info,
        kind: Annotated[CauseKind, strawberry.argument(description="Its kind.")],
        package: Annotated[
            str | None,
            strawberry.argument(description="The package that changed; none of FORMAT."),
        ] = strawberry.UNSET,
        before: Annotated[
            str | None, strawberry.argument(description="As `Cause.before` has it.")
        ] = strawberry.UNSET,
        after: Annotated[
            str | None, strawberry.argument(description="As `Cause.after` has it.")
        ] = strawberry.UNSET,
    ) -> Cause | None:
        sides = none_if_omitted(before), none_if_omitted(after)
        name = CauseName(kind, none_if_omitted(package), *sides)
        return cause_named(self.loaded(info), name)

    @strawberry.field(
        description="How many causes are of each kind, and how many specs they explain; kinds "
        "without causes are left out.",
        metadata=KIND_COUNTS.metadata,
    )
    def cause_kinds(self, info: Info) -> list[CauseKindCount]:
        return cause_kind_counts(self.loaded(info))

    @strawberry.field(
        description="Why causes are not known as they could be: what a source of the two revisions "
        "does not tell. Null where both tell dependencies and package hashes.",
        metadata=WHY_UNKNOWN.metadata,
    )
    def why_unknown(self, info: Info) -> str | None:
        return self.loaded(info).explanation().why_unknown

    @strawberry.field(
        description="How many hashes were added, removed or changed for each reason; reasons of "
        "none are left out.",
        metadata=REASON_COUNTS.metadata,
    )
    def reasons(self, info: Info) -> list[ReasonCount]:
        return reason_counts(self.loaded(info))

    @connection_field(
        "What can no longer be had, and what newly can: packages in combination with the given "
        "dimensions, by package and values.",
        cost=COVERAGE,
    )
    def coverage(
        self,
        info: Info,
        by: Annotated[
            list[CoverageDimension],
            strawberry.argument(description="The dimensions; none for the packages alone."),
        ],
        kinds: Annotated[
            list[CoverageChangeKind] | None,
            strawberry.argument(description="Only these kinds; all unless given."),
        ] = strawberry.UNSET,
        search: Annotated[
            str | None,
            strawberry.argument(description="Case-insensitive substring of the package's name."),
        ] = strawberry.UNSET,
        *,
        page: PageArguments,
    ) -> Connection[CoverageChange]:
        if not info.context.may_take_long:
            raise NotLoaded  # all specs of both sides are counted
        only = none_if_omitted(kinds), none_if_omitted(search)
        return coverage_connection(self.loaded(info), by, *only, page)

    @strawberry.field(
        description="The stacks that were added, removed or have other specs; never root.",
        metadata=Cost(weight=200, items=STACKS, each=30, once=COMPARING).metadata,
    )
    def stacks(self, info: Info) -> list[StackChange]:
        comparison = self.loaded(info)
        stacks = comparison.changes.stacks
        return ChangeRows(StackChange, comparison, stacks)  # type: ignore[return-value]

    @strawberry.field(description="The release notes, whole.", metadata=NOTES.metadata)
    def release_notes(
        self,
        info: Info,
        format: Annotated[
            NotesFormat, strawberry.argument(description="How they are written.")
        ] = NotesFormat.MARKDOWN,
    ) -> str:
        context = info.context
        if not context.may_take_long:
            raise NotLoaded  # a change of all packages takes some 100 ms to write
        sides = self.base_info, self.head_info
        log = changelog(*sides, context.explain(*sides), returned=context.returned(*sides))
        context.budget.check()
        return render(log, format, context.budget.each)

    @strawberry.field(
        description="The judgement of rules on this comparison, as `cachelog gate` judges.",
        metadata=CHECK.metadata,
    )
    def check(
        self,
        info: Info,
        rules: Annotated[
            list[RuleInput],
            strawberry.argument(description=f"The rules, at most {MOST_RULES}."),
        ],
    ) -> CheckReport:
        return check(info, self.loaded(info), rules)
