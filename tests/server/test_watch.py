"""Following a catalog: the log of outages, which revisions are new, and who gets them."""

import asyncio
import logging
from itertools import count
from pathlib import Path

import pytest

from server import watch as watching
from server.publications import MAX_WAITING, Publications, Subscriber
from server.watch import CatalogWatch
from snapshots.catalog.catalog import Catalog
from snapshots.errors import CatalogError
from snapshots.history import History
from snapshots.models import RevisionInfo
from tests.snapshots.factories import a_revision


@pytest.fixture
def watch(demo_catalog: Path, caplog: pytest.LogCaptureFixture) -> CatalogWatch:
    """Return a watch of a catalog that only looks on demand; its log is captured."""
    caplog.set_level(logging.INFO, "cachelog")
    return CatalogWatch(Catalog(str(demo_catalog)), seconds=3_600)


def test_new_revisions_are_logged_once(
    watch: CatalogWatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A look without new revisions logs nothing."""
    assert watch.problem == "the catalog has not been read yet"
    for _ in range(3):
        watch.look()
    assert watch.problem is None
    assert caplog.messages == ["the catalog has 5 revisions"]


def test_outage_is_logged_at_its_start_and_end(
    watch: CatalogWatch, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not at each look, although each message of a store has another request id."""
    requests = count(1)

    def fail(_catalog: Catalog, **_: object) -> bool:
        raise CatalogError("s3://bucket/x", f"connection refused (request {next(requests)})")

    with monkeypatch.context() as patched:
        patched.setattr(Catalog, "refresh", fail)
        for number in range(1, 4):
            watch.look()
            assert watch.problem == f"connection refused (request {number})"
    watch.look()
    assert watch.problem is None
    assert caplog.messages == [
        "catalog s3://bucket/x: connection refused (request 1)",
        "the catalog can be read again; it has 5 revisions",
    ]
    monkeypatch.setattr(Catalog, "refresh", fail)
    watch.look()
    assert len(caplog.messages) == 3


def test_unexpected_error_is_logged_once(
    watch: CatalogWatch, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With its details, under the id that clients see."""

    def fail(_catalog: Catalog, **_: object) -> bool:
        raise ZeroDivisionError("the secret of the house")

    monkeypatch.setattr(Catalog, "refresh", fail)
    watch.look()
    problem = watch.problem
    watch.look()
    assert problem is not None
    assert watch.problem == problem
    assert "secret" not in problem
    (message,) = caplog.messages
    assert message.endswith("the secret of the house")


def test_looks_until_the_end(
    demo_catalog: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The first precedes the first request; none follows the end; failed preparation ends none."""
    looks: list[None] = []
    monkeypatch.setattr(CatalogWatch, "look", lambda _self: looks.append(None))
    monkeypatch.setattr(watching, "prepare", lambda _catalog: 1 / 0)

    async def run() -> None:
        async with CatalogWatch(Catalog(str(demo_catalog)), seconds=0.001).running():
            assert len(looks) == 1
            while len(looks) < 4:
                await asyncio.sleep(0.001)
        num_looks = len(looks)
        await asyncio.sleep(0.02)
        assert len(looks) == num_looks

    asyncio.run(run())
    (message,) = caplog.messages
    assert message.endswith("division by zero")


OLD = a_revision("develop", 5, "a", 0)
AGAIN = a_revision("develop", 10, "a", 4)
EARLIER = a_revision("develop", 1, "b", 2)
LATER = a_revision("develop", 9, "c", 1)
RELEASE = a_revision("v0.22.0", 3, "d", 3)


@pytest.fixture
def publications() -> Publications:
    """Return the publications of a catalog for up to three subscribers."""
    return Publications(max_subscribers=3)


async def received_by(subscriber: Subscriber) -> list[RevisionInfo]:
    """Return the revisions that wait for a subscriber, or all until its end."""
    revisions = []
    try:
        while True:
            async with asyncio.timeout(0.01):
                revisions.append(await anext(subscriber))
    except (TimeoutError, StopAsyncIteration):
        return revisions


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("histories", "expected"),
    [
        ([(OLD, LATER)], [[]]),
        ([(), (OLD,)], [[], [OLD]]),
        ([(OLD,), (OLD, LATER)], [[], [LATER]]),
        # In the order of publication, not of their times.
        ([(OLD,), (OLD, EARLIER, LATER, RELEASE)], [[], [LATER, EARLIER, RELEASE]]),
        # A removal is not reported; the same revision is new if it is published again.
        ([(OLD, LATER), (OLD,), (OLD, LATER)], [[], [], [LATER]]),
        # A catalog that was missing for a while has no new revisions.
        ([(OLD, LATER), (), (OLD, LATER)], [[], [], []]),
        ([(OLD,), (), (OLD, LATER)], [[], [], [LATER]]),
        # A row that only confirms a revision is not new.
        ([(OLD,), (OLD, a_revision("develop", 6, "a", 4))], [[], []]),
        # It becomes a revision by a different one before it, but not a new one.
        ([(OLD, AGAIN), (OLD, LATER, AGAIN)], [[], [LATER]]),
    ],
)
async def test_new_revisions_are_published(
    publications: Publications,
    histories: list[tuple[RevisionInfo, ...]],
    expected: list[list[RevisionInfo]],
) -> None:
    """Revisions whose rows are new; none of the first history."""
    with publications.subscriber() as subscriber:
        subscriber.follow(lambda _: True)
        for rows, arrived in zip(histories, expected, strict=True):
            publications.update(History(rows))
            assert await received_by(subscriber) == arrived


@pytest.mark.anyio
async def test_waiting_subscriber_is_woken(publications: Publications) -> None:
    """Only by revisions that it follows; a cancelled wait loses none."""
    with publications.subscriber() as subscriber:
        subscriber.follow(lambda revision: revision is not OLD)
        publications.update(History(()))
        rows = [OLD]
        for revision in (LATER, RELEASE):
            waiting = asyncio.ensure_future(anext(subscriber))
            await asyncio.sleep(0)
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
            waiting = asyncio.ensure_future(anext(subscriber))
            await asyncio.sleep(0)
            rows.append(revision)
            publications.update(History(rows))
            assert await waiting == revision


@pytest.mark.anyio
async def test_slow_subscriber_is_ended(publications: Publications) -> None:
    """If too many revisions wait; those missed before a resumption do not count."""
    missed = [a_revision("missed", number, str(number)) for number in range(1, 11)]
    many = [a_revision("many", number, str(number)) for number in range(MAX_WAITING)]
    rows = [OLD, *missed]
    publications.update(History(rows))
    with publications.subscriber() as slow, publications.subscriber() as resumed:
        slow.follow(lambda _: True)
        publications.resume(resumed.follow(lambda _: True), OLD.key)
        assert await anext(resumed) == missed[0]
        rows += many
        publications.update(History(rows))
        assert not slow.fell_behind
        publications.update(History([*rows, LATER]))
        assert slow.fell_behind
        assert not resumed.fell_behind
        assert await received_by(slow) == []
        with pytest.raises(StopAsyncIteration):
            await anext(slow)
        assert len(await received_by(resumed)) == len(missed) + len(many)
