"""Turns of small work in the event loop: one in each iteration, in the order of arrival."""

import asyncio
from functools import partial

import pytest

from server.http.cycles import Turns

pytestmark = pytest.mark.anyio


async def test_one_piece_is_done_in_each_iteration() -> None:
    """Other callbacks run in between, however many pieces wait."""
    done: list[str] = []
    turns, loop = Turns(), asyncio.get_running_loop()
    assert turns.take()
    done.append("first")
    for name in ("second", "third"):
        assert not turns.take()
        turns.wait(partial(done.append, name))
    for number in range(3):
        loop.call_soon(done.append, f"other {number}")
        await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert turns.take(), "the turn is free again"
    pieces = [name for name in done if not name.startswith("other")]
    assert pieces == ["first", "second", "third"]
    assert done.index("other 0") < done.index("third")


async def test_a_result_or_an_error_is_that_of_its_own_piece() -> None:
    """A piece that is cancelled leaves its turn to the next."""
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
