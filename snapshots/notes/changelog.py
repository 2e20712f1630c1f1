"""The changes between two revisions, grouped into the story of a release; pure."""

import msgspec

from snapshots.changes.diff import (
    LEFT_OUT,
    Comparison,
    PackageChange,
    PackageChangeKind,
    StackChange,
    StackChangeKind,
)
from snapshots.frames.frame import Frame
from snapshots.models import RevisionInfo
from snapshots.spack.names import ROOT_STACK


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """How many packages, specs and stacks came, went and changed.

    Total sizes are the sums of the sizes that are known, in bytes; None where none is.
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


class PackageEntry(msgspec.Struct, frozen=True):
    """A package that changed; ``facts`` says of how many persisting specs each fact changed."""

    change: PackageChange
    facts: dict[str, int]


class StackEntry(msgspec.Struct, frozen=True):
    """A stack that came or went, with the number of packages it has or had."""

    change: StackChange
    num_packages: int


class Changelog(msgspec.Struct, frozen=True):
    """What changed from base to head. Sections are in the order they are told in; none is empty.

    ``num_stacks`` are those of base and of head without root, as the changes of stacks are counted.
    """

    base: RevisionInfo
    head: RevisionInfo
    summary: Summary
    packages: dict[PackageChangeKind, list[PackageEntry]]
    stacks: dict[StackChangeKind, list[StackEntry]]
    stacks_changed: int
    num_stacks: tuple[int, int]
    left_out: tuple[str, ...] = LEFT_OUT


_TOLD = (
    PackageChangeKind.ADDED,
    PackageChangeKind.UPGRADED,
    PackageChangeKind.DOWNGRADED,
    PackageChangeKind.VERSIONS_CHANGED,
    PackageChangeKind.REMOVED,
    PackageChangeKind.REBUILT,
    PackageChangeKind.CHANGED,
)


def summarize(comparison: Comparison) -> Summary:
    """Count the changes."""
    packages = {
        f"packages_{kind.value}": len(comparison.select_packages([kind]))
        for kind in PackageChangeKind
    }
    stacks = [change.kind for change in comparison.stacks]
    return Summary(
        **packages,
        packages_unchanged=comparison.num_packages_unchanged,
        specs_added=len(comparison.added),
        specs_removed=len(comparison.removed),
        specs_changed=len(comparison.changed[0]),
        specs_unchanged=comparison.num_unchanged,
        stacks_added=stacks.count(StackChangeKind.ADDED),
        stacks_removed=stacks.count(StackChangeKind.REMOVED),
        total_size_before=comparison.base.size.total(),
        total_size_after=comparison.head.size.total(),
    )


def changelog(base: RevisionInfo, head: RevisionInfo, comparison: Comparison) -> Changelog:
    """Group the changes of a comparison of these two revisions."""
    packages = {
        kind: [
            PackageEntry(change, comparison.changed_facts(change.name))
            for change in comparison.select_packages([kind])
        ]
        for kind in _TOLD
    }
    stacks = {
        kind: [
            StackEntry(change, len(change.packages_added) + len(change.packages_removed))
            for change in comparison.stacks
            if change.kind is kind
        ]
        for kind in (StackChangeKind.ADDED, StackChangeKind.REMOVED)
    }
    return Changelog(
        base=base,
        head=head,
        summary=summarize(comparison),
        packages={kind: entries for kind, entries in packages.items() if entries},
        stacks={kind: entries for kind, entries in stacks.items() if entries},
        stacks_changed=len(comparison.stacks) - sum(map(len, stacks.values())),
        num_stacks=(_num_stacks(comparison.base), _num_stacks(comparison.head)),
    )


def _num_stacks(frame: Frame) -> int:
    return len({*frame.stacks.items} - {ROOT_STACK})
