"""Whose turn it is: so many items are begun as there is room for results that nobody took yet."""

from asyncio import wrap_future
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from functools import partial
from heapq import heappop, heappush
from threading import Lock
from typing import Any

Submit = Callable[[Any], Future[Any]]
"""Has an item done, by somebody else; raises RuntimeError where nobody is left who could."""


class Turns:
    """Items that coroutines have done in whatever order, and that are taken in their own.

    It may be used by several threads: one takes results, and an event loop runs the coroutines.
    """

    def __init__(self, submit: Submit, items: Sequence[Any], most_ahead: int) -> None:
        self._submit = submit
        self._items = items
        self._most_ahead = most_ahead
        self._lock = Lock()
        self._asking: list[tuple[int, Future[bool]]] = []
        self._found: dict[int, Future[Any]] = {}
        self._running: dict[int, Future[bool]] = {}
        self._num_ahead = 0
        self._following = 0
        self._is_closed = False

    async def do(self, number: int) -> None:
        """Have an item done when it is its turn; return when it is, or nobody wants it any more."""
        turn = _promise()
        with self._lock:
            heappush(self._asking, (number, turn))
        self._let_on()
        if not await wrap_future(turn):
            return
        done = self._begun(self._items[number])
        is_done = _promise()
        with self._lock:
            if self._is_closed:
                return
            self._running[number] = is_done
        done.add_done_callback(partial(self._end, number))
        if not await wrap_future(is_done):
            return
        with self._lock:
            self._found[number] = done
        self._let_on()

    def _begun(self, item: Any) -> Future[Any]:
        try:
            return self._submit(item)
        except RuntimeError as error:
            refused = Future[Any]()
            refused.set_exception(error)
            return refused

    def _end(self, number: int, _done: Future[Any]) -> None:
        """Let the call go on whose item is done."""
        # The thread is one of who did it: to begin another item here could block that one.
        with self._lock:
            is_done = self._running.pop(number, None)
        if is_done is not None:
            is_done.set_result(True)

    def take(self) -> Iterator[Any]:
        """Yield the results that are next, as many as there are; raise what doing one did."""
        while (done := self._taken()) is not None:
            yield done.result()

    def _taken(self) -> Future[Any] | None:
        with self._lock:
            if self._following not in self._found:
                return None
            done = self._found.pop(self._following)
            self._following += 1
            self._num_ahead -= 1
        self._let_on()
        return done

    def close(self) -> None:
        """Let go of all that wait: for their turn, or until they are done."""
        with self._lock:
            self._is_closed = True
            left, self._running = self._running, {}
        for is_done in left.values():
            is_done.set_result(False)
        self._let_on()

    def _let_on(self) -> None:
        with self._lock:
            while self._asking and (self._is_closed or self._has_room()):
                turn = self._asking[0][1]
                if not turn.done():  # as after an interrupt in the line behind
                    self._num_ahead += not self._is_closed
                    turn.set_result(not self._is_closed)
                heappop(self._asking)

    def _has_room(self) -> bool:
        # The one that is taken next may ask last, when others have returned and make room for it.
        is_stuck = self._num_ahead == len(self._found) and self._following not in self._found
        return is_stuck or self._num_ahead < self._most_ahead


def _promise() -> Future[bool]:
    """Return what another thread keeps; who waits for it cannot take it back."""
    promise = Future[bool]()
    promise.set_running_or_notify_cancel()
    return promise
