"""Comparisons: what was added, removed and changed between two revisions."""

from typing import Annotated, Self

import strawberry

from schema.changes import ChangeRows, LoadedComparison, change_connection, size_delta
from schema.connections import Connection, connection_field
from schema.context import Context, Info, NotLoaded
from schema.cost import COMPARING, STACKS, ArgumentCost, Cost, texts
from schema.enums import describe_enum
from schema.node import Node, node_id, not_known
from schema.package_change import PackageChange
from schema.paging import PageArguments
from schema.revision import Revision
from schema.scalars import ByteCount, none_if_omitted
from schema.spec_arguments import FilterArgument
from schema.spec_change import SpecChange
from schema.stack_change import StackChange
from snapshots.changes.diff import LEFT_OUT
from snapshots.changes.package_changes import PackageChangeKind
from snapshots.changes.spec_changes import SpecChangeKind
from snapshots.models import RevisionInfo
from snapshots.notes import changelog
from snapshots.notes.rendering import NotesFormat, render

NOTES = Cost(weight=120_000, once=COMPARING, num_bytes=500_000)
"""Release notes, made anew each time."""

CHANGES = Cost(
    weight=1_000,
    each=20,
    once=COMPARING,
    arguments={
        "kinds": ArgumentCost(weight=100, each=50),
        "search": ArgumentCost(weight=1_000),
        "filter": ArgumentCost(weight=3_000, each=60),
    },
)
"""A page of the changes of a comparison."""


describe_enum(
    NotesFormat,
    "How release notes are written.",
    {NotesFormat.MARKDOWN: "For people.", NotesFormat.JSON: "For programs: the same facts."},
)


@strawberry.type(
    description="How many packages, specs and stacks were added, removed and changed; total sizes."
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

    @classmethod
    def of_id(cls, context: Context, parts: list[str]) -> Self | None:
        """Return the comparison of two digests and two keys."""
        known = context.history.by_key
        match parts:
            case [_, _, base, head] if base in known and head in known:
                return cls(base_info=known[base], head_info=known[head])
        not_known(context)
        return None

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

    @strawberry.field(description="The totals.", metadata=Cost(weight=200, once=COMPARING).metadata)
    def summary(self, info: Info) -> ComparisonSummary:
        totals = changelog.summarize(self.loaded(info).changes)
        counts = {name: getattr(totals, name) for name in totals.__struct_fields__}
        delta = size_delta(totals.total_size_before, totals.total_size_after)
        return ComparisonSummary(**counts, total_size_delta=delta)

    @strawberry.field(description="What is not counted as a change.", metadata=texts(100).metadata)
    def left_out(self) -> list[str]:
        return list(LEFT_OUT)

    @connection_field("The packages that changed, by name.", cost=CHANGES)
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
        *,
        page: PageArguments,
    ) -> Connection[PackageChange]:
        comparison = self.loaded(info)
        table = comparison.changes.select_packages(none_if_omitted(kinds), none_if_omitted(search))
        return change_connection(PackageChange, comparison, table, "name", page)

    @connection_field(
        "The hashes that were added, removed or changed, by package and hash.", cost=CHANGES
    )
    def specs(
        self,
        info: Info,
        kinds: Annotated[
            list[SpecChangeKind] | None,
            strawberry.argument(description="Only these kinds; all unless given."),
        ] = strawberry.UNSET,
        filter: FilterArgument = strawberry.UNSET,
        *,
        page: PageArguments,
    ) -> Connection[SpecChange]:
        comparison, conditions = self.loaded(info), none_if_omitted(filter)
        domain_filter = None if conditions is None else conditions.to_domain()
        table = comparison.changes.select_specs(none_if_omitted(kinds), domain_filter)
        return change_connection(SpecChange, comparison, table, "hash", page)

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
        if not info.context.may_take_long:
            raise NotLoaded  # a change of all packages takes some 50 ms to write
        log = changelog.changelog(self.base_info, self.head_info, self.loaded(info).changes)
        return render(log, format)
