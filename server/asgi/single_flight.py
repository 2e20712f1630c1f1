"""Single flight: one computation per key, shared by all requests that wait for its result."""

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from typing import Any, Generic, TypeVar

from server.asgi.errors import BadRequest, overloaded
from server.asgi.lanes import Lane

Result = TypeVar("Result")


class SingleFlight(Generic[Result]):
    """Computations under way, by key. All methods belong to the event loop.

    A computation goes on where some of those who wait for it hang up. Where all have, it is
    cancelled unless it ``outlasts`` them. Who has waited for ``seconds`` is refused and told that
    this ``what`` is still being made; then it goes on, so that they find it when they come back.
    """

    def __init__(
        self, what: str = "answer", *, seconds: float | None = None, outlasts: bool = False
    ) -> None:
        self._what = what
        self._seconds = seconds
        self._outlasts = outlasts
        self._flights: dict[Hashable, _Flight[Result]] = {}

    def __contains__(self, key: Hashable) -> bool:
        return key in self._flights

    async def value(
        self, key: Hashable, compute: Callable[[], Coroutine[Any, Any, Result]]
    ) -> Result:
        """Return what ``compute`` returns, or what another request has begun under the same key.

        Raises as ``joined``.
        """
        if key not in self._flights:
            self._begin(key, compute(), outlasts=self._outlasts)
        return await self.joined(key)

    async def joined(self, key: Hashable) -> Result:
        """Return the result of the computation under way for a key.

        Raises what the computation raises, and BadRequest with status 503 where it takes too long.
        """
        flight = self._flights[key]

        def refusal() -> BadRequest:
            flight.outlasts = True
            return overloaded(f"this {self._what} is still being made")

        return await self._result(key, flight, (flight.task,), self._seconds, refusal)

    async def value_in(self, lane: Lane, key: Hashable, work: Callable[[], Result]) -> Result:
        """Return what ``work`` returns, run in a thread of a lane once for all who wait for it.

        A second request for the same takes no place in the lane's queue. Each waits as long as the
        lane has patience until the work begins, and then until it ends. Where all have left before
        it began, it never does. Raises what the work raises, and BadRequest with status 503 where
        the patience is over, or where too many wait in the lane.
        """

        async def compute() -> Result:
            await lane.enter(None)  # as long as somebody has patience
            flight.outlasts = True
            flight.begun.set_result(None)
            return await lane.start(work)

        flight = self._flights.get(key) or self._begin(key, compute(), outlasts=False)
        first = flight.task, flight.begun
        return await self._result(key, flight, first, lane.patience, lane.overloaded)

    def _begin(
        self, key: Hashable, work: Coroutine[Any, Any, Result], *, outlasts: bool
    ) -> "_Flight[Result]":
        flight = self._flights[key] = _Flight(work, outlasts=outlasts)
        flight.task.add_done_callback(lambda _: self._end(key, flight))
        return flight

    async def _result(
        self,
        key: Hashable,
        flight: "_Flight[Result]",
        first: "tuple[asyncio.Future[Any], ...]",
        seconds: float | None,
        refusal: Callable[[], BadRequest],
    ) -> Result:
        """Return the result; raise the refusal where nothing of ``first`` happens in time."""
        flight.num_waiting += 1
        try:
            done, _ = await asyncio.wait(
                first, timeout=seconds, return_when=asyncio.FIRST_COMPLETED
            )
            if not done:
                raise refusal()
            return await asyncio.shield(flight.task)
        finally:
            flight.num_waiting -= 1
            if not flight.num_waiting and not flight.outlasts and not flight.task.done():
                flight.task.cancel()
                self._forget(key, flight)  # nobody may join it any more

    def _end(self, key: Hashable, flight: "_Flight[Result]") -> None:
        self._forget(key, flight)
        if not flight.task.cancelled():
            flight.task.exception()  # where nobody waits for it, nobody else looks at it

    def _forget(self, key: Hashable, flight: "_Flight[Result]") -> None:
        if self._flights.get(key) is flight:
            del self._flights[key]


class _Flight(Generic[Result]):
    """One computation, and how many wait for it."""

    __slots__ = ("begun", "num_waiting", "outlasts", "task")

    def __init__(self, work: Coroutine[Any, Any, Result], *, outlasts: bool) -> None:
        self.task = asyncio.create_task(work)
        self.begun: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.outlasts = outlasts
        self.num_waiting = 0
