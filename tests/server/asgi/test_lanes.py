"""Lanes: number of running and waiting tasks, and refusals."""

import asyncio
import threading
from collections.abc import Iterator

import pytest

from server.asgi.errors import BadRequest
from server.asgi.lanes import Lane

pytestmark = pytest.mark.anyio


class Gate:
    """Work that blocks until the gate opens."""

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


@pytest.fixture
def lane(request: pytest.FixtureRequest) -> Iterator[Lane]:
    """Return a lane for three waiting tasks, with the threads and patience of ``with_lane``."""
    lane = Lane("test", **{"threads": 1, "waiting": 3, "patience": 10} | request.param)
    yield lane
    lane.close()


def with_lane(**settings: float) -> pytest.MarkDecorator:
    """Return the mark of a test whose lane has these settings."""
    return pytest.mark.parametrize("lane", [settings], indirect=True, ids=str)


@with_lane()
async def test_work_runs_in_the_threads_of_its_lane(lane: Lane) -> None:
    """Its result is returned, and its error is raised."""
    name = await lane.run(lambda: threading.current_thread().name)
    assert name.startswith("cachelog-test")
    with pytest.raises(ZeroDivisionError):
        await lane.run(lambda: 1 // 0)
    assert (lane.num_running, lane.num_waiting) == (0, 0)


@with_lane(threads=2)
async def test_full_lane_refuses(lane: Lane, gate: Gate) -> None:
    """Two run, three wait, and one more is told to retry later; the others complete."""
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


@with_lane(patience=0.05)
async def test_task_is_refused_after_the_patience_of_its_lane(lane: Lane, gate: Gate) -> None:
    """And leaves the queue."""
    working = asyncio.ensure_future(lane.run(gate.pass_through))
    await asyncio.sleep(0)
    with pytest.raises(BadRequest, match="busy"):
        await lane.run(gate.pass_through)
    assert (lane.num_running, lane.num_waiting) == (1, 0)
    gate.open()
    await working


@with_lane()
async def test_waiting_task_can_be_cancelled(lane: Lane, gate: Gate) -> None:
    """Its work never begins, and the next task in the queue is not delayed."""
    done: list[str] = []
    working = asyncio.ensure_future(lane.run(gate.pass_through))
    cancelled_task = asyncio.ensure_future(lane.run(lambda: done.append("left")))
    remaining = asyncio.ensure_future(lane.run(lambda: done.append("stayed")))
    await asyncio.sleep(0)
    cancelled_task.cancel()
    await asyncio.gather(cancelled_task, return_exceptions=True)
    gate.open()
    await asyncio.gather(working, remaining)
    assert done == ["stayed"]


@with_lane()
async def test_cancelled_work_keeps_its_thread_until_it_ends(lane: Lane) -> None:
    """No more threads run than the lane has."""
    began, ended = threading.Event(), threading.Event()

    def work() -> None:
        began.set()
        assert ended.wait(10)
        raise RuntimeError("cancelled")

    cancelled: list[bool] = []
    cancelled_task = asyncio.ensure_future(lane.run(work, lambda: cancelled.append(True)))
    await asyncio.to_thread(began.wait, 10)
    cancelled_task.cancel()
    await asyncio.gather(cancelled_task, return_exceptions=True)
    assert cancelled == [True]
    assert lane.num_running == 1
    ended.set()
    assert await lane.run(lambda: "next") == "next"
    assert lane.num_running == 0
