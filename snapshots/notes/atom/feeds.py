"""The feed of a series, and that of a package in a series; pure."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from snapshots.changes.kept_changes import PairCounts
from snapshots.history import History, Neighbours, Pair
from snapshots.models import RevisionInfo
from snapshots.notes.atom.addresses import Addresses, entry_links, feed_links
from snapshots.notes.atom.document import Entry, Feed, Link
from snapshots.notes.atom.identity import entry_id, feed_id
from snapshots.notes.atom.pages import page_after
from snapshots.notes.atom.phrases import (
    package_summary,
    package_title,
    series_summary,
    series_title,
)
from snapshots.notes.sentences import Sentence, html, plain
from snapshots.timelines.growth import GrowthPoint
from snapshots.timelines.packages import PackageEntry, PackageTimeline

AUTHOR = "cachelog"


def counts_of(points: Iterable[GrowthPoint]) -> dict[Pair, PairCounts]:
    """Return the counts of a series by the pairs of its neighbours."""
    return {Neighbours(point.base, point.revision).pair: point.counts for point in points}


def series_feed(
    history: History,
    series: str,
    addresses: Addresses,
    *,
    counts: Mapping[Pair, PairCounts],
    stories: Mapping[Pair, str],
    after: str | None = None,
) -> Feed:
    """Return the feed of a series that the history knows: one entry a revision.

    ``counts`` are those of the pairs for which they are known: an entry without them has the totals
    of its revision alone. ``stories`` are pieces of HTML, of the pairs of ``told_in``. With
    ``after`` it is the document with the entries after that of the revision with this key; raises
    RevisionNotFound where there is none.
    """
    every = history.neighbours(series)[::-1]
    start, stop, following = page_after(every, lambda it: it.head, after)
    entries = []
    for neighbours in every[start:stop]:
        pair = neighbours.pair
        sentences = series_summary(neighbours, counts.get(pair))
        entries.append(
            _entry(
                neighbours,
                entry_id(neighbours.head, series),
                series_title(neighbours, counts.get(pair)),
                sentences,
                stories.get(pair, ""),
                addresses,
            )
        )
    links = feed_links(addresses, series, None, after, following)
    title = plain(Sentence("Spack build cache: ", series))
    return _feed(feed_id(series), title, links, entries)


def package_feed(timeline: PackageTimeline, addresses: Addresses, after: str | None = None) -> Feed:
    """Return the feed of a package in a series: one entry a revision that touched it.

    ``after`` is as for ``series_feed``.
    """
    name, series = timeline.name, timeline.series
    start, stop, following = page_after(timeline.entries, _head, after)
    entries = [
        _entry(
            Neighbours(it.base, it.head),
            entry_id(it.head, series, name),
            package_title(it, name),
            package_summary(it, name),
            "",
            addresses,
            package=name,
        )
        for it in timeline.entries[start:stop]
    ]
    links = feed_links(addresses, series, name, after, following)
    title = plain(Sentence("Spack build cache: ", name, " in ", series))
    return _feed(feed_id(series, name), title, links, entries)


def _head(entry: PackageEntry) -> RevisionInfo:
    return entry.head


def _feed(id_: str, title: str, links: list[Link], entries: Sequence[Entry]) -> Feed:
    updated = max(entry.updated for entry in entries)
    return Feed(id=id_, title=title, updated=updated, author=AUTHOR, links=links, entries=entries)


def _entry(
    neighbours: Neighbours,
    id_: str,
    title: Sentence,
    summary: Sequence[Sentence],
    story: str,
    addresses: Addresses,
    package: str | None = None,
) -> Entry:
    """Return an entry; its content is the story, or where there is none what the summary says."""
    head = neighbours.head
    return Entry(
        id=id_,
        title=plain(title),
        published=head.taken_at,
        updated=_updated(neighbours),
        category=head.tag,
        summary=" ".join(map(plain, summary)),
        html=story or f"<p>{' '.join(map(html, summary))}</p>",
        links=entry_links(addresses, neighbours, package),
    )


def _updated(neighbours: Neighbours) -> datetime:
    """Return when an entry came to say what it says.

    That is when the later of the two revisions was published: one that is put in between two others
    later changes what the entry of the second one tells.
    """
    moments = [it.published_at for it in neighbours if it is not None]
    return max(moments)
