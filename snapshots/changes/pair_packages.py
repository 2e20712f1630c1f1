"""What became of each package between two contents, as the table ``comparisons`` keeps it."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
import pyarrow as pa

from snapshots.changes.package_changes import PackageChange, PackageChangeKind
from snapshots.changes.reasons import NEW_REASONS, SpecChangeReason
from snapshots.history import Pair


class PackageCounts(msgspec.Struct, frozen=True, kw_only=True):
    """A package that changed, and how many of its specs were added, removed and changed.

    Versions are newest first: those that only head has, and those that only base has. Of the added
    specs ``specs_rebuilt`` are others built anew, ``specs_replaced`` took the place of others that
    differ, and ``specs_new`` took no place; of these some may have been there before.
    """

    name: str
    kind: PackageChangeKind
    versions_added: tuple[str, ...]
    versions_removed: tuple[str, ...]
    specs_added: int
    specs_removed: int
    specs_changed: int
    specs_rebuilt: int
    specs_replaced: int
    specs_new: int


def count_packages(changes: Iterable[PackageChange], rows: pa.Table) -> Iterator[PackageCounts]:
    """Yield what is kept of each package; ``rows`` are the changes of its specs."""
    reasons: defaultdict[str, Counter[str]] = defaultdict(Counter)
    counted = rows.group_by(["name", "reason"]).aggregate([([], "count_all")])
    columns = (counted[it].to_pylist() for it in ("name", "reason", "count_all"))
    for name, reason, count in zip(*columns, strict=True):
        reasons[name][reason] += count
    for change in changes:
        of_package = reasons[change.name]
        yield PackageCounts(
            name=change.name,
            kind=change.kind,
            versions_added=tuple(change.versions_added),
            versions_removed=tuple(change.versions_removed),
            specs_added=change.specs_added,
            specs_removed=change.specs_removed,
            specs_changed=change.specs_changed,
            specs_rebuilt=of_package[SpecChangeReason.REBUILT.value],
            specs_replaced=of_package[SpecChangeReason.REPLACES.value],
            specs_new=sum(of_package[it.value] for it in NEW_REASONS),
        )


def packages_cell(packages: Iterable[PackageCounts]) -> list[dict[str, Any]]:
    """Return packages as the column ``packages`` has them."""
    return [msgspec.structs.asdict(it) | {"kind": it.kind.value} for it in packages]


def packages_of(table: pa.Table) -> dict[Pair, tuple[PackageCounts, ...]]:
    """Read the column ``packages`` of rows of the table ``comparisons``."""
    rows = table.select(["base", "head", "packages"]).to_pylist()
    return {Pair(row["base"], row["head"]): tuple(map(_package, row["packages"])) for row in rows}


def _package(cell: dict[str, Any]) -> PackageCounts:
    return msgspec.convert(cell, PackageCounts)
