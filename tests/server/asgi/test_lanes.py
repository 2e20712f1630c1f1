"""Lanes, which run and queue work in threads, and shared computations in them."""

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from server.asgi.errors import BadRequest
from server.asgi.lanes import Lane
from server.asgi.single_flight import SingleFlight
from snapshots.errors import CatalogError

pytestmark = pytest.mark.anyio


class Loading:
    """Loads texts in a lane once ``opened`` is set; ``loaded`` has their keys."""

    def __init__(self, *, threads: int = 1, patience: float = 10) -> None:
        self.loaded: list[str] = []
        self.opened = threading.Event()
        self.lane = Lane("test", threads=threads, patience=patience)
        self._flights: SingleFlight[str] = SingleFlight()

    def load(self, key: str) -> str:
        """Return a text once that is permitted."""
        self.loaded.append(key)
        assert self.opened.wait(10)
        if key == "damaged":
            raise CatalogError("here", "is damaged")
        return key.upper()

    def unshared(self, key: str) -> "asyncio.Task[str]":
        """Return the task of a request that loads a text itself."""
        return asyncio.create_task(self.lane.run(lambda: self.load(key)))

    def value(self, key: str) -> "asyncio.Task[str]":
        """Return the task of a request for a text, which shares a load with others."""
        return asyncio.create_task(
            self._flights.value_in(self.lane, key, lambda: self.load(key)), name=key
        )

    async def begun(self, task: "asyncio.Task[str]") -> "asyncio.Task[str]":
        """Return a task once a text is being loaded."""
        async with asyncio.timeout(10):
            while not self.loaded:
                await asyncio.sleep(0.001)
        return task


async def settled(*tasks: "asyncio.Future[Any]") -> list[Any]:
    """Return what each task returned or raised."""
    return await asyncio.gather(*tasks, return_exceptions=True)


@pytest.fixture
def loading(request: pytest.FixtureRequest) -> Iterator[Loading]:
    """Return a loading with the lane of ``with_lane``."""
    loading = Loading(**getattr(request, "param", {}))
    yield loading
    loading.opened.set()
    loading.lane.close()


def with_lane(**settings: float) -> pytest.MarkDecorator:
    """Return the mark of a test whose lane has these settings."""
    return pytest.mark.parametrize("loading", [settings], indirect=True, ids=str)


@with_lane(patience=0.05)
async def test_task_is_refused_after_the_patience_of_its_lane(loading: Loading) -> None:
    """And leaves the queue."""
    working = await loading.begun(loading.unshared("a"))
    with pytest.raises(BadRequest, match="busy") as caught:
        await loading.unshared("b")
    assert (caught.value.status, caught.value.code) == (503, "OVERLOADED")
    assert dict(caught.value.headers) == {b"retry-after": b"2"}
    loading.opened.set()
    assert await working == "A"
    assert loading.loaded == ["a"]


async def test_waiting_task_can_be_cancelled(loading: Loading) -> None:
    """Its work never begins, and the next task in the queue is not delayed."""
    working, cancelled, remaining = [loading.unshared(key) for key in "abc"]
    await asyncio.sleep(0)
    cancelled.cancel()
    await settled(cancelled)
    loading.opened.set()
    assert await settled(working, remaining) == ["A", "C"]
    assert loading.loaded == ["a", "c"]


async def test_cancelled_work_keeps_its_thread_until_it_ends(loading: Loading) -> None:
    """No more threads run than the lane has."""
    cancelled: list[bool] = []
    work = loading.lane.run(lambda: loading.load("damaged"), lambda: cancelled.append(True))
    working = await loading.begun(asyncio.create_task(work))
    working.cancel()
    await settled(working)
    assert cancelled == [True]
    following = loading.unshared("next")
    await asyncio.sleep(0.05)
    assert loading.loaded == ["damaged"]
    loading.opened.set()
    assert await following == "NEXT"


class Source:
    """Returns a text when it is released; counts the calls and their cancellations."""

    def __init__(self) -> None:
        self.release = asyncio.Event()
        self.num_calls = 0
        self.num_cancelled = 0

    async def make(self) -> str:
        """Return a text once it is released."""
        self.num_calls += 1
        try:
            await self.release.wait()
        except asyncio.CancelledError:
            self.num_cancelled += 1
            raise
        return "made"


@pytest.mark.parametrize("outlasts", [True, False])
async def test_computation_without_waiters_is_cancelled(outlasts: bool) -> None:
    """When the last waiter leaves, unless it outlasts its waiters."""
    source, pages = Source(), SingleFlight[str]("page", outlasts=outlasts)
    first, second = [asyncio.create_task(pages.value("a", source.make)) for _ in range(2)]
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.sleep(0.01)
    assert (source.num_calls, source.num_cancelled) == (1, 0)
    second.cancel()
    await asyncio.sleep(0.01)
    assert source.num_cancelled == (not outlasts)
    assert ("a" in pages) is outlasts
    source.release.set()
    assert await pages.value("a", source.make) == "made"
    assert source.num_calls == (1 if outlasts else 2)


async def test_long_wait_ends_with_retry_after() -> None:
    """The computation continues, so that a retry can join it."""
    source, pages = Source(), SingleFlight[str]("page", seconds=0.01)
    with pytest.raises(BadRequest, match="this page is not ready yet") as caught:
        await pages.value("a", source.make)
    assert caught.value.status == 503
    assert (b"retry-after", b"2") in caught.value.headers
    again = asyncio.create_task(pages.value("a", source.make))
    await asyncio.sleep(0)
    source.release.set()
    assert await again == "made"
    assert (source.num_calls, source.num_cancelled) == (1, 0)


@with_lane(patience=0.05)
async def test_running_load_can_be_joined(loading: Loading) -> None:
    """For longer than the patience of its lane."""
    first = await loading.begun(loading.value("a"))
    more = [loading.value("a") for _ in range(20)]
    await asyncio.sleep(0.1)
    loading.opened.set()
    assert await settled(first, *more) == ["A"] * 21
    assert loading.loaded == ["a"]
    assert await loading.value("a") == "A"
    assert loading.loaded == ["a", "a"], "no load is running"


async def test_cancelled_waiter_does_not_affect_others(loading: Loading) -> None:
    """Neither before loading begins nor after, also if it came first."""
    cancelled, other = await loading.begun(loading.value("a")), loading.value("a")
    cancelled_in_queue, other_in_queue = loading.value("b"), loading.value("b")
    await asyncio.sleep(0)
    cancelled.cancel()
    cancelled_in_queue.cancel()
    left = await settled(cancelled, cancelled_in_queue)
    assert [type(error) for error in left] == [asyncio.CancelledError] * 2
    loading.opened.set()
    assert await settled(other, other_in_queue) == ["A", "B"]


async def test_all_waiters_get_the_same_error(loading: Loading) -> None:
    """Later requests try again: errors are not cached."""
    waiting = [await loading.begun(loading.value("damaged")), loading.value("damaged")]
    await asyncio.sleep(0)
    loading.opened.set()
    first, second = await settled(*waiting)
    assert isinstance(first, CatalogError)
    assert first is second
    with pytest.raises(CatalogError):
        await loading.value("damaged")
    assert loading.loaded == ["damaged"] * 2
