"""Workers that hang: found by their silence, ended and replaced; all others are left alone."""

import asyncio
import os
import time
from multiprocessing import Pipe
from multiprocessing.connection import Connection

from server.http.servers import Heartbeat, Listener, SilenceMonitor


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now


class Watched:
    """Processes by their names, over real pipes, and who waits for them."""

    def __init__(self, *names: str) -> None:
        self.clock = Clock()
        self.patience = SilenceMonitor(10.0, self.clock)
        self.sending: dict[str, Connection] = {}
        self.listeners: dict[Listener, str] = {}
        for name in names:
            receiving, self.sending[name] = Pipe(duplex=False)
            self.listeners[Listener(receiving)] = name

    def beat(self, *names: str) -> None:
        """Give a sign of life of some."""
        for name in names:
            os.write(self.sending[name].fileno(), b"..")

    def silent_after(self, seconds: float, *, alive: tuple[str, ...] = ()) -> list[str]:
        """Let time pass, with a look each second and signs of life of some; return who is late."""
        found = []
        for _ in range(round(seconds)):
            self.clock.now += 1
            self.beat(*alive)
            found += self.patience.silent(self.listeners)
        return [self.listeners[it] for it in found]


def test_who_is_silent_for_long_is_found_once() -> None:
    """Not earlier, and the others are not touched."""
    watched = Watched("a", "b")
    watched.beat("a", "b")
    assert watched.silent_after(11, alive=("b",)) == []
    assert watched.silent_after(1, alive=("b",)) == ["a"]
    assert watched.silent_after(30, alive=("b",)) == []


def test_a_start_may_take_long() -> None:
    """Silence counts from the first sign of life."""
    watched = Watched("a")
    assert watched.silent_after(100) == []
    watched.beat("a")
    assert watched.silent_after(12) == ["a"]


def test_nobody_is_late_where_all_were_held_up() -> None:
    """As on a machine that was paused: signs of life must come again first."""
    watched = Watched("a", "b")
    watched.beat("a", "b")
    watched.silent_after(1)
    watched.clock.now += 3_600
    assert watched.patience.silent(watched.listeners) == []
    assert watched.silent_after(11, alive=("b",)) == ["a"]


def test_a_process_that_has_ended_is_silent_and_no_error() -> None:
    """Whoever waits for its end finds that in another way."""
    watched = Watched("a")
    watched.beat("a")
    watched.sending["a"].close()
    assert watched.silent_after(12) == ["a"]


def test_signs_of_life_come_while_the_event_loop_runs() -> None:
    """Nothing waits for them to be taken, and none come from a loop that stands still."""
    receiving, sending = Pipe(duplex=False)
    listener = Listener(receiving)

    def was_heard() -> bool:
        listener.heard_at = None
        listener.listen(1.0)
        return listener.heard_at is not None

    async def run() -> None:
        async with Heartbeat(sending, 0.04).beating():
            await asyncio.sleep(0.1)
            assert was_heard()
            time.sleep(0.1)
            assert not was_heard()
            await asyncio.sleep(0.1)
            assert was_heard()
            while True:  # nobody listens any more
                try:
                    os.write(sending.fileno(), b"." * 4_096)
                except BlockingIOError:
                    break
            await asyncio.sleep(0.1)
        receiving.close()
        async with Heartbeat(sending, 0.04).beating():
            await asyncio.sleep(0.1)

    asyncio.run(run())
