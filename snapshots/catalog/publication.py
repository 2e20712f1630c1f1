"""Plans of imports: the new states, and the rows to write for snapshots. No file is read."""

from bisect import bisect_right, insort
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from operator import attrgetter

import msgspec
from cachetools import LRUCache

from snapshots.changes.sides import Side
from snapshots.contents import ContentRows, PackedSnapshot, Snapshot, SuccessiveTables
from snapshots.errors import SourceError
from snapshots.history import History, Neighbours, Pair, age
from snapshots.models import RevisionInfo, utc
from snapshots.refs import check_tag, series, tag_date

STACKS_MAX = 10_000
"""The maximum number of stacks of a revision; some results take time for each stack."""

_SERIES_AT_ONCE = 2
"""The number of series whose last rows an import retains for reuse."""


class Publication(msgspec.Struct, frozen=True):
    """The result of publishing a snapshot: its revision, and whether that is new.

    ``is_repaired`` is whether its content was damaged in the store and was replaced. ``not_stored``
    is the reason why the changes before or after it could not be stored, which leaves its history
    incomplete.
    """

    revision: RevisionInfo
    is_new: bool
    is_repaired: bool = False
    not_stored: str | None = None


class Planned(msgspec.Struct, frozen=True):
    """The revisions that an import is about to publish, and ``history`` including them.

    ``load`` reads a content, whether published or about to be.
    """

    history: History
    added: Sequence[RevisionInfo]
    load: Callable[[str], Side]

    def neighbours(self) -> list[Neighbours]:
        """Return each new revision with its predecessor in the series, oldest first."""
        keys = {row.ref for row in self.added}
        neighbours = [
            both for name in self.history.series_names for both in self.history.neighbours(name)
        ]
        new = [both for both in neighbours if both.head.ref in keys]
        return sorted(new, key=attrgetter("head.taken_at"))


Approve = Callable[[Planned], None]
"""Checks the revisions that are about to be published; raises an error to prevent that."""


class PublicationPlanner:
    """Takes the snapshots of an import one by one, and collects the rows to append.

    ``moment`` is the time of the import. The time of a state is the snapshot's own ``taken_at``,
    else ``taken_at``, else the date in the tag's name, else the moment.
    """

    def __init__(self, history: History, moment: datetime, taken_at: datetime | None) -> None:
        self._history = history
        self._moment = moment
        self._taken_at = taken_at
        self._rows: dict[str, list[RevisionInfo]] = {}
        self._seen: list[RevisionInfo] = []
        self.added: list[RevisionInfo] = []

    def take(self, snapshot: Snapshot | PackedSnapshot) -> RevisionInfo:
        """Return the row of a snapshot; if it adds information, it is also added to ``added``.

        A state that the tag had before is appended too: the row confirms it, so that a different
        state in between, published later, ends at the confirmation. Raises InvalidArgument for an
        invalid tag, and SourceError for a content with more than ``STACKS_MAX`` stacks.
        """
        published = self._moment + timedelta(microseconds=len(self._seen))
        rows = self._rows.setdefault(snapshot.tag, list(self._history.rows_of(snapshot.tag)))
        taken = snapshot.taken_at or self._taken_at or tag_date(snapshot.tag) or self._now(rows)
        row = _describe(snapshot, utc(taken), published)
        self._seen.append(row)
        place = bisect_right(rows, row.taken_at, key=attrgetter("taken_at"))
        before = rows[place - 1] if place else None
        if before is None or before.digest != row.digest or before.taken_at < row.taken_at:
            insort(rows, row, key=age)
            self.added.append(row)
        return row

    def _now(self, rows: Sequence[RevisionInfo]) -> datetime:
        """Return the time of the import to the second, as refs show it, if the tag allows it."""
        second = self._moment.replace(microsecond=0)
        return second if not rows or rows[-1].taken_at < second else self._moment

    def planned(self, load: Callable[[str], Side]) -> Planned:
        """Return the revisions that are about to be published."""
        return Planned(self._history.with_rows(self.added), tuple(self.added), load)

    def publications(
        self,
        history: History,
        mended: Collection[str] = (),
        not_stored: Mapping[Pair, str] | None = None,
    ) -> list[Publication]:
        """Return the result of each snapshot, according to the history after the import.

        A concurrent import may have published the same state first. ``mended`` are the contents
        that were replaced, and ``not_stored`` has the pairs whose changes could not be stored.
        """
        reasons = {digest: why for pair, why in (not_stored or {}).items() for digest in pair}
        return [
            _publication(row, history, row.digest in mended, reasons.get(row.digest))
            for row in self._seen
        ]


def _publication(
    row: RevisionInfo, history: History, is_repaired: bool, not_stored: str | None
) -> Publication:
    if row in history.of_tag(row.tag):
        return Publication(row, True, is_repaired, not_stored)
    standing = history.at(row.tag, row.taken_at)
    return Publication(standing or row, False, is_repaired)


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
    planner: PublicationPlanner,
    is_stored: Callable[[str], bool],
) -> Iterator[ContentRows]:
    """Plan each snapshot, and yield the rows of contents that the catalog does not have.

    The rows of the most recently used series are retained.
    """
    tables = LRUCache[str, SuccessiveTables](_SERIES_AT_ONCE)
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
            of_series = tables.setdefault(series(snapshot.tag), SuccessiveTables())
            yield of_series.rows(snapshot.content)
