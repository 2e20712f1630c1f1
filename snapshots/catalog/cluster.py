"""A map on a Ray cluster, as a Daft program: https://docs.daft.ai.

Each row is an item, in a separate batch; items and results are transferred as bytes.
"""

import os
import pickle
import re
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from importlib import import_module
from typing import Any

from snapshots.errors import CachelogError, CatalogError

# Read when Daft is imported: no telemetry is sent, and commands have their own progress bars.
os.environ.setdefault("DAFT_ANALYTICS_ENABLED", "0")
os.environ.setdefault("DAFT_PROGRESS_BAR", "0")

import daft

_AT_ONCE = 24
"""The number of items per actor in one program, which runs ahead of the consumer of its results."""

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class _Worker:
    """An actor of a cluster: calls a function."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function = function

    def __call__(self, item: bytes) -> bytes:
        """Return the pickled result, or the pickled CachelogError that was raised."""
        try:
            result = self._function(pickle.loads(item))  # noqa: S301 - from the parent process
        except CachelogError as error:
            result = error
        return pickle.dumps(result)


@contextmanager
def on_cluster(
    address: str,
    function: Callable[[Any], Any],
    location: str,
    items: Sequence[Any],
    jobs: int | None,
) -> Iterator[Iterator[Any]]:
    """Map on a Ray cluster, with ``jobs`` actors; by default one per core."""
    ray: Any = import_module("ray")
    try:
        daft.set_runner_ray(address, noop_if_initialized=True)
        jobs = jobs or int(ray.cluster_resources().get("CPU", 1))
        jobs = min(jobs, len(items) or 1)
        with closing(_results(function, items, jobs)) as results:
            yield results
    except (RuntimeError, ConnectionError, daft.exceptions.DaftCoreException) as error:
        why = _COLOUR.sub("", str(error)).strip().rpartition("\n")[2]
        raise CatalogError(location, f"the cluster at {address} failed ({why})") from None


def _results(
    function: Callable[[Any], Any], items: Sequence[Any], jobs: int
) -> Generator[Any, None, None]:
    """Run one program after another, each for a part of the items."""
    work = daft.cls(_Worker, use_process=False, max_concurrency=jobs)(function)
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
