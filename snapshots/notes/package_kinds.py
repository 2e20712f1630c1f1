"""What happened to a package, in the words of notes, feeds and pages."""

from snapshots.changes.package_changes import PackageChangeKind

HAPPENED = {
    PackageChangeKind.ADDED: "added",
    PackageChangeKind.REMOVED: "removed",
    PackageChangeKind.UPGRADED: "upgraded",
    PackageChangeKind.DOWNGRADED: "downgraded",
    PackageChangeKind.VERSIONS_CHANGED: "other versions",
    PackageChangeKind.REBUILT: "rebuilt",
    PackageChangeKind.CHANGED: "other facts",
}
"""Of hashes that stay, other facts are told; of other versions the newest is the same."""
