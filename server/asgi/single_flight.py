"""Single flight: one computation per key, shared by all requests that wait for its result."""

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from datetime import UTC, datetime
from functools import partial
from typing import Any, Generic, TypeVar

from server.asgi.errors import BadRequest, explaining, overloaded
from server.asgi.lanes import Lane

Result = TypeVar("Result")


class SingleFlight(Generic[Result]):
    """Computations in progress, by key. All methods must be called in the event loop.

    A computation continues as long as any caller waits for it. When the last one leaves, it is
    cancelled, unless it ``outlasts`` its callers. A caller that has waited for ``seconds`` is
    refused with a message that this ``what`` is not ready; the computation then continues, so that
    its result is available for a retry.
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
        """Return the result of ``compute``, or of a computation in progress for the same key.

        Raises the errors of the computation, and BadRequest with status 503 on timeout.
        """
        flight = self._flights.get(key) or self._begin(key, compute(), outlasts=self._outlasts)

        def refusal() -> BadRequest:
            flight.outlasts = True
            return overloaded(f"this {self._what} is not ready yet")

        return await self._result(key, flight, (flight.task,), self._seconds, refusal)

    async def value_in(
        self,
        lane: Lane,
        key: Hashable,
        work: Callable[[], Result],
        *,
        seconds: float | None = None,
    ) -> Result:
        """Return the result of ``work``, which runs once in a thread of a lane for all callers.

        Further callers for the same key take no slot in the lane's queue. Each waits for up to the
        lane's patience until the work begins, and then until it ends. If all callers leave before
        it begins, it is cancelled. Raises the errors of the work, and BadRequest with status 503 on
        timeout.

        The work is an explanation if ``seconds`` are given. Each caller then waits for its result
        for so long, and is refused as ``explaining`` on timeout.
        """

        async def compute() -> Result:
            await lane.enter(None)  # each caller has a timeout of its own
            flight.outlasts = True
            flight.begun.set_result(None)
            return await lane.start(work)

        flight = self._flights.get(key) or self._begin(key, compute(), outlasts=False)
        if seconds is not None:
            refusal = partial(explaining, flight.since)
            return await self._result(key, flight, (flight.task,), seconds, refusal)
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
        """Return the result; raise the refusal if none of ``first`` completes in time."""
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
                self._forget(key, flight)  # no caller may join a cancelled task

    def _end(self, key: Hashable, flight: "_Flight[Result]") -> None:
        self._forget(key, flight)
        if not flight.task.cancelled():
            flight.task.exception()  # marks it as retrieved: there may be no caller left to do so

    def _forget(self, key: Hashable, flight: "_Flight[Result]") -> None:
        if self._flights.get(key) is flight:
            del self._flights[key]


class _Flight(Generic[Result]):
    """A computation, and the number of callers that wait for it."""

    __slots__ = ("begun", "num_waiting", "outlasts", "since", "task")

    def __init__(self, work: Coroutine[Any, Any, Result], *, outlasts: bool) -> None:
        self.task = asyncio.create_task(work)
        self.begun: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.outlasts = outlasts
        self.since = datetime.now(UTC)
        self.num_waiting = 0
