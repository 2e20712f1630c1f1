"""Atom feeds of a series and of a package: XML, ids, links and texts; pure functions.

Sources: RFC 4287, The Atom Syndication Format, and RFC 5005 for feeds in several documents.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Protocol, TypeVar
from uuid import UUID, uuid5
from xml.etree.ElementTree import Element, SubElement, tostring

import msgspec

from snapshots.changes.reasons import SpecChangeReason
from snapshots.changes.stored_changes import PairCounts
from snapshots.changes.vocabulary import PACKAGE_KINDS, counts_by_outcome, reason_phrase
from snapshots.errors import RevisionNotFound
from snapshots.history import History, Neighbours, Pair
from snapshots.models import utc
from snapshots.notes.phrases import size_sentence, specs_sentence
from snapshots.notes.sentences import Name, Sentence, Value, enumerated, html, long_day, plain
from snapshots.program import cachelog_version
from snapshots.texts import counted, day, visible
from snapshots.timelines.packages import PackageEntry, PackageTimeline

NAMESPACE = "http://www.w3.org/2005/Atom"
MEDIA_TYPE = "application/atom+xml"

AUTHOR = "cachelog"


class Feed(msgspec.Struct, frozen=True):
    """A document of a feed as ``xml`` in UTF-8, and the time of the last change of its entries."""

    xml: bytes
    updated: datetime


def _add(parent: Element, name: str, text: str, **attributes: str) -> None:
    """Add an element with a text; characters that XML cannot represent are escaped."""
    SubElement(parent, name, attributes).text = visible(text)


def _add_link(parent: Element, rel: str, href: str, media_type: str) -> None:
    SubElement(parent, "link", {"rel": rel, "type": media_type, "href": href})


def _moment(moment: datetime) -> str:
    """Return a time in the format of RFC 3339."""
    return utc(moment).isoformat().replace("+00:00", "Z")


_NAMES = UUID("6f5a3c0e-2d0b-5f0e-9d55-0d6a1c7f4b21")
"""The namespace of cachelog's UUIDs. If it changed, feed readers would show every entry as new."""


def _urn(kind: str, series: str, package: str | None, key: str = "") -> str:
    return uuid5(_NAMES, "\0".join((kind, series, package or "", key))).urn


class Addresses(Protocol):
    """URLs of feeds and comparisons; they may be relative to the URL of the feed."""

    def feed(self, series: str, package: str | None, after: str | None = None) -> str | None:
        """Return the URL of the feed of a series, or of a package in it.

        With ``after``, it is the URL of the document with the entries that follow the entry of the
        revision with this ref. Return None if there is no such document.
        """

    def comparison(self, neighbours: Neighbours, package: str | None) -> str | None:
        """Return the URL of a page that shows the changes; None if there is none."""


PAGE = 50
"""Maximum number of entries in a document."""

Item = TypeVar("Item", Neighbours, PackageEntry)


def _page_after(items: Sequence[Item], after: str | None) -> tuple[Sequence[Item], str | None]:
    """Return a page of items, newest first, that follows the item of a revision.

    Also return the ref to pass as ``after`` for the next page; None for the last one. Without a
    ref, return the first page. Raises RevisionNotFound for a ref that no item has, or that the last
    item has.
    """
    start = 0
    if after is not None:
        refs = [item.head.ref for item in items]
        if after not in refs:
            raise RevisionNotFound(after, "no entry of this feed is that of such a revision")
        start = refs.index(after) + 1
        if start == len(items):
            reason = "no entry of this feed follows that of this revision"
            raise RevisionNotFound(after, reason)
    page = items[start : start + PAGE]
    return page, page[-1].head.ref if start + PAGE < len(items) else None


_FEW_VERSIONS = 5


def series_title(neighbours: Neighbours, counts: PairCounts | None) -> Sentence:
    """Return the title of a revision's entry; ``counts`` is None if unknown."""
    return Sentence(*_revision_title(neighbours), ": ", _news(neighbours, counts))


def series_summary(neighbours: Neighbours, counts: PairCounts | None) -> list[Sentence]:
    """Return the changes of a revision, in a few sentences."""
    base, head = neighbours
    if base is None:
        stand = f"{counted(head.num_specs, 'spec')} of {counted(head.num_packages, 'package')}"
        return [Sentence(f"The first revision of its series, with {stand}.")]
    if counts is None:
        sentences = [Sentence(f"There are {_net(base.num_specs, head.num_specs)}.")]
    else:
        specs = specs_sentence(
            head.num_specs,
            added=counts.specs_added,
            rebuilt=counts.specs_rebuilt,
            replaced=counts.specs_replaced,
            removed=_without_counterpart(counts),
            changed=counts.specs_changed,
        )
        numbers = (counts.packages_added, counts.packages_removed, counts.packages_changed)
        packages = _changes_list(*numbers)
        sentences = [*_stacks(counts), specs]
        if packages:
            sentences.append(Sentence(f"Packages: {packages}."))
    if grown := size_sentence(base.total_size, head.total_size):
        sentences.append(grown)
    return sentences


class EntryCause(msgspec.Struct, frozen=True):
    """A main cause of a package's specs in a revision, and how many it explains.

    ``text`` is the subject of the commit if exactly one changed the recipe, else the cause's title.
    """

    text: str
    num_specs: int


Causes = Mapping[str, Sequence[EntryCause]]
"""The main causes by the refs of the entries' revisions, those of most specs first."""

_FEW_CAUSES = 3


def package_title(entry: PackageEntry, name: str, causes: Sequence[EntryCause] = ()) -> Sentence:
    """Return the title of the entry of a revision that touched a package."""
    pieces = [Value(name), f": {PACKAGE_KINDS[entry.kind]}"]
    if causes and not (entry.versions_added or entry.versions_removed):
        pieces += [" (", Value(causes[0].text), ")"]
    for verb, versions in (("added", entry.versions_added), ("removed", entry.versions_removed)):
        if versions:
            pieces += [", ", *_versions(versions), f" {verb}"]
    return Sentence(*pieces, " in ", *_revision_title(Neighbours(entry.base, entry.head)))


def package_summary(
    entry: PackageEntry, name: str, causes: Sequence[EntryCause] = ()
) -> list[Sentence]:
    """Return the changes that a revision made to a package, in a few sentences."""
    sentences = []
    for verb, versions in (("added", entry.versions_added), ("removed", entry.versions_removed)):
        if versions:
            is_one = len(versions) == 1
            what, were = ("Version ", "was") if is_one else ("Versions ", "were")
            sentences.append(
                Sentence(what, *_versions(versions), " of ", Name(name), f" {were} {verb}.")
            )
    specs = _changes_list(entry.specs_added, entry.specs_removed, entry.specs_changed)
    sentences.append(Sentence(f"Specs: {specs}.") if specs else Sentence("No spec changed."))
    reasons = [(count, reason_phrase(reason, count)) for reason, count in entry.reasons.items()]
    if reasons:
        sentences.append(Sentence(f"By reason: {_counts_list(reasons)}."))
    for cause in causes[:_FEW_CAUSES]:
        specs = counted(cause.num_specs, "spec")
        sentences.append(Sentence("Cause of ", specs, ": ", Value(cause.text), "."))
    return sentences


def _revision_title(neighbours: Neighbours) -> list[Value | str]:
    """Return the tag and day of head, with the time if base is of the same tag and day."""
    base, head = neighbours
    when = long_day(head.taken_at)
    if base is not None and base.tag == head.tag and day(base.taken_at) == day(head.taken_at):
        when += f", {head.taken_at:%H:%M} UTC"
    return [Value(head.tag), f" of {when}"]


def _news(neighbours: Neighbours, counts: PairCounts | None) -> str:
    """Return the changes of a revision in a few words."""
    base, head = neighbours
    if base is None:
        return f"the first of its series, {counted(head.num_specs, 'spec')}"
    if base.digest == head.digest:
        return "nothing changed"
    if counts is None:
        return _net(base.num_specs, head.num_specs)
    outcomes = counts_by_outcome(
        added=counts.specs_added,
        removed=counts.specs_removed,
        changed=counts.specs_changed,
        rebuilt=counts.specs_rebuilt,
        replaced=counts.specs_replaced,
    )
    return _counts_list(outcomes, noun="spec")


def _stacks(counts: PairCounts) -> Iterator[Sentence]:
    """Yield a sentence about the specs that came with new stacks, or went with removed ones."""
    reasons = SpecChangeReason.NEW_STACK, SpecChangeReason.STACK_GONE
    numbers = ((counts.reasons.get(reason, 0), reason) for reason in reasons)
    text = _counts_list(
        [(count, reason_phrase(reason, count)) for count, reason in numbers], "spec"
    )
    if text:
        yield Sentence(f"{text}.")


def _net(before: int, after: int) -> str:
    """Return the number of specs, and by how much it grew or shrank."""
    stand = counted(after, "spec")
    if before == after:
        return f"{stand}, as many as before"
    than = "more" if after > before else "fewer"
    return f"{stand}, {abs(after - before):,} {than} than before"


def _without_counterpart(counts: PairCounts) -> int:
    """Return the number of removed specs that were not replaced."""
    return counts.specs_removed - counts.reasons.get(SpecChangeReason.REPLACED, 0)


def _changes_list(added: int, removed: int, changed: int) -> str:
    return _counts_list([(added, "added"), (removed, "removed"), (changed, "changed")])


def _counts_list(counts: Iterable[tuple[int, str]], noun: str | None = None) -> str:
    """Return a list of non-zero numbers with their labels; the first one includes the noun."""
    parts: list[str] = []
    for count, what in counts:
        if count:
            number = counted(count, noun) if noun and not parts else f"{count:,}"
            parts.append(f"{number} {what}")
    return ", ".join(parts)


def _versions(versions: Iterable[str]) -> list[str]:
    return enumerated([[Value(version)] for version in versions], _FEW_VERSIONS)


class EntryStory(msgspec.Struct, frozen=True):
    """The content of an entry as an HTML fragment, and the time when its commits became known."""

    html: str
    known_since: datetime | None = None


NUM_STORIES = 5
"""Number of newest revisions whose entries have a story; the other entries have numbers."""


def neighbours_in_feed(history: History, series: str) -> list[Neighbours]:
    """Return the neighbours whose stories the feed of a series includes, newest first."""
    newest = history.neighbours(series)[::-1][:NUM_STORIES]
    return [
        neighbours
        for neighbours in newest
        if neighbours.base is not None and neighbours.pair.base != neighbours.pair.head
    ]


def series_feed(
    history: History,
    series: str,
    addresses: Addresses,
    *,
    counts: Mapping[Pair, PairCounts],
    stories: Mapping[Neighbours, EntryStory],
    after: str | None = None,
) -> Feed:
    """Return the feed of a series in the history: one entry per revision, newest first.

    ``counts`` are those of the pairs for which they are available: other entries have only the
    totals of their revision. ``stories`` are those of the neighbours of
    ``neighbours_in_feed``, if available.
    With ``after``, return the document with the entries that follow the entry of the revision with
    this ref; raises RevisionNotFound if there is none.
    """

    def entry(neighbours: Neighbours) -> tuple[datetime, Element]:
        of_pair = counts.get(neighbours.pair)
        title, summary = series_title(neighbours, of_pair), series_summary(neighbours, of_pair)
        story = stories.get(neighbours)
        return _entry(addresses, neighbours, series, None, title, summary, story)

    return _feed(addresses, series, None, history.neighbours(series)[::-1], entry, after)


def entries_in_feed(timeline: PackageTimeline, after: str | None = None) -> Sequence[PackageEntry]:
    """Return the entries in a document of a package's feed; raises what ``package_feed`` raises."""
    page, _ = _page_after(timeline.entries, after)
    return page


def package_feed(
    timeline: PackageTimeline, addresses: Addresses, causes: Causes, after: str | None = None
) -> Feed:
    """Return the feed of a package in a series: one entry per revision that touched it.

    ``after`` is defined as for ``series_feed``.
    """
    name, series = timeline.name, timeline.series

    def entry(change: PackageEntry) -> tuple[datetime, Element]:
        neighbours = Neighbours(change.base, change.head)
        of_entry = causes.get(change.head.ref, ())
        title = package_title(change, name, of_entry)
        summary = package_summary(change, name, of_entry)
        return _entry(addresses, neighbours, series, name, title, summary)

    return _feed(addresses, series, name, timeline.entries, entry, after)


def _feed(
    addresses: Addresses,
    series: str,
    package: str | None,
    items: Sequence[Item],
    entry: Callable[[Item], tuple[datetime, Element]],
    after: str | None,
) -> Feed:
    """Return a document of a feed; ``entry`` makes the entry of an item, with its last change.

    ``after`` is the ref before the first entry; None for the first document. Source of the links:
    RFC 5005, section 3.
    """
    page, following = _page_after(items, after)
    entries = [entry(item) for item in page]
    updated = max(moment for moment, _ in entries)
    subject = [series] if package is None else [package, " in ", series]
    root = Element("feed", {"xmlns": NAMESPACE, "xml:lang": "en"})
    _add(root, "id", _urn("feed", series, package))
    _add(root, "title", plain(Sentence("Spack build cache: ", *subject)))
    _add(root, "updated", _moment(updated))
    _add(SubElement(root, "author"), "name", AUTHOR)
    _add(root, "generator", AUTHOR, version=cachelog_version())
    further = None if following is None else addresses.feed(series, package, following)
    is_one_of_several = after is not None or further is not None
    first = addresses.feed(series, package) if is_one_of_several else None
    itself = addresses.feed(series, package, after)
    for rel, href in (("self", itself), ("first", first), ("next", further)):
        if href is not None:
            _add_link(root, rel, href, MEDIA_TYPE)
    root.extend(element for _, element in entries)
    document: bytes = tostring(root, encoding="utf-8", xml_declaration=True)
    return Feed(document + b"\n", updated)


def _entry(
    addresses: Addresses,
    neighbours: Neighbours,
    series: str,
    package: str | None,
    title: Sentence,
    summary: Sequence[Sentence],
    story: EntryStory | None = None,
) -> tuple[datetime, Element]:
    """Return an entry and the time of its last change; its content is the story or the summary.

    The time is when the later of the two revisions was published: a revision inserted between two
    others later changes the entry of the second one. The id is permanent.
    """
    head = neighbours.head
    updated = max(revision.published_at for revision in neighbours if revision is not None)
    if story is not None and story.known_since is not None:
        updated = max(updated, story.known_since)
    element = Element("entry")
    _add(element, "id", _urn("entry", series, package, head.ref))
    _add(element, "title", plain(title))
    _add(element, "published", _moment(head.taken_at))
    _add(element, "updated", _moment(updated))
    if (href := addresses.comparison(neighbours, package)) is not None:
        _add_link(element, "alternate", href, "text/html")
    SubElement(element, "category", {"term": visible(head.tag)})
    _add(element, "summary", " ".join(map(plain, summary)))
    content = f"<p>{' '.join(map(html, summary))}</p>" if story is None else story.html
    # Line by line, so that line breaks are not escaped.
    shown = "\n".join(map(visible, content.split("\n")))
    SubElement(element, "content", {"type": "html"}).text = shown
    return updated, element
