"""The changes between two revisions, grouped into the story of a release; pure."""

from enum import Enum

import msgspec

from snapshots.changes.diff import LEFT_OUT, Comparison
from snapshots.changes.package_changes import PackageChange, PackageChangeKind
from snapshots.changes.spec_changes import SpecChangeKind
from snapshots.changes.stack_changes import StackChange, StackChangeKind
from snapshots.models import RevisionInfo


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """How many packages, specs and stacks were added, removed and changed.

    Total sizes are the sums of the sizes that are known, in bytes; None where no size is known.
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
    stacks_added: int
    stacks_removed: int
    total_size_before: int | None
    total_size_after: int | None

    @property
    def size_delta(self) -> int | None:
        """By how many bytes the total size rose; None where one side knows no sizes."""
        if self.total_size_before is None or self.total_size_after is None:
            return None
        return self.total_size_after - self.total_size_before


class Section(Enum):
    """Where the notes tell of a package, in the order of the sections.

    A package with the same versions and other hashes is told as what happened to it: rebuilt where
    hashes were added and removed, more builds where they were only added, fewer where only removed.
    """

    ADDED = "added"
    UPGRADED = "upgraded"
    DOWNGRADED = "downgraded"
    VERSIONS_CHANGED = "versions_changed"
    REMOVED = "removed"
    REBUILT = "rebuilt"
    MORE_BUILDS = "more_builds"
    FEWER_BUILDS = "fewer_builds"
    CHANGED = "changed"

    @classmethod
    def of(cls, change: PackageChange) -> "Section":
        """Return the section of a package's change."""
        if change.kind is PackageChangeKind.REBUILT:
            if not change.specs_removed:
                return cls.MORE_BUILDS
            if not change.specs_added:
                return cls.FEWER_BUILDS
        return cls(change.kind.value)


class PackageEntry(msgspec.Struct, frozen=True):
    """A package that changed; ``facts`` says of how many persisting specs each fact changed."""

    change: PackageChange
    facts: dict[str, int]


class StackEntry(msgspec.Struct, frozen=True):
    """A stack that was added or removed, with the number of packages it has or had."""

    change: StackChange
    num_packages: int


class Changelog(msgspec.Struct, frozen=True):
    """What changed from base to head, in sections; there are no empty ones.

    ``num_stacks`` are those of base and of head without root, as the changes of stacks are counted.
    """

    base: RevisionInfo
    head: RevisionInfo
    summary: Summary
    packages: dict[Section, list[PackageEntry]]
    stacks: dict[StackChangeKind, list[StackEntry]]
    stacks_changed: int
    num_stacks: tuple[int, int]
    left_out: tuple[str, ...] = LEFT_OUT


def summarize(comparison: Comparison) -> Summary:
    """Count the changes."""
    packages, specs, stacks = comparison.packages, comparison.specs, comparison.stacks
    size_before, size_after = comparison.packages.total_sizes()
    return Summary(
        **{f"packages_{kind.value}": packages.count(kind) for kind in PackageChangeKind},
        packages_unchanged=comparison.num_packages_unchanged,
        **{f"specs_{kind.value}": specs.count(kind) for kind in SpecChangeKind},
        specs_unchanged=comparison.num_unchanged,
        stacks_added=stacks.count(StackChangeKind.ADDED),
        stacks_removed=stacks.count(StackChangeKind.REMOVED),
        total_size_before=size_before,
        total_size_after=size_after,
    )


def changelog(base: RevisionInfo, head: RevisionInfo, comparison: Comparison) -> Changelog:
    """Group the changes of a comparison of these two revisions."""
    packages: dict[Section, list[PackageEntry]] = {section: [] for section in Section}
    for package in comparison.packages:
        entry = PackageEntry(package, comparison.changed_facts(package.name))
        packages[Section.of(package)].append(entry)
    stacks: dict[StackChangeKind, list[StackEntry]] = {
        StackChangeKind.ADDED: [],
        StackChangeKind.REMOVED: [],
    }
    for stack in comparison.stacks:
        if stack.kind in stacks:
            num_packages = len(stack.packages_added) + len(stack.packages_removed)
            stacks[stack.kind].append(StackEntry(stack, num_packages))
    return Changelog(
        base=base,
        head=head,
        summary=summarize(comparison),
        packages={section: entries for section, entries in packages.items() if entries},
        stacks={kind: entries for kind, entries in stacks.items() if entries},
        stacks_changed=comparison.stacks.count(StackChangeKind.CHANGED),
        num_stacks=comparison.stacks.num_stacks,
    )
