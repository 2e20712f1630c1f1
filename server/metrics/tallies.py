"""The numbers of one process, and the sum of those of several."""

from bisect import bisect_left
from collections.abc import Callable, Iterable

import msgspec

from server.asgi.exchanges import Exchange
from server.metrics.instruments import (
    ANSWER_BYTES,
    BUCKETS,
    INSTRUMENTS,
    MAX_LABELS,
    OTHER,
    REFUSED,
    REQUESTS,
    SECONDS,
    Instrument,
    Kind,
)


class Times(msgspec.Struct):
    """How many times there were in each class, and their sum in seconds."""

    counts: list[int]
    total: float = 0.0


class Tally(msgspec.Struct):
    """Numbers by instrument and label; those without labels have an empty one."""

    counters: dict[str, dict[str, float]] = {}
    times: dict[str, dict[str, Times]] = {}
    gauges: dict[str, dict[str, float]] = {}
    """Those of the moment: what an ended process leaves of them does not count."""

    def add(self, other: "Tally", *, is_running: bool) -> None:
        """Add the numbers of a process to these."""
        for name, values in other.counters.items():
            mine = self.counters.setdefault(name, {})
            for label, value in values.items():
                mine[label] = mine.get(label, 0) + value
        for name, by_label in other.times.items():
            known = self.times.setdefault(name, {})
            for label, times in by_label.items():
                into = known.setdefault(label, Times([0] * (len(BUCKETS) + 1)))
                into.counts = [a + b for a, b in zip(into.counts, times.counts, strict=True)]
                into.total += times.total
        if is_running:
            self._add_gauges(other)

    def _add_gauges(self, other: "Tally") -> None:
        for name, values in other.gauges.items():
            mine = self.gauges.setdefault(name, {})
            for label, value in values.items():
                have = mine.get(label, 0)
                mine[label] = max(have, value) if name in _LARGEST else have + value


Gauges = Callable[[], Iterable[tuple[Instrument, str, float]]]
"""Returns numbers of the moment, each with its label."""


class Recorder:
    """Counts exchanges. ``gauges`` are asked when somebody wants to know."""

    def __init__(self, gauges: Gauges) -> None:
        self._gauges = gauges
        self._tally = Tally({}, {SECONDS.name: {}}, {})
        self._requests = self._counter(REQUESTS)
        self._refused = self._counter(REFUSED)
        self._bytes = self._counter(ANSWER_BYTES)
        self._bytes[""] = 0
        self._seconds = self._tally.times[SECONDS.name]

    def note(self, exchange: Exchange) -> None:
        """Count an exchange; one that lasts as long as its client likes takes no time."""
        requests, status = self._requests, str(exchange.status)
        requests[status] = requests.get(status, 0) + 1
        self._bytes[""] += exchange.num_bytes
        if exchange.code is not None:
            code = _bounded(exchange.code, self._refused)
            self._refused[code] = self._refused.get(code, 0) + 1
        if exchange.is_open_ended:
            return
        operation = exchange.operation or OTHER
        times = self._seconds.get(operation)
        if times is None:
            operation = _bounded(operation, self._seconds)
            times = self._seconds.setdefault(operation, Times([0] * (len(BUCKETS) + 1)))
        times.counts[bisect_left(BUCKETS, exchange.seconds)] += 1
        times.total += exchange.seconds

    def flush(self) -> None:
        """Do nothing: what was counted is asked for."""

    def tally(self) -> Tally:
        """Return the numbers of this process as they are now."""
        counters = {name: dict(values) for name, values in self._tally.counters.items()}
        gauges: dict[str, dict[str, float]] = {}
        for instrument, label, value in self._gauges():
            kept = counters if instrument.kind is Kind.COUNTER else gauges
            kept.setdefault(instrument.name, {})[label] = value
        return Tally(counters, self._tally.times, gauges)

    def _counter(self, instrument: Instrument) -> dict[str, float]:
        return self._tally.counters.setdefault(instrument.name, {})


def _bounded(label: str, known: dict[str, float] | dict[str, Times]) -> str:
    """Return the label; where there are enough others and it is new, ``other``."""
    is_room = label in known or len(known) < MAX_LABELS
    return label if is_room and len(label) <= _MAX_LABEL_LENGTH else OTHER


_MAX_LABEL_LENGTH = 100
_LARGEST = frozenset(it.name for it in INSTRUMENTS if it.kind is Kind.LARGEST)
