"""A function mapped over many items: here, in processes of this machine, or on a cluster.

Processes of this machine are a pool of the standard library's; a cluster is Daft on Ray.
"""

import os
import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from importlib.util import find_spec
from itertools import islice
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext, ForkServerProcess, SpawnContext, SpawnProcess
from multiprocessing.process import BaseProcess
from signal import SIG_BLOCK, SIG_IGN, SIG_SETMASK, SIGINT, getsignal, pthread_sigmask, signal
from threading import Thread, current_thread, main_thread
from types import FrameType
from typing import Any, TypeVar

from snapshots.errors import CatalogError, InvalidArgument

KILLED = (
    "one of the processes that work on it was killed, as happens where memory is short; "
    "try again with fewer jobs"
)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Let an interrupt wait until the block ends; processes that begin in it never have one."""
    resource_tracker.ensure_running()  # it would let interrupts through again
    interrupts: list[tuple[int, FrameType | None]] = []
    before = getsignal(SIGINT)
    is_ours = callable(before) and current_thread() is main_thread()
    if is_ours:
        # Blocked for this thread alone: another one that takes it would interrupt this one.
        signal(SIGINT, lambda *interrupt: interrupts.append(interrupt))
    blocked = pthread_sigmask(SIG_BLOCK, {SIGINT})
    try:
        yield
    finally:
        pthread_sigmask(SIG_SETMASK, blocked)
        if is_ours:
            signal(SIGINT, before)
        if interrupts and callable(before):
            before(*interrupts[0])


class _Deaf(BaseProcess):
    """A process that Ctrl+C never reaches, not while it begins either: who started it ends it."""

    def start(self) -> None:
        """Begin; an interrupt that comes meanwhile is for the one who starts it."""
        with _uninterrupted():
            super().start()


class DeafProcess(_Deaf, SpawnProcess):
    """A fresh interpreter that Ctrl+C never reaches."""


class DeafContext(SpawnContext):
    """What makes such processes, as ``multiprocessing.get_context("spawn")`` makes others."""

    Process = DeafProcess


class _Forked(_Deaf, ForkServerProcess):
    """A copy of one interpreter that has imported what is needed, and done nothing else."""


class _ForkingContext(ForkServerContext):
    Process = _Forked


def _context(needed: str) -> DeafContext | _ForkingContext:
    """Return what makes processes that need a module.

    Threads of Arrow and Delta Lake do not survive a fork of this process. On Linux the imports,
    half a second for each process, are made once all the same.
    """
    if sys.platform != "linux":
        return DeafContext()
    context = _ForkingContext()
    context.set_forkserver_preload([needed])
    return context


@contextmanager
def processes(
    jobs: int, location: str, function: Callable[[Any], Any]
) -> Iterator[ProcessPoolExecutor]:
    """Yield so many processes, whose ``call`` calls a function.

    They end with the block: at once where that ends by an error or Ctrl+C, or who started them is
    killed. Raises CatalogError of the location where one of them is killed.
    """
    named = function.func if isinstance(function, partial) else function
    context = _context(named.__module__)
    watched, held = context.Pipe(duplex=False)
    arguments = (watched, dict(os.environ), _folder(), function)
    pool = ProcessPoolExecutor(jobs, context, _start, arguments)
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


def _folder() -> str | None:
    """Return the folder that this process is in; None where it was deleted."""
    try:
        return os.getcwd()  # noqa: PTH109
    except FileNotFoundError:
        return None


def _start(
    watched: Connection,
    environ: Mapping[str, str],
    folder: str | None,
    function: Callable[[Any], Any],
) -> None:
    signal(SIGINT, SIG_IGN)
    Thread(target=_end_with, args=(watched,), daemon=True).start()
    # What was copied may have been made when both were others.
    os.environ.clear()
    os.environ.update(environ)
    if folder is not None:
        os.chdir(folder)
    _functions.append(function)


_functions: list[Callable[[Any], Any]] = []
"""In a process of the pool: the function that it calls."""


def call(item: Any) -> Any:
    """Return what the function of this process returns."""
    return _functions[-1](item)


def _end_with(watched: Connection) -> None:
    """Wait until nobody holds the other end any more: work would be waited for in vain."""
    watched.poll(None)
    os._exit(1)


# -- mapping

Item = TypeVar("Item")
Result = TypeVar("Result")

_AHEAD = 2
"""So many items for each process are done or being done beyond the result that is waited for."""

_SCHEME = "ray://"


def mapping(
    function: Callable[[Item], Result],
    location: str,
    items: Sequence[Item],
    *,
    jobs: int | None = None,
    cluster: str | None = None,
) -> AbstractContextManager[Iterator[Result]]:
    """Have the results of a function for all items, in their order, as they are made.

    Workers get the function once, pickled by its name or as a partial of one, and items by their
    values. ``location`` is that of the catalog, for errors. ``jobs`` is how many items are worked
    on at once: by default one, or on a ``cluster``, the ``ray://HOST:PORT`` of one of Ray's, as
    many as it has cores. A CachelogError that the function raises comes out as it is. Raises
    CatalogError where a worker was killed or the cluster fails, and InvalidArgument for a cluster's
    address that is none, or without Daft and Ray.
    """
    if cluster is not None:
        check_cluster(cluster)
        # Late: Daft takes a second to import, and is an extra.
        from snapshots.catalog.cluster import on_cluster

        return on_cluster(cluster, function, location, items, jobs)
    jobs = min(jobs or 1, len(items))
    if jobs <= 1:
        return nullcontext(map(function, items))
    return _in_pool(function, location, items, jobs)


def check_cluster(address: str) -> None:
    """Raise InvalidArgument where no cluster can be at an address, or what asks it is missing."""
    host, colon, port = address.removeprefix(_SCHEME).rpartition(":")
    if not (address.startswith(_SCHEME) and host and colon and port.isdecimal()):
        raise InvalidArgument("--cluster", f"{address!r} is not of the form {_SCHEME}HOST:PORT")
    if not (find_spec("daft") and find_spec("ray")):
        reason = "needs Daft and Ray: install 'cachelog[cluster]', here and on each node"
        raise InvalidArgument("--cluster", reason)


@contextmanager
def _in_pool(
    function: Callable[[Item], Result], location: str, items: Sequence[Item], jobs: int
) -> Iterator[Iterator[Result]]:
    with processes(jobs, location, function) as pool:
        yield _results(pool, iter(items), jobs * _AHEAD)


def _results(pool: ProcessPoolExecutor, items: Iterator[Any], most_ahead: int) -> Iterator[Any]:
    """Yield the results; no more are ahead than memory has room for."""
    ahead = deque(pool.submit(call, item) for item in islice(items, most_ahead))
    while ahead:
        yield ahead.popleft().result()
        ahead.extend(pool.submit(call, item) for item in islice(items, 1))
