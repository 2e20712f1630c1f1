"""What the sections of release notes list: packages and stacks that changed."""

from enum import Enum

import msgspec

from snapshots.changes.package_changes import PackageChange, PackageChangeKind
from snapshots.changes.stack_changes import StackChange


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
        return _SECTIONS[change.kind]


_SECTIONS = {kind: Section(kind.value) for kind in PackageChangeKind}


class PackageEntry(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A package that changed, as PackageChange has it.

    ``reasons`` counts the added and the removed specs by their reasons, ``changed_facts`` says of
    how many persisting specs each fact changed.
    """

    name: str
    newest_before: str | None
    newest_after: str | None
    versions_before: tuple[str, ...]
    versions_after: tuple[str, ...]
    versions_added: list[str]
    versions_removed: list[str]
    specs_added: int
    specs_removed: int
    specs_changed: int
    reasons: dict[str, int]
    size_before: int | None
    size_after: int | None
    changed_facts: dict[str, int]

    @classmethod
    def of(
        cls, change: PackageChange, reasons: dict[str, int], facts: dict[str, int]
    ) -> "PackageEntry":
        """Return the entry of a change."""
        return cls(
            name=change.name,
            newest_before=change.newest_before,
            newest_after=change.newest_after,
            versions_before=change.versions_before,
            versions_after=change.versions_after,
            versions_added=change.versions_added,
            versions_removed=change.versions_removed,
            specs_added=change.specs_added,
            specs_removed=change.specs_removed,
            specs_changed=change.specs_changed,
            reasons=reasons,
            size_before=change.size_before,
            size_after=change.size_after,
            changed_facts=facts,
        )


class StackEntry(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A stack that was added or removed, with the numbers of specs and packages it has or had."""

    name: str
    num_specs: int
    num_packages: int

    @classmethod
    def of(cls, change: StackChange) -> "StackEntry":
        """Return the entry of a stack that only one side has."""
        return cls(
            name=change.name,
            num_specs=change.num_specs_before + change.num_specs_after,
            num_packages=len(change.packages_added) + len(change.packages_removed),
        )
