"""What requests wait to have loaded: each thing once, however many of them wait for it."""

import asyncio
from collections.abc import Callable, Hashable
from functools import partial
from typing import Any

from schema.execution.budget import NotLoaded
from server.asgi.lanes import Lane


class Loads:
    """Loads under way, by what is loaded. All methods belong to the event loop.

    A second request for the same takes no place in the lane's queue, and is not refused because the
    first one has the thread: it waits with it.
    """

    def __init__(self) -> None:
        self._under_way: dict[Hashable, _Load] = {}

    async def value(self, lane: Lane, missing: NotLoaded) -> Any:
        """Return what is missing, loaded in a thread of a lane; raises what its cache raises.

        Each request waits as long as the lane has patience, until loading begins, and then until
        it ends. Where all have left before it began, it never does. Raises BadRequest with status
        503 where the patience is over, or where too many wait in the lane.
        """
        place = missing.cache, missing.key
        load = self._under_way.get(place)
        if load is None:
            load = self._under_way[place] = _Load(lane, missing.load)
            load.task.add_done_callback(partial(self._forget, place, load))
        try:
            return await load.value()
        finally:
            if load.task.cancelling():  # nobody may join it any more
                self._forget(place, load, load.task)

    def _forget(self, place: Hashable, load: "_Load", _task: "asyncio.Task[Any]") -> None:
        if self._under_way.get(place) is load:
            del self._under_way[place]


class _Load:
    """One thing that is loaded, for as many as wait for it."""

    def __init__(self, lane: Lane, work: Callable[[], Any]) -> None:
        self._lane = lane
        self._work = work
        self._begun = asyncio.get_running_loop().create_future()
        self._num_waiting = 0
        self.task = asyncio.create_task(self._run())
        self.task.add_done_callback(_look_at_error)

    async def value(self) -> Any:
        """Return what was loaded; who is cancelled takes it from nobody else."""
        self._num_waiting += 1
        try:
            if not self._begun.done():
                # Waits for either; cancels neither.
                begins = self._begun, self.task
                first = asyncio.FIRST_COMPLETED
                done, _ = await asyncio.wait(begins, timeout=self._lane.patience, return_when=first)
                if not done:
                    raise self._lane.overloaded()
            return await asyncio.shield(self.task)
        finally:
            self._num_waiting -= 1
            if not self._num_waiting and not self._begun.done():
                self.task.cancel()

    async def _run(self) -> Any:
        await self._lane.enter(None)  # as long as somebody has patience
        self._begun.set_result(None)
        return await self._lane.start(self._work)


def _look_at_error(task: "asyncio.Task[Any]") -> None:
    """Take the error of a load that nobody waits for any more: else asyncio logs it."""
    if not task.cancelled():
        task.exception()
