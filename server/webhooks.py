"""Webhooks: receivers are notified over HTTP of each revision that is published."""

import hmac
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any
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
from snapshots.notes.changelog import Changelog
from snapshots.notes.phrases import main_changes_sentences
from snapshots.notes.sentences import plain
from snapshots.program import importer_name
from snapshots.refs import title
from snapshots.side_comparisons import SideComparison
from snapshots.texts import http_url

NUM_CAUSES = 10
"""Maximum number of causes in an announcement, those that account for the most specs first."""


def announcement(step: Neighbours, log: Changelog | None) -> dict[str, Any]:
    """Return what is announced of the second of two neighbours, with the names of JSON notes.

    ``log`` has the changes; None if there is no base, or a content cannot be read.
    """
    base, head = step
    causes = [] if log is None else log.causes
    highlights = [] if log is None else log.highlights
    if base is None:
        highlights = main_changes_sentences(head, None, ())
    return {
        "series": refs.series(head.tag),
        "revision": revision_facts(head),
        "base": None if base is None else revision_facts(base),
        "url": None if log is None else log.url,
        "highlights": [*map(plain, highlights)],
        "summary": None if log is None else log.summary,
        "causes": causes[:NUM_CAUSES],
        "num_causes": len(causes),
    }


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


FORMAT = 2
"""The version of the document. It increases when a name is removed or changes its meaning."""

EVENT = "revision.published"

PAUSES = (0, 1, 4)
"""Seconds before each attempt to deliver."""

TIMEOUT = 10.0
"""Seconds in which a receiver may send nothing."""

_TOO_MANY_REQUESTS, _SERVER_ERROR = 429, 500


def document(announced: Mapping[str, Any], delivery: str, sent_at: datetime) -> bytes:
    """Return the body of a delivery, which docs/notifications.md describes."""
    head = {"format": FORMAT, "event": EVENT, "delivery": delivery, "sent_at": sent_at}
    return msgspec.json.encode(head | {**announced})


class Notification(msgspec.Struct, frozen=True):
    """The outcome of notifying a receiver of a revision.

    - receiver: Its scheme, host and port: the rest of its URL can be a secret.
    - delivery: The id of the delivery.
    - attempts: The number of requests.
    - reason: Why the last one failed; None on success.
    """

    revision: RevisionInfo
    receiver: str
    delivery: str
    attempts: int
    reason: str | None


def deliver(
    announced: Mapping[str, Any],
    revision: RevisionInfo,
    receiver: Receiver,
    secret: str,
    *,
    pauses: Sequence[float] = PAUSES,
    timeout: float = TIMEOUT,
) -> Notification:
    """Post what is announced of a revision, and return the outcome; failures are not raised.

    The body is signed with the ``secret``, unless it is empty. Redirects are not followed, because
    the operator trusts only the receivers themselves. Each attempt follows a pause in seconds;
    there is another if the receiver cannot be reached, responds that it may recover, or sends
    nothing for ``timeout`` seconds.
    """
    import httpx

    delivery = str(uuid4())
    headers = {
        "Content-Type": "application/json",
        "User-Agent": importer_name().replace(" ", "/"),
        "X-Cachelog-Event": EVENT,
        "X-Cachelog-Delivery": delivery,
    }
    attempts, reason = 0, None
    for pause in pauses:
        attempts += 1
        time.sleep(pause)
        body = document(announced, delivery, datetime.now(UTC))
        if secret:
            headers[HEADER] = signature(body, secret)
        try:
            with httpx.stream(
                "POST", receiver.url, content=body, headers=headers, timeout=timeout
            ) as response:
                status = response.status_code
            if response.is_success:
                reason = None
                break
            reason = f"HTTP {status} {response.reason_phrase}".rstrip()
            if status < _SERVER_ERROR and status != _TOO_MANY_REQUESTS:
                break
        except httpx.TransportError as error:
            reason = f"the connection failed: {type(error).__name__}"
        except (httpx.InvalidURL, UnicodeError):  # UnicodeError by idna
            reason = "is not a URL that can be posted to"
            break
    return Notification(revision, receiver.shown, delivery, attempts, reason)


# -- imports


_FRAME_BYTES, _COMPARISON_BYTES = 256 << 20, 64 << 20
"""Sizes of caches for imports of many revisions, which need two frames at a time."""


class Notifier:
    """Notifies receivers of the publications of an import; ``notifications`` are the outcomes.

    The receivers are at ``urls``, by default at those of the settings. Raises InvalidArgument for a
    URL that is not valid for posting.
    """

    def __init__(self, catalog: Catalog, urls: Sequence[str], settings: Settings) -> None:
        name = "--notify" if urls else variable_of("notify")
        self._receivers = receivers_of(urls or settings.notify, name)
        self._secret = settings.notify_secret
        self._catalog = catalog
        self._library = Library(
            catalog,
            frame_bytes=_FRAME_BYTES,
            comparison_bytes=_COMPARISON_BYTES,
            recipes_url=settings.recipes_url,
            public_url=settings.public_address(),
        )
        self.notifications: list[Notification] = []

    def notify(self, publications: Sequence[Publication]) -> None:
        """Notify each receiver of the new revisions, the oldest first."""
        new = {publication.revision for publication in publications if publication.is_new}
        for revision in sorted(new, key=age) if self._receivers else ():
            announced = self._announcement(revision)
            for receiver in self._receivers:
                self.notifications.append(deliver(announced, revision, receiver, self._secret))

    @property
    def failures(self) -> list[str]:
        """One line for each notification that failed, with the reason."""
        return [
            f"{sent.receiver} was not notified of {title(sent.revision)}: {sent.reason}"
            for sent in self.notifications
            if sent.reason is not None
        ]

    def _announcement(self, revision: RevisionInfo) -> dict[str, Any]:
        base, log = self._catalog.history.previous(revision), None
        if base is not None:
            with suppress(CatalogError):  # it is announced even if a content is damaged
                log = SideComparison(base, revision, self._library).notes()
        return announcement(Neighbours(base, revision), log)
