"""Tallies of all processes of a server: each writes its own to a folder, and reads the others'."""

import asyncio
import contextlib
import logging
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from server.metrics.tallies import Recorder, Tally

_log = logging.getLogger("cachelog.server")

WRITE_SECONDS = 1.0
_RUNNING_SECONDS = 10.0
"""A process that has not written for so long does not run."""

_SUFFIX = ".json"


class Written(msgspec.Struct):
    """What a process has in its file."""

    moment: float
    tally: Tally


class SharedTallies:
    """The tallies of the processes that share a folder; without one, of this process alone.

    Files of processes that have ended stay, so that counters never go back. A folder that cannot be
    written to, as when the disk is full, keeps no process from serving: the log says so once, and
    the numbers are shared again when it can be.
    """

    def __init__(self, recorder: Recorder, folder: Path | None) -> None:
        self._recorder = recorder
        self._folder = folder
        # A new process may have the id of one that has ended.
        self._name = f"{os.getpid()}-{time.time_ns():x}{_SUFFIX}"
        self._is_out = False

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Write now and then until the context ends, and once more after."""
        if self._folder is None:
            yield
            return
        self._write(self._folder, time.time())
        task = asyncio.create_task(self._write_again(self._folder))
        try:
            yield
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
            self._write(self._folder, 0.0)

    def total(self) -> Tally:
        """Return the sum over all processes; those of others are about a second old."""
        total = Tally({}, {}, {})
        total.add(self._recorder.tally(), is_running=True)
        if self._folder is None:
            return total
        now = time.time()
        for file in self._folder.glob(f"*{_SUFFIX}"):
            if file.name != self._name:
                written = msgspec.json.decode(file.read_bytes(), type=Written)
                total.add(written.tally, is_running=now - written.moment < _RUNNING_SECONDS)
        return total

    def _write(self, folder: Path, moment: float) -> None:
        new = folder / f"{self._name}.new"
        try:
            new.write_bytes(msgspec.json.encode(Written(moment, self._recorder.tally())))
            new.replace(folder / self._name)
        except OSError as error:
            if not self._is_out:
                _log.warning("the numbers of this process cannot be shared: %s", error)
            self._is_out = True
        else:
            self._is_out = False

    async def _write_again(self, folder: Path) -> None:
        while True:
            await asyncio.sleep(WRITE_SECONDS)
            self._write(folder, time.time())
