"""Metrics of a server for Prometheus: instruments, tallies, and ``/metrics``."""

import asyncio
import logging
import operator
import os
import resource
import time
from bisect import bisect_left
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, suppress
from enum import Enum
from heapq import nlargest
from itertools import accumulate
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.utils import floatToGoString
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from server.asgi.exchanges import Exchange
from server.graphql.answers import Answers
from server.graphql.execution import Execution
from server.watch import CatalogWatch
from snapshots.catalog.library import Library
from snapshots.history import History
from snapshots.program import cachelog_version


class Kind(Enum):
    """The type of an instrument, and how the values of several processes are combined."""

    COUNTER = "sum over all processes, including ended ones"
    HISTOGRAM = "sum over all processes, including ended ones, by bucket"
    SUM = "sum over running processes"
    LARGEST = "largest value of the running processes"


class Instrument(msgspec.Struct, frozen=True):
    """A metric; ``labels`` distinguish its values."""

    name: str
    kind: Kind
    help: str
    labels: tuple[str, ...] = ()


REQUESTS = Instrument(
    "cachelog_requests", Kind.COUNTER, "Requests that were answered, by HTTP status.", ("status",)
)
REFUSED = Instrument(
    "cachelog_refused",
    Kind.COUNTER,
    "Requests that were answered with an error, by the code of the first.",
    ("code",),
)
SECONDS = Instrument(
    "cachelog_request_seconds",
    Kind.HISTOGRAM,
    "Time from a request's headers to the end of its answer, by operation; 'other' is for those "
    "without a name, with errors, or not GraphQL.",
    ("operation",),
)
ANSWER_BYTES = Instrument("cachelog_answer_bytes", Kind.COUNTER, "Bytes of answers' bodies.")
CACHE_HITS = Instrument(
    "cachelog_response_cache_hits", Kind.COUNTER, "Responses sent from the cache."
)
CACHE_BYTES = Instrument(
    "cachelog_cache_bytes", Kind.SUM, "Bytes that are kept in memory, by cache.", ("cache",)
)
FRAMES = Instrument("cachelog_frames", Kind.SUM, "Revisions that are kept in memory.")
REVISIONS = Instrument("cachelog_revisions", Kind.LARGEST, "Revisions in the catalog.")
REFRESH_AGE = Instrument(
    "cachelog_refresh_age_seconds",
    Kind.LARGEST,
    "Time since a process last read the list of revisions.",
)
LAST_IMPORT = Instrument(
    "cachelog_last_import_timestamp_seconds",
    Kind.LARGEST,
    "When the last revision was published, in seconds since 1970.",
)
NEWEST_REVISION = Instrument(
    "cachelog_newest_revision_timestamp_seconds",
    Kind.LARGEST,
    "When the newest revision of a series was taken, in seconds since 1970, for the series with "
    "the newest revisions.",
    ("series",),
)
PROCESSES = Instrument("cachelog_processes", Kind.SUM, "Processes that serve.")
MEMORY = Instrument(
    "cachelog_resident_memory_bytes", Kind.SUM, "Memory of all processes that serve."
)
DESCRIPTORS = Instrument(
    "cachelog_open_descriptors", Kind.LARGEST, "Files and connections that one process has open."
)
MAX_DESCRIPTORS = Instrument(
    "cachelog_max_descriptors",
    Kind.LARGEST,
    "Files and connections that one process may have open.",
)
BUILD = Instrument(
    "cachelog_build_info", Kind.LARGEST, "Always 1; the label is the version.", ("version",)
)

INSTRUMENTS = tuple(value for value in [*globals().values()] if isinstance(value, Instrument))
"""All instruments, in the order of their declarations."""

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper bounds of the histogram's buckets, in seconds; one more bucket is unbounded."""

MAX_LABELS = 50
"""Maximum number of values of a label from clients or errors; others count as ``other``."""

OTHER = "other"


Tally = dict[str, dict[str, list[float]]]
"""Values by instrument and label; the label is empty for instruments without one.

Most instruments have a single value. A histogram has the count of each bucket, followed by the sum
in seconds.
"""


def add(total: Tally, tally: Tally, *, is_running: bool) -> None:
    """Add the values of a process to a total; if it has ended, without its momentary values."""
    for name, by_label in tally.items():
        kind = _KINDS.get(name)  # None for an instrument of another version of cachelog
        if kind is None:
            continue
        if kind in (Kind.SUM, Kind.LARGEST) and not is_running:
            continue
        of_all = total.setdefault(name, {})
        for label, numbers in by_label.items():
            both = max if kind is Kind.LARGEST else operator.add
            of_all[label] = [*map(both, of_all[label], numbers)] if label in of_all else numbers


class Recorder:
    """Counts exchanges. ``gauges`` returns the momentary values, each with its label."""

    def __init__(self, gauges: Callable[[], Iterable[tuple[Instrument, str, float]]]) -> None:
        self._gauges = gauges
        self._counted: Tally = {
            REQUESTS.name: {},
            REFUSED.name: {},
            SECONDS.name: {},
            ANSWER_BYTES.name: {"": [0.0]},
        }

    def note(self, exchange: Exchange) -> None:
        """Count an exchange."""
        counted = self._counted
        _numbers(counted[REQUESTS.name], str(exchange.status))[0] += 1
        counted[ANSWER_BYTES.name][""][0] += exchange.num_bytes
        if exchange.code is not None:
            _numbers(counted[REFUSED.name], exchange.code)[0] += 1
        times = _numbers(counted[SECONDS.name], exchange.operation or OTHER, len(BUCKETS) + 2)
        times[bisect_left(BUCKETS, exchange.seconds)] += 1
        times[-1] += exchange.seconds

    def tally(self) -> Tally:
        """Return the current values of this process."""
        tally = {
            name: {label: [*numbers] for label, numbers in [*by_label.items()]}
            for name, by_label in self._counted.items()
        }
        for instrument, label, value in self._gauges():
            tally.setdefault(instrument.name, {})[label] = [value]
        return tally


def _numbers(by_label: dict[str, list[float]], label: str, size: int = 1) -> list[float]:
    """Return the values of a label, or of ``other`` if it is new and too long or one too many."""
    numbers = by_label.get(label)
    if numbers is None:
        is_taken = len(by_label) < MAX_LABELS and len(label) <= _MAX_LABEL_LENGTH
        numbers = by_label.setdefault(label if is_taken else OTHER, [0.0] * size)
    return numbers


_MAX_LABEL_LENGTH = 100
_KINDS = {one.name: one.kind for one in INSTRUMENTS}


_log = logging.getLogger("cachelog.server")

WRITE_SECONDS = 1.0
_RUNNING_SECONDS = 10.0
"""A process that has not written for this time is considered ended."""

_SUFFIX = ".tally"

Written = tuple[float, Tally]
"""The contents of a process's file: the time of writing, 0 after the end, and its values."""


class SharedTallies:
    """The tallies of the processes that share a folder; without one, of this process alone.

    The files of processes that have ended are kept, so that counters never decrease. If the folder
    cannot be written to, such as when the disk is full, processes continue to serve. The log
    records this once, and sharing resumes when writing succeeds.
    """

    def __init__(self, recorder: Recorder, folder: Path | None) -> None:
        self._recorder = recorder
        self._folder = folder
        # Process ids are reused.
        self._name = f"{os.getpid()}-{time.time_ns():x}{_SUFFIX}"
        self._is_out = False

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Write regularly until the context ends, and a last time then."""
        if self._folder is None:
            yield
            return
        self._write(self._folder, time.time())
        task = asyncio.create_task(self._write_again(self._folder))
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            self._write(self._folder, 0.0)

    def total(self) -> Tally:
        """Return the sum over all processes; values of others are about one second old."""
        total = self._recorder.tally()
        if self._folder is None:
            return total
        now = time.time()
        for file in self._folder.glob(f"*{_SUFFIX}"):
            if file.name != self._name:
                moment, tally = msgspec.json.decode(file.read_bytes(), type=Written)
                add(total, tally, is_running=now - moment < _RUNNING_SECONDS)
        return total

    def _write(self, folder: Path, moment: float) -> None:
        new = folder / f"{self._name}.new"
        try:
            new.write_bytes(msgspec.json.encode((moment, self._recorder.tally())))
            new.replace(folder / self._name)
        except OSError as error:
            if not self._is_out:
                _log.warning("the numbers of this process cannot be shared: %s", error)
            self._is_out = True
        else:
            self._is_out = False

    async def _write_again(self, folder: Path) -> None:
        while True:
            await asyncio.sleep(WRITE_SECONDS)
            self._write(folder, time.time())


_BOUNDS = [*map(floatToGoString, BUCKETS), "+Inf"]


async def show_metrics(tallies: SharedTallies, request: Request) -> Response:
    """Answer with the metrics, in the newest format that the client accepts."""
    encode, content_type = choose_encoder(request.headers.get("accept", ""))
    total = await run_in_threadpool(tallies.total)
    headers = {"content-type": content_type, "cache-control": "no-store"}
    families = [_family(instrument, total) for instrument in INSTRUMENTS]
    return Response(encode(SimpleNamespace(collect=lambda: families)), headers=headers)


def _family(instrument: Instrument, tally: Tally) -> Metric:
    name, text, labels = instrument.name, instrument.help, instrument.labels
    numbers = sorted(tally.get(name, {}).items())
    if instrument.kind is Kind.HISTOGRAM:
        histogram = HistogramMetricFamily(name, text, labels=labels)
        for label, (*counts, seconds) in numbers:
            up_to = zip(_BOUNDS, map(float, accumulate(counts)), strict=True)
            histogram.add_metric([label], list(up_to), seconds)
        return histogram
    is_counter = instrument.kind is Kind.COUNTER
    family = (CounterMetricFamily if is_counter else GaugeMetricFamily)(name, text, labels=labels)
    for label, (value,) in numbers:
        family.add_metric([label] if labels else [], value)
    return family


_OF_LIBRARY = (
    "frames",
    "dependencies",
    "comparisons",
    "explanations",
    "returned",
    "holes",
    "twins",
    "names",
)
"""The caches of the library, by their attributes, which are also their labels."""


class Gauges(msgspec.Struct, frozen=True):
    """The momentary values of a server."""

    watch: CatalogWatch
    library: Library
    answers: Answers
    execution: Execution

    def __call__(self) -> Iterator[tuple[Instrument, str, float]]:
        """Yield each instrument with the value of its label, empty for none, and its value."""
        yield CACHE_HITS, "", self.answers.responses.num_hits
        caches: dict[str, Any] = {name: getattr(self.library, name) for name in _OF_LIBRARY}
        caches |= {
            "responses": self.answers.responses,
            "histories": self.execution.history_answers,
            "rows": self.execution.api.rows,
        }
        for name, cache in caches.items():
            yield CACHE_BYTES, name, cache.num_bytes
        yield FRAMES, "", self.library.frames.num_cached
        yield from _of_history(self.watch.catalog.history)
        yield REFRESH_AGE, "", self.watch.age
        yield PROCESSES, "", 1
        yield BUILD, cachelog_version(), 1
        yield from _of_process()


def _of_history(history: History) -> Iterator[tuple[Instrument, str, float]]:
    """Yield metrics of a history, with those of the series that have the newest revisions."""
    yield REVISIONS, "", len(history.revisions)
    if not history.revisions:
        return
    last = max(revision.published_at for revision in history.revisions)
    yield LAST_IMPORT, "", last.timestamp()
    newest = {name: history.of_series(name)[0].taken_at for name in history.series_names}
    for name in nlargest(MAX_LABELS, newest, key=newest.__getitem__):
        yield NEWEST_REVISION, name, newest[name].timestamp()


def _of_process() -> Iterator[tuple[Instrument, str, float]]:
    """Yield the resources that this process uses, if the system reports them."""
    with suppress(OSError):
        pages = Path("/proc/self/statm").read_text("ascii").split()[1]
        yield MEMORY, "", int(pages) * resource.getpagesize()
        yield DESCRIPTORS, "", len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield MAX_DESCRIPTORS, "", float("inf") if most < 0 else most
