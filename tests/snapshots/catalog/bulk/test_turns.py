"""Whose turn it is: items are done as there is room, in the order in which they are taken."""

import asyncio
from asyncio import Task, create_task
from collections.abc import Awaitable, Iterable
from concurrent.futures import Future

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapshots.catalog.bulk.turns import Turns

MOST_AHEAD = 3


class Worker:
    """Keeps what it is to do, and does it when told to."""

    def __init__(self) -> None:
        self.begun: dict[str, Future[str]] = {}

    def submit(self, item: str) -> Future[str]:
        """Begin an item."""
        return self.begun.setdefault(item, Future())

    def do(self, *items: str) -> None:
        """Do some of those that were begun."""
        for item in items:
            self.begun[item].set_result(item.upper())


async def settled() -> None:
    """Let every coroutine go on until it waits."""
    for _ in range(20):
        await asyncio.sleep(0)


def asked(turns: Turns, numbers: Iterable[int]) -> list[Task[None]]:
    """Have calls ask for their turns, in this order."""
    return [create_task(turns.do(number)) for number in numbers]


def test_no_more_are_begun_than_there_is_room_for() -> None:
    """Neither while they are being done nor while nobody takes them; one taken makes room."""

    async def run() -> None:
        worker = Worker()
        turns = Turns(worker.submit, "abcdef", MOST_AHEAD)
        asked(turns, range(6))
        await settled()
        assert [*worker.begun] == ["a", "b", "c"]
        worker.do("b", "c")
        await settled()
        assert [*worker.begun] == ["a", "b", "c"]
        assert [*turns.take()] == []
        worker.do("a")
        await settled()
        assert [*worker.begun] == ["a", "b", "c"]
        results = turns.take()
        assert next(results) == "A"
        await settled()
        assert [*worker.begun] == ["a", "b", "c", "d"]
        assert [*results] == ["B", "C"]
        await settled()
        assert [*worker.begun] == ["a", "b", "c", "d", "e", "f"]

    asyncio.run(run())


def test_the_next_to_be_taken_has_the_next_turn() -> None:
    """Whoever asked before it."""

    async def run() -> None:
        worker = Worker()
        turns = Turns(worker.submit, "abcdef", MOST_AHEAD)
        asked(turns, [0, 1, 2, 5, 4, 3])
        await settled()
        worker.do("a")
        await settled()
        assert [*turns.take()] == ["A"]
        await settled()
        assert [*worker.begun] == ["a", "b", "c", "d"]

    asyncio.run(run())


def test_one_that_asks_late_does_not_wait_for_ever() -> None:
    """While nothing else is being done, others have turns until it asks."""

    async def run() -> None:
        worker = Worker()
        turns = Turns(worker.submit, "abcdef", MOST_AHEAD)
        asked(turns, [1, 2, 3, 4, 5])
        await settled()
        worker.do("b", "c", "d")
        await settled()
        assert [*worker.begun] == ["b", "c", "d", "e"]
        asked(turns, [0])
        await settled()
        worker.do("e")
        await settled()
        assert [*worker.begun] == ["b", "c", "d", "e", "a"]
        worker.do("a")
        await settled()
        assert [*turns.take()] == ["A", "B", "C", "D", "E"]

    asyncio.run(run())


@given(st.permutations(range(12)), st.integers(1, 12))
def test_all_are_done_whatever_asks_first(order: list[int], at_once: int) -> None:
    """Also where only some ask at a time, as many as calls of a program."""

    async def run() -> list[int]:
        def submit(item: int) -> Future[int]:
            done = Future[int]()
            done.set_result(item)
            return done

        turns = Turns(submit, range(12), MOST_AHEAD)
        waiting = [*order]
        running: set[Task[None]] = set()
        taken: list[int] = []
        while len(taken) < 12:
            running.update(
                asked(turns, [waiting.pop(0) for _ in waiting[: at_once - len(running)]])
            )
            await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED, timeout=30)
            running = {it for it in running if not it.done()}
            taken.extend(turns.take())
        return taken

    assert asyncio.run(run()) == [*range(12)]


def test_an_error_is_raised_to_who_takes_it() -> None:
    """Not to the call: that of work, and that of who does no work any more."""

    async def run() -> None:
        worker = Worker()

        def submit(item: str) -> Future[str]:
            if item == "b":
                raise RuntimeError("nobody is left")
            return worker.submit(item)

        turns = Turns(submit, "ab", MOST_AHEAD)
        calls = asked(turns, range(2))
        await settled()
        worker.begun["a"].set_exception(ValueError("is odd"))
        await asyncio.gather(*calls)
        with pytest.raises(ValueError, match="is odd"):
            next(turns.take())
        with pytest.raises(RuntimeError, match="nobody is left"):
            next(turns.take())

    asyncio.run(run())


def test_calls_return_when_nobody_wants_their_results() -> None:
    """Those that wait for their turn, for work that goes on, and those that ask afterwards."""

    async def run() -> None:
        worker = Worker()
        turns = Turns(worker.submit, "abcdef", MOST_AHEAD)
        calls = asked(turns, range(5))
        await settled()
        turns.close()
        await within(asyncio.gather(*calls))
        await within(turns.do(5))
        assert [*worker.begun] == ["a", "b", "c"]
        worker.do("a")
        assert [*turns.take()] == []

    asyncio.run(run())


async def within(call: Awaitable[object]) -> None:
    """Wait until a call has returned, not for ever."""
    await asyncio.wait_for(call, 30)
