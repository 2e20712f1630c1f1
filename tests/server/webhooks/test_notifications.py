"""``cachelog import --notify``: receivers, the order of announcements, and failures."""

from collections.abc import Sequence
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import pytest

from server.webhooks import Deliverer, Notifier, RetryPolicy, receivers_of
from snapshots.catalog.catalog import Catalog
from snapshots.catalog.library import Library
from snapshots.contents import Snapshot
from snapshots.demo import history, write_pages
from tests.server.cache_pages import history_of
from tests.server.commands import cachelog, succeed
from tests.server.servers import free_port
from tests.server.webhooks.hooks import receiving

SECRET = "only for tests"  # noqa: S105
HURRIED = RetryPolicy(attempts=2, backoff=0, silence=0.3, attempt_seconds=1)


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
        assert (second.code, second.json["notifications"]) == (0, [])
    tags = [revision.tag for revision in history_of(catalog).revisions]
    assert left.tags == right.tags == tags[::-1]
    requests = (*left.received, *right.received)
    assert all("x-cachelog-signature-256" in request.headers for request in requests)
    notifications = result.json["notifications"]
    assert len(notifications) == 2 * len(left.tags)
    assert {row["delivery"] for row in notifications} == {
        request.json["delivery"] for request in requests
    }
    assert {(row["attempts"], row["reason"]) for row in notifications} == {(1, None)}
    bodies = [request.json for request in left.received]
    dated = [body for body in bodies if body["series"] == "develop-DATE"]
    first = dated[0]
    assert (first["base"], first["summary"], first["causes"]) == (None, None, [])
    assert first["highlights"].startswith("The first revision of its series, with 20 specs of ")
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


def notify(catalog: Catalog, snapshots: Sequence[Snapshot], *urls: str) -> Notifier:
    """Publish snapshots, and notify receivers; return the notifier."""
    receivers = receivers_of(urls, "--notify")
    with closing(Deliverer(receivers, "", HURRIED)) as deliverer:
        notifier = Notifier(catalog, Library(catalog), deliverer)
        notifier.notify(catalog.publish(snapshots))
    return notifier


def test_unreachable_receiver_is_tried_for_one_revision(
    tmp_path: Path, snapshots: Sequence[Snapshot]
) -> None:
    """It is tried for one revision only; the other receivers get all revisions."""
    unreachable = f"http://127.0.0.1:{free_port()}/"
    with receiving() as hook:
        notifier = notify(Catalog(str(tmp_path)), snapshots, unreachable, hook.url)
    assert len(hook.tags) == len(snapshots)
    attempts = [
        notification.delivered.attempts
        for notification in notifier.notifications
        if notification.receiver.url == unreachable
    ]
    assert attempts == [2] + [0] * (len(snapshots) - 1)
    assert len(notifier.failures) == len(snapshots)


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
        notifier = notify(catalog, [newest], hook.url)
    assert hook.tags == [newest.tag]
    announced = hook.received[0].json
    assert announced["base"]["tag"] == earlier[-1].tag
    assert (announced["summary"], announced["causes"]) == (None, [])
    assert announced["highlights"].startswith("There are 20 specs")
    assert notifier.failures == []
