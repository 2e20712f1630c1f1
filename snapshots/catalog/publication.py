"""Which states are new: what is to be written for the snapshots of an import. Nothing is read."""

from bisect import bisect_right, insort
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta

import msgspec

from snapshots.changes.sides import Side
from snapshots.contents import ContentRows, PackedSnapshot, Snapshot, SuccessiveTables
from snapshots.errors import SourceError
from snapshots.history import History, Neighbours, Pair, age
from snapshots.models import RevisionInfo, utc
from snapshots.refs import check_tag, series, tag_date

STACKS_MAX = 10_000
"""How many stacks a revision may have; what is told stack by stack takes time for each of them."""

MAX_ROW_BYTES = 32 << 20
"""How many bytes of rows an import keeps of several series, to cut out of them what comes next."""


class Publication(msgspec.Struct, frozen=True):
    """What became of a snapshot: its revision, and whether that is new.

    ``is_mended`` tells that the store had its content, but damaged, and that it was replaced.
    ``unkept`` says why what changed to it or from it could not be kept: its history is incomplete.
    """

    revision: RevisionInfo
    is_new: bool
    is_mended: bool = False
    unkept: str | None = None


class Planned(msgspec.Struct, frozen=True):
    """What an import is about to publish: ``history`` as it will be, and the rows that are new.

    ``load`` reads a content, be it published or about to be.
    """

    history: History
    added: Sequence[RevisionInfo]
    load: Callable[[str], Side]

    def neighbours(self) -> list[Neighbours]:
        """Return each new revision beside the one before it in its series, oldest first."""
        keys = {row.key for row in self.added}
        every = [
            both for name in self.history.series_names for both in self.history.neighbours(name)
        ]
        return sorted(
            (both for both in every if both.head.key in keys), key=lambda both: both.head.taken_at
        )


Approve = Callable[[Planned], None]
"""Looks at what is about to be published; raises what shall keep it from being so."""


class Planner:
    """Takes the snapshots of an import one by one, and collects the rows to append.

    ``moment`` is when the import runs. A snapshot's own ``taken_at`` counts, else ``taken_at``,
    else the date in the tag's name, else the moment.
    """

    def __init__(self, history: History, moment: datetime, taken_at: datetime | None) -> None:
        self._history = history
        self._moment = moment
        self._taken_at = taken_at
        self._rows: dict[str, list[RevisionInfo]] = {}
        self._series: dict[str, list[RevisionInfo]] = {}
        self._seen: list[RevisionInfo] = []
        self.added: list[RevisionInfo] = []

    def take(self, snapshot: Snapshot | PackedSnapshot) -> RevisionInfo:
        """Return the row of a snapshot; it is among those to append where it says anything new.

        A state that the tag is known to have had before is appended too: it is confirmed then, so
        that a state from between the two, published later, ends where this one is confirmed.
        Raises InvalidArgument for a tag that cannot be one, and SourceError for a content with
        more than ``STACKS_MAX`` stacks.
        """
        taken = snapshot.taken_at or self._taken_at or tag_date(snapshot.tag) or self._moment
        published = self._moment + timedelta(microseconds=len(self._seen))
        row = _describe(snapshot, utc(taken), published)
        self._seen.append(row)
        rows = self._rows.setdefault(row.tag, list(self._history.rows_of(row.tag)))
        place = bisect_right(rows, row.taken_at, key=lambda earlier: earlier.taken_at)
        before = rows[place - 1] if place else None
        if before is None or before.digest != row.digest or before.taken_at < row.taken_at:
            insort(rows, row, key=age)
            insort(self._of_series(row), row, key=age)
            self.added.append(row)
        return row

    def before(self, digest: str) -> str | None:
        """Return the content that stood before a taken one in its series; None for the first."""
        row = next(
            earlier_row for earlier_row in reversed(self._seen) if earlier_row.digest == digest
        )
        revisions = self._of_series(row)
        place = bisect_right(revisions, row.taken_at, key=lambda earlier_row: earlier_row.taken_at)
        earlier = (
            earlier_row.digest
            for earlier_row in reversed(revisions[:place])
            if earlier_row.digest != digest
        )
        return next(earlier, None)

    def _of_series(self, row: RevisionInfo) -> list[RevisionInfo]:
        """Return the revisions of a row's series, oldest first, and what was added to them."""
        name = series(row.tag)
        revisions = self._series.get(name)
        if revisions is None:
            revisions = self._series[name] = sorted(self._history.of_series(name), key=age)
        return revisions

    def planned(self, load: Callable[[str], Side]) -> Planned:
        """Return what is about to be published."""
        return Planned(self._history.with_rows(self.added), tuple(self.added), load)

    def publications(
        self,
        history: History,
        mended: Collection[str] = (),
        unkept: Mapping[Pair, str] | None = None,
    ) -> list[Publication]:
        """Return what became of each snapshot, by the history after the import.

        Another import may have been faster. ``mended`` are the contents that were replaced, and
        ``unkept`` has the pairs whose changes could not be kept.
        """
        reasons = {digest: why for pair, why in (unkept or {}).items() for digest in pair}
        return [
            _publication(row, history, row.digest in mended, reasons.get(row.digest))
            for row in self._seen
        ]


def _publication(
    row: RevisionInfo, history: History, is_mended: bool, unkept: str | None
) -> Publication:
    if row in history.of_tag(row.tag):
        return Publication(row, True, is_mended, unkept)
    standing = history.at(row.tag, row.taken_at)
    return Publication(standing or row, False, is_mended)


def _describe(
    snapshot: Snapshot | PackedSnapshot, taken_at: datetime, published_at: datetime
) -> RevisionInfo:
    summary = snapshot.summary()
    if summary.num_stacks > STACKS_MAX:
        reason = f"{snapshot.tag} has {summary.num_stacks:,} stacks, more than {STACKS_MAX:,}"
        raise SourceError(snapshot.source.location, reason)
    proof = snapshot.proof
    return RevisionInfo(
        tag=check_tag(snapshot.tag),
        taken_at=taken_at,
        published_at=published_at,
        source=snapshot.source,
        num_proven=proof.num_proven if proof else None,
        unproven=proof.unproven if proof else None,
        **msgspec.structs.asdict(summary),
    )


def rows_to_write(
    snapshots: Iterable[Snapshot | PackedSnapshot],
    planner: Planner,
    is_stored: Callable[[str], bool],
) -> Iterator[ContentRows]:
    """Plan each snapshot, and yield the rows of those contents that the catalog does not have.

    Of the series that came last the rows are kept, within ``MAX_ROW_BYTES`` or those of one.
    """
    tables: OrderedDict[str, SuccessiveTables] = OrderedDict()
    seen: set[str] = set()
    for snapshot in snapshots:
        digest = planner.take(snapshot).digest
        if digest in seen:
            continue
        seen.add(digest)
        if isinstance(snapshot, PackedSnapshot):
            if snapshot.rows is not None:
                yield ContentRows(digest, snapshot.rows)
        elif not is_stored(digest):
            name = series(snapshot.tag)
            of_series = tables.setdefault(name, SuccessiveTables())
            tables.move_to_end(name)
            yield of_series.rows(snapshot.content)
            while (
                len(tables) > 1
                and sum(of_one.num_bytes for of_one in tables.values()) > MAX_ROW_BYTES
            ):
                tables.popitem(last=False)
