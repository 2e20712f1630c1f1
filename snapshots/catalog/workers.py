"""Mapping of a function over many items: in this process, in local processes, or on a cluster.

Local processes are a pool of the standard library; a cluster is Daft on Ray.
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
    "one of the processes that work on it was killed, perhaps for lack of memory; "
    "try again with fewer jobs"
)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Defer interrupts until the block ends; processes started in it never receive one."""
    resource_tracker.ensure_running()  # otherwise it would unblock interrupts
    interrupts: list[tuple[int, FrameType | None]] = []
    before = getsignal(SIGINT)
    is_ours = callable(before) and current_thread() is main_thread()
    if is_ours:
        # Blocked for this thread only: another thread that receives it would interrupt this one.
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


class _Uninterruptible(BaseProcess):
    """A process that never receives Ctrl+C, not even while it starts; its parent terminates it."""

    def start(self) -> None:
        """Start the process; an interrupt during the start is for the parent."""
        with _uninterrupted():
            super().start()


class UninterruptibleProcess(_Uninterruptible, SpawnProcess):
    """A new interpreter that never receives Ctrl+C."""


class UninterruptibleContext(SpawnContext):
    """The context of such processes, like ``multiprocessing.get_context("spawn")`` for others."""

    Process = UninterruptibleProcess


class _Forked(_Uninterruptible, ForkServerProcess):
    """A fork of an interpreter that has only imported the needed module."""


class _ForkingContext(ForkServerContext):
    Process = _Forked


def _context(needed: str) -> UninterruptibleContext | _ForkingContext:
    """Return a context for processes that need a module.

    Threads of Arrow and Delta Lake do not survive a fork of this process. On Linux a fork server
    still imports the module only once, which otherwise takes half a second for each process.
    """
    if sys.platform != "linux":
        return UninterruptibleContext()
    context = _ForkingContext()
    context.set_forkserver_preload([needed])
    return context


@contextmanager
def processes(
    jobs: int, location: str, function: Callable[[Any], Any]
) -> Iterator[ProcessPoolExecutor]:
    """Yield a pool of ``jobs`` processes, in which ``call`` calls a function.

    They end with the block: immediately if the block ends with an error or Ctrl+C, or if the parent
    is killed. Raises CatalogError of the location if one of them is killed.
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
        held.close()  # no caller needs their results
        raise
    finally:
        pool.shutdown(cancel_futures=True)
        held.close()
        watched.close()


def _folder() -> str | None:
    """Return the working directory of this process; None if it was deleted."""
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
    Thread(target=_exit_with_parent, args=(watched,), daemon=True).start()
    # The fork server may have been started with another environment and directory.
    os.environ.clear()
    os.environ.update(environ)
    if folder is not None:
        os.chdir(folder)
    _functions.append(function)


_functions: list[Callable[[Any], Any]] = []
"""In a process of the pool: the function that it calls."""


def call(item: Any) -> Any:
    """Return the result of this process's function."""
    return _functions[-1](item)


def _exit_with_parent(watched: Connection) -> None:
    """Exit once no process holds the other end any more, because no one needs the results."""
    watched.poll(None)
    os._exit(1)


# -- mapping

Item = TypeVar("Item")
Result = TypeVar("Result")

_AHEAD = 2
"""The number of items per process that are processed ahead of the awaited result."""

_SCHEME = "ray://"


def mapping(
    function: Callable[[Item], Result],
    location: str,
    items: Sequence[Item],
    *,
    jobs: int | None = None,
    cluster: str | None = None,
) -> AbstractContextManager[Iterator[Result]]:
    """Yield the results of a function for all items, in order, as they become available.

    Workers receive the function once, pickled by its name or as a partial, and items by value.
    ``location`` is that of the catalog, for errors. ``jobs`` is the number of concurrent workers:
    by default one, or on a ``cluster`` (``ray://HOST:PORT`` of a Ray cluster) the number of its
    cores. A CachelogError of the function is raised unchanged. Raises CatalogError if a worker was
    killed or the cluster fails, and InvalidArgument for an invalid address of a cluster, or without
    Daft and Ray.
    """
    if cluster is not None:
        check_cluster(cluster)
        # Imported here, because Daft takes a second to import, and is an extra.
        from snapshots.catalog.cluster import on_cluster

        return on_cluster(cluster, function, location, items, jobs)
    jobs = min(jobs or 1, len(items))
    if jobs <= 1:
        return nullcontext(map(function, items))
    return _in_pool(function, location, items, jobs)


def check_cluster(address: str) -> None:
    """Raise InvalidArgument for an invalid address of a cluster, or if Daft or Ray is missing."""
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
    """Yield the results; items ahead are limited, because their results are held in memory."""
    ahead = deque(pool.submit(call, item) for item in islice(items, most_ahead))
    while ahead:
        yield ahead.popleft().result()
        ahead.extend(pool.submit(call, item) for item in islice(items, 1))
