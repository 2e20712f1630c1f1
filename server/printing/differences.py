"""What changed between two revisions, as lines of text and as plain values."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any

import msgspec

from server.printing import styles
from server.printing.layout import Style, wrapped
from snapshots.changes.diff import LEFT_OUT, Comparison
from snapshots.changes.facts import FieldChange
from snapshots.changes.package_changes import PackageChange, PackageChangeKind
from snapshots.changes.spec_changes import SpecChange, SpecChangeKind
from snapshots.models import RevisionInfo, revision_facts
from snapshots.notes.entries import Section
from snapshots.notes.summary import Summary, summarize
from snapshots.spack.names import natural_key

_SIGNS: dict[SpecChangeKind, tuple[str, Style]] = {
    SpecChangeKind.ADDED: ("+", styles.added),
    SpecChangeKind.REMOVED: ("-", styles.removed),
    SpecChangeKind.CHANGED: ("~", styles.changed),
}
_FIELD_INDENT = " " * 6


def change_lines(
    comparison: Comparison, changes: Sequence[SpecChange], width: int | None, *, stat: bool
) -> Iterator[str]:
    """Yield the changes package by package, or with ``stat`` one line a package."""
    packages = {change.name: change for change in comparison.packages}
    in_order = sorted(changes, key=lambda change: (natural_key(change.name), change.hash))
    for name, inside in groupby(in_order, key=attrgetter("name")):
        of_package = list(inside)
        yield f"{_headline(packages[name])} ({totals(of_package)})"
        if not stat:
            for change in of_package:
                yield from _spec_lines(comparison, change, width)


def totals(changes: Sequence[SpecChange]) -> str:
    """Return how many specs were added, removed and changed."""
    counts = {kind: sum(change.kind is kind for change in changes) for kind in SpecChangeKind}
    return ", ".join(f"{count:,} {kind.value}" for kind, count in counts.items())


def _headline(change: PackageChange) -> str:
    kind = Section.of(change).value.replace("_", " ")
    if change.kind in (PackageChangeKind.UPGRADED, PackageChangeKind.DOWNGRADED):
        kind += f" {change.newest_before} -> {change.newest_after}"
    return f"{styles.name(change.name)}: {kind}"


def _spec_lines(comparison: Comparison, change: SpecChange, width: int | None) -> Iterator[str]:
    records = [
        frame.spec(row)
        for frame, row in ((comparison.base, change.before), (comparison.head, change.after))
        if row is not None
    ]
    sign, style = _SIGNS[change.kind]
    for line in wrapped(f"  {sign} {change.hash} {records[-1].short}", width, " " * 8):
        yield style(line)
    if change.kind is SpecChangeKind.CHANGED:
        for field in comparison.field_changes(change):
            yield from wrapped(_FIELD_INDENT + field_text(field), width, " " * 8)


def field_text(change: FieldChange) -> str:
    """Return a fact that differs; of a list, what was added to it and what was removed."""
    before, after = change.before, change.after
    if not isinstance(before, (list, tuple)):
        return f"{change.path}: {before} -> {after}"
    items = [f"+{_quoted(item)}" for item in _only_in(after, before)]
    items += [f"-{_quoted(item)}" for item in _only_in(before, after)]
    return f"{change.path}: {' '.join(items)}"


def _only_in(items: Sequence[str], others: Sequence[str]) -> list[str]:
    return sorted({*items} - {*others}, key=natural_key)


def _quoted(item: str) -> str:
    """Quote an item that begins with a sign of its own, as variants do, or has blanks."""
    return f"'{item}'" if item.startswith(("+", "-", "~")) or " " in item else item


def difference_facts(
    base: RevisionInfo,
    head: RevisionInfo,
    comparison: Comparison,
    changes: Sequence[SpecChange],
) -> dict[str, Any]:
    """Return the changes as a program reads them."""
    summary: Summary = summarize(comparison)
    return {
        "base": revision_facts(base),
        "head": revision_facts(head),
        "summary": msgspec.to_builtins(summary),
        "packages": [msgspec.to_builtins(change) for change in comparison.packages],
        "specs": {
            kind.value: [
                _spec_facts(comparison, change) for change in changes if change.kind is kind
            ]
            for kind in SpecChangeKind
        },
        "stacks": [msgspec.to_builtins(change) for change in comparison.stacks],
        "left_out": LEFT_OUT,
    }


def _spec_facts(comparison: Comparison, change: SpecChange) -> dict[str, Any]:
    facts: dict[str, Any] = {"hash": change.hash, "name": change.name}
    if change.before is not None and change.after is not None:
        facts["fields"] = [msgspec.to_builtins(it) for it in comparison.field_changes(change)]
    return facts
