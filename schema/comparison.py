"""Comparisons: what was added, removed and changed between two revisions."""

from enum import Enum
from typing import Annotated

import strawberry

from schema.changes import ChangeRows, LoadedComparison, change_connection, size_delta
from schema.connections import (
    After,
    Before,
    Connection,
    First,
    Last,
    PageArguments,
)
from schema.context import Info, NotLoaded
from schema.node import Node, node_id
from schema.package_change import PackageChange, PackageChangeKind
from schema.revision import Revision
from schema.scalars import ByteCount, given
from schema.spec_arguments import FilterArgument
from schema.spec_change import SpecChange, SpecChangeKind
from schema.stack_change import StackChange
from snapshots.changes.diff import LEFT_OUT
from snapshots.models import RevisionInfo
from snapshots.notes import changelog, rendering


@strawberry.enum(description="How release notes are written.")
class NotesFormat(Enum):
    """A format of release notes."""

    MARKDOWN = strawberry.enum_value("markdown", description="For people.")
    JSON = strawberry.enum_value("json", description="For programs: the same facts.")


@strawberry.type(
    description="How many packages, specs and stacks came, went and changed; total sizes."
)
class ComparisonSummary:
    """The totals of a comparison."""

    packages_added: int = strawberry.field(description="Packages only in head.")
    packages_removed: int = strawberry.field(description="Packages only in base.")
    packages_upgraded: int = strawberry.field(description="Packages whose newest version rose.")
    packages_downgraded: int = strawberry.field(description="Packages whose newest version fell.")
    packages_versions_changed: int = strawberry.field(
        description="Packages with other versions below the newest."
    )
    packages_rebuilt: int = strawberry.field(
        description="Packages with the same versions and other hashes."
    )
    packages_changed: int = strawberry.field(
        description="Packages with the same hashes and other facts."
    )
    packages_unchanged: int = strawberry.field(description="Packages where nothing changed.")
    specs_added: int = strawberry.field(description="Hashes only in head.")
    specs_removed: int = strawberry.field(description="Hashes only in base.")
    specs_changed: int = strawberry.field(description="Hashes with other facts.")
    specs_unchanged: int = strawberry.field(description="Hashes where nothing changed.")
    stacks_added: int = strawberry.field(description="Stacks only in head.")
    stacks_removed: int = strawberry.field(description="Stacks only in base.")
    total_size_before: ByteCount | None = strawberry.field(
        description="The sum of the sizes of base's binary packages, as far as known."
    )
    total_size_after: ByteCount | None = strawberry.field(
        description="The sum of the sizes of head's binary packages, as far as known."
    )
    total_size_delta: ByteCount | None = strawberry.field(
        description="By how much that sum rose; null where one side knows no sizes."
    )


@strawberry.type(
    description="The difference of two revisions. A permanent object: its id names both digests, "
    "so it never changes."
)
class Comparison(Node):
    """Two lines of the catalog; their frames are compared when something is asked."""

    base_info: strawberry.Private[RevisionInfo]
    head_info: strawberry.Private[RevisionInfo]

    def loaded(self, info: Info) -> LoadedComparison:
        """Load and compare the two revisions."""
        context = info.context
        return LoadedComparison(
            context.load(self.base_info),
            context.load(self.head_info),
            context.compare(self.base_info, self.head_info),
        )

    @strawberry.field(description="Opaque and stable.")
    def id(self) -> strawberry.ID:
        base, head = self.base_info, self.head_info
        return node_id("Comparison", base.digest, head.digest, base.key, head.key)

    @strawberry.field(description="The revision that changes are counted from.")
    def base(self) -> Revision:
        return Revision(info=self.base_info)

    @strawberry.field(description="The revision that changes lead to.")
    def head(self) -> Revision:
        return Revision(info=self.head_info)

    @strawberry.field(description="The totals.")
    def summary(self, info: Info) -> ComparisonSummary:
        totals = changelog.summarize(self.loaded(info).changes)
        counts = {name: getattr(totals, name) for name in totals.__struct_fields__}
        delta = size_delta(totals.total_size_before, totals.total_size_after)
        return ComparisonSummary(**counts, total_size_delta=delta)

    @strawberry.field(description="What is not counted as a change.")
    def left_out(self) -> list[str]:
        return list(LEFT_OUT)

    @strawberry.field(description="The packages that changed, by name.")
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
        first: First = strawberry.UNSET,
        after: After = strawberry.UNSET,
        last: Last = strawberry.UNSET,
        before: Before = strawberry.UNSET,
    ) -> Connection[PackageChange]:
        arguments = PageArguments.of(first, after, last, before)
        comparison, chosen = self.loaded(info), given(kinds)
        domain_kinds = None if chosen is None else [kind.value for kind in chosen]
        table = comparison.changes.select_packages(domain_kinds, given(search))
        return change_connection(PackageChange, comparison, table, "name", arguments)

    @strawberry.field(description="The hashes that came, went or changed, by package and hash.")
    def specs(
        self,
        info: Info,
        kinds: Annotated[
            list[SpecChangeKind] | None,
            strawberry.argument(description="Only these kinds; all unless given."),
        ] = strawberry.UNSET,
        filter: FilterArgument = strawberry.UNSET,
        first: First = strawberry.UNSET,
        after: After = strawberry.UNSET,
        last: Last = strawberry.UNSET,
        before: Before = strawberry.UNSET,
    ) -> Connection[SpecChange]:
        arguments = PageArguments.of(first, after, last, before)
        comparison, chosen, conditions = self.loaded(info), given(kinds), given(filter)
        domain_kinds = None if chosen is None else [kind.value for kind in chosen]
        domain_filter = None if conditions is None else conditions.to_domain()
        table = comparison.changes.select_specs(domain_kinds, domain_filter)
        return change_connection(SpecChange, comparison, table, "hash", arguments)

    @strawberry.field(description="The stacks that came, went or have other specs; never root.")
    def stacks(self, info: Info) -> list[StackChange]:
        comparison = self.loaded(info)
        stacks = comparison.changes.stacks
        return ChangeRows(StackChange, comparison, stacks)  # type: ignore[return-value]

    @strawberry.field(description="The release notes, whole.")
    def release_notes(
        self,
        info: Info,
        format: Annotated[
            NotesFormat, strawberry.argument(description="How they are written.")
        ] = NotesFormat.MARKDOWN,
    ) -> str:
        if not info.context.may_load:
            raise NotLoaded  # a change of all packages takes some 50 ms to write
        log = changelog.changelog(self.base_info, self.head_info, self.loaded(info).changes)
        return rendering.json(log) if format is NotesFormat.JSON else rendering.markdown(log)
