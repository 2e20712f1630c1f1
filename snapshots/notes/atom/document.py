"""Feeds and their entries as records, and their form in XML.

Source: RFC 4287, The Atom Syndication Format, and RFC 5005 for feeds in several documents.
"""

from collections.abc import Sequence
from datetime import datetime
from xml.etree.ElementTree import Element, SubElement, tostring

import msgspec

from snapshots.models import utc
from snapshots.program import cachelog_version
from snapshots.wording import visible

NAMESPACE = "http://www.w3.org/2005/Atom"
MEDIA_TYPE = "application/atom+xml"

_GENERATOR = "cachelog"


class Link(msgspec.Struct, frozen=True):
    """A link: how what it leads to is related, where that is, and its media type."""

    rel: str
    href: str
    media_type: str


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """What a feed tells of one revision.

    ``title`` and ``summary`` are plain texts, ``html`` is the content as a piece of HTML. ``id`` is
    the same for ever. ``published`` is when the cache stood so; ``updated`` when the entry last
    came to say something else.
    """

    id: str
    title: str
    published: datetime
    updated: datetime
    category: str
    summary: str
    html: str
    links: Sequence[Link]


class Feed(msgspec.Struct, frozen=True, kw_only=True):
    """A feed, or one document of a feed that has several; the newest entry stands first."""

    id: str
    title: str
    updated: datetime
    author: str
    links: Sequence[Link]
    entries: Sequence[Entry]


def to_xml(feed: Feed) -> bytes:
    """Return a feed as an XML document in UTF-8; what XML cannot hold is written out."""
    root = Element("feed", {"xmlns": NAMESPACE, "xml:lang": "en"})
    _add(root, "id", feed.id)
    _add(root, "title", feed.title)
    _add(root, "updated", _moment(feed.updated))
    _add(SubElement(root, "author"), "name", feed.author)
    _add(root, "generator", _GENERATOR, version=cachelog_version())
    _add_links(root, feed.links)
    for entry in feed.entries:
        _add_entry(SubElement(root, "entry"), entry)
    document: bytes = tostring(root, encoding="utf-8", xml_declaration=True)
    return document + b"\n"


def _add_entry(element: Element, entry: Entry) -> None:
    _add(element, "id", entry.id)
    _add(element, "title", entry.title)
    _add(element, "published", _moment(entry.published))
    _add(element, "updated", _moment(entry.updated))
    _add_links(element, entry.links)
    SubElement(element, "category", {"term": visible(entry.category)})
    _add(element, "summary", entry.summary)
    # Line by line: a line break is no text that has to be written out.
    html = "\n".join(map(visible, entry.html.split("\n")))
    SubElement(element, "content", {"type": "html"}).text = html


def _add(parent: Element, name: str, text: str, **attributes: str) -> None:
    SubElement(parent, name, attributes).text = visible(text)


def _add_links(parent: Element, links: Sequence[Link]) -> None:
    for link in links:
        SubElement(parent, "link", {"rel": link.rel, "type": link.media_type, "href": link.href})


def _moment(moment: datetime) -> str:
    """Return a moment as RFC 3339 has it."""
    return utc(moment).isoformat().replace("+00:00", "Z")
