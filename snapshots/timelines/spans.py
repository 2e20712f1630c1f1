"""The history of a hash: the spans of revisions that have it, and why each begins and ends."""

from collections import defaultdict
from collections.abc import Collection, Iterable
from functools import partial

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from snapshots.changes.reasons import REASONS, SpecChangeReason
from snapshots.history import History, age
from snapshots.models import RevisionInfo, StackInfo
from snapshots.refs import series
from snapshots.timelines.steps import ADDED, REMOVED, Events, Steps


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """A run of consecutive revisions of a series that have a hash.

    ``first`` and ``last`` have it. ``gone_in`` is the revision after the last, which does not have
    it any more, for ``reason_gone``; both are None if the newest revision of the series has it. A
    later span begins with the reason RETURNED, unless the hash replaced another spec.
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
    """The history of a hash in all series of the catalog.

    ``spans`` are grouped by series, in catalog order, each oldest first. Of the revisions that have
    the hash, ``newest`` is the one with the latest ``taken_at``; ``version`` is the version in it.
    """

    hash: str
    name: str
    version: str | None
    spans: tuple[Span, ...]
    newest: RevisionInfo


class _OpenSpan(msgspec.Struct):
    """A span under construction: the indexes of its events, and of the one that ends it."""

    series: int
    events: list[int]
    gone: int | None = None


def hash_histories(
    rows: pa.Table, hashes: Iterable[str], history: History
) -> dict[str, HashHistory]:
    """Return the history of each of the hashes, in their order; hashes of no revision are omitted.

    ``rows`` are rows of the table ``changes``: all rows of the hashes, and possibly others.
    """
    texts = list(dict.fromkeys(hashes))
    rows = rows.filter(pc.is_in(rows["hash"], pa.array(texts, pa.string())))
    events = Events(rows, Steps.of(history, history.series_names))
    names = rows["name"].take(pa.array(events.rows, pa.int64())).to_pylist()
    histories = {
        text: _hash_history(text, names, events, spans)
        for code, spans in _open_spans(events).items()
        for text in [events.hash_values[code]]
    }
    return {text: histories[text] for text in texts if text in histories}


def _open_spans(events: Events) -> dict[int, list[_OpenSpan]]:
    """Return the spans of each hash, by its code."""
    spans: defaultdict[int, list[_OpenSpan]] = defaultdict(list)
    columns = (events.hashes, events.kinds, events.follows, events.steps.series_of(events.places))
    is_there = False
    for event, (code, kind, follows, number) in enumerate(
        zip(*(column.tolist() for column in columns), strict=True)
    ):
        is_there = is_there and follows
        if is_there and kind == REMOVED:
            spans[code][-1].gone = event
            is_there = False
        elif is_there:
            spans[code][-1].events.append(event)
        elif kind == ADDED:
            spans[code].append(_OpenSpan(number, [event]))
            is_there = True
    return spans


def _hash_history(
    text: str, names: list[str], events: Events, spans: list[_OpenSpan]
) -> HashHistory:
    bounds = [_bounds(events, span) for span in spans]
    revisions = events.steps.revisions
    newest = [events.steps.newest(*places) for places in bounds]
    latest = max(range(len(spans)), key=lambda number: age(revisions[newest[number]]))
    last = max(event for event in spans[latest].events if events.places[event] <= newest[latest])
    return HashHistory(
        hash=text,
        name=names[last],
        version=events.version_values[events.versions[last]],
        spans=tuple(map(partial(_span, events), spans, bounds)),
        newest=revisions[newest[latest]],
    )


def _bounds(events: Events, span: _OpenSpan) -> tuple[int, int]:
    """Return the index of the first revision of a span, and the index after its last."""
    if span.gone is not None:
        return int(events.places[span.events[0]]), int(events.places[span.gone])
    return int(events.places[span.events[0]]), events.steps.bounds(span.series)[1]


def _span(events: Events, span: _OpenSpan, bounds: tuple[int, int]) -> Span:
    begin, end = bounds
    revisions = events.steps.revisions
    is_gone = span.gone is not None
    return Span(
        series=events.steps.names[span.series],
        first=revisions[begin],
        last=revisions[end - 1],
        reason_came=REASONS[events.reasons[span.events[0]]],
        reason_gone=REASONS[events.reasons[span.gone]] if is_gone else None,
        gone_in=revisions[end] if is_gone else None,
    )


def holding(
    histories: Collection[HashHistory], history: History, series: str | None = None
) -> list[RevisionInfo]:
    """Return the revisions that have all of the hashes, newest first.

    Without hashes, return all revisions. A hash that no revision had has no history, so the caller
    has to handle this case.
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


def last_span(of_hash: HashHistory, revision: RevisionInfo, history: History) -> Span:
    """Return the last span of a hash before a revision of the same series, which lacks it.

    If the series only had it later, return that span without its end; if it never had it, the last
    span of all series by ``taken_at``.
    """
    if isinstance(revision, StackInfo):
        revision = revision.revision
    own = [span for span in of_hash.spans if span.series == series(revision.tag)]
    before = [span for span in own if history.is_before(span.last, revision)]
    if before:
        return before[-1]
    if own:
        return msgspec.structs.replace(own[0], reason_gone=None, gone_in=None)
    return max(of_hash.spans, key=lambda span: age(span.last))
