"""Processes that work on parts of a catalog side by side."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
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

    They end with the block: at once where that ends by an error or Ctrl+C, or who started them is
    killed. Raises CatalogError where one of them is killed.
    """
    # Threads of Arrow and Delta Lake do not survive a fork.
    context = DeafContext()
    watched, held = context.Pipe(duplex=False)
    pool = ProcessPoolExecutor(jobs, context, _begin, (watched, begin, location))
    try:
        yield pool
    except BrokenProcessPool:
        raise CatalogError(location, KILLED) from None
    except BaseException:
        held.close()  # nobody waits for what they do
        raise
    finally:
        pool.shutdown(cancel_futures=True)
        held.close()
        watched.close()


def _begin(watched: Connection, begin: Callable[[str], None], location: str) -> None:
    signal(SIGINT, SIG_IGN)
    Thread(target=_end_with, args=(watched,), daemon=True).start()
    begin(location)


def _end_with(watched: Connection) -> None:
    """Wait until nobody holds the other end any more: work would be waited for in vain."""
    watched.poll(None)
    os._exit(1)
