"""Computations that are made once, however many wait for them."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

from server.asgi.errors import BadRequest
from server.asgi.lanes import Lane
from server.asgi.single_flight import SingleFlight
from snapshots.errors import CatalogError


class Workshop:
    """Makes a text when it is released; counts what was begun and what was ended early."""

    def __init__(self) -> None:
        self.release = asyncio.Event()
        self.num_begun = 0
        self.num_cancelled = 0

    async def make(self) -> str:
        """Return a text as soon as it is released."""
        self.num_begun += 1
        try:
            await self.release.wait()
        except asyncio.CancelledError:
            self.num_cancelled += 1
            raise
        return "made"


def run(test: Callable[[Workshop], Awaitable[None]]) -> None:
    """Run a test in an event loop."""

    async def running() -> None:
        async with asyncio.timeout(20):
            await test(Workshop())

    asyncio.run(running())


def test_it_is_made_once_for_all_who_wait() -> None:
    """What is asked for later is made anew: keeping it is for others."""

    async def test(shop: Workshop) -> None:
        pages: SingleFlight[str] = SingleFlight("page")
        waiting = [asyncio.create_task(pages.value("a", shop.make)) for _ in range(9)]
        other = asyncio.create_task(pages.value("b", shop.make))
        await asyncio.sleep(0)
        assert "a" in pages
        shop.release.set()
        assert await asyncio.gather(*waiting, other) == ["made"] * 10
        assert shop.num_begun == 2
        assert "a" not in pages
        assert await pages.value("a", shop.make) == "made"
        assert shop.num_begun == 3

    run(test)


@pytest.mark.parametrize("outlasts", [True, False])
def test_who_hangs_up_takes_it_from_nobody(outlasts: bool) -> None:
    """Where all have, it goes on only if it is to be kept for the next one."""

    async def test(shop: Workshop) -> None:
        pages: SingleFlight[str] = SingleFlight("page", outlasts=outlasts)
        first, second = [asyncio.create_task(pages.value("a", shop.make)) for _ in range(2)]
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.sleep(0.01)
        assert (shop.num_begun, shop.num_cancelled) == (1, 0)
        second.cancel()
        await asyncio.sleep(0.01)
        assert shop.num_cancelled == (not outlasts)
        assert ("a" in pages) is outlasts
        shop.release.set()
        assert await pages.value("a", shop.make) == "made"
        assert shop.num_begun == (1 if outlasts else 2)

    run(test)


def test_who_waited_long_is_told_to_come_back() -> None:
    """It goes on being made, so that they find it."""

    async def test(shop: Workshop) -> None:
        pages: SingleFlight[str] = SingleFlight("page", seconds=0.01)
        with pytest.raises(BadRequest, match="this page is still being made") as caught:
            await pages.value("a", shop.make)
        assert caught.value.status == 503
        assert (b"retry-after", b"2") in caught.value.headers
        again = asyncio.create_task(pages.value("a", shop.make))
        await asyncio.sleep(0)
        shop.release.set()
        assert await again == "made"
        assert (shop.num_begun, shop.num_cancelled) == (1, 0)

    run(test)


class Loading:
    """Loads texts in a lane of one thread, when they may be; ``loaded`` has the keys, in order."""

    def __init__(self, *, waiting: int = 3, patience: float = 10) -> None:
        self.loaded: list[str] = []
        self.opened = threading.Event()
        self.lane = Lane("test", threads=1, waiting=waiting, patience=patience)
        self._flights: SingleFlight[str] = SingleFlight()

    def _load(self, key: str) -> str:
        self.loaded.append(key)
        assert self.opened.wait(10)
        if key == "damaged":
            raise CatalogError("here", "is damaged")
        return key.upper()

    def value(self, key: str) -> "asyncio.Task[str]":
        """Return the task of a request for a text."""
        return asyncio.create_task(
            self._flights.value_in(self.lane, key, lambda: self._load(key)), name=key
        )

    async def has_begun(self) -> None:
        """Wait until a text is being loaded."""
        async with asyncio.timeout(10):
            while not self.loaded:
                await asyncio.sleep(0.001)


async def settled(*tasks: "asyncio.Future[Any]") -> list[Any]:
    """Return what each task returned or raised."""
    return await asyncio.gather(*tasks, return_exceptions=True)


@pytest.fixture
def loadings() -> Iterator[list[Loading]]:
    """Return a list whose members are let go when the test is over."""
    made: list[Loading] = []
    yield made
    for loading in made:
        loading.opened.set()
        loading.lane.close()


def with_lane(
    loadings: list[Loading], test: Callable[[Loading], Awaitable[None]], **settings: Any
) -> None:
    """Run a test in an event loop."""

    async def running() -> None:
        loadings.append(Loading(**settings))
        await test(loadings[-1])

    asyncio.run(running())


def test_a_load_is_one_however_long_it_takes(loadings: list[Loading]) -> None:
    """Many more than may wait in the lane, and longer than it has patience, once it has begun."""

    async def test(loading: Loading) -> None:
        first = loading.value("a")
        await loading.has_begun()
        more = [loading.value("a") for _ in range(20)]
        await asyncio.sleep(0.1)
        assert (loading.lane.num_running, loading.lane.num_waiting) == (1, 0)
        loading.opened.set()
        assert await settled(first, *more) == ["A"] * 21
        assert loading.loaded == ["a"]
        assert await loading.value("a") == "A"
        assert loading.loaded == ["a", "a"], "nothing is under way any more"

    with_lane(loadings, test, patience=0.05)


def test_another_load_waits_for_its_own_turn(loadings: list[Loading]) -> None:
    """Other keys are other work: they are queued, and refused as ever."""

    async def test(loading: Loading) -> None:
        first = loading.value("a")
        await loading.has_begun()
        other, joined = loading.value("b"), loading.value("b")
        await asyncio.sleep(0.01)
        assert loading.lane.num_waiting == 1, "both of them are one place in the queue"
        with pytest.raises(BadRequest) as caught:
            await loading.value("c")
        assert caught.value.status == 503
        loading.opened.set()
        assert await settled(first, other, joined) == ["A", "B", "B"]

    with_lane(loadings, test, waiting=1)


def test_each_has_its_own_patience(loadings: list[Loading]) -> None:
    """Who came later waits longer; what nobody waits for any more is never begun."""

    async def test(loading: Loading) -> None:
        first = loading.value("a")
        await loading.has_begun()
        early, given_up = loading.value("b"), [loading.value("c") for _ in range(2)]
        await asyncio.sleep(0.2)
        late = loading.value("b")
        assert [type(error) for error in await settled(early, *given_up)] == [BadRequest] * 3
        assert not late.done()
        assert loading.lane.num_waiting == 1
        loading.opened.set()
        assert await settled(first, late) == ["A", "B"]
        assert loading.loaded == ["a", "b"]

    with_lane(loadings, test, patience=0.3)


def test_who_leaves_takes_a_load_from_nobody_else(loadings: list[Loading]) -> None:
    """Neither before loading begins nor after; also where it is the one who came first."""

    async def test(loading: Loading) -> None:
        leaving, staying = loading.value("a"), loading.value("a")
        await loading.has_begun()
        queued, stays_queued = loading.value("b"), loading.value("b")
        await asyncio.sleep(0)
        leaving.cancel()
        queued.cancel()
        left = await settled(leaving, queued)
        assert [type(error) for error in left] == [asyncio.CancelledError] * 2
        loading.opened.set()
        assert await settled(staying, stays_queued) == ["A", "B"]

    with_lane(loadings, test)


def test_who_comes_when_all_have_left_begins_anew(loadings: list[Loading]) -> None:
    """What was given up is joined by nobody, not even in the same turn of the event loop."""

    async def test(loading: Loading) -> None:
        first = loading.value("a")
        await loading.has_begun()
        queued = loading.value("b")
        following: list[asyncio.Task[str]] = []
        queued.add_done_callback(lambda _: following.append(loading.value("b")))
        await asyncio.sleep(0)
        queued.cancel()
        await settled(queued)
        await asyncio.sleep(0)
        loading.opened.set()
        assert await settled(first, *following) == ["A", "B"]

    with_lane(loadings, test)


def test_all_get_the_same_failure(loadings: list[Loading]) -> None:
    """And who asks later tries again: nothing of it is kept."""

    async def test(loading: Loading) -> None:
        waiting = [loading.value("damaged")]
        await loading.has_begun()
        waiting.append(loading.value("damaged"))
        await asyncio.sleep(0)
        loading.opened.set()
        first, second = await settled(*waiting)
        assert isinstance(first, CatalogError)
        assert first is second
        with pytest.raises(CatalogError):
            await loading.value("damaged")
        assert loading.loaded == ["damaged"] * 2

    with_lane(loadings, test)
