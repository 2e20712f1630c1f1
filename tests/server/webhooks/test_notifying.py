"""``cachelog import --notify``: which receivers get what, in which order, and failures."""

import hmac
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from server.webhooks import Deliverer, Notifier, Patience, receivers_of
from snapshots.catalog.catalog import Catalog
from snapshots.contents import Snapshot
from snapshots.demo import history, write_pages
from tests.server.cache_pages import history_of
from tests.server.commands import cachelog
from tests.server.servers import free_port
from tests.server.webhooks.hooks import receiving

SECRET = "only for tests"  # noqa: S105
HURRIED = Patience(attempts=2, backoff=0, silence=0.3, attempt_seconds=1)


@pytest.fixture
def snapshots() -> Sequence[Snapshot]:
    """Return the states of a small cache."""
    return list(history(revisions=4, packages=4, specs=20))


def pages_of(snapshots: Sequence[Snapshot], folder: Path) -> None:
    """Write the states as a cache's pages."""
    for snapshot in snapshots:
        write_pages(snapshot, folder)


def tags_of(catalog: Path) -> list[str]:
    """Return the tags of the revisions of a catalog, oldest first."""
    return [it.tag for it in history_of(catalog).revisions][::-1]


def test_new_revisions_are_announced_in_order(
    tmp_path: Path, snapshots: Sequence[Snapshot]
) -> None:
    """To all receivers, signed; revisions that are there already are not."""
    pages_of(snapshots, tmp_path / "pages")
    catalog = tmp_path / "catalog"
    with receiving() as one, receiving() as other:
        options = ("--notify", one.url, "--notify", other.url, "--json")
        done = cachelog(
            "import", tmp_path / "pages", *options, catalog=catalog, notify_secret=SECRET
        )
        assert (done.code, done.err) == (0, "")
        again = cachelog("import", tmp_path / "pages", *options, catalog=catalog)
        assert (again.code, again.json["notifications"]) == (0, [])
    assert one.tags == other.tags == tags_of(catalog)
    for received in (*one.received, *other.received):
        expected = hmac.new(SECRET.encode(), received.body, "sha256").hexdigest()
        assert received.headers["x-cachelog-signature-256"] == f"sha256={expected}"
    notifications = done.json["notifications"]
    assert len(notifications) == 2 * len(one.tags)
    assert {it["delivery"] for it in notifications} == {
        it.json["delivery"] for it in (*one.received, *other.received)
    }
    assert {(it["attempts"], it["reason"]) for it in notifications} == {(1, None)}
    dated = [it.json for it in one.received if it.json["series"] == "develop-DATE"]
    assert [it["base"] and it["base"]["tag"] for it in dated] == [
        None,
        *(it["revision"]["tag"] for it in dated[:-1]),
    ]
    assert all(it["summary"]["specs_added"] for it in dated[1:])


def test_the_environment_names_receivers_too(tmp_path: Path, snapshots: Sequence[Snapshot]) -> None:
    """An option takes their place."""
    pages_of(snapshots[:1], tmp_path / "pages")
    with receiving() as one, receiving() as other:
        notify = f"{one.url},{other.url}"
        cachelog("import", tmp_path / "pages", catalog=tmp_path / "a", notify=notify)
        assert one.tags == other.tags != []
        one.received.clear()
        options = ("--notify", other.url)
        cachelog("import", tmp_path / "pages", *options, catalog=tmp_path / "b", notify=notify)
        assert one.tags == []


def test_revisions_stay_published_without_a_receiver(
    tmp_path: Path, snapshots: Sequence[Snapshot]
) -> None:
    """Exit code 3, and a warning for each revision that shows no more of a URL than its host."""
    pages_of(snapshots, tmp_path / "pages")
    catalog = tmp_path / "catalog"
    with receiving([(403, {})] * 99) as hook:
        done = cachelog(
            "import",
            tmp_path / "pages",
            *("--notify", hook.url),
            catalog=catalog,
            notify_secret=SECRET,
        )
    assert done.code == 3
    assert len(history_of(catalog).revisions) == len(snapshots) == len(hook.received)
    warnings = [line for line in done.err.splitlines() if line.startswith("warning: http")]
    assert len(warnings) == len(snapshots)
    assert warnings[0].endswith(": HTTP 403 Forbidden")
    assert "published" in done.out
    for secret in (SECRET, "s3cret", "token"):
        assert secret not in done.err + done.out


def test_a_bad_url_is_refused_before_anything_is_published(
    tmp_path: Path, snapshots: Sequence[Snapshot]
) -> None:
    """Whether an option or the environment has it."""
    pages_of(snapshots, tmp_path / "pages")
    asked = ("import", tmp_path / "pages")
    url, catalog = "example.org/s3cret", tmp_path / "catalog"
    by_option = cachelog(*asked, "--notify", url, catalog=catalog)
    by_variable = cachelog(*asked, catalog=catalog, notify=url)
    for done, name in ((by_option, "--notify"), (by_variable, "CACHELOG_NOTIFY")):
        assert done.code == 1
        assert done.err.startswith(f"cachelog: {name}: URL 1 is not one of http:// or https://HOST")
        assert "s3cret" not in done.err
    assert not (tmp_path / "catalog").exists()


def notified(catalog: Catalog, snapshots: Sequence[Snapshot], *urls: str) -> Notifier:
    """Publish snapshots, and return what has notified receivers of them."""
    receivers = receivers_of(urls, "--notify")
    with closing(Deliverer(receivers, "", HURRIED)) as deliverer:
        notifier = Notifier(catalog, receivers, deliverer)
        notifier.tell(catalog.publish(snapshots))
    return notifier


def test_a_receiver_that_is_away_is_tried_for_one_revision(
    tmp_path: Path, snapshots: Sequence[Snapshot]
) -> None:
    """As often as may be; the other receivers get all of them."""
    away = f"http://127.0.0.1:{free_port()}/"
    with receiving() as hook:
        notifier = notified(Catalog(str(tmp_path)), snapshots, away, hook.url)
    assert len(hook.tags) == len(snapshots)
    tried = [it.delivered.attempts for it in notifier.notifications if it.receiver.url == away]
    assert tried == [2] + [0] * (len(snapshots) - 1)
    assert len(notifier.failures) == len(snapshots)


def test_a_revision_after_a_damaged_content_is_announced(
    tmp_path: Path, snapshots: Sequence[Snapshot]
) -> None:
    """Without what changed."""
    *earlier, newest = (it for it in snapshots if "-" in it.tag)
    catalog = Catalog(str(tmp_path))
    catalog.publish(earlier)
    for file in (tmp_path / "specs").rglob("*.parquet"):
        file.write_bytes(b"no parquet")
    with receiving() as hook:
        notifier = notified(catalog, [newest], hook.url)
    assert hook.tags == [newest.tag]
    announced = hook.received[0].json
    assert announced["base"]["tag"] == earlier[-1].tag
    assert (announced["summary"], announced["causes"]) == (None, [])
    assert announced["highlights"].startswith("There are 20 specs")
    assert notifier.failures == []
