"""All there is to say of a revision, for people and for programs."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from server.terminal.printing import styles
from server.terminal.printing.facets import Counts, facet_facts, facet_labels, facets_of
from server.terminal.printing.labels import labelled
from server.terminal.printing.listings import StackLine, stack_facts, stack_lines, stack_listing
from server.terminal.printing.logs import counts_text
from server.terminal.printing.revisions import holds, proof_text, source_text
from snapshots.changes.kept_changes import NO_COUNTS, PairCounts
from snapshots.frames.frame import Frame
from snapshots.history import History, Neighbours, Pair
from snapshots.models import RevisionInfo, revision_facts
from snapshots.refs import series, title
from snapshots.wording import minute, size

_NAMED = 5
"""So many of the revisions that hold the same are named to people."""


class Beside(NamedTuple):
    """A neighbour of a revision, and what changed between the two, where that is known."""

    revision: RevisionInfo
    counts: PairCounts | None


class ShownRevision(NamedTuple):
    """A revision, its neighbours in its series, who else holds the same, and what it holds."""

    revision: RevisionInfo
    history: History
    before: Beside | None
    after: Beside | None
    same: Sequence[RevisionInfo]
    stacks: Sequence[StackLine]
    facets: Mapping[str, Counts]


def shown_revision(
    revision: RevisionInfo, history: History, frame: Frame, counts: Mapping[Pair, PairCounts]
) -> ShownRevision:
    """Return what is shown of a revision; ``counts`` are those that are kept already."""
    before, after = history.previous(revision), history.next(revision)

    def changed(base: RevisionInfo, head: RevisionInfo) -> PairCounts | None:
        pair = Neighbours(base, head).pair
        return NO_COUNTS if pair.base == pair.head else counts.get(pair)

    return ShownRevision(
        revision=revision,
        history=history,
        before=None if before is None else Beside(before, changed(before, revision)),
        after=None if after is None else Beside(after, changed(revision, after)),
        same=[
            it
            for it in history.revisions
            if it.digest == revision.digest and it.key != revision.key
        ],
        stacks=stack_listing(frame),
        facets=facets_of(frame, slice(None)),
    )


def revision_lines(shown: ShownRevision, width: int | None) -> Iterator[str]:
    """Yield the lines for people."""
    revision, history = shown.revision, shown.history
    family = history.of_series(series(revision.tag))
    place = len(history.earlier(revision)) + 1
    confirmed_at = history.confirmed_at(revision)
    yield styles.digest(f"revision {revision.digest}")
    yield from labelled(
        [
            ("Tag", revision.tag),
            ("Series", f"{series(revision.tag)}, revision {place:,} of {len(family):,}"),
            ("Taken at", minute(revision.taken_at)),
            ("Last seen", "" if confirmed_at == revision.taken_at else minute(confirmed_at)),
            ("Published at", minute(revision.published_at)),
            ("Source", _source(revision)),
            ("Holds", _holds(revision)),
            ("Hashes", proof_text(revision)),
            ("Before", _beside(shown.before, "from it to this")),
            ("After", _beside(shown.after, "from this to it")),
            ("The same as", _named(shown.same)),
            *facet_labels(shown.facets),
        ],
        width,
    )
    if shown.stacks:
        yield ""
        yield from stack_lines(shown.stacks, width)


def revision_document(shown: ShownRevision) -> dict[str, Any]:
    """Return the same for programs."""
    revision, history = shown.revision, shown.history
    return {
        "revision": revision_facts(revision),
        "series": series(revision.tag),
        "place": len(history.earlier(revision)) + 1,
        "num_revisions": len(history.of_series(series(revision.tag))),
        "confirmed_at": msgspec.to_builtins(history.confirmed_at(revision)),
        "before": _beside_facts(shown.before),
        "after": _beside_facts(shown.after),
        "same": list(map(revision_facts, shown.same)),
        "stacks": stack_facts(revision, shown.stacks),
        **facet_facts(shown.facets),
    }


def _source(revision: RevisionInfo) -> str:
    source = revision.source
    version = f", version {source.version}" if source.version else ""
    synthetic = ", synthetic" if source.synthetic else ""
    return f"{source_text(source)}{version}{synthetic}, read by {source.importer}"


def _holds(revision: RevisionInfo) -> str:
    known = "" if revision.total_size is None else f", {size(revision.total_size)}"
    return holds(revision) + known


def _named(revisions: Sequence[RevisionInfo]) -> str:
    more = len(revisions) - _NAMED
    named = ", ".join(map(title, revisions[:_NAMED]))
    return f"{named} and {more:,} more" if more > 0 else named


def _beside(beside: Beside | None, how: str) -> str:
    if beside is None:
        return "none"
    counts = beside.counts
    if counts is None:
        return title(beside.revision)
    changed = counts_text(counts.specs_added, counts.specs_removed, counts.specs_changed)
    return f"{title(beside.revision)}, {how}: {changed}"


def _beside_facts(beside: Beside | None) -> dict[str, Any] | None:
    if beside is None:
        return None
    counts = beside.counts
    known = ("specs_added", "specs_removed", "specs_changed")
    return {
        "revision": revision_facts(beside.revision),
        **{name: None if counts is None else getattr(counts, name) for name in known},
    }
