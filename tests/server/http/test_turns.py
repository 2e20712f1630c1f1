"""Turns of small work in the event loop: one in each iteration, in the order of arrival."""

import asyncio

import pytest

from server.http.cycles import Turns


def test_one_piece_is_done_in_each_iteration() -> None:
    """Others come in between, however many pieces wait."""
    done: list[str] = []

    async def run() -> None:
        turns, loop = Turns(), asyncio.get_running_loop()
        assert turns.take()
        done.append("first")
        for name in ("second", "third"):
            assert not turns.take()
            turns.wait(lambda name=name: done.append(name))  # type: ignore[misc]
        assert turns.num_waiting == 2
        for number in range(3):
            loop.call_soon(done.append, f"other {number}")
            await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert turns.take(), "the turn is free again"

    asyncio.run(run())
    pieces = [name for name in done if not name.startswith("other")]
    assert pieces == ["first", "second", "third"]
    assert done.index("other 0") < done.index("third")


def test_a_result_or_an_error_is_that_of_its_own_piece() -> None:
    """Who is cancelled leaves its turn to the next."""

    async def run() -> None:
        turns = Turns()
        first, divided, left, last = (
            asyncio.create_task(turns.run(work))
            for work in (lambda: 1, lambda: 1 // 0, lambda: 3, lambda: 4)
        )
        assert await first == 1
        left.cancel()
        with pytest.raises(ZeroDivisionError):
            await divided
        assert await last == 4
        assert left.cancelled()

    asyncio.run(run())
