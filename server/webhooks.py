"""Webhooks: receivers are notified over HTTP of each revision that is published."""

import hmac
import random
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING
from uuid import uuid4

import msgspec

from server.settings import Settings, variable_of
from snapshots import refs
from snapshots.catalog.catalog import Catalog
from snapshots.catalog.library import Library
from snapshots.catalog.publication import Publication
from snapshots.errors import CatalogError, InvalidArgument
from snapshots.history import Neighbours, age
from snapshots.models import RevisionInfo, revision_facts
from snapshots.notes.atom import series_summary
from snapshots.notes.changelog import Changelog, ExplainedSummary, changelog
from snapshots.notes.sentences import plain
from snapshots.program import importer_name
from snapshots.refs import title
from snapshots.sources.boundary import AddressRefused, Boundary, hosts_of
from snapshots.sources.transport import may_recover, retry_after, status_of
from snapshots.texts import http_url

if TYPE_CHECKING:
    import httpx

    from snapshots.sources.network import BoundedBackend

NUM_CAUSES = 10
"""Maximum number of causes in an announcement, most important first."""


class AnnouncedCause(msgspec.Struct, frozen=True, kw_only=True):
    """A cause of rebuilds; the fields are those of CauseEntry."""

    kind: str
    package: str
    before: str | None
    after: str | None
    title: str
    num_specs: int
    num_involved: int


class Announcement(msgspec.Struct, frozen=True, kw_only=True):
    """A revision, its changes from the one before it in its series, and their causes.

    ``base`` and ``summary`` are None for the first revision of a series. ``summary`` is also None
    if a content cannot be read. ``causes`` are the first of ``num_causes``.
    """

    series: str
    revision: RevisionInfo
    base: RevisionInfo | None
    highlights: str
    summary: ExplainedSummary | None
    causes: Sequence[AnnouncedCause]
    num_causes: int


def announcement(neighbours: Neighbours, log: Changelog | None) -> Announcement:
    """Return the announcement of the second of two neighbours.

    ``log`` has the changes; None if there is no base, or a content cannot be read.
    """
    base, head = neighbours
    causes = [] if log is None else log.causes
    highlights = series_summary(neighbours, None) if log is None else log.highlights
    return Announcement(
        series=refs.series(head.tag),
        revision=head,
        base=base,
        highlights=" ".join(map(plain, highlights)),
        summary=None if log is None else log.summary,
        causes=msgspec.convert(causes[:NUM_CAUSES], list[AnnouncedCause], from_attributes=True),
        num_causes=len(causes),
    )


# -- receivers


class Receiver(msgspec.Struct, frozen=True):
    """A URL, and the part of it that may be shown: the path or login can be a secret."""

    url: str
    shown: str


def receivers_of(urls: Iterable[str], name: str) -> list[Receiver]:
    """Return the receivers at some URLs, each once.

    Raises InvalidArgument for a URL that is not http(s), with the option or variable and the URL's
    position.
    """
    receivers = []
    for place, url in enumerate(dict.fromkeys(urls), 1):
        parts = http_url(url)
        if parts is None:
            raise InvalidArgument(name, f"URL {place} is not one of http:// or https://HOST/...")
        port = "" if parts.port is None else f":{parts.port}"
        receivers.append(Receiver(url, f"{parts.scheme}://{parts.hostname}{port}"))
    return receivers


HEADER = "X-Cachelog-Signature-256"


def signature(body: bytes, secret: str) -> str:
    """Return the signature of a body with a shared secret.

    A secret from the environment can contain bytes that are not UTF-8; they are used unchanged.
    """
    key = secret.encode(errors="surrogateescape")
    return f"sha256={hmac.new(key, body, 'sha256').hexdigest()}"


# -- deliveries


FORMAT = 1
"""The version of the document. It increases when a name is removed or changes its meaning."""

EVENT = "revision.published"


class RetryPolicy(msgspec.Struct, frozen=True):
    """The number and duration of attempts to deliver; times are in seconds.

    ``silence`` is the longest time in which a receiver sends nothing, ``attempt_seconds`` the
    longest duration of an attempt in total. The pauses between attempts begin with ``backoff`` and
    double each time. A receiver can request longer pauses, up to ``longest_wait``.
    """

    attempts: int = 6
    backoff: float = 1.0
    silence: float = 10.0
    attempt_seconds: float = 30.0
    longest_wait: float = 60.0


class Delivery(msgspec.Struct, frozen=True):
    """The outcome of a delivery: ``reason`` is that of its failure, and None on success.

    ``may_recover`` states that the receiver was unreachable or busy at each attempt.
    """

    id: str
    attempts: int
    reason: str | None
    may_recover: bool = False


class Deliverer(msgspec.Struct, frozen=True, dict=True, eq=False):
    """Posts announcements to receivers until it is closed.

    Redirects are not followed, because the operator trusts only the receivers themselves.
    ``secret`` signs the bodies; without one, they are unsigned.
    """

    receivers: Sequence[Receiver]
    secret: str
    patience: RetryPolicy = RetryPolicy()
    pause: Callable[[float], None] = time.sleep

    def close(self) -> None:
        """Close the connections, if any were opened."""
        if "_connections" in vars(self):
            client, _ = self._connections
            client.close()

    def deliver(self, announced: Announcement, receiver: Receiver) -> Delivery:
        """Notify a receiver, and return the outcome. Errors of a receiver are not raised."""
        delivery = str(uuid4())
        wait = 0.0
        for attempt in range(1, self.patience.attempts + 1):
            if attempt > 1:
                jitter = random.uniform(0.75, 1.25)  # noqa: S311  # it spreads load, hides nothing
                self.pause(max(wait, self.patience.backoff * 2 ** (attempt - 2) * jitter))
            reason, may_recover, wait = self._attempt(announced, receiver, delivery)
            if reason is None:
                return Delivery(delivery, attempt, None)
            if not may_recover or wait > self.patience.longest_wait:
                return Delivery(delivery, attempt, reason, may_recover)
        return Delivery(delivery, self.patience.attempts, reason, may_recover=True)

    def _attempt(
        self, announced: Announcement, receiver: Receiver, delivery: str
    ) -> tuple[str | None, bool, float]:
        """Return the reason of failure, whether a retry may succeed, and the seconds to wait."""
        import httpx

        from snapshots.sources.network import DeadlineExceeded

        body = document(announced, delivery, datetime.now(UTC))
        headers = {
            "Content-Type": "application/json",
            "X-Cachelog-Event": EVENT,
            "X-Cachelog-Delivery": delivery,
        }
        if self.secret:
            headers[HEADER] = signature(body, self.secret)
        client, backend = self._connections
        try:
            with (
                backend.deadline(self.patience.attempt_seconds),
                client.stream("POST", receiver.url, content=body, headers=headers) as response,
            ):
                if response.is_success:
                    return None, False, 0.0
                return status_of(response), may_recover(response), retry_after(response)
        except DeadlineExceeded:
            return f"no answer within {self.patience.attempt_seconds:g} s", True, 0.0
        except httpx.TimeoutException:
            return f"silent for {self.patience.silence:g} s", True, 0.0
        except (httpx.UnsupportedProtocol, httpx.InvalidURL, UnicodeError):  # UnicodeError by idna
            return "is not a URL that can be posted to", False, 0.0
        except AddressRefused as error:
            return str(error), False, 0.0
        except httpx.TransportError as error:
            return f"the connection failed: {type(error).__name__}", True, 0.0

    @cached_property
    def _connections(self) -> "tuple[httpx.Client, BoundedBackend]":
        """The client, and the backend that limits it."""
        from snapshots.sources.network import bounded_client

        return bounded_client(
            Boundary(hosts_of(*(receiver.url for receiver in self.receivers))),
            follow_redirects=False,
            timeout=self.patience.silence,
            headers={"User-Agent": importer_name().replace(" ", "/")},
        )


def document(announced: Announcement, delivery: str, sent_at: datetime) -> bytes:
    """Return the body of a delivery, which docs/notifications.md describes."""
    head = {"format": FORMAT, "event": EVENT, "delivery": delivery, "sent_at": sent_at}
    base = announced.base
    revisions = {
        "revision": revision_facts(announced.revision),
        "base": None if base is None else revision_facts(base),
    }
    return msgspec.json.encode(head | msgspec.structs.asdict(announced) | revisions)


# -- notifications


_FRAME_BYTES, _COMPARISON_BYTES = 256 << 20, 64 << 20
"""Sizes of caches for imports of many revisions, which need two frames at a time."""

_GIVEN_UP = Delivery("", 0, "not tried: it could not be reached before", may_recover=True)


class Notification(msgspec.Struct, frozen=True):
    """A revision, a receiver, and the outcome of notifying it."""

    revision: RevisionInfo
    receiver: Receiver
    delivered: Delivery


class Notifier(msgspec.Struct, frozen=True, eq=False):
    """Notifies the receivers of a deliverer of publications; ``notifications`` are the outcomes.

    A receiver that is ``unreachable`` after all attempts is not tried again: an import of many
    revisions would wait for it each time.
    """

    catalog: Catalog
    library: Library
    deliverer: Deliverer
    unreachable: set[Receiver] = msgspec.field(default_factory=set)
    notifications: list[Notification] = msgspec.field(default_factory=list)

    def notify(self, publications: Sequence[Publication]) -> None:
        """Notify the receivers of the new revisions, the oldest first."""
        receivers = self.deliverer.receivers
        for revision in sorted({made.revision for made in publications if made.is_new}, key=age):
            is_announced = not self.unreachable.issuperset(receivers)
            announced = self._announcement(revision) if is_announced else None
            for receiver in receivers:
                delivered = _GIVEN_UP
                if announced is not None and receiver not in self.unreachable:
                    delivered = self.deliverer.deliver(announced, receiver)
                if delivered.may_recover:
                    self.unreachable.add(receiver)
                self.notifications.append(Notification(revision, receiver, delivered))

    @property
    def failures(self) -> list[str]:
        """One line for each notification that failed, with the reason."""
        return [
            f"{of.receiver.shown} was not notified of {title(of.revision)}: {of.delivered.reason}"
            for of in self.notifications
            if of.delivered.reason is not None
        ]

    def _announcement(self, revision: RevisionInfo) -> Announcement:
        base, log = self.catalog.history.previous(revision), None
        if base is not None:
            with suppress(CatalogError):  # it is announced even if a content is damaged
                explanation = self.library.explain(base, revision)
                recipes = self.library.recipes_change(base, revision)
                log = changelog(base, revision, explanation, recipes=recipes, most_specs=0)
        return announcement(Neighbours(base, revision), log)


@contextmanager
def open_notifier(catalog: Catalog, urls: Sequence[str], settings: Settings) -> Iterator[Notifier]:
    """Yield a notifier of the receivers at some URLs, by default at those of the settings.

    Raises InvalidArgument for a URL that is not valid for posting.
    """
    name = "--notify" if urls else variable_of("notify")
    receivers = receivers_of(urls or settings.notify, name)
    library = Library(
        catalog,
        frame_bytes=_FRAME_BYTES,
        comparison_bytes=_COMPARISON_BYTES,
        recipes_url=settings.recipes_url,
    )
    with closing(Deliverer(receivers, settings.notify_secret)) as deliverer:
        yield Notifier(catalog, library, deliverer)
