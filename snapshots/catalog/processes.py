"""Processes that work on parts of a catalog side by side."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import parent_process, resource_tracker
from multiprocessing.context import SpawnContext, SpawnProcess
from signal import SIG_BLOCK, SIG_IGN, SIG_SETMASK, SIGINT, pthread_sigmask, signal
from threading import Thread

from snapshots.errors import CatalogError

KILLED = (
    "one of the processes that work on it was killed, as happens where memory is short; "
    "try again with fewer jobs"
)


class DeafProcess(SpawnProcess):
    """A process that Ctrl+C never reaches, not while it begins either: who started it ends it."""

    def start(self) -> None:
        """Begin; an interrupt that comes meanwhile is for the one who starts it."""
        resource_tracker.ensure_running()  # it would let interrupts through again
        before = pthread_sigmask(SIG_BLOCK, {SIGINT})
        try:
            super().start()
        finally:
            pthread_sigmask(SIG_SETMASK, before)


class DeafContext(SpawnContext):
    """What makes such processes, as ``multiprocessing.get_context("spawn")`` makes others."""

    Process = DeafProcess


@contextmanager
def processes(
    jobs: int, location: str, begin: Callable[[str], None]
) -> Iterator[ProcessPoolExecutor]:
    """Yield so many processes, each of which has called ``begin`` with the catalog's location.

    Who started them ends them after Ctrl+C; where it is killed they end by themselves. Raises
    CatalogError where one of them is killed.
    """
    # Threads of Arrow and Delta Lake do not survive a fork.
    pool = ProcessPoolExecutor(jobs, DeafContext(), _begin, (begin, location))
    try:
        yield pool
    except BrokenProcessPool:
        raise CatalogError(location, KILLED) from None
    finally:
        pool.shutdown(cancel_futures=True)


def _begin(begin: Callable[[str], None], location: str) -> None:
    signal(SIGINT, SIG_IGN)
    Thread(target=_end_with_parent, daemon=True).start()
    begin(location)


def _end_with_parent() -> None:
    """Wait until the process is gone that started this one: work would be waited for in vain."""
    if parent := parent_process():
        parent.join()
        os._exit(1)
