"""A function mapped over many items: here, in processes of this machine, or on a cluster.

Who works side by side is not ours to schedule. Where Daft is installed the map is a program of
Daft's; without it a pool of processes does the same on one machine.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from importlib.util import find_spec
from itertools import islice
from typing import Any, TypeVar

from snapshots.catalog.bulk.processes import processes
from snapshots.errors import InvalidArgument

Item = TypeVar("Item")
Result = TypeVar("Result")

Begin = Callable[[str], Callable[[Item], Result]]
"""Called once by each worker with the catalog's location; returns the function to be mapped.

It is pickled by its name, as are items and results by their values.
"""

_AHEAD = 2
"""So many items for each process are done or being done beyond the result that is waited for."""

_SCHEME = "ray://"


def mapping(
    begin: Begin[Item, Result],
    location: str,
    items: Sequence[Item],
    *,
    jobs: int | None = None,
    cluster: str | None = None,
) -> AbstractContextManager[Iterator[Result]]:
    """Have the results of all items, in their order, as they are made.

    ``jobs`` is how many items are worked on at once: by default one, or on a ``cluster``, the
    ``ray://HOST:PORT`` of one of Ray's, as many as it has cores. A CachelogError that the function
    raises comes out as it is. Raises CatalogError where a worker was killed or the cluster fails,
    and InvalidArgument for a cluster's address that is none, or without Daft and Ray.
    """
    if cluster is not None:
        check_cluster(cluster)
        from snapshots.catalog.bulk.daft_program import on_cluster

        return on_cluster(cluster, begin, location, items, jobs)
    jobs = min(jobs or 1, len(items))
    if jobs <= 1:
        return _here(begin, location, items)
    if has_daft():
        from snapshots.catalog.bulk.daft_program import on_cores

        return on_cores(begin, location, items, jobs)
    return _in_pool(begin, location, items, jobs)


def check_cluster(address: str) -> None:
    """Raise InvalidArgument where no cluster can be at an address, or what asks it is missing."""
    host, colon, port = address.removeprefix(_SCHEME).rpartition(":")
    if not (address.startswith(_SCHEME) and host and colon and port.isdecimal()):
        raise InvalidArgument("--cluster", f"{address!r} is not of the form {_SCHEME}HOST:PORT")
    if not (has_daft() and find_spec("ray")):
        reason = "needs Daft and Ray: install 'cachelog[cluster]', here and on each node"
        raise InvalidArgument("--cluster", reason)


def has_daft() -> bool:
    """Tell whether Daft is installed."""
    return find_spec("daft") is not None


@contextmanager
def _here(
    begin: Begin[Item, Result], location: str, items: Iterable[Item]
) -> Iterator[Iterator[Result]]:
    yield map(begin(location), items)


_begun: dict[str, Callable[[Any], Any]] = {}


@contextmanager
def _in_pool(
    begin: Begin[Item, Result], location: str, items: Iterable[Item], jobs: int
) -> Iterator[Iterator[Result]]:
    with processes(jobs, location, partial(_begin, begin), _module_of(begin)) as pool:
        yield _from_pool(pool, iter(items), jobs * _AHEAD)


def _module_of(begin: Begin[Any, Any]) -> str:
    while isinstance(begin, partial):
        begin = begin.func
    return begin.__module__


def _begin(begin: Begin[Any, Any], location: str) -> None:
    _begun["function"] = begin(location)


def _call(item: Any) -> Any:
    return _begun["function"](item)


def _from_pool(pool: ProcessPoolExecutor, items: Iterator[Any], most_ahead: int) -> Iterator[Any]:
    """Yield the results; no more are ahead than memory has room for."""
    ahead: deque[Future[Any]] = deque()
    ahead.extend(pool.submit(_call, item) for item in islice(items, most_ahead))
    while ahead:
        yield ahead.popleft().result()
        ahead.extend(pool.submit(_call, item) for item in islice(items, 1))
