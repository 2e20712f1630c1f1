"""``cachelog import --notify``: receivers, the order of announcements, and failures."""

import hmac
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import pytest

from server import webhooks
from server.settings import Settings
from snapshots.catalog.catalog import Catalog
from snapshots.contents import Snapshot
from snapshots.notes.sentences import plain
from tests.demo_histories import history, write_pages
from tests.server.cache_pages import history_of
from tests.server.commands import cachelog, succeed
from tests.server.servers import PATIENCE, free_port
from tests.server.webhooks.hooks import ANNOUNCEMENT, LOG, Answer, receiving

SECRET = "only for tests"  # noqa: S105


@pytest.fixture
def snapshots() -> Sequence[Snapshot]:
    """Return the snapshots of a small cache."""
    return list(history(revisions=4, packages=4, specs=20))


@pytest.fixture
def pages(tmp_path: Path, snapshots: Sequence[Snapshot]) -> Path:
    """Return a folder with the snapshots as cache pages."""
    for snapshot in snapshots:
        write_pages(snapshot, tmp_path / "pages")
    return tmp_path / "pages"


def test_new_revisions_are_announced_in_order(pages: Path, tmp_path: Path) -> None:
    """To all receivers, with signatures; existing revisions are not announced."""
    catalog = tmp_path / "catalog"
    with receiving() as left, receiving() as right:
        command = ("import", pages, "--notify", left.url, "--notify", right.url, "--json")
        result = succeed(*command, catalog=catalog, notify_secret=SECRET)
        second = cachelog(*command, catalog=catalog)
        assert (second.code, second.json["failures"]) == (0, [])
    tags = [revision.tag for revision in history_of(catalog).revisions]
    assert left.tags == right.tags == tags[::-1]
    requests = (*left.received, *right.received)
    assert all("x-cachelog-signature-256" in request.headers for request in requests)
    assert result.json["failures"] == []
    bodies = [request.json for request in left.received]
    dated = [body for body in bodies if body["series"] == "develop-DATE"]
    first = dated[0]
    assert (first["base"], first["summary"], first["causes"]) == (None, None, [])
    assert first["highlights"] == ["The first revision, with 20 specs."]
    for before, after in pairwise(dated):
        assert after["base"]["tag"] == before["revision"]["tag"]
        assert after["summary"]["specs_added"]


def test_receivers_are_read_from_the_environment(pages: Path, tmp_path: Path) -> None:
    """An option overrides them."""
    with receiving() as left, receiving() as right:
        notify = f"{left.url},{right.url}"
        cachelog("import", pages, catalog=tmp_path / "a", notify=notify)
        assert left.tags == right.tags != []
        left.received.clear()
        cachelog("import", pages, "--notify", right.url, catalog=tmp_path / "b", notify=notify)
        assert left.tags == []


def test_failed_deliveries_exit_with_3(pages: Path, tmp_path: Path) -> None:
    """The revisions stay published; the exit code is 3, and the warnings show only the host."""
    catalog = tmp_path / "catalog"
    with receiving([(403, {})] * 99) as hook:
        options = ("--notify", hook.url)
        result = cachelog("import", pages, *options, catalog=catalog, notify_secret=SECRET)
    assert result.code == 3
    warnings = [line for line in result.err.splitlines() if line.startswith("warning: http")]
    assert len(history_of(catalog).revisions) == len(hook.received) == len(warnings) == 4
    assert warnings[0].endswith(": HTTP 403 Forbidden")
    assert "published" in result.out
    for secret in (SECRET, "s3cret", "token"):
        assert secret not in result.err + result.out


def test_invalid_url_prevents_publication(pages: Path, tmp_path: Path) -> None:
    """Of an option or the environment: it is rejected before any revision is published."""
    url, catalog = "example.org/s3cret", tmp_path / "catalog"
    by_option = cachelog("import", pages, "--notify", url, catalog=catalog)
    by_variable = cachelog("import", pages, catalog=catalog, notify=url)
    for result, name in ((by_option, "--notify"), (by_variable, "CACHELOG_NOTIFY")):
        assert result.code == 1
        assert result.err.startswith(f"cachelog: {name}: URL 1 is not one of http:// or https://H")
        assert "s3cret" not in result.err
    assert not catalog.exists()


def test_announcement_after_a_damaged_content_has_no_changes(
    tmp_path: Path, snapshots: Sequence[Snapshot]
) -> None:
    """It is announced, and not a failure."""
    *earlier, newest = (snapshot for snapshot in snapshots if "-" in snapshot.tag)
    catalog = Catalog(str(tmp_path))
    catalog.publish(earlier)
    for file in (tmp_path / "specs").rglob("*.parquet"):
        file.write_bytes(b"no parquet")
    with receiving() as hook:
        notifier = webhooks.Notifier(catalog, [hook.url], Settings())
        notifier.notify(catalog.publish([newest]))
    assert hook.tags == [newest.tag]
    announced = hook.received[0].json
    assert announced["base"]["tag"] == earlier[-1].tag
    assert (announced["summary"], announced["causes"]) == (None, [])
    assert announced["highlights"] == []
    assert notifier.failures == []


# -- deliveries


def deliver(url: str, secret: str = "", timeout: float = PATIENCE) -> str | None:
    """Deliver to a URL, with three attempts without pauses; return why it failed."""
    return webhooks.deliver(ANNOUNCEMENT, url, secret, pauses=(0, 0, 0), timeout=timeout)


def test_body_describes_the_revision() -> None:
    """The revision and the one before it, highlights, numbers, and the main causes."""
    before = datetime.now(UTC)
    with receiving() as hook:
        assert deliver(hook.url) is None
    (received,) = hook.received
    assert received.path == "/hooks/token?key=s3cret"
    assert received.headers["content-type"] == "application/json"
    assert received.headers["user-agent"].startswith("cachelog/")
    assert received.headers["x-cachelog-event"] == "revision.published"
    assert received.headers["x-cachelog-delivery"] == received.json["delivery"]
    assert "x-cachelog-signature-256" not in received.headers
    body = received.json
    assert (body["format"], body["event"]) == (3, "revision.published")
    assert before <= datetime.fromisoformat(body["sent_at"]) <= datetime.now(UTC)
    assert (body["base"]["tag"], body["revision"]["tag"]) == ("v0.21.0", "v0.22.0")
    assert body["highlights"] == [*map(plain, LOG.highlights)]
    assert body["summary"]["specs_added"] == LOG.summary.specs_added
    titles = [cause.title for cause in LOG.causes[: webhooks.NUM_CAUSES]]
    assert [cause["title"] for cause in body["causes"]] == titles


def test_signatures_include_the_time() -> None:
    """All attempts have one id, but an old body cannot be replayed."""
    with receiving([(503, {})]) as hook:
        assert deliver(hook.url, "sécret") is None
    first, second = hook.received
    for received in (first, second):
        expected = hmac.new("sécret".encode(), received.body, "sha256").hexdigest()
        assert received.headers["x-cachelog-signature-256"] == f"sha256={expected}"
    assert first.json["delivery"] == second.json["delivery"]
    assert first.json["sent_at"] < second.json["sent_at"]
    # Python passes bytes of the environment that are no UTF-8 as surrogates.
    expected = hmac.new(b"s\xff", b"body", "sha256").hexdigest()
    assert webhooks.signature(b"body", "s\udcff") == f"sha256={expected}"


@pytest.mark.parametrize(
    ("answers", "attempts", "reason"),
    [
        ([(500, {}), (429, {})], 3, None),
        ([(202, {})], 1, None),
        ([(200, {"transfer-encoding": "chunked"})], 1, None),  # its body is ignored
        ([(404, {})], 1, "HTTP 404 Not Found"),
        ([(307, {"location": "http://127.0.0.1:1/"})], 1, "HTTP 307 Temporary Redirect"),
        ([(502, {})] * 9, 3, "HTTP 502 Bad Gateway"),
    ],
    ids=str,
)
def test_temporary_errors_are_retried(
    answers: list[Answer], attempts: int, reason: str | None
) -> None:
    """After statuses that may be temporary, twice; never for redirects."""
    with receiving(answers) as hook:
        assert deliver(hook.url) == reason
    assert len(hook.received) == attempts
    assert {request.path for request in hook.received} == {"/hooks/token?key=s3cret"}


def test_unresponsive_receiver_fails() -> None:
    """One that is unreachable, silent, or of no valid host fails after its attempts."""
    assert deliver("http://xn--a/") == "is not a URL that can be posted to"
    unreachable = deliver(f"http://127.0.0.1:{free_port()}/")
    assert unreachable == "the connection failed: ConnectError"
    with receiving(silent_seconds=0.5) as hook:
        silent = deliver(hook.url, timeout=0.1)
        assert silent == "the connection failed: ReadTimeout"
        assert len(hook.received) == 3
