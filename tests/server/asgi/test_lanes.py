"""Lanes: how many work, how many wait, and how the others are refused."""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest

from server.asgi.errors import BadRequest
from server.asgi.lanes import Lane


class Gate:
    """Work that lasts until it is opened."""

    def __init__(self) -> None:
        self._opened = threading.Event()

    def open(self) -> None:
        """Let all work end."""
        self._opened.set()

    def pass_through(self) -> str:
        """Return the name of the thread, as soon as the gate is open."""
        assert self._opened.wait(10)
        return threading.current_thread().name


@pytest.fixture
def gate() -> Iterator[Gate]:
    """Return a gate that is open at the end of the test."""
    gate = Gate()
    yield gate
    gate.open()


def with_lane(
    test: Callable[[Lane], Coroutine[Any, Any, None]],
    *,
    threads: int = 2,
    waiting: int = 3,
    patience: float = 10,
) -> None:
    """Run a test in an event loop, with a lane."""
    lane = Lane("test", threads=threads, waiting=waiting, patience=patience)
    asyncio.run(test(lane))
    lane.close()


def test_work_runs_in_the_threads_of_its_lane() -> None:
    """What it returns comes back, and what it raises too."""

    async def test(lane: Lane) -> None:
        name = await lane.run(lambda: threading.current_thread().name)
        assert name.startswith("cachelog-test")
        with pytest.raises(ZeroDivisionError):
            await lane.run(lambda: 1 // 0)
        assert (lane.num_running, lane.num_waiting) == (0, 0)

    with_lane(test)


def test_a_full_lane_refuses(gate: Gate) -> None:
    """Two work, three wait, one more is told to come back; the others are answered."""

    async def test(lane: Lane) -> None:
        working = [asyncio.ensure_future(lane.run(gate.pass_through)) for _ in range(5)]
        await asyncio.sleep(0)
        assert (lane.num_running, lane.num_waiting) == (2, 3)
        with pytest.raises(BadRequest) as caught:
            await lane.run(gate.pass_through)
        assert (caught.value.status, caught.value.code) == (503, "OVERLOADED")
        assert dict(caught.value.headers) == {b"retry-after": b"2"}
        gate.open()
        assert len(set(await asyncio.gather(*working))) == 2
        assert (lane.num_running, lane.num_waiting) == (0, 0)

    with_lane(test)


def test_who_waits_too_long_is_refused(gate: Gate) -> None:
    """Nobody waits longer than the lane's patience, and the place in the queue is free again."""

    async def test(lane: Lane) -> None:
        working = asyncio.ensure_future(lane.run(gate.pass_through))
        await asyncio.sleep(0)
        with pytest.raises(BadRequest, match="busy"):
            await lane.run(gate.pass_through)
        assert (lane.num_running, lane.num_waiting) == (1, 0)
        gate.open()
        await working

    with_lane(test, threads=1, patience=0.05)


def test_who_waits_may_leave(gate: Gate) -> None:
    """Work that has not begun never does; the next in the queue is not held up."""
    done: list[str] = []

    async def test(lane: Lane) -> None:
        working = asyncio.ensure_future(lane.run(gate.pass_through))
        leaving = asyncio.ensure_future(lane.run(lambda: done.append("left")))
        staying = asyncio.ensure_future(lane.run(lambda: done.append("stayed")))
        await asyncio.sleep(0)
        leaving.cancel()
        await asyncio.gather(leaving, return_exceptions=True)
        gate.open()
        await asyncio.gather(working, staying)
        assert done == ["stayed"]

    with_lane(test, threads=1)


def test_work_that_is_left_alone_is_cancelled_and_keeps_its_thread_until_it_ends() -> None:
    """No more threads work than the lane has, whoever leaves."""
    began, ended = threading.Event(), threading.Event()

    def work() -> None:
        began.set()
        assert ended.wait(10)
        raise RuntimeError("cancelled")

    async def test(lane: Lane) -> None:
        cancelled: list[bool] = []
        leaving = asyncio.ensure_future(lane.run(work, lambda: cancelled.append(True)))
        await asyncio.to_thread(began.wait, 10)
        leaving.cancel()
        await asyncio.gather(leaving, return_exceptions=True)
        assert cancelled == [True]
        assert lane.num_running == 1
        ended.set()
        assert await lane.run(lambda: "next") == "next"
        assert lane.num_running == 0

    with_lane(test, threads=1)
