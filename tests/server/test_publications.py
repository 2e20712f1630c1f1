"""Published revisions: which are new in a history, and which subscribers get them."""

import asyncio

import pytest

from server.publications import MAX_WAITING, DiscoveryOrder, Publications, Subscriber
from snapshots.history import History
from snapshots.models import RevisionInfo
from tests.snapshots.factories import a_revision

OLD = a_revision("develop", 5, "a", 0)
AGAIN = a_revision("develop", 10, "a", 4)
EARLIER = a_revision("develop", 1, "b", 2)
LATER = a_revision("develop", 9, "c", 1)
RELEASE = a_revision("v0.22.0", 3, "d", 3)


def all_revisions(_revision: RevisionInfo) -> bool:
    """Select all revisions."""
    return True


@pytest.mark.parametrize(
    ("histories", "expected"),
    [
        ([()], [[]]),
        ([(OLD, LATER)], [[]]),
        ([(OLD,), (OLD,)], [[], []]),
        ([(), (OLD,)], [[], [OLD]]),
        ([(OLD,), (OLD, LATER)], [[], [LATER]]),
        # Revisions are in the order of publication, not of their times.
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
def test_arrivals_are_new_revisions(
    histories: list[tuple[RevisionInfo, ...]], expected: list[list[RevisionInfo]]
) -> None:
    """Revisions whose rows are new; none of the first history."""
    order = DiscoveryOrder()
    assert [order.take(History(rows)) for rows in histories] == expected


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
async def test_waiting_subscriber_is_woken(publications: Publications) -> None:
    """Only by revisions that it follows; a cancelled wait loses none."""
    with publications.subscriber() as subscriber:
        subscriber.follow(lambda revision: revision is not OLD)
        for revision in (LATER, RELEASE):
            waiting = asyncio.ensure_future(anext(subscriber))
            await asyncio.sleep(0)
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
            waiting = asyncio.ensure_future(anext(subscriber))
            await asyncio.sleep(0)
            publications.offer([OLD, revision], [OLD, revision])
            assert await waiting == revision


@pytest.mark.anyio
async def test_slow_subscriber_is_ended(publications: Publications) -> None:
    """If too many revisions wait; those missed before a resumption do not count."""
    missed = [a_revision("develop", 0, "a", number) for number in range(10)]
    many = [a_revision("develop", number, "a", number) for number in range(MAX_WAITING)]
    publications.offer([], [OLD, *missed])
    with publications.subscriber() as slow, publications.subscriber() as resumed:
        slow.follow(all_revisions)
        publications.resume(resumed.follow(all_revisions), OLD.key)
        assert await anext(resumed) == missed[0]
        publications.offer(many, many)
        assert not slow.fell_behind
        publications.offer([LATER], many)
        assert slow.fell_behind
        assert not resumed.fell_behind
        assert await received_by(slow) == []
        with pytest.raises(StopAsyncIteration):
            await anext(slow)
        assert len(await received_by(resumed)) == len(missed) + len(many)
