"""The history of a hash: when it was there, why it came and went, and who holds several of them."""

from collections.abc import Collection, Iterable, Iterator
from functools import partial

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from snapshots.changes.reasons import REASONS, SpecChangeReason
from snapshots.history import History, age
from snapshots.models import RevisionInfo
from snapshots.timelines.steps import ADDED, REMOVED, Events, Steps


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """Revisions of a series that follow one another and have a hash.

    ``first`` and ``last`` have it. ``gone_in`` is the revision after the last, which has it no
    longer, for ``reason_gone``; both are None where the newest of the series has it. A later span
    came for the reason RETURNED, unless it replaced another spec.
    """

    series: str
    first: RevisionInfo
    last: RevisionInfo
    reason_came: SpecChangeReason
    reason_gone: SpecChangeReason | None = None
    gone_in: RevisionInfo | None = None

    @property
    def is_current(self) -> bool:
        """Whether the newest revision of the series has the hash."""
        return self.gone_in is None


class HashHistory(msgspec.Struct, frozen=True, kw_only=True):
    """What the catalog knows of a hash through time.

    ``spans`` are those of one series after the other, in the catalog's order, each oldest first.
    ``newest`` is the revision taken last of those that have it; ``version`` is the one there.
    """

    hash: str
    name: str
    version: str | None
    spans: tuple[Span, ...]
    newest: RevisionInfo


class _Stay(msgspec.Struct):
    """A span under construction: its events by number, ``gone`` the one that ends it."""

    series: int
    came: int
    changed: list[int] = []
    gone: int | None = None


def hash_histories(
    rows: pa.Table, hashes: Iterable[str], history: History
) -> dict[str, HashHistory]:
    """Return the history of each of the hashes, in their order; without those nobody ever had.

    ``rows`` are changes of the table ``changes``: all of the hashes, and any others.
    """
    texts = list(dict.fromkeys(hashes))
    rows = rows.filter(pc.is_in(rows["hash"], pa.array(texts, pa.string())))
    steps = Steps.of(history, history.series_names)
    events = Events(rows, steps)
    names = rows["name"].take(pa.array(events.rows, pa.int64())).to_pylist()
    ends = np.flatnonzero(np.diff(events.hashes, append=-1)) + 1
    histories = {}
    begin = 0
    for end in ends.tolist():
        text = events.hash_values[events.hashes[begin]]
        stays = list(_stays(events, begin, end))
        if stays:
            histories[text] = _hash_history(text, names, events, stays)
        begin = end
    return {text: histories[text] for text in texts if text in histories}


def _stays(events: Events, begin: int, end: int) -> Iterator[_Stay]:
    """Yield the spans of one hash, whose events are those from ``begin`` to ``end`` - 1."""
    places = events.places[begin:end]
    series = events.steps.series_of(places).tolist()
    stay: _Stay | None = None
    for number, kind in enumerate(events.kinds[begin:end].tolist()):
        if stay is not None and stay.series != series[number]:
            yield stay
            stay = None
        if kind == ADDED:
            stay = stay or _Stay(series[number], begin + number)
        elif stay is not None and kind == REMOVED:
            stay.gone = begin + number
            yield stay
            stay = None
        elif stay is not None:
            stay.changed.append(begin + number)
    if stay is not None:
        yield stay


def _hash_history(text: str, names: list[str], events: Events, stays: list[_Stay]) -> HashHistory:
    bounds = [_bounds(events, stay) for stay in stays]
    revisions = events.steps.revisions
    newest = [events.steps.newest(*places) for places in bounds]
    latest = max(range(len(stays)), key=lambda number: age(revisions[newest[number]]))
    last = max(
        event
        for event in (stays[latest].came, *stays[latest].changed)
        if events.places[event] <= newest[latest]
    )
    return HashHistory(
        hash=text,
        name=names[last],
        version=events.version_values[events.versions[last]],
        spans=tuple(map(partial(_span, events), stays, bounds)),
        newest=revisions[newest[latest]],
    )


def _bounds(events: Events, stay: _Stay) -> tuple[int, int]:
    """Return the first place of a span, and the one after its last."""
    if stay.gone is not None:
        return int(events.places[stay.came]), int(events.places[stay.gone])
    return int(events.places[stay.came]), events.steps.bounds(stay.series)[1]


def _span(events: Events, stay: _Stay, bounds: tuple[int, int]) -> Span:
    begin, end = bounds
    revisions = events.steps.revisions
    is_gone = stay.gone is not None
    return Span(
        series=events.steps.names[stay.series],
        first=revisions[begin],
        last=revisions[end - 1],
        reason_came=REASONS[events.reasons[stay.came]],
        reason_gone=REASONS[events.reasons[stay.gone]] if is_gone else None,
        gone_in=revisions[end] if is_gone else None,
    )


def holding(
    histories: Collection[HashHistory], history: History, series: str | None = None
) -> list[RevisionInfo]:
    """Return the revisions that have every one of the hashes, newest first.

    Without any hashes that is all revisions. A hash that no revision had has no history, so the
    caller knows the answer already.
    """
    steps = Steps.of(history, history.series_names if series is None else [series])
    places = {revision: place for place, revision in enumerate(steps.revisions)}
    changes = np.zeros(len(steps) + 1, np.int64)
    for span in (span for one in histories for span in one.spans):
        if span.first in places:
            changes[places[span.first]] += 1
            changes[places[span.last] + 1] -= 1
    held = np.flatnonzero(np.cumsum(changes)[:-1] == len(histories))
    return sorted((steps.revisions[place] for place in held.tolist()), key=age, reverse=True)


class LastSeen(msgspec.Struct, frozen=True):
    """The last revision that has a hash, and the one after it, which has it no longer for a reason.

    The latter two are None where the newest revision of the series has it.
    """

    revision: RevisionInfo
    reason: SpecChangeReason | None
    gone_in: RevisionInfo | None


def last_seen(history: HashHistory, series: str) -> LastSeen:
    """Return where a hash was last in a series, or in any if it never was in that one.

    In a series that is by its order, elsewhere by when revisions were taken.
    """
    own = [span for span in history.spans if span.series == series]
    last = own[-1] if own else max(history.spans, key=lambda span: age(span.last))
    return LastSeen(last.last, last.reason_gone, last.gone_in)
