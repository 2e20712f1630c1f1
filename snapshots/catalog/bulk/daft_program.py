"""A map as a program of Daft's: its own runner on one machine, Ray's on a cluster.

https://docs.daft.ai. Items and results travel as bytes in a column; each row is a batch of its own.
"""

import os
import pickle
import re
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import cache
from importlib import import_module
from signal import SIG_IGN, SIGINT, signal
from threading import Thread
from time import sleep
from typing import Any

from snapshots.catalog.bulk.mapping import Begin
from snapshots.catalog.bulk.processes import KILLED
from snapshots.errors import CachelogError, CatalogError

# Read as Daft is imported: a catalog's program tells nobody that it runs, and has bars of its own.
os.environ.setdefault("DAFT_ANALYTICS_ENABLED", "0")
os.environ.setdefault("DAFT_PROGRESS_BAR", "0")

import daft

_AT_ONCE = 24
"""So many items for each worker are one program: it runs ahead of who takes the results."""

_LOOK_SECONDS = 0.5

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class _Worker:
    """Begins as one that maps, and calls the function that it was given then."""

    def __init__(self, begin: Begin[Any, Any], location: str, *, is_ours: bool) -> None:
        if is_ours:
            signal(SIGINT, SIG_IGN)  # who started it ends it after Ctrl+C
            Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
        self._function = begin(location)

    def __call__(self, item: bytes) -> bytes:
        """Return the result, or the error that is one of ours."""
        try:
            result = self._function(pickle.loads(item))  # noqa: S301 - from who started this
        except CachelogError as error:
            result = error
        return pickle.dumps(result)


def _end_with(parent: int) -> None:
    """Wait until the process is gone that started this one: work would be waited for in vain."""
    while os.getppid() == parent:
        sleep(_LOOK_SECONDS)
    os._exit(1)


@cache
def _run_here() -> None:
    try:
        daft.set_runner_native()
    except daft.exceptions.DaftCoreException:  # somebody in this process asked Daft before
        if daft.runners.get_or_infer_runner_type() != "native":
            raise


@contextmanager
def on_cores(
    begin: Begin[Any, Any], location: str, items: Sequence[Any], jobs: int
) -> Iterator[Iterator[Any]]:
    """Map on this machine, in so many processes."""
    with _told(location, KILLED):
        _run_here()
        with closing(_results(begin, location, items, jobs, is_ours=True)) as results:
            yield results


@contextmanager
def on_cluster(
    address: str, begin: Begin[Any, Any], location: str, items: Sequence[Any], jobs: int | None
) -> Iterator[Iterator[Any]]:
    """Map on a cluster of Ray's, by so many actors; by default by one for each core."""
    ray: Any = import_module("ray")  # which the runner of one machine goes without
    with _told(location, f"the cluster at {address} failed"):
        daft.set_runner_ray(address, noop_if_initialized=True)
        jobs = jobs or int(ray.cluster_resources().get("CPU", 1))
        jobs = min(jobs, len(items) or 1)
        with closing(_results(begin, location, items, jobs, is_ours=False)) as results:
            yield results


def _results(
    begin: Begin[Any, Any], location: str, items: Sequence[Any], jobs: int, *, is_ours: bool
) -> Generator[Any, None, None]:
    """Run a program for so many items, and again for those behind them."""
    worker = daft.cls(_Worker, use_process=is_ours, max_concurrency=jobs)
    work = worker(begin, location, is_ours=is_ours)
    for start in range(0, len(items), _AT_ONCE * jobs):
        yield from _results_of(work, items[start : start + _AT_ONCE * jobs])


def _results_of(work: Any, items: Sequence[Any]) -> Iterator[Any]:
    frame = daft.from_pydict(
        {"number": [*range(len(items))], "item": [pickle.dumps(item) for item in items]}
    )
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


@contextmanager
def _told(location: str, reason: str) -> Iterator[None]:
    """Translate what Daft and Ray raise where a worker ends or cannot be reached."""
    try:
        yield
    except (RuntimeError, ConnectionError, daft.exceptions.DaftCoreException) as error:
        why = _COLOUR.sub("", str(error)).strip().rpartition("\n")[2]
        raise CatalogError(location, f"{reason} ({why})") from None
