"""Comparisons: what came, went and changed between two revisions."""

from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Self

import strawberry
from strawberry.scalars import JSON

from schema.connections import Connection, connection_field, page_of
from schema.context import Context, Info, LoadedRevision
from schema.cost import STACKS, VALUE, Cost
from schema.node import Node, node_id, not_known
from schema.package import Package
from schema.paging import PageArguments
from schema.revision import Revision
from schema.scalars import ByteCount, none_if_omitted
from schema.spec import Spec
from schema.spec_arguments import FilterArgument
from snapshots.changes import diff
from snapshots.models import RevisionInfo
from snapshots.notes import changelog, rendering


@strawberry.enum(description="What became of a package: the first that applies, in this order.")
class PackageChangeKind(Enum):
    """A kind of package change."""

    ADDED = strawberry.enum_value("added", description="Only in head.")
    REMOVED = strawberry.enum_value("removed", description="Only in base.")
    UPGRADED = strawberry.enum_value(
        "upgraded", description="The newest version rose, in Spack's version order."
    )
    DOWNGRADED = strawberry.enum_value("downgraded", description="The newest version fell.")
    VERSIONS_CHANGED = strawberry.enum_value(
        "versions_changed", description="The newest version stands, the set of versions differs."
    )
    REBUILT = strawberry.enum_value("rebuilt", description="The same versions, other hashes.")
    CHANGED = strawberry.enum_value(
        "changed", description="The same hashes, other facts about them."
    )


@strawberry.enum(description="What became of a hash.")
class SpecChangeKind(Enum):
    """A kind of spec change."""

    ADDED = strawberry.enum_value("added", description="Only in head.")
    REMOVED = strawberry.enum_value("removed", description="Only in base.")
    CHANGED = strawberry.enum_value("changed", description="The same hash, other facts.")


@strawberry.enum(description="What became of a stack.")
class StackChangeKind(Enum):
    """A kind of stack change."""

    ADDED = strawberry.enum_value("added", description="Only in head.")
    REMOVED = strawberry.enum_value("removed", description="Only in base.")
    CHANGED = strawberry.enum_value("changed", description="In both, with other specs.")


@strawberry.enum(description="How release notes are written.")
class NotesFormat(Enum):
    """A format of release notes."""

    MARKDOWN = strawberry.enum_value("markdown", description="For people.")
    JSON = strawberry.enum_value("json", description="For programs: the same facts.")


FIELDS = Cost(items=10)
"""The facts of a spec that can differ."""

NOTES = Cost(weight=50_000)
"""Release notes: so many objects could be listed in their time."""


@dataclass(frozen=True)
class Sides:
    """A comparison with its two revisions loaded."""

    base: LoadedRevision
    head: LoadedRevision
    changes: diff.Comparison


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


def size_delta(before: int | None, after: int | None) -> ByteCount | None:
    """Return by how many bytes a size rose; None where one of the two is not known."""
    return None if before is None or after is None else ByteCount(after - before)


@strawberry.type(description="What became of a package.")
class PackageChange:
    """A package change, with the package on both sides."""

    sides: strawberry.Private[Sides]
    change: strawberry.Private[diff.PackageChange]

    @strawberry.field(description="The package's name.")
    def name(self) -> str:
        return self.change.name

    @strawberry.field(description="What became of it.")
    def kind(self) -> PackageChangeKind:
        return PackageChangeKind(self.change.kind.value)

    @strawberry.field(description="The package in base; null where it was added.")
    def before(self) -> Package | None:
        return Package.named(self.sides.base, self.change.name)

    @strawberry.field(description="The package in head; null where it was removed.")
    def after(self) -> Package | None:
        return Package.named(self.sides.head, self.change.name)

    @strawberry.field(description="Versions only in head, newest first.", metadata=VALUE.metadata)
    def versions_added(self) -> list[str]:
        return self.change.versions_added

    @strawberry.field(description="Versions only in base, newest first.", metadata=VALUE.metadata)
    def versions_removed(self) -> list[str]:
        return self.change.versions_removed

    @strawberry.field(description="How many of its hashes are only in head.")
    def specs_added(self) -> int:
        return self.change.specs_added

    @strawberry.field(description="How many of its hashes are only in base.")
    def specs_removed(self) -> int:
        return self.change.specs_removed

    @strawberry.field(description="How many of its hashes have other facts.")
    def specs_changed(self) -> int:
        return self.change.specs_changed

    @strawberry.field(description="By how much the sum of its known sizes rose.")
    def size_delta(self) -> ByteCount | None:
        return size_delta(self.change.size_before, self.change.size_after)


@strawberry.type(
    description="A fact that differs: path as in stacks, compiler, variants; before and after as "
    "JSON."
)
class FieldChange:
    """A field change."""

    path: str = strawberry.field(description="The field that differs.")
    before: JSON | None = strawberry.field(description="Its value in base.")
    after: JSON | None = strawberry.field(description="Its value in head.")


@strawberry.type(description="What became of a hash.")
class SpecChange:
    """A spec change, with the spec on both sides."""

    sides: strawberry.Private[Sides]
    change: strawberry.Private[diff.SpecChange]

    @strawberry.field(description="What became of it.")
    def kind(self) -> SpecChangeKind:
        return SpecChangeKind(self.change.kind.value)

    @strawberry.field(description="The DAG hash.")
    def hash(self) -> str:
        return self.change.hash

    @strawberry.field(description="The package's name.")
    def name(self) -> str:
        return self.change.name

    @strawberry.field(description="The spec in base; null where it was added.")
    def before(self) -> Spec | None:
        return _spec(self.sides.base, self.change.before)

    @strawberry.field(description="The spec in head; null where it was removed.")
    def after(self) -> Spec | None:
        return _spec(self.sides.head, self.change.after)

    @strawberry.field(description="What differs, for CHANGED.", metadata=FIELDS.metadata)
    def fields(self) -> list[FieldChange]:
        before, after = self.change.before, self.change.after
        if before is None or after is None:
            return []
        changes = diff.field_changes(
            self.sides.base.frame.spec(before), self.sides.head.frame.spec(after)
        )
        return [FieldChange(path=it.path, before=it.before, after=it.after) for it in changes]


@strawberry.type(description="What became of a stack.")
class StackChange:
    """A stack change."""

    name: str = strawberry.field(description="The stack's name.")
    kind: StackChangeKind = strawberry.field(description="What became of it.")
    num_specs_before: int = strawberry.field(description="How many specs it had in base.")
    num_specs_after: int = strawberry.field(description="How many specs it has in head.")
    specs_added: int = strawberry.field(description="How many hashes it gained.")
    specs_removed: int = strawberry.field(description="How many hashes it lost.")
    size_delta: ByteCount | None = strawberry.field(
        description="By how much the sum of its known sizes rose."
    )
    packages_added: list[str] = strawberry.field(
        description="Packages it has a spec of now.", metadata=VALUE.metadata
    )
    packages_removed: list[str] = strawberry.field(
        description="Packages it has no spec of any more.", metadata=VALUE.metadata
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

    def sides(self, info: Info) -> Sides:
        """Load and compare the two revisions."""
        context = info.context
        return Sides(
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
        totals = changelog.summarize(self.sides(info).changes)
        counts = {name: getattr(totals, name) for name in totals.__struct_fields__}
        delta = size_delta(totals.total_size_before, totals.total_size_after)
        return ComparisonSummary(**counts, total_size_delta=delta)

    @strawberry.field(description="What is not counted as a change.", metadata=VALUE.metadata)
    def left_out(self) -> list[str]:
        return list(diff.LEFT_OUT)

    @connection_field("The packages that changed, by name.")
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
        sides = self.sides(info)
        wanted = none_if_omitted(kinds)
        changes = sides.changes.select_packages(
            None if wanted is None else [diff.PackageChangeKind(kind.value) for kind in wanted],
            none_if_omitted(search),
        )
        names = [change.name for change in changes]

        def make(place: int) -> PackageChange:
            return PackageChange(sides=sides, change=changes[place])

        return Connection(page=page_of(page, names, make))

    @connection_field("The hashes that came, went or changed, by package and hash.")
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
        sides = self.sides(info)
        wanted, conditions = none_if_omitted(kinds), none_if_omitted(filter)
        changes = sides.changes.select_specs(
            None if wanted is None else [diff.SpecChangeKind(kind.value) for kind in wanted],
            None if conditions is None else conditions.to_domain(),
        )
        hashes = [change.hash for change in changes]

        def make(place: int) -> SpecChange:
            return SpecChange(sides=sides, change=changes[place])

        return Connection(page=page_of(page, hashes, make))

    @strawberry.field(
        description="The stacks that came, went or have other specs; never root.",
        metadata=STACKS.metadata,
    )
    def stacks(self, info: Info) -> list[StackChange]:
        return [
            StackChange(
                name=change.name,
                kind=StackChangeKind(change.kind.value),
                num_specs_before=change.num_specs_before,
                num_specs_after=change.num_specs_after,
                specs_added=change.specs_added,
                specs_removed=change.specs_removed,
                size_delta=size_delta(change.size_before, change.size_after),
                packages_added=list(change.packages_added),
                packages_removed=list(change.packages_removed),
            )
            for change in self.sides(info).changes.stacks
        ]

    @strawberry.field(description="The release notes, whole.", metadata=NOTES.metadata)
    def release_notes(
        self,
        info: Info,
        format: Annotated[
            NotesFormat, strawberry.argument(description="How they are written.")
        ] = NotesFormat.MARKDOWN,
    ) -> str:
        log = changelog.changelog(self.base_info, self.head_info, self.sides(info).changes)
        return rendering.json(log) if format is NotesFormat.JSON else rendering.markdown(log)


def _spec(loaded: LoadedRevision, row: int | None) -> Spec | None:
    return None if row is None else Spec(loaded=loaded, row=row)
