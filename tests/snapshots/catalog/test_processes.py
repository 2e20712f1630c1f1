"""Processes beside this one: whatever ends one of them, somebody is told, and nobody stays."""

import os
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from signal import SIGKILL
from time import monotonic, sleep

import pytest

from snapshots.catalog.processes import processes
from snapshots.errors import CatalogError

_location: list[str] = []


def begin(location: str) -> None:
    """Keep the location."""
    _location.append(location)


def told() -> tuple[list[str], int]:
    """Return what this process was begun with, and its number."""
    return _location, os.getpid()


def kill_this() -> None:
    """End this process, as the system does where memory is short."""
    os.kill(os.getpid(), SIGKILL)


def test_each_process_begins_with_the_location() -> None:
    """It is another one than this."""
    with processes(1, "there", begin) as pool:
        location, number = pool.submit(told).result()
    assert location == ["there"]
    assert number != os.getpid()


def test_one_that_is_killed() -> None:
    """The error says what to do."""
    with (
        pytest.raises(CatalogError, match=r"there: one of the processes .* with fewer jobs"),
        processes(2, "there", begin) as pool,
    ):
        pool.submit(kill_this).result()


def _start_one(connection: Connection) -> None:
    with processes(1, "there", begin) as pool:
        connection.send(pool.submit(told).result()[1])
        sleep(60)


def test_who_started_them_is_killed() -> None:
    """They do not wait for work for ever."""
    context = get_context("spawn")
    received, sent = context.Pipe(duplex=False)
    parent = context.Process(target=_start_one, args=(sent,))
    parent.start()
    number = received.recv()
    assert is_running(number)
    parent.kill()
    parent.join()
    ends = monotonic() + 30
    while is_running(number) and monotonic() < ends:
        sleep(0.05)
    assert not is_running(number)


def is_running(number: int) -> bool:
    """Tell whether there is a process of that number which has not ended."""
    try:
        status = Path(f"/proc/{number}/stat").read_text()
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"
