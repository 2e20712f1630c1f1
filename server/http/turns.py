"""Turns: small pieces of work that are done in the event loop, one of them in each iteration."""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")


class Turns:
    """Lets one piece of work run in each iteration of the event loop, in the order of arrival.

    Between two pieces the loop reads and writes for all connections, however many pieces wait.
    Without turns, 50 clients that come together are answered before any other one is. All methods
    belong to the event loop.
    """

    def __init__(self) -> None:
        self._waiting: deque[Callable[[], None]] = deque()
        self._is_taken = False

    @property
    def num_waiting(self) -> int:
        """How many pieces wait."""
        return len(self._waiting)

    def take(self) -> bool:
        """Take the turn of this iteration; return whether it was free.

        Who gets it works until it returns to the event loop.
        """
        if self._is_taken:
            return False
        self._is_taken = True
        asyncio.get_running_loop().call_soon(self._pass_on)
        return True

    def wait(self, work: Callable[[], None]) -> None:
        """Have work done when its turn comes, in a later iteration."""
        self._waiting.append(work)

    async def run(self, work: Callable[[], Result]) -> Result:
        """Return what work returns, done when its turn comes."""
        if self.take():
            return work()
        future: asyncio.Future[Result] = asyncio.get_running_loop().create_future()

        def work_in_turn() -> None:
            if not future.cancelled():
                try:
                    future.set_result(work())
                except Exception as error:  # noqa: BLE001 - raised where the result is awaited
                    future.set_exception(error)

        self.wait(work_in_turn)
        return await future

    def _pass_on(self) -> None:
        """Do the next piece of work; the turn is free again where none waits."""
        if not self._waiting:
            self._is_taken = False
            return
        asyncio.get_running_loop().call_soon(self._pass_on)
        self._waiting.popleft()()
