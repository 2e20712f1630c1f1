"""Deliveries of webhooks: signatures, retries, and bounds for any receiver."""

import hmac
from contextlib import closing
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from msgspec.structs import replace

from server.webhooks import (
    NUM_CAUSES,
    Deliverer,
    Delivery,
    Receiver,
    RetryPolicy,
    receivers_of,
    signature,
)
from snapshots.errors import InvalidArgument
from snapshots.notes.sentences import plain
from tests.server.servers import free_port
from tests.server.webhooks.hooks import ANNOUNCEMENT, LOG, Answer, receiving

SOON = RetryPolicy(attempts=4, silence=0.3, attempt_seconds=0.6)


def deliver(
    url: str, secret: str = "", patience: RetryPolicy = SOON
) -> tuple[Delivery, list[float]]:
    """Deliver to a URL; return the delivery and the pauses between its attempts."""
    receivers, pauses = receivers_of([url], "--notify"), list[float]()
    with closing(Deliverer(receivers, secret, patience, pauses.append)) as deliverer:
        return deliverer.deliver(ANNOUNCEMENT, receivers[0]), pauses


def test_body_describes_the_revision() -> None:
    """The revision and the one before it, highlights, numbers, and the main causes."""
    before = datetime.now(UTC)
    with receiving() as hook:
        delivered, pauses = deliver(hook.url)
    (received,) = hook.received
    assert (delivered.attempts, delivered.reason, pauses) == (1, None, [])
    assert received.path == "/hooks/token?key=s3cret"
    assert received.headers["content-type"] == "application/json"
    assert received.headers["user-agent"].startswith("cachelog/")
    assert received.headers["x-cachelog-event"] == "revision.published"
    assert received.headers["x-cachelog-delivery"] == delivered.id
    assert "x-cachelog-signature-256" not in received.headers
    body = received.json
    assert (body["format"], body["event"]) == (1, "revision.published")
    assert body["delivery"] == delivered.id
    assert before <= datetime.fromisoformat(body["sent_at"]) <= datetime.now(UTC)
    assert (body["base"]["tag"], body["revision"]["tag"]) == ("v0.21.0", "v0.22.0")
    assert body["series"] == "vX.Y.Z"
    assert body["highlights"] == " ".join(map(plain, LOG.highlights))
    assert body["summary"]["specs_added"] == LOG.summary.specs_added
    assert [cause["title"] for cause in body["causes"]] == [
        cause.title for cause in LOG.causes[:NUM_CAUSES]
    ]
    assert body["num_causes"] == len(LOG.causes)


def test_signatures_include_the_time() -> None:
    """All attempts have one id, but an old body cannot be replayed."""
    with receiving([(503, {})]) as hook:
        delivered, _ = deliver(hook.url, "sécret")
    first, second = hook.received
    for received in (first, second):
        expected = hmac.new("sécret".encode(), received.body, "sha256").hexdigest()
        assert received.headers["x-cachelog-signature-256"] == f"sha256={expected}"
        assert received.json["delivery"] == delivered.id
    assert first.json["sent_at"] < second.json["sent_at"]


def test_secret_may_be_any_bytes() -> None:
    """Python passes such bytes of the environment as surrogates."""
    expected = hmac.new(b"s\xff", b"body", "sha256").hexdigest()
    assert signature(b"body", "s\udcff") == f"sha256={expected}"


@pytest.mark.parametrize(
    ("answers", "attempts", "reason"),
    [
        ([(500, {}), (503, {}), (429, {})], 4, None),
        ([(202, {})], 1, None),
        ([(200, {"transfer-encoding": "chunked"})], 1, None),  # its body is ignored
        ([(404, {})], 1, "HTTP 404 Not Found"),
        ([(307, {"location": "http://127.0.0.1:1/"})], 1, "HTTP 307 Temporary Redirect"),
        ([(502, {})] * 9, 4, "HTTP 502 Bad Gateway"),
        ([(503, {"retry-after": "61"})], 1, "HTTP 503 Service Unavailable"),
    ],
    ids=str,
)
def test_temporary_errors_are_retried(
    answers: list[Answer], attempts: int, reason: str | None
) -> None:
    """After statuses that may be temporary; never for redirects or pauses of over a minute."""
    with receiving(answers) as hook:
        delivered, pauses = deliver(hook.url)
    assert (delivered.attempts, delivered.reason) == (attempts, reason)
    assert len(hook.received) == attempts == len(pauses) + 1
    assert {request.path for request in hook.received} == {"/hooks/token?key=s3cret"}


def test_pauses_grow() -> None:
    """Each is about twice the preceding one, and no shorter than the receiver requests."""
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=50), usegmt=True)
    with receiving(
        [(503, {}), (429, {"retry-after": "20"}), (503, {"retry-after": later})]
    ) as hook:
        _, pauses = deliver(hook.url)
    assert 0.75 <= pauses[0] <= 1.25
    assert pauses[1] == 20
    assert 40 < pauses[2] <= 50
    with receiving([(503, {})] * 3) as hook:
        _, pauses = deliver(hook.url)
    for number, pause in enumerate(pauses):
        assert 0.75 * 2**number <= pause <= 1.25 * 2**number


@pytest.mark.parametrize("how", ["nobody", "silent", "drips"])
def test_unresponsive_receiver_fails_in_time(how: str) -> None:
    """One that is unreachable, silent, or endless fails within the time of all attempts."""
    patience = replace(SOON, attempts=2)
    if how == "nobody":
        delivered, pauses = deliver(f"http://127.0.0.1:{free_port()}/", patience=patience)
        assert delivered.reason == "the connection failed: ConnectError"
    else:
        with receiving(silent_seconds=0.5 * (how == "silent"), drips=how == "drips") as hook:
            delivered, pauses = deliver(hook.url, patience=patience)
        reasons = {"silent": "silent for 0.3 s", "drips": "no answer within 0.6 s"}
        assert delivered.reason == reasons[how]
    assert (delivered.attempts, delivered.may_recover, len(pauses)) == (2, True, 1)


def test_invalid_host_is_a_failed_delivery() -> None:
    """The delivery fails, but not the import, which has already published."""
    delivered, pauses = deliver("http://xn--a/")
    assert (delivered.reason, delivered.attempts) == ("is not a URL that can be posted to", 1)
    assert not pauses


@pytest.mark.parametrize(
    "url",
    [
        "",
        "ftp://example.org/",
        "http://",
        "http://[::1",
        "http://a:b/",
        "https://example.org/\x00",
        "http://a:99999/",
    ],
)
def test_invalid_url_is_an_error(url: str) -> None:
    """The error states its position, not its text, which may be secret."""
    with pytest.raises(InvalidArgument, match="URL 2 is not one of http:// or https://HOST"):
        receivers_of(["http://example.org/", url], "--notify")


def test_duplicate_receivers_are_removed() -> None:
    """Messages show only the host, as the rest may be secret; duplicates are removed."""
    url = "https://user:word@hooks.example.org:8443/services/T0/B0?key=x"
    assert receivers_of([url, url], "--notify") == [Receiver(url, "https://hooks.example.org:8443")]
