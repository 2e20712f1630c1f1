"""Metrics of a server for Prometheus, and ``/metrics``.

If the variable PROMETHEUS_MULTIPROC_DIR names a folder, the processes of a server share their
metrics in files there: https://prometheus.github.io/client_python/multiprocess/.
"""

import asyncio
import os
import resource
import shutil
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, suppress
from functools import cache, partial
from heapq import nlargest
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from schema.execution.compiled import Fallback
from server.asgi.exchanges import Exchange
from server.graphql.answers import Answers
from server.graphql.execution import Execution
from server.watch import CatalogWatch, in_background
from snapshots.catalog.catalog import Catalog
from snapshots.catalog.library import Library
from snapshots.catalog.runs import Regular
from snapshots.history import History

FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""The variable that names the folder of several processes; prometheus-client reads it, too."""

MAX_LABELS = 50
"""Maximum number of operations, which clients name; others count as ``other``."""

OTHER = "other"
_MAX_LABEL_LENGTH = 100
_MEASURE_SECONDS = 1.0

REGISTRY = CollectorRegistry()
"""The metrics of this process, which all its applications share."""

_Counter = partial(Counter, registry=REGISTRY)
_Sum = partial(Gauge, multiprocess_mode="livesum", registry=REGISTRY)
_Largest = partial(Gauge, multiprocess_mode="livemax", registry=REGISTRY)

REQUESTS = _Counter("cachelog_requests", "Requests that were answered, by HTTP status.", ["status"])
REFUSED = _Counter(
    "cachelog_refused",
    "Requests that were answered with an error, by the code of the first.",
    ["code"],
)
SECONDS = Histogram(
    "cachelog_request_seconds",
    "Time from a request's headers to the end of its answer, by operation; 'other' is for those "
    "without a name, with errors, or not GraphQL.",
    ["operation"],
    registry=REGISTRY,
)
CACHE_HITS = _Counter("cachelog_response_cache_hits", "Responses sent from the cache.")
FALLBACKS = _Counter(
    "cachelog_fallbacks",
    "Operations that were not compiled, so that graphql-core executed them, by reason.",
    ["reason"],
)
for _reason in Fallback:
    FALLBACKS.labels(_reason.value)  # shown before it first occurs
CACHE_BYTES = _Sum("cachelog_cache_bytes", "Bytes that are kept in memory, by cache.", ["cache"])
REFRESH_AGE = _Largest(
    "cachelog_refresh_age_seconds", "Time since a process last read the list of revisions."
)
DESCRIPTORS = _Largest(
    "cachelog_open_descriptors", "Files and connections that one process has open."
)
MAX_DESCRIPTORS = _Largest(
    "cachelog_max_descriptors", "Files and connections that one process may have open."
)

_operations: set[str] = set()


def _bounded(operation: str) -> str:
    """Return an operation, or ``other`` if it is too long, or new and one too many."""
    if operation not in _operations:
        if len(_operations) >= MAX_LABELS or len(operation) > _MAX_LABEL_LENGTH:
            return OTHER
        _operations.add(operation)
    return operation


_count_of, _times_of = cache(REQUESTS.labels), cache(SECONDS.labels)
"""Looking up labels takes longer than counting."""


def note(exchange: Exchange) -> None:
    """Count an exchange."""
    _count_of(exchange.status).inc()
    if exchange.code is not None:
        REFUSED.labels(exchange.code).inc()
    _times_of(_bounded(exchange.operation or OTHER)).observe(exchange.seconds)


_OF_LIBRARY = "frames", "dependencies", "comparisons", "explanations"
"""The caches of the library that settings limit, by their attributes, which are their labels."""


class Metrics(msgspec.Struct, frozen=True, eq=False):
    """The momentary values of a server, and its page of metrics."""

    watch: CatalogWatch
    library: Library
    answers: Answers
    execution: Execution

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Share momentary values with other processes until the context ends."""
        folder = os.environ.get(FOLDER)
        if not folder:
            yield
            return
        _forget_ended(folder)
        try:
            async with in_background(self._measure_again()):
                yield
        finally:
            self.measure()  # counters
            mark_process_dead(os.getpid())

    async def _measure_again(self) -> None:
        while True:
            self.measure()
            await asyncio.sleep(_MEASURE_SECONDS)

    def measure(self) -> None:
        """Set the momentary values of this process; call it in the event loop."""
        responses = self.answers.responses
        CACHE_HITS.inc(responses.num_hits)
        responses.num_hits = 0
        for reason, number in self.execution.api.pop_fallbacks().items():
            FALLBACKS.labels(reason.value).inc(number)
        caches: dict[str, Any] = {name: getattr(self.library, name) for name in _OF_LIBRARY}
        caches["responses"] = responses
        for name, kept in caches.items():
            CACHE_BYTES.labels(name).set(kept.num_bytes)
        REFRESH_AGE.set(self.watch.age)
        with suppress(OSError):  # if the system reports them
            DESCRIPTORS.set(len(os.listdir("/proc/self/fd")))  # noqa: PTH208
        most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        MAX_DESCRIPTORS.set(float("inf") if most < 0 else most)

    async def show(self, request: Request) -> Response:
        """Answer with the metrics, in the newest format that the client accepts."""
        encode, content_type = choose_encoder(request.headers.get("accept", ""))
        headers = {"content-type": content_type, "cache-control": "no-store"}
        self.measure()
        return Response(await run_in_threadpool(encode, self), headers=headers)

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics of all processes, and those of the catalog as this process knows it."""
        all_of_them = MultiProcessCollector(None) if os.environ.get(FOLDER) else REGISTRY
        yield from all_of_them.collect()
        catalog = self.watch.catalog
        yield of_series(catalog.history)
        yield from of_disk(catalog)
        yield from of_runs(self.watch.runs)


def of_series(history: History) -> Metric:
    """Return when the newest revision of each series was taken."""
    newest = GaugeMetricFamily(
        "cachelog_newest_revision_timestamp_seconds",
        "When the newest revision of a series was taken, in seconds since 1970, for the series "
        "with the newest revisions.",
        labels=["series"],
    )
    times = {name: history.of_series(name)[0].taken_at for name in history.series_names}
    for name in nlargest(MAX_LABELS, times, key=times.__getitem__):
        newest.add_metric([name], times[name].timestamp())
    return newest


def of_runs(runs: Iterable[Regular]) -> Iterator[Metric]:
    """Yield the metrics of imports, upkeep, verifications and backups that run again and again."""
    labels = ["run", "series", "source"]
    succeeded = GaugeMetricFamily(
        "cachelog_last_success_timestamp_seconds",
        "When a run last ended successfully, in seconds since 1970; an import that finds nothing "
        "new is a success.",
        labels=labels,
    )
    result = GaugeMetricFamily(
        "cachelog_last_result", "1 if the last run was successful, else 0.", labels=labels
    )
    for regular in islice(runs, MAX_LABELS):
        run, success = regular.last, regular.success
        for series in run.series or [""]:
            result.add_metric([run.kind, series, run.subject], run.result.is_success)
            if success is not None:
                ended = success.ended_at.timestamp()
                succeeded.add_metric([run.kind, series, run.subject], ended)
    yield succeeded
    yield result


def of_disk(catalog: Catalog) -> Iterator[Metric]:
    """Yield the size of a catalog in a folder, that of its disk, and how much of it is free.

    In object storage, to list all files would take many requests, and nothing gets full.
    """
    if not catalog.storage.location.is_folder:
        return
    with suppress(OSError):
        disk = shutil.disk_usage(catalog.location)
        yield GaugeMetricFamily(
            "cachelog_catalog_bytes", "Size of the catalog's data files.", catalog.num_bytes()
        )
        yield GaugeMetricFamily("cachelog_disk_bytes", "Size of the catalog's disk.", disk.total)
        yield GaugeMetricFamily(
            "cachelog_free_bytes", "Bytes that are free on the catalog's disk.", disk.free
        )


def _forget_ended(folder: str) -> None:
    """Remove the momentary values of processes that ended without removing them."""
    for file in Path(folder).glob("gauge_live*.db"):
        number = file.stem.rpartition("_")[2]
        if not Path("/proc", number).exists():
            mark_process_dead(int(number))
