"""Feeds validated by the grammar of RFC 4287, and parsed by feedparser."""

from functools import cache
from pathlib import Path
from typing import Any

import feedparser
from lxml import etree

from snapshots.notes.atom import FeedAddresses

SOMEWHERE = FeedAddresses("https://example.org/feeds/", "https://example.org/")
"""URLs on a made-up host."""


def read_feed(document: bytes) -> Any:
    """Return a valid feed as feedparser parses it."""
    root = etree.fromstring(document)
    _grammar().assertValid(root)
    _check_further_rules(root)
    feed = feedparser.parse(document)
    assert not feed.bozo, feed.bozo_exception
    assert feed.version == "atom10"
    return feed


@cache
def _grammar() -> etree.RelaxNG:
    return etree.RelaxNG(etree.parse(Path(__file__).with_name("rfc4287.rng")))


def _check_further_rules(root: Any) -> None:
    """RFC 4287, 4.1: authors, one link of a kind, distinct entries, content."""
    names = {"a": "http://www.w3.org/2005/Atom"}
    assert root.xpath("count(a:author/a:name[normalize-space()])", namespaces=names) == 1
    ids = root.xpath("a:id/text() | a:entry/a:id/text()", namespaces=names)
    assert len(ids) == len(set(ids))
    for entry in root.xpath("a:entry", namespaces=names):
        assert entry.xpath("string(a:title)", namespaces=names).strip()
        assert entry.xpath("count(a:content)", namespaces=names) == 1
    for parent in (root, *root.xpath("a:entry", namespaces=names)):
        links = [
            (link.get("rel"), link.get("type")) for link in parent.xpath("a:link", namespaces=names)
        ]
        assert len(links) == len(set(links))
