"""Revisions as they are published: what is new in a history, and which subscribers get it."""

import asyncio

import pytest

from server.asgi.errors import BadRequest
from server.publications import MAX_WAITING, Arrivals, Publications, Subscriber
from snapshots.history import History
from snapshots.models import RevisionInfo
from tests.snapshots.factories import a_revision

OLD = a_revision("develop", 5, "a", 0)
EARLIER = a_revision("develop", 1, "b", 2)
LATER = a_revision("develop", 9, "c", 1)
RELEASE = a_revision("v0.22.0", 3, "d", 3)


def every(_revision: RevisionInfo) -> bool:
    """Follow all revisions."""
    return True


def seen(*histories: tuple[RevisionInfo, ...]) -> list[list[RevisionInfo]]:
    """Return what is new in each of some histories, one after the other."""
    arrivals = Arrivals()
    return [arrivals.take(History(rows)) for rows in histories]


@pytest.mark.parametrize(
    ("histories", "expected"),
    [
        ([()], [[]]),
        ([(OLD, LATER)], [[]]),
        ([(OLD,), (OLD,)], [[], []]),
        ([(), (OLD,)], [[], [OLD]]),
        ([(OLD,), (OLD, LATER)], [[], [LATER]]),
        # What was published first comes first, whenever it was taken.
        ([(OLD,), (OLD, EARLIER, LATER, RELEASE)], [[], [LATER, EARLIER, RELEASE]]),
        # A removal is no news; the same revision is new if it is published once more.
        ([(OLD, LATER), (OLD,), (OLD, LATER)], [[], [], [LATER]]),
        # A catalog that was away for a while has nothing new when it is back.
        ([(OLD, LATER), (), (OLD, LATER)], [[], [], []]),
        ([(OLD,), (), (OLD, LATER)], [[], [], [LATER]]),
        # A row that only confirms is not a revision.
        ([(OLD,), (OLD, a_revision("develop", 6, "a", 4))], [[], []]),
    ],
)
def test_what_is_new(
    histories: list[tuple[RevisionInfo, ...]], expected: list[list[RevisionInfo]]
) -> None:
    """Revisions whose rows were not there before; none of the first history."""
    assert seen(*histories) == expected


def test_a_row_that_becomes_a_revision_later_is_not_new() -> None:
    """Another state between two equal ones makes the second a revision; its row is old."""
    first, again = a_revision("develop", 1, "a", 1), a_revision("develop", 9, "a", 2)
    between = a_revision("develop", 5, "b", 3)
    assert seen((first, again), (first, again, between)) == [[], [between]]


@pytest.fixture
def publications() -> Publications:
    """Return publications of a catalog that up to three follow."""
    return Publications(max_subscribers=3)


async def taken(subscriber: Subscriber) -> list[RevisionInfo]:
    """Return what waits for a subscriber, or all until its end where that has come."""
    found = []
    try:
        while True:
            async with asyncio.timeout(0.01):
                found.append(await anext(subscriber))
    except (TimeoutError, StopAsyncIteration):
        return found


@pytest.mark.anyio
async def test_each_subscriber_gets_what_it_follows(publications: Publications) -> None:
    """In the order of publication; one that has left gets nothing more."""
    with publications.subscriber() as all_of_them, publications.subscriber() as releases:
        all_of_them.follow(every)
        releases.follow(lambda revision: revision.tag == "v0.22.0")
        publications.tell([LATER, RELEASE], [OLD, LATER, RELEASE])
        assert await taken(all_of_them) == [LATER, RELEASE]
        assert await taken(releases) == [RELEASE]
        assert publications.num_subscribers == 2
    publications.tell([EARLIER], [OLD, LATER, RELEASE, EARLIER])
    assert await taken(all_of_them) == []
    assert publications.num_subscribers == 0


@pytest.mark.anyio
async def test_nobody_follows_before_it_says_what(publications: Publications) -> None:
    """What was published before is not for it."""
    with publications.subscriber() as subscriber:
        publications.tell([LATER], [OLD, LATER])
        subscriber.follow(every)
        assert await taken(subscriber) == []


@pytest.mark.anyio
async def test_one_who_waits_is_woken(publications: Publications) -> None:
    """And a wait that is given up loses nothing."""
    with publications.subscriber() as subscriber:
        subscriber.follow(every)
        for revision in (LATER, RELEASE):
            waiting = asyncio.ensure_future(anext(subscriber))
            await asyncio.sleep(0)
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
            waiting = asyncio.ensure_future(anext(subscriber))
            await asyncio.sleep(0)
            publications.tell([revision], [revision])
            assert await waiting == revision


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("since", "expected"),
    [(OLD, [LATER, RELEASE]), (LATER, [RELEASE]), (RELEASE, []), (EARLIER, [])],
)
async def test_what_was_missed_is_made_up_for(
    publications: Publications, since: RevisionInfo, expected: list[RevisionInfo]
) -> None:
    """All that came after a revision, in order; nothing after one that is not known."""
    publications.tell([], [OLD, LATER, RELEASE])
    with publications.subscriber() as subscriber:
        publications.resume(subscriber.follow(every), since.key)
        assert await taken(subscriber) == expected


@pytest.mark.anyio
async def test_there_are_only_so_many() -> None:
    """One more is refused with status 503, until another leaves."""
    publications = Publications(max_subscribers=1)
    with publications.subscriber():
        with pytest.raises(BadRequest, match="too many subscriptions") as refused:
            publications.subscriber().__enter__()
        assert (refused.value.status, refused.value.code) == (503, "OVERLOADED")
        assert dict(refused.value.headers)[b"retry-after"]
    with publications.subscriber():
        pass


@pytest.mark.anyio
async def test_one_who_does_not_take_what_waits_is_ended(publications: Publications) -> None:
    """When more wait than may; what was missed before does not count."""
    missed = [a_revision("develop", 0, "a", number) for number in range(10)]
    many = [a_revision("develop", number, "a", number) for number in range(MAX_WAITING)]
    publications.tell([], [OLD, *missed])
    with publications.subscriber() as slow, publications.subscriber() as resumed:
        slow.follow(every)
        publications.resume(resumed.follow(every), OLD.key)
        assert await anext(resumed) == missed[0]
        publications.tell(many, many)
        assert not slow.fell_behind
        publications.tell([LATER], many)
        assert slow.fell_behind
        assert not resumed.fell_behind
        assert await taken(slow) == []
        with pytest.raises(StopAsyncIteration):
            await anext(slow)
        assert len(await taken(resumed)) == len(missed) + len(many)


@pytest.mark.anyio
async def test_the_end_is_for_all(publications: Publications) -> None:
    """Those who wait see it at once, what waits is not given out, and nobody new is let in."""
    with publications.subscriber() as idle, publications.subscriber() as busy:
        idle.follow(every)
        waiting = asyncio.ensure_future(anext(idle))
        await asyncio.sleep(0)
        busy.follow(every).offer([LATER])
        publications.close()
        for ended in (waiting, anext(busy)):
            with pytest.raises(StopAsyncIteration):
                await ended
        publications.tell([RELEASE], [RELEASE])
        assert await taken(busy) == []
        assert not busy.fell_behind
    with pytest.raises(BadRequest, match="being stopped"):
        publications.subscriber().__enter__()
