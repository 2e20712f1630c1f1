"""The ids of feeds and entries: the same for ever, and wherever a feed is served from.

They are UUIDs of names (RFC 9562, version 5) as URNs: of the series, the package and the revision,
whose own name covers its tag, its digest and when it was taken.
"""

from uuid import UUID, uuid5

from snapshots.models import RevisionInfo

_NAMES = UUID("6f5a3c0e-2d0b-5f0e-9d55-0d6a1c7f4b21")
"""The space of cachelog's names. Another one would make every entry a new one to its readers."""


def feed_id(series: str, package: str | None = None) -> str:
    """Return the id of the feed of a series, or of a package in it."""
    return _urn("feed", series, package)


def entry_id(revision: RevisionInfo, series: str, package: str | None = None) -> str:
    """Return the id of the entry of a revision in such a feed."""
    return _urn("entry", series, package, revision.key)


def _urn(kind: str, series: str, package: str | None, key: str = "") -> str:
    return uuid5(_NAMES, "\0".join((kind, series, package or "", key))).urn
