"""Since when a package can be had, or no longer: spans of a cell of its coverage through series."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from snapshots.changes.coverage import CoverageDimension
from snapshots.changes.kept_changes import CAUSES_FORMAT
from snapshots.changes.reasons import SpecChangeReason
from snapshots.history import History, Pair
from snapshots.models import RevisionInfo
from snapshots.spack.names import natural_order
from snapshots.spack.versions import version_key
from snapshots.tables import CELL
from snapshots.timelines.catalog_packages import CatalogPackage

Cell = Mapping[CoverageDimension, str]
"""A cell by its values: of VERSION, TARGET and STACK any, or none."""

_PAIR_BYTES, _CHANGE_BYTES = 400, 120


class CellSpan(msgspec.Struct, frozen=True):
    """Revisions of a series that follow one another and have specs in a cell.

    ``num_specs`` are how many ``last`` has in it. ``gone_in`` is the revision after the last, which
    has none, and ``reasons`` say why they went: None and empty where the newest has some.
    """

    first: RevisionInfo
    last: RevisionInfo
    num_specs: int
    gone_in: RevisionInfo | None = None
    reasons: Mapping[SpecChangeReason, int] = {}

    @property
    def pair(self) -> Pair | None:
        """The two revisions at its end; None where the newest has some."""
        return None if self.gone_in is None else Pair(self.last.digest, self.gone_in.digest)


def is_current(spans: Sequence[CellSpan]) -> bool:
    """Tell whether the newest revision of their series has specs in the cell."""
    return bool(spans) and spans[-1].gone_in is None


class _Change(msgspec.Struct, frozen=True):
    """By how many specs a pair made a cell of the package grow, or shrink, and for which reason."""

    version: str
    target: str | None
    stack: str | None
    reason: str | None
    num_specs: int

    @property
    def gone(self) -> Counter[SpecChangeReason]:
        """Why how many specs went, if any did for a reason."""
        is_gone = self.num_specs < 0 and self.reason is not None
        return Counter({SpecChangeReason(self.reason): -self.num_specs} if is_gone else {})

    def is_of(self, cell: Cell) -> bool:
        """Tell whether it counts for a coarser cell: without a stack all specs count once."""
        return self.stack == cell.get(CoverageDimension.STACK) and all(
            cell.get(dimension, value) == value
            for dimension, value in (
                (CoverageDimension.VERSION, self.version),
                (CoverageDimension.TARGET, self.target),
            )
        )


class PackageCells:
    """How the cells of a package grew and shrank, in every series of a history.

    ``tables`` are rows of the table ``comparisons`` with the columns ``cells`` and
    ``causes_format``; of several rows of one pair one counts.
    """

    def __init__(self, tables: Iterable[pa.Table], name: str, history: History) -> None:
        self._history = history
        self._changes: dict[Pair, list[_Change]] = {}
        for table in tables:
            lists = table["cells"].combine_chunks()
            items = lists.values
            packages = items.field("package")
            if not pa.types.is_dictionary(packages.type):
                packages = packages.dictionary_encode()
            code = pc.index(packages.dictionary, name).as_py()
            own = np.flatnonzero(packages.indices.to_numpy(zero_copy_only=False) == code)
            columns = items.take(pa.array(own)).cast(CELL).flatten()[1:]
            changes = [*map(_Change, *(column.to_pylist() for column in columns))]
            bounds = pairwise(np.searchsorted(own, lists.offsets.to_numpy()).tolist())
            pairs = map(Pair, table["base"].to_pylist(), table["head"].to_pylist())
            formats = table["causes_format"].to_pylist()
            for pair, form, (start, end) in zip(pairs, formats, bounds, strict=True):
                if form == CAUSES_FORMAT:
                    self._changes[pair] = changes[start:end]

    @property
    def num_bytes(self) -> int:
        """About how much memory they take."""
        return sum(_PAIR_BYTES + _CHANGE_BYTES * len(it) for it in self._changes.values())

    def values(self, dimension: CoverageDimension) -> list[str]:
        """Return the values that any spec ever had: versions newest first, others in order."""
        every = {
            value
            for changes in self._changes.values()
            for change in changes
            if (value := getattr(change, dimension.value)) is not None
        }
        if dimension is CoverageDimension.VERSION:
            return sorted(every, key=lambda text: (version_key(text), text), reverse=True)
        return natural_order(every)

    def spans(self, series: str, cell: Cell) -> list[CellSpan]:
        """Return the spans of a cell through a series, oldest first.

        Of a stack, revisions whose source does not list stacks end none and begin none.
        """
        spans: list[CellSpan] = []
        first = last = None
        num_specs = before = 0
        reasons: Counter[SpecChangeReason] = Counter()
        for step in self._history.neighbours(series):
            for change in self._changes.get(step.pair, ()):
                if change.is_of(cell):
                    num_specs += change.num_specs
                    reasons += change.gone
            if CoverageDimension.STACK in cell and step.head.known_stacks is None:
                continue  # its source tells nothing of stacks: as far as is known, all is as before
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
    """Return the revision whose specs in a cell others are near to, and the one to look in.

    That is the newest revision of the first series that has specs in the cell, by its ``spans`` by
    series, else of the one where the package is best looked at. None where the package is gone.
    """
    if package.is_gone:
        return None
    having = (one for one in package.in_series if is_current(spans[one.series]))
    newest = next(having, package.best)
    of_series = spans[newest.series]
    return of_series[-1].last if of_series else newest.last_seen, newest.last_seen
