"""A map as a program of Daft's: its own runner on one machine, Ray's on a cluster.

https://docs.daft.ai. Each row is an item, and a batch of its own. On one machine Daft calls
coroutines of this process, which have a pool of processes work: those start as copies of one
interpreter, and results come back as they are. On a cluster items and results travel as bytes.
"""

import os
import pickle
import re
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import cache
from importlib import import_module
from typing import Any

from snapshots.catalog.bulk.mapping import Begin
from snapshots.catalog.bulk.turns import Submit, Turns
from snapshots.errors import CachelogError, CatalogError

# Read as Daft is imported: a catalog's program tells nobody that it runs, and has bars of its own.
os.environ.setdefault("DAFT_ANALYTICS_ENABLED", "0")
os.environ.setdefault("DAFT_PROGRESS_BAR", "0")

import daft

_AT_ONCE = 24
"""So many items for each actor are one program: it runs ahead of who takes the results."""

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@cache
def _run_here() -> None:
    try:
        daft.set_runner_native()
    except daft.exceptions.DaftCoreException:  # somebody in this process asked Daft before
        if daft.runners.get_or_infer_runner_type() != "native":
            raise


_turns: dict[int, Turns] = {}
"""Those of programs that run: Daft takes nothing that cannot be pickled, but gives their keys."""


class _Call:
    """Has items done by somebody else: so many calls wait at once in one thread."""

    def __init__(self, key: int) -> None:
        self._key = key

    async def __call__(self, number: int) -> int:
        """Return the number of the item when its result is there, or nobody wants it any more."""
        if turns := _turns.get(self._key):
            await turns.do(number)
        return number


def on_cores(
    submit: Submit, location: str, items: Sequence[Any], most_ahead: int
) -> Generator[Any, None, None]:
    """Yield the results of all items, in their order, of what ``submit`` has processes do.

    No more than ``most_ahead`` are done or being done beyond those that were taken. Raises what
    the work does, and CatalogError where the program fails.
    """
    turns = Turns(submit, items, most_ahead)
    key = id(turns)
    _turns[key] = turns
    with closing(_done(key, location, len(items), most_ahead)) as rows, closing(turns):
        try:
            for _number in rows:
                yield from turns.take()
        finally:
            del _turns[key]


def _done(key: int, location: str, num_items: int, at_once: int) -> Generator[int, None, None]:
    """Yield the numbers of items whose calls came back, in whatever order."""
    with _told(location, "the program that works on it failed"):
        _run_here()
        call = daft.cls(_Call, use_process=False, max_concurrency=at_once)(key)
        frame = daft.from_pydict({"number": [*range(num_items)]})
        done = frame.into_batches(1).select(call(daft.col("number")).alias("done"))
        yield from (row["done"] for row in done.iter_rows())


class _Worker:
    """An actor of a cluster: begins as one that maps, and calls the function it was given then."""

    def __init__(self, begin: Begin[Any, Any], location: str) -> None:
        self._function = begin(location)

    def __call__(self, item: bytes) -> bytes:
        """Return the result, or the error that is one of ours."""
        try:
            result = self._function(pickle.loads(item))  # noqa: S301 - from who started this
        except CachelogError as error:
            result = error
        return pickle.dumps(result)


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
        with closing(_results(begin, location, items, jobs)) as results:
            yield results


def _results(
    begin: Begin[Any, Any], location: str, items: Sequence[Any], jobs: int
) -> Generator[Any, None, None]:
    """Run a program for so many items, and again for those behind them."""
    work = daft.cls(_Worker, use_process=False, max_concurrency=jobs)(begin, location)
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
    """Translate what Daft and Ray raise where a program fails or nobody can be reached."""
    try:
        yield
    except (RuntimeError, ConnectionError, daft.exceptions.DaftCoreException) as error:
        why = _COLOUR.sub("", str(error)).strip().rpartition("\n")[2]
        raise CatalogError(location, f"{reason} ({why})") from None
