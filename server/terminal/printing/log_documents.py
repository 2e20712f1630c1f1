"""What ``cachelog log`` prints for programs; docs/history.md describes the documents."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from server.terminal.printing.logs import HashEvent, SeriesEntry
from snapshots.changes.reasons import REASONS, SpecChangeReason
from snapshots.models import RevisionInfo, revision_facts
from snapshots.timelines.packages import PackageEntry, PackageTimeline
from snapshots.timelines.spans import HashHistory, Span


def series_entry(entry: SeriesEntry) -> dict[str, Any]:
    """Return an entry of a series."""
    return {
        "revision": revision_facts(entry.head),
        "base": _facts(entry.base),
        "specs_added": entry.num_added,
        "specs_removed": entry.num_removed,
        "specs_changed": entry.num_changed,
        "reasons": _reasons(entry.reasons),
        "packages_touched": entry.num_packages,
        "most_changed": [msgspec.to_builtins(change) for change in entry.most_changed],
    }


def package_log(timeline: PackageTimeline, entries: Iterable[PackageEntry]) -> dict[str, Any]:
    """Return a package's timeline, with the entries that are asked for."""
    return {
        "series": timeline.series,
        "package": timeline.name,
        "first_seen": revision_facts(timeline.first_seen),
        "last_seen": revision_facts(timeline.last_seen),
        "num_entries": len(timeline.entries),
        "entries": list(map(package_entry, entries)),
    }


def package_entry(entry: PackageEntry) -> dict[str, Any]:
    """Return an entry of a package."""
    return {
        "revision": revision_facts(entry.head),
        "base": _facts(entry.base),
        "kind": entry.kind.value,
        "versions_added": list(entry.versions_added),
        "versions_removed": list(entry.versions_removed),
        "specs_added": entry.num_added,
        "specs_removed": entry.num_removed,
        "specs_changed": entry.num_changed,
        "reasons": _reasons(entry.reasons),
    }


def hash_log(
    known: HashHistory, spans: Sequence[Span], events: Iterable[HashEvent]
) -> dict[str, Any]:
    """Return what is known of a hash, with the spans and events that are asked for."""
    return hash_facts(known, spans) | {
        "entries": [
            {
                "revision": revision_facts(event.head),
                "series": event.series,
                "kind": "came" if event.has_come else "went",
                "reason": event.reason.value,
            }
            for event in events
        ]
    }


def hash_facts(known: HashHistory, spans: Sequence[Span]) -> dict[str, Any]:
    """Return what is known of a hash through time."""
    return {
        "hash": known.hash,
        "name": known.name,
        "version": known.version,
        "newest": revision_facts(known.newest),
        "spans": list(map(span_facts, spans)),
    }


def span_facts(span: Span) -> dict[str, Any]:
    """Return a span as a program reads it."""
    return {
        "series": span.series,
        "first": revision_facts(span.first),
        "last": revision_facts(span.last),
        "is_current": span.is_current,
        "reason_came": span.reason_came.value,
        "reason_gone": None if span.reason_gone is None else span.reason_gone.value,
        "gone_in": _facts(span.gone_in),
    }


def _facts(revision: RevisionInfo | None) -> dict[str, Any] | None:
    return None if revision is None else revision_facts(revision)


def _reasons(reasons: Mapping[SpecChangeReason, int]) -> dict[str, int]:
    """Return the counts of the reasons that any spec has, in the order of the API."""
    return {reason.value: reasons[reason] for reason in REASONS if reasons.get(reason)}
