"""Atom feeds of a series and of a package: XML, ids, links and texts; pure functions.

Sources: RFC 4287, The Atom Syndication Format, and RFC 5005 for feeds in several documents.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TypeVar
from urllib.parse import quote, urlencode
from uuid import UUID, uuid5
from xml.etree.ElementTree import Element, SubElement, tostring

import msgspec

from snapshots.changes.reasons import SpecChangeReason
from snapshots.changes.stored_changes import PackageCounts
from snapshots.changes.vocabulary import PACKAGE_KINDS, reason_phrase
from snapshots.errors import RevisionNotFound
from snapshots.history import History, Neighbours, Pair
from snapshots.models import utc
from snapshots.notes.causes import CauseEntry, StoredCauses
from snapshots.notes.phrases import cause_subject, main_changes_sentences, revision_sentences
from snapshots.notes.sentences import (
    SYNTHETIC,
    Name,
    Sentence,
    Value,
    enumerated,
    html,
    long_day,
    plain,
)
from snapshots.program import cachelog_version
from snapshots.texts import counted, day, visible
from snapshots.timelines.growth import MainChanges
from snapshots.timelines.packages import PackageEntry, PackageTimeline

NAMESPACE = "http://www.w3.org/2005/Atom"
MEDIA_TYPE = "application/atom+xml"

AUTHOR = "cachelog"


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


SUFFIX = ".atom"


class FeedAddresses(msgspec.Struct, frozen=True):
    """URLs below that of a ``site`` of feeds, and those of pages below that of a ``server``.

    Both end with a slash, or are empty; they may be relative to the URL of the feed. ``has_pages``
    states whether a feed is split into several documents.
    """

    site: str
    server: str
    has_pages: bool = True

    def feed(self, series: str, package: str | None, after: str | None = None) -> str | None:
        """Return the URL of the feed of a series, or of a package in it.

        With ``after``, it is the URL of the document with the entries that follow the entry of the
        revision with this ref. Return None if there is no such document.
        """
        if after is not None and not self.has_pages:
            return None
        query = "" if after is None else "?" + urlencode({"after": after})
        return f"{self.site}{path_of(series, package)}{query}"

    def comparison(self, neighbours: Neighbours, package: str | None) -> str:
        """Return the permanent URL of the page that shows the changes."""
        base, head = neighbours
        if base is None:
            of_package = "" if package is None else f"/packages/{quote(package, safe='')}"
            return f"{self.server}r/{head.ref}{of_package}"
        pair = f"{self.server}compare/{base.ref}...{head.ref}"
        if package is None:
            return f"{pair}/notes"
        return f"{pair}/specs?{urlencode({'packages': package})}"


def path_of(series: str, package: str | None) -> str:
    """Return the path of a feed below that of all feeds."""
    names = [series] if package is None else [series, package]
    return "/".join(quote(name, safe="") for name in names) + SUFFIX


PAGE = 50
"""Maximum number of entries in a document."""

Item = TypeVar("Item", Neighbours, PackageEntry)


def entries_after(items: Sequence[Item], after: str | None = None) -> Sequence[Item]:
    """Return those items, newest first, that are in the document after the item of a revision.

    Without its ref, they are in the first document. Raises RevisionNotFound for a ref that no item
    has, or that the last item has.
    """
    if after is None:
        return items[:PAGE]
    refs = [item.head.ref for item in items]
    if after not in refs[:-1]:
        raise RevisionNotFound(after, "no entry of this feed follows that of such a revision")
    start = refs.index(after) + 1
    return items[start : start + PAGE]


def series_feed(
    history: History,
    series: str,
    addresses: FeedAddresses,
    changes: Mapping[str, MainChanges],
    *,
    causes: Mapping[Neighbours, StoredCauses],
    packages: Mapping[Pair, Sequence[PackageCounts]],
    after: str | None = None,
) -> bytes:
    """Return the feed of a series in the history: one entry per revision, newest first.

    ``changes`` are those of each revision but the first, by ref. ``causes`` and ``packages`` are
    theirs, at least for the entries in the document. With ``after``, return the document with the
    entries that follow the entry of the revision with this ref; raises RevisionNotFound if there is
    none.
    """

    def entry(step: Neighbours) -> tuple[datetime, Element]:
        of_step, explained = changes.get(step.head.ref), causes.get(step, StoredCauses())
        (first, *_) = main_changes_sentences(step.head, of_step, explained.causes)
        title = f"{_revision_title(step)}: {plain(first).removesuffix('.')}"
        of_packages = packages.get(step.pair, ())
        sentences = revision_sentences(step, of_step, explained.causes, of_packages)
        return _entry(addresses, step, series, None, title, sentences, explained.known_since)

    return _feed(addresses, series, None, history.neighbours(series)[::-1], entry, after)


def package_feed(
    timeline: PackageTimeline,
    addresses: FeedAddresses,
    causes: Mapping[Neighbours, StoredCauses],
    after: str | None = None,
) -> bytes:
    """Return the feed of a package in a series: one entry per revision that touched it.

    ``causes`` are those of the package's specs. ``after`` is defined as for ``series_feed``.
    """
    name, series = timeline.name, timeline.series

    def entry(change: PackageEntry) -> tuple[datetime, Element]:
        step = change.step
        explained = causes.get(step, StoredCauses())
        title = plain(_package_title(change, name, explained.causes))
        summary = _package_sentences(change, name, explained.causes)
        return _entry(addresses, step, series, name, title, summary, explained.known_since)

    return _feed(addresses, series, name, timeline.entries, entry, after)


_FEW_VERSIONS = 5


def _package_title(entry: PackageEntry, name: str, causes: Sequence[CauseEntry]) -> Sentence:
    cause = []
    if causes and not (entry.versions_added or entry.versions_removed):
        cause = [" because of ", *cause_subject(causes[0]), ","]
    changed = _package_change(entry, Value(name))
    return Sentence(*changed, *cause, f" in {_revision_title(entry.step)}")


def _package_change(entry: PackageEntry, name: Name | Value) -> list[str]:
    """Return the kind of change of a package, and the versions that were added and removed."""
    pieces = [name, f": {PACKAGE_KINDS[entry.kind]}"]
    for verb, versions in (("added", entry.versions_added), ("removed", entry.versions_removed)):
        if versions:
            listed = enumerated([[Value(version)] for version in versions], _FEW_VERSIONS)
            pieces += [", ", *listed, f" {verb}"]
    return pieces


def _package_sentences(
    entry: PackageEntry, name: str, causes: Iterable[CauseEntry]
) -> list[Sentence]:
    clauses: list[str] = []
    for reason, count in entry.reasons.items():
        if reason is not SpecChangeReason.REPLACED:  # by specs that are counted already
            number = f"{count:,}" if clauses else counted(count, "spec")
            clauses.append(f"{number} {reason_phrase(reason, count)}")
    sentences = [Sentence(*_package_change(entry, Name(name)), ".")]
    if clauses:
        sentences.append(Sentence(f"{', '.join(clauses)}."))
    for cause in causes:
        specs = counted(cause.num_specs, "spec")
        sentences.append(Sentence("Because of ", *cause_subject(cause), f": {specs}."))
    return sentences


def _revision_title(step: Neighbours) -> str:
    """Return the tag and day of head, with the time if base is of the same tag and day."""
    base, head = step
    when = long_day(head.taken_at)
    if base is not None and base.tag == head.tag and day(base.taken_at) == day(head.taken_at):
        when += f", {head.taken_at:%H:%M} UTC"
    return f"{visible(head.tag)} of {when}"


def _feed(
    addresses: FeedAddresses,
    series: str,
    package: str | None,
    items: Sequence[Item],
    entry: Callable[[Item], tuple[datetime, Element]],
    after: str | None,
) -> bytes:
    """Return a document of a feed; ``entry`` makes the entry of an item, with its last change.

    ``after`` is the ref before the first entry; None for the first document. Source of the links:
    RFC 5005, section 3.
    """
    page = entries_after(items, after)
    following = page[-1].head.ref if page[-1] is not items[-1] else None
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
    first, itself = addresses.feed(series, package), addresses.feed(series, package, after)
    for rel, href in (("self", itself), ("first", first), ("next", further)):
        if href is not None:
            _add_link(root, rel, href, MEDIA_TYPE)
    root.extend(element for _, element in entries)
    document: bytes = tostring(root, encoding="utf-8", xml_declaration=True)
    return document + b"\n"


def _entry(
    addresses: FeedAddresses,
    step: Neighbours,
    series: str,
    package: str | None,
    title: str,
    sentences: Sequence[Sentence],
    known_since: datetime | None,
) -> tuple[datetime, Element]:
    """Return an entry and the time of its last change.

    The time is when the later of the two revisions was published, as a revision inserted between
    two others later changes the entry of the second one, or when the commits that it names became
    known. The id is permanent.
    """
    head = step.head
    updated = max(revision.published_at for revision in step if revision is not None)
    if known_since is not None:
        updated = max(updated, known_since)
    element = Element("entry")
    _add(element, "id", _urn("entry", series, package, head.ref))
    _add(element, "title", title)
    _add(element, "published", _moment(head.taken_at))
    _add(element, "updated", _moment(updated))
    _add_link(element, "alternate", addresses.comparison(step, package), "text/html")
    SubElement(element, "category", {"term": visible(head.tag)})
    _add(element, "summary", " ".join(map(plain, sentences)))
    items = "".join(f"<li>{visible(html(sentence))}</li>" for sentence in sentences)
    note = f"<p><em>{SYNTHETIC}</em></p>" if head.source.synthetic else ""
    SubElement(element, "content", {"type": "html"}).text = f"<ul>{items}</ul>{note}"
    return updated, element
