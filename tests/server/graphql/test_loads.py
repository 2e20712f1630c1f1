"""Loads that several requests wait for: made once, and each waits for itself."""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest

from schema.execution.budget import NotLoaded
from server.asgi.errors import BadRequest
from server.asgi.lanes import Lane
from server.graphql.loads import Loads
from snapshots.catalog.asking.library import SharedCache
from snapshots.errors import CatalogError


class Slow:
    """A cache whose values are made when they may be; ``made`` has the keys, in order."""

    def __init__(self) -> None:
        self.made: list[str] = []
        self.opened = threading.Event()
        self.cache: SharedCache[str, str] = SharedCache(self._make, len, 0)

    def _make(self, key: str) -> str:
        self.made.append(key)
        assert self.opened.wait(10)
        if key == "damaged":
            raise CatalogError("here", "is damaged")
        return key.upper()

    def missing(self, key: str) -> NotLoaded:
        """Return what a request says that needs the value of a key."""
        return NotLoaded(self.cache, key)


@pytest.fixture
def slow() -> Iterator[Slow]:
    """Return such a cache, which makes what it was asked for when the test is over."""
    slow = Slow()
    yield slow
    slow.opened.set()


def with_lane(
    test: Callable[[Lane], Coroutine[Any, Any, None]], *, waiting: int = 3, patience: float = 10
) -> None:
    """Run a test in an event loop, with a lane of one thread."""
    lane = Lane("test", threads=1, waiting=waiting, patience=patience)
    asyncio.run(test(lane))
    lane.close()


async def settled(*tasks: "asyncio.Future[Any]") -> list[Any]:
    """Return what each task returned or raised."""
    return await asyncio.gather(*tasks, return_exceptions=True)


async def begun(slow: Slow, number: int = 1) -> None:
    """Wait until so many values are being made."""
    async with asyncio.timeout(10):
        while len(slow.made) < number:
            await asyncio.sleep(0.001)


def test_the_same_is_loaded_once_however_long_it_takes(slow: Slow) -> None:
    """Many more than may wait in the lane, and longer than it has patience, once it has begun."""

    async def test(lane: Lane) -> None:
        loads = Loads()
        first = asyncio.ensure_future(loads.value(lane, slow.missing("a")))
        await begun(slow)
        more = [asyncio.ensure_future(loads.value(lane, slow.missing("a"))) for _ in range(20)]
        await asyncio.sleep(0.1)
        assert (lane.num_running, lane.num_waiting) == (1, 0)
        slow.opened.set()
        assert await settled(first, *more) == ["A"] * 21
        assert slow.made == ["a"]
        assert await loads.value(lane, slow.missing("a")) == "A"
        assert slow.made == ["a", "a"], "the cache keeps nothing, and nothing is under way"

    with_lane(test, patience=0.05)


def test_another_waits_for_its_own_turn(slow: Slow) -> None:
    """Other keys are other work: they are queued, and refused as ever."""

    async def test(lane: Lane) -> None:
        loads = Loads()
        first = asyncio.ensure_future(loads.value(lane, slow.missing("a")))
        await begun(slow)
        other = asyncio.ensure_future(loads.value(lane, slow.missing("b")))
        joined = asyncio.ensure_future(loads.value(lane, slow.missing("b")))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert lane.num_waiting == 1, "both of them are one place in the queue"
        with pytest.raises(BadRequest) as caught:
            await loads.value(lane, slow.missing("c"))
        assert caught.value.status == 503
        slow.opened.set()
        assert await settled(first, other, joined) == ["A", "B", "B"]

    with_lane(test, waiting=1)


def test_each_has_its_own_patience(slow: Slow) -> None:
    """Who came later waits longer; what nobody waits for any more is never begun."""

    async def test(lane: Lane) -> None:
        loads = Loads()
        first = asyncio.ensure_future(loads.value(lane, slow.missing("a")))
        await begun(slow)
        early = asyncio.ensure_future(loads.value(lane, slow.missing("b")))
        await asyncio.sleep(0.2)
        late = asyncio.ensure_future(loads.value(lane, slow.missing("b")))
        (refused,) = await settled(early)
        assert isinstance(refused, BadRequest)
        assert not late.done()
        slow.opened.set()
        assert await settled(first, late) == ["A", "B"]
        slow.opened.clear()
        slow.made.clear()
        first = asyncio.ensure_future(loads.value(lane, slow.missing("a")))
        await begun(slow)
        assert all(
            isinstance(it, BadRequest)
            for it in await settled(
                *(asyncio.ensure_future(loads.value(lane, slow.missing("b"))) for _ in range(2))
            )
        )
        assert lane.num_waiting == 0
        slow.opened.set()
        await first
        assert slow.made == ["a"]

    with_lane(test, patience=0.3)


def test_who_leaves_takes_it_from_nobody_else(slow: Slow) -> None:
    """Neither before loading begins nor after; also where it is the one who came first."""

    async def test(lane: Lane) -> None:
        loads = Loads()
        leaving, staying = (
            asyncio.ensure_future(loads.value(lane, slow.missing("a"))) for _ in range(2)
        )
        await begun(slow)
        queued, stays_queued = (
            asyncio.ensure_future(loads.value(lane, slow.missing("b"))) for _ in range(2)
        )
        await asyncio.sleep(0)
        leaving.cancel()
        queued.cancel()
        left = await settled(leaving, queued)
        assert [type(it) for it in left] == [asyncio.CancelledError] * 2
        slow.opened.set()
        assert await settled(staying, stays_queued) == ["A", "B"]

    with_lane(test)


def test_who_comes_when_all_have_left_begins_anew(slow: Slow) -> None:
    """What was given up is joined by nobody, not even in the same turn of the event loop."""

    async def test(lane: Lane) -> None:
        loads = Loads()
        first = asyncio.ensure_future(loads.value(lane, slow.missing("a")))
        await begun(slow)
        queued = asyncio.ensure_future(loads.value(lane, slow.missing("b")))

        async def follow() -> Any:
            return await loads.value(lane, slow.missing("b"))

        following: list[asyncio.Task[Any]] = []
        queued.add_done_callback(lambda _: following.append(asyncio.ensure_future(follow())))
        await asyncio.sleep(0)
        queued.cancel()
        await settled(queued)
        await asyncio.sleep(0)
        slow.opened.set()
        assert await settled(first, *following) == ["A", "B"]

    with_lane(test)


def test_all_get_the_same_failure(slow: Slow) -> None:
    """And who asks later tries again: nothing of it is kept."""

    async def test(lane: Lane) -> None:
        loads = Loads()
        waiting = [asyncio.ensure_future(loads.value(lane, slow.missing("damaged")))]
        await begun(slow)
        waiting.append(asyncio.ensure_future(loads.value(lane, slow.missing("damaged"))))
        await asyncio.sleep(0)
        slow.opened.set()
        first, second = await settled(*waiting)
        assert isinstance(first, CatalogError)
        assert first is second
        with pytest.raises(CatalogError):
            await loads.value(lane, slow.missing("damaged"))
        assert slow.made == ["damaged"] * 2

    with_lane(test)
