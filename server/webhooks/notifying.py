"""Telling every receiver of the revisions that an import published, in their order."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from server.settings import Settings, variable_of
from server.webhooks.delivering import Delivered, Deliverer
from server.webhooks.receivers import Receiver, receivers_of
from snapshots.catalog.asking.library import Library
from snapshots.catalog.catalog import Catalog
from snapshots.catalog.publishing import Publication
from snapshots.errors import CatalogError
from snapshots.history import Neighbours, age
from snapshots.models import RevisionInfo
from snapshots.notes.announcement import Announcement, announcement
from snapshots.notes.changelog import changelog
from snapshots.refs import title

_FRAME_BYTES, _COMPARISON_BYTES = 256 << 20, 64 << 20
"""An import of many revisions needs two of them at a time."""

_GIVEN_UP = Delivered("", 0, "not tried: it could not be reached before", may_recover=True)


class Notification(NamedTuple):
    """A revision, who was to be told of it, and what became of that."""

    revision: RevisionInfo
    receiver: Receiver
    delivered: Delivered


class Notifier:
    """Tells receivers of publications; what became of it is in ``notifications``.

    A receiver that could not be reached, however often it was tried, is not tried again: an import
    of many revisions would wait for it each time.
    """

    def __init__(
        self, catalog: Catalog, receivers: Sequence[Receiver], deliverer: Deliverer
    ) -> None:
        self._catalog = catalog
        self._library = Library(
            catalog, frame_bytes=_FRAME_BYTES, comparison_bytes=_COMPARISON_BYTES
        )
        self._receivers = receivers
        self._deliverer = deliverer
        self._given_up: set[Receiver] = set()
        self.notifications: list[Notification] = []

    def tell(self, publications: Sequence[Publication]) -> None:
        """Tell of the new revisions, the oldest first."""
        for revision in sorted({it.revision for it in publications if it.is_new}, key=age):
            reachable = [it for it in self._receivers if it not in self._given_up]
            announced = self._announcement(revision) if reachable else None
            for receiver in self._receivers:
                delivered = _GIVEN_UP
                if announced is not None and receiver not in self._given_up:
                    delivered = self._deliverer.deliver(announced, receiver)
                if delivered.may_recover:
                    self._given_up.add(receiver)
                self.notifications.append(Notification(revision, receiver, delivered))

    @property
    def failures(self) -> list[str]:
        """Who was not told of what, and why, each in a line."""
        return [
            f"{it.receiver.shown} was not told of {title(it.revision)}: {it.delivered.reason}"
            for it in self.notifications
            if it.delivered.reason is not None
        ]

    def _announcement(self, revision: RevisionInfo) -> Announcement:
        base = self._catalog.history.previous(revision)
        neighbours = Neighbours(base, revision)
        if base is None:
            return announcement(neighbours, None)
        try:
            explanation = self._library.explain(base.digest, revision.digest)
        except CatalogError:  # what was published counts, also beside a damaged content
            return announcement(neighbours, None)
        return announcement(neighbours, changelog(base, revision, explanation))


@contextmanager
def notifying(catalog: Catalog, urls: Sequence[str], settings: Settings) -> Iterator[Notifier]:
    """Give what tells the receivers at some URLs, or else at those of the settings.

    Raises InvalidArgument for a URL that nobody can be told at.
    """
    name = "--notify" if urls else variable_of("notify")
    receivers = receivers_of(urls or settings.notify, name)
    with Deliverer(receivers, settings.notify_secret) as deliverer:
        yield Notifier(catalog, receivers, deliverer)


def notification_facts(notifications: Sequence[Notification]) -> list[dict[str, Any]]:
    """Return what became of notifications, for programs."""
    return [
        {
            "receiver": it.receiver.shown,
            "tag": it.revision.tag,
            "digest": it.revision.digest,
            "delivery": it.delivered.id or None,
            "attempts": it.delivered.attempts,
            "reason": it.delivered.reason,
        }
        for it in notifications
    ]
