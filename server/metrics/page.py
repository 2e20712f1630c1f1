"""``/metrics``: the numbers in the formats of Prometheus."""

from collections.abc import Iterable
from itertools import accumulate

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from server.metrics.instruments import BUCKETS, INSTRUMENTS, Instrument, Kind
from server.metrics.sharing import SharedTallies
from server.metrics.tallies import Tally, Times

_BOUNDS = [*map(floatToGoString, BUCKETS), "+Inf"]


class MetricsPage:
    """Shows what the tallies have."""

    def __init__(self, tallies: SharedTallies) -> None:
        self._tallies = tallies

    async def show(self, request: Request) -> Response:
        """Answer with the numbers, in the newest format that the client accepts."""
        encode, content_type = choose_encoder(request.headers.get("accept", ""))
        total = await run_in_threadpool(self._tallies.total)
        registry = CollectorRegistry()
        registry.register(_Total(total))
        headers = {"content-type": content_type, "cache-control": "no-store"}
        return Response(encode(registry), headers=headers)


class _Total(Collector):
    """A tally as Prometheus's client collects it."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally

    def collect(self) -> Iterable[Metric]:
        return [_family(instrument, self._tally) for instrument in INSTRUMENTS]


def _family(instrument: Instrument, tally: Tally) -> Metric:
    name, kind, text, labels = instrument
    if kind is Kind.HISTOGRAM:
        histogram = HistogramMetricFamily(name, text, labels=labels)
        for label, times in sorted(tally.times.get(name, {}).items()):
            histogram.add_metric([label], _buckets(times), times.total)
        return histogram
    is_counter = kind is Kind.COUNTER
    family = (CounterMetricFamily if is_counter else GaugeMetricFamily)(name, text, labels=labels)
    numbers = (tally.counters if is_counter else tally.gauges).get(name, {})
    for label, value in sorted(numbers.items()):
        family.add_metric([label] if labels else [], value)
    return family


def _buckets(times: Times) -> list[tuple[str, float]]:
    """Return the upper bounds, each with how many times are up to it."""
    return list(zip(_BOUNDS, map(float, accumulate(times.counts)), strict=True))
