"""Sending an announcement to a receiver, again and again for a while where that may help."""

import random
import time
from collections.abc import Callable
from datetime import UTC, datetime
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple, Self
from uuid import uuid4

import msgspec

from server.webhooks.receivers import Receiver
from server.webhooks.signing import HEADER, signature
from snapshots.notes.announcement import Announcement
from snapshots.program import importer_name

if TYPE_CHECKING:
    import httpx

    from snapshots.sources.network import BoundedBackend

FORMAT = 1
"""The version of the document; it rises when a name in it goes or means something else."""

EVENT = "revision.published"


class Patience(NamedTuple):
    """How often and how long a delivery is tried; times are in seconds.

    ``silence`` is how long nothing may come from a receiver, ``attempt_seconds`` how long an
    attempt may take in all. Between attempts pass ``backoff``, twice that, and so on, or what the
    receiver asks for up to ``longest_wait``.
    """

    attempts: int = 6
    backoff: float = 1.0
    silence: float = 10.0
    attempt_seconds: float = 30.0
    longest_wait: float = 60.0


class Delivered(NamedTuple):
    """What became of a delivery: ``reason`` says why it failed, and is None where it did not.

    ``may_recover`` tells that the receiver was away or busy all the time.
    """

    id: str
    attempts: int
    reason: str | None
    may_recover: bool = False


class Deliverer:
    """Posts announcements; a context manager.

    Redirects are not followed: only the receivers themselves are asked to trust the operator.
    ``secret`` signs the bodies; without one they are sent unsigned.
    """

    def __init__(
        self,
        receivers: list[Receiver],
        secret: str,
        patience: Patience = Patience(),  # noqa: B008 - it is a tuple
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._receivers = receivers
        self._secret = secret
        self._patience = patience
        self._pause = pause
        self._opened: tuple[httpx.Client, BoundedBackend] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: object, _trace: TracebackType | None
    ) -> None:
        if self._opened is not None:
            self._opened[0].close()

    def deliver(self, announced: Announcement, receiver: Receiver) -> Delivered:
        """Tell a receiver, and return what became of it; never raises for what a receiver does."""
        delivery = str(uuid4())
        wait = 0.0
        for attempt in range(1, self._patience.attempts + 1):
            if attempt > 1:
                self._pause(max(wait, self._backoff(attempt)))
            reason, may_recover, wait = self._attempt(announced, receiver, delivery)
            if reason is None:
                return Delivered(delivery, attempt, None)
            if not may_recover or wait > self._patience.longest_wait:
                return Delivered(delivery, attempt, reason, may_recover)
        return Delivered(delivery, self._patience.attempts, reason, may_recover=True)

    def _attempt(
        self, announced: Announcement, receiver: Receiver, delivery: str
    ) -> tuple[str | None, bool, float]:
        """Return why it failed, whether it may succeed later, and when the receiver wants that."""
        import httpx

        from snapshots.sources.addresses import AddressRefused
        from snapshots.sources.buildcache.responses import may_recover, retry_after, status_of
        from snapshots.sources.network import Overdue

        body = document(announced, delivery, datetime.now(UTC))
        client, backend = self._connections()
        try:
            with (
                backend.deadline(self._patience.attempt_seconds),
                client.stream(
                    "POST", receiver.url, content=body, headers=self._headers(body, delivery)
                ) as response,
            ):
                if response.is_success:
                    return None, False, 0.0
                return status_of(response), may_recover(response), retry_after(response)
        except Overdue:
            return f"no answer within {self._patience.attempt_seconds:g} s", True, 0.0
        except httpx.TimeoutException:
            return f"silent for {self._patience.silence:g} s", True, 0.0
        except (httpx.UnsupportedProtocol, httpx.InvalidURL, UnicodeError):  # the last one by idna
            return "is no URL that can be posted to", False, 0.0
        except AddressRefused as error:
            return str(error), False, 0.0
        except httpx.TransportError as error:
            return f"the connection failed: {type(error).__name__}", True, 0.0

    def _connections(self) -> "tuple[httpx.Client, BoundedBackend]":
        """Return a client and what bounds it; to make them takes a while."""
        import httpx

        from snapshots.sources.addresses import Boundary, hosts_of
        from snapshots.sources.network import BoundedBackend, keep_within

        if self._opened is None:
            client = httpx.Client(
                follow_redirects=False,
                timeout=self._patience.silence,
                headers={"User-Agent": importer_name().replace(" ", "/")},
            )
            backend = BoundedBackend(Boundary(hosts_of(*(it.url for it in self._receivers))))
            keep_within(client, backend)
            self._opened = client, backend
        return self._opened

    def _headers(self, body: bytes, delivery: str) -> dict[str, str]:
        headers = {
            "Content-Type": "application/json",
            "X-Cachelog-Event": EVENT,
            "X-Cachelog-Delivery": delivery,
        }
        if self._secret:
            headers[HEADER] = signature(body, self._secret)
        return headers

    def _backoff(self, attempt: int) -> float:
        jitter = random.uniform(0.75, 1.25)  # noqa: S311  # it spreads load and hides nothing
        return self._patience.backoff * float(2 ** (attempt - 2)) * jitter


def document(announced: Announcement, delivery: str, sent_at: datetime) -> bytes:
    """Return the body of a delivery; docs/operating.md describes it."""
    head = {"format": FORMAT, "event": EVENT, "delivery": delivery, "sent_at": sent_at}
    return msgspec.json.encode(head | msgspec.structs.asdict(announced))
