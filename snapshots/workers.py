"""Mapping of a function over many items: in this process, in local processes, or on a cluster.

Workers receive the function once, pickled by its name or as a partial, and items by value. Local
processes are a pool of the standard library; a cluster is a Daft program on Ray
(https://docs.daft.ai), in which each row is an item.
"""

import os
import pickle
import re
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from itertools import islice
from multiprocessing import active_children, get_context, parent_process, resource_tracker
from signal import SIG_BLOCK, SIG_IGN, SIG_SETMASK, SIGINT, pthread_sigmask, signal
from threading import Thread
from typing import TYPE_CHECKING, Any, TypeVar

from snapshots.errors import CachelogError, CatalogError, InvalidArgument

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor

Item = TypeVar("Item")
Result = TypeVar("Result")


def mapping(
    function: Callable[[Item], Result],
    location: str,
    items: Sequence[Item],
    *,
    jobs: int | None = None,
    cluster: str | None = None,
) -> AbstractContextManager[Iterator[Result]]:
    """Yield the results of a function for all items, in order, as they become available.

    ``location`` is that of the catalog, for errors. ``jobs`` is the number of concurrent workers:
    by default one, or on a ``cluster`` (``ray://HOST:PORT`` of a Ray cluster) the number of its
    cores. A CachelogError of the function is raised unchanged. Raises CatalogError if a worker was
    killed or the cluster fails, and InvalidArgument for an invalid address of a cluster, or without
    Daft and Ray.
    """
    if cluster is not None:
        check_cluster(cluster)
        return _on_cluster(cluster, function, location, items, jobs)
    jobs = min(jobs or 1, len(items))
    if jobs <= 1:
        return nullcontext(map(function, items))
    return _in_pool(function, location, items, jobs)


# -- local processes

KILLED = (
    "one of the processes that work on it was killed, perhaps for lack of memory; "
    "try again with fewer jobs"
)

_AHEAD = 2
"""The number of items per process that are processed ahead of the awaited result."""


@contextmanager
def _in_pool(
    function: Callable[[Item], Result], location: str, items: Sequence[Item], jobs: int
) -> Iterator[Iterator[Result]]:
    """Map in processes that end with the block: immediately if it ends with an error or Ctrl+C."""
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool

    # Threads of Arrow and Delta Lake do not survive a fork of this process. The fork server imports
    # the module of the function once, which takes half a second.
    context = get_context("forkserver")
    named = function.func if isinstance(function, partial) else function
    context.set_forkserver_preload([named.__module__])
    pool = ProcessPoolExecutor(jobs, context, _start, (dict(os.environ), function))
    others = {*active_children()}
    try:
        with _without_interrupts():
            pool.submit(os.getpid)
        yield _results(pool, iter(items), jobs * _AHEAD)
    except BrokenProcessPool:
        raise CatalogError(location, KILLED) from None
    except BaseException:
        for process in {*active_children()} - others:  # no caller needs their results
            process.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Block Ctrl+C, for this thread and for the fork server that is started in the block."""
    resource_tracker.ensure_running()  # otherwise, starting it would unblock interrupts
    before = pthread_sigmask(SIG_BLOCK, {SIGINT})
    try:
        yield
    finally:
        pthread_sigmask(SIG_SETMASK, before)


def _results(pool: "ProcessPoolExecutor", items: Iterator[Any], most_ahead: int) -> Iterator[Any]:
    """Yield the results; items ahead are limited, because their results are held in memory."""
    ahead = deque(pool.submit(_call, item) for item in islice(items, most_ahead))
    while ahead:
        yield ahead.popleft().result()
        ahead.extend(pool.submit(_call, item) for item in islice(items, 1))


def _start(environ: Mapping[str, str], function: Callable[[Any], Any]) -> None:
    signal(SIGINT, SIG_IGN)
    Thread(target=_exit_with_parent, daemon=True).start()
    # The fork server may have been started with another environment.
    os.environ.clear()
    os.environ.update(environ)
    _functions.append(function)


def _exit_with_parent() -> None:
    """Exit when the parent is killed, because no one needs the results."""
    if (parent := parent_process()) is not None:
        parent.join()
    os._exit(1)


_functions: list[Callable[[Any], Any]] = []
"""In a process of a pool: the function that it calls."""


def _call(item: Any) -> Any:
    return _functions[-1](item)


# -- a cluster

_SCHEME = "ray://"
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_AT_ONCE = 24
"""The number of items per actor in one program, which runs ahead of the consumer of its results."""


def check_cluster(address: str) -> None:
    """Raise InvalidArgument for an invalid address of a cluster, or if Daft or Ray is missing."""
    host, colon, port = address.removeprefix(_SCHEME).rpartition(":")
    if not (address.startswith(_SCHEME) and host and colon and port.isdecimal()):
        raise InvalidArgument("--cluster", f"{address!r} is not of the form {_SCHEME}HOST:PORT")
    if not (find_spec("daft") and find_spec("ray")):
        reason = "needs Daft and Ray: install 'cachelog[cluster]', here and on each node"
        raise InvalidArgument("--cluster", reason)


class _Actor:
    """An actor of a cluster: calls a function with pickled items."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function = function

    def __call__(self, item: bytes) -> bytes:
        """Return the pickled result, or the CachelogError, whose attributes Daft would lose."""
        try:
            result = self._function(pickle.loads(item))  # noqa: S301 - from the parent process
        except CachelogError as error:
            result = error
        return pickle.dumps(result)


@contextmanager
def _on_cluster(
    address: str,
    function: Callable[[Any], Any],
    location: str,
    items: Sequence[Any],
    jobs: int | None,
) -> Iterator[Iterator[Any]]:
    """Map on a Ray cluster, with ``jobs`` actors; by default one per core."""
    # Read when Daft is imported: no telemetry is sent, and commands have their own progress bars.
    os.environ.setdefault("DAFT_ANALYTICS_ENABLED", "0")
    os.environ.setdefault("DAFT_PROGRESS_BAR", "0")
    import daft

    ray: Any = import_module("ray")
    try:
        daft.set_runner_ray(address, noop_if_initialized=True)
        jobs = jobs or int(ray.cluster_resources().get("CPU", 1))
        actors = daft.cls(_Actor, use_process=False, max_concurrency=min(jobs, len(items) or 1))
        with closing(_results_of(actors(function), items, _AT_ONCE * jobs)) as results:
            yield results
    except (RuntimeError, ConnectionError, daft.exceptions.DaftCoreException) as error:
        why = _COLOUR.sub("", str(error)).strip().rpartition("\n")[2]
        raise CatalogError(location, f"the cluster at {address} failed ({why})") from None


def _results_of(work: Any, items: Sequence[Any], at_once: int) -> Generator[Any, None, None]:
    """Yield the results in order, of one program after another for parts of the items."""
    import daft

    for start in range(0, len(items), at_once):
        part = [pickle.dumps(item) for item in items[start : start + at_once]]
        frame = daft.from_pydict({"number": [*range(len(part))], "item": part})
        done = frame.into_batches(1).select("number", work(daft.col("item")).alias("result"))
        early: dict[int, bytes] = {}
        following = 0
        for row in done.iter_rows():
            early[row["number"]] = row["result"]
            while following in early:
                result = pickle.loads(early.pop(following))  # noqa: S301 - from a worker of ours
                if isinstance(result, CachelogError):
                    raise result
                yield result
                following += 1
