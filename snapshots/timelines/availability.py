"""Availability of a package in the history: spans of a cell of its coverage in each series."""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from snapshots.arrays import Rows
from snapshots.changes.coverage import CoverageDimension, nearest_rows
from snapshots.changes.reasons import SpecChangeReason
from snapshots.changes.stored_changes import pairs_in
from snapshots.frames.frame import Frame
from snapshots.history import History, Pair
from snapshots.models import RevisionInfo
from snapshots.spack.names import natural_order
from snapshots.spack.query import is_target
from snapshots.spack.versions import total_order, version_key
from snapshots.timelines.catalog_packages import CatalogPackage

Cell = Mapping[CoverageDimension, str]
"""The values of a cell: any of VERSION, TARGET and STACK; it may be empty.

The name of a family of targets, such as aarch64, is all of its targets.
"""

_PAIR_BYTES, _CHANGE_BYTES = 400, 120


class CellSpan(msgspec.Struct, frozen=True):
    """A run of consecutive revisions of a series that have specs in a cell.

    ``num_specs`` is the number of specs that ``last`` has in the cell. ``gone_in`` is the revision
    after the last, which has none, and ``reasons`` counts the specs by the reason of their removal.
    They are None and empty if the newest revision has specs in the cell.
    """

    first: RevisionInfo
    last: RevisionInfo
    num_specs: int
    gone_in: RevisionInfo | None = None
    reasons: Mapping[SpecChangeReason, int] = {}

    @property
    def pair(self) -> Pair | None:
        """The two revisions at the end of the span; None if the span is current."""
        return None if self.gone_in is None else Pair(self.last.digest, self.gone_in.digest)


def is_current(spans: Sequence[CellSpan]) -> bool:
    """Return whether the newest revision of the series has specs in the cell."""
    return bool(spans) and spans[-1].gone_in is None


class _Change(msgspec.Struct, frozen=True):
    """The number of specs that a pair added to a cell (negative if it removed them), and why."""

    version: str
    target: str | None
    stack: str | None
    reason: str | None
    num_specs: int

    def is_of(self, cell: Cell) -> bool:
        """Return whether the change belongs to a coarser cell.

        Only changes without a stack belong to a cell without one, so that each spec counts once.
        """
        return (
            self.stack == cell.get(CoverageDimension.STACK)
            and self.version == cell.get(CoverageDimension.VERSION, self.version)
            and is_target(self.target, cell.get(CoverageDimension.TARGET, self.target))
        )


class PackageCells:
    """The changes of the cells of a package, in all series of a history.

    ``rows`` are those of the table ``comparisons`` with the column ``cells``, one per pair.
    """

    def __init__(self, rows: pa.Table, name: str, history: History) -> None:
        self._history = history
        lists = rows["cells"].combine_chunks()
        items = lists.values
        own = np.flatnonzero(pc.equal(items.field("package"), name))
        columns = items.take(pa.array(own)).flatten()[1:]
        changes = [*map(_Change, *(column.to_pylist() for column in columns))]
        bounds = pairwise(np.searchsorted(own, lists.offsets.to_numpy()).tolist())
        self._changes = {
            pair: changes[start:end]
            for pair, (start, end) in zip(pairs_in(rows), bounds, strict=True)
        }

    @property
    def num_bytes(self) -> int:
        """Approximate memory used by the changes, in bytes."""
        return sum(_PAIR_BYTES + _CHANGE_BYTES * len(changes) for changes in self._changes.values())

    def values(self, dimension: CoverageDimension) -> list[str]:
        """Return all values in the history: versions newest first, others in natural order."""
        distinct = {
            value
            for changes in self._changes.values()
            for change in changes
            if (value := getattr(change, dimension.value)) is not None
        }
        if dimension is CoverageDimension.VERSION:
            return sorted(distinct, key=total_order, reverse=True)
        return natural_order(distinct)

    def newest_versions(self, series: str) -> dict[str, tuple[str, int]]:
        """Return by target the newest version in the last revision of a series with the package.

        Each has the number of specs that are built for the target.
        """
        counts: Counter[tuple[str, str]] = Counter()
        last = counts
        for step in self._history.neighbours(series):
            for change in self._changes.get(step.pair, ()):
                if change.stack is None and change.target is not None:
                    counts[change.target, change.version] += change.num_specs
            counts = +counts
            last = counts or last
        versions: defaultdict[str, list[str]] = defaultdict(list)
        for target, version in last:
            versions[target].append(version)
        return {
            target: (
                max(versions[target], key=version_key),
                sum(count for (of, _), count in last.items() if of == target),
            )
            for target in natural_order(versions)
        }

    def contents_with(self, accept: Callable[[str, str | None], bool]) -> set[str]:
        """Return the digests of contents that have a spec with an accepted version and target."""
        digests = set()
        for series in self._history.series_names:
            num_specs = 0
            for step in self._history.neighbours(series):
                for change in self._changes.get(step.pair, ()):
                    if change.stack is None and accept(change.version, change.target):
                        num_specs += change.num_specs
                if num_specs:
                    digests.add(step.head.digest)
        return digests

    def spans(self, series: str, cell: Cell) -> list[CellSpan]:
        """Return the spans of a cell in a series, oldest first.

        If the cell has a stack, revisions whose source does not list stacks neither begin nor end a
        span.
        """
        spans: list[CellSpan] = []
        first = last = None
        num_specs = before = 0
        reasons: Counter[SpecChangeReason] = Counter()
        for step in self._history.neighbours(series):
            for change in self._changes.get(step.pair, ()):
                if change.is_of(cell):
                    num_specs += change.num_specs
                    if change.num_specs < 0 and change.reason is not None:
                        reasons[SpecChangeReason(change.reason)] -= change.num_specs
            if CoverageDimension.STACK in cell and step.head.known_stacks is None:
                continue  # the source has no stacks, so there is no known change
            if num_specs and first is None:
                first = step.head
            if not num_specs and first is not None and last is not None:
                spans.append(CellSpan(first, last, before, step.head, dict(reasons.most_common())))
                first = None
            last, before = step.head, num_specs
            reasons.clear()
        if first is not None and last is not None:
            spans.append(CellSpan(first, last, before))
        return spans


def nearest_place(
    package: CatalogPackage, spans: Mapping[str, Sequence[CellSpan]]
) -> tuple[RevisionInfo, RevisionInfo] | None:
    """Return the revision whose specs in a cell are the reference, and the revision to search.

    Both are in the same series: the first that currently has specs in the cell, according to
    ``spans`` by series, or else the package's best series. The former is its last revision with
    specs in the cell, the latter its last revision with the package. If the series never had specs
    in the cell, both are the latter. Return None if the package was removed from all series.
    """
    if package.is_gone:
        return None
    having = (one for one in package.in_series if is_current(spans[one.series]))
    newest = next(having, package.best)
    of_series = spans[newest.series]
    return of_series[-1].last if of_series else newest.last_seen, newest.last_seen


def nearest_in_cell(base: Frame, head: Frame, package: str, cell: Cell) -> Rows:
    """Return the rows of head that are nearest to a cell of base, as ``nearest_rows``.

    Of the targets of a family, the one that most specs of base have is compared.
    """
    values = dict(cell)
    if CoverageDimension.TARGET in cell:
        chosen = cell[CoverageDimension.TARGET]
        counts = base.target.counts(base.rows_of(package) or slice(0))
        meant = [(count, target) for target, count in counts if is_target(target, chosen)]
        values[CoverageDimension.TARGET] = max(meant, default=(0, chosen))[1]
    return nearest_rows(base, head, package, values)
