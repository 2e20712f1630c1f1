"""Where links of feeds lead: who serves a feed says so, as the domain knows no addresses."""

from typing import Protocol

from snapshots.history import Neighbours
from snapshots.notes.atom.document import MEDIA_TYPE, Link


class Addresses(Protocol):
    """Names the addresses of feeds and comparisons; they may be relative to the feed's own."""

    def feed(self, series: str, package: str | None, after: str | None = None) -> str | None:
        """Return where the feed of a series, or of a package in it, is.

        With ``after`` it is the document with the entries of the revisions before the one of that
        key. None where there is no such document.
        """

    def comparison(self, neighbours: Neighbours, package: str | None) -> str | None:
        """Return where people find what changed; None where nothing shows it."""


def feed_links(
    addresses: Addresses, series: str, package: str | None, after: str | None, following: str | None
) -> list[Link]:
    """Return the links of a document of a feed.

    ``after`` is the key that it begins after, ``following`` the one that the next document does;
    None where the one is the first or the other does not exist. Source: RFC 5005, 3.
    """
    itself, further = addresses.feed(series, package, after), None
    if following is not None:
        further = addresses.feed(series, package, following)
    is_one_of_several = after is not None or further is not None
    first = addresses.feed(series, package) if is_one_of_several else None
    links = [("self", itself), ("first", first), ("next", further)]
    return [Link(rel, href, MEDIA_TYPE) for rel, href in links if href is not None]


def entry_links(addresses: Addresses, neighbours: Neighbours, package: str | None) -> list[Link]:
    """Return the links of the entry of a revision."""
    href = addresses.comparison(neighbours, package)
    return [] if href is None else [Link("alternate", href, "text/html")]
