"""Webhooks: receivers are notified over HTTP of each revision that is published."""

import hmac
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit
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


def receivers_of(urls: Iterable[str], name: str) -> list[str]:
    """Return the URLs of receivers, each once.

    Raises InvalidArgument for a URL that is not http(s), with the option or variable and the URL's
    position: the path or login in it can be a secret.
    """
    receivers = [*dict.fromkeys(urls)]
    for place, url in enumerate(receivers, 1):
        if http_url(url) is None:
            raise InvalidArgument(name, f"URL {place} is not one of http:// or https://HOST/...")
    return receivers


def shown(url: str) -> str:
    """Return the part of a receiver's URL that is no secret: its scheme, host and port."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


HEADER = "X-Cachelog-Signature-256"


def signature(body: bytes, secret: str) -> str:
    """Return the signature of a body with a shared secret.

    A secret from the environment can contain bytes that are not UTF-8; they are used unchanged.
    """
    key = secret.encode(errors="surrogateescape")
    return f"sha256={hmac.new(key, body, 'sha256').hexdigest()}"


# -- deliveries


FORMAT = 3
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


def deliver(
    announced: Mapping[str, Any],
    url: str,
    secret: str,
    *,
    pauses: Sequence[float] = PAUSES,
    timeout: float = TIMEOUT,
) -> str | None:
    """Post what is announced to a receiver; return why the last attempt failed, None on success.

    The body is signed with the ``secret``, unless it is empty. Redirects are not followed, because
    the operator trusts only the receivers themselves. Each attempt follows a pause in seconds;
    there is another if the receiver cannot be reached, responds that it may recover, or sends
    nothing for ``timeout`` seconds.
    """
    import httpx

    delivery, reason = str(uuid4()), None
    headers = {
        "Content-Type": "application/json",
        "User-Agent": importer_name().replace(" ", "/"),
        "X-Cachelog-Event": EVENT,
        "X-Cachelog-Delivery": delivery,
    }
    for pause in pauses:
        time.sleep(pause)
        body = document(announced, delivery, datetime.now(UTC))
        if secret:
            headers[HEADER] = signature(body, secret)
        try:
            with httpx.stream(
                "POST", url, content=body, headers=headers, timeout=timeout
            ) as answer:
                status = answer.status_code
        except httpx.TransportError as error:
            reason = f"the connection failed: {type(error).__name__}"
            continue
        except (httpx.InvalidURL, UnicodeError):  # UnicodeError by idna
            return "is not a URL that can be posted to"
        if answer.is_success:
            return None
        reason = f"HTTP {status} {answer.reason_phrase}".rstrip()
        if status < _SERVER_ERROR and status != _TOO_MANY_REQUESTS:
            break
    return reason


# -- imports


_FRAME_BYTES, _COMPARISON_BYTES = 256 << 20, 64 << 20
"""Sizes of caches for imports of many revisions, which need two frames at a time."""


class Notifier:
    """Notifies receivers of the publications of an import.

    The receivers are at ``urls``, by default at those of the settings. Raises InvalidArgument for a
    URL that is not valid for posting. ``failures`` has a line for each notification that failed.
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
        self.failures: list[str] = []

    def notify(self, publications: Sequence[Publication]) -> None:
        """Notify each receiver of the new revisions, the oldest first."""
        new = {publication.revision for publication in publications if publication.is_new}
        for revision in sorted(new, key=age) if self._receivers else ():
            announced = self._announcement(revision)
            for url in self._receivers:
                if (reason := deliver(announced, url, self._secret)) is not None:
                    failure = f"{shown(url)} was not notified of {title(revision)}: {reason}"
                    self.failures.append(failure)

    def _announcement(self, revision: RevisionInfo) -> dict[str, Any]:
        base, log = self._catalog.history.previous(revision), None
        if base is not None:
            with suppress(CatalogError):  # it is announced even if a content is damaged
                log = SideComparison(base, revision, self._library).notes()
        return announcement(Neighbours(base, revision), log)
