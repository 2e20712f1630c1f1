"""The changes that are kept of pairs, summed up while their files are read one by one.

A pair can stand in several runs of files, where two importers have kept it: in each of them it is
whole. Other tools that rewrite files cut and join runs as they like; there what counts is which
rows a pair has, however often.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from snapshots.catalog.pairs.texts import are_of, pair_of, texts_in, texts_of
from snapshots.catalog.tables.sorted_table import run_of
from snapshots.catalog.verifying.hash_sums import MODULUS, SetOfHashes
from snapshots.changes.diff import SpecChangeKind
from snapshots.changes.kept_changes import Numbers, numbers_of
from snapshots.history import Pair
from snapshots.tables import CHANGES

_SEPARATOR = "\0"
_OF_ROW = [name for name in CHANGES.names if name not in ("base", "head")]


class SummedUp(NamedTuple):
    """The changes of a pair in one run: its hashes by kind, and a number of all that rows say."""

    added: SetOfHashes
    removed: SetOfHashes
    changed: SetOfHashes
    rows: int


@dataclass
class _Sums:
    counts: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    totals: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    rows: int = 0


class KeptPairs:
    """Takes the rows of ``changes`` file by file.

    ``added`` are the numbers of all hashes that any pair added, each with the name of its package,
    unsorted and some of them twice.
    """

    def __init__(self) -> None:
        self._sums: dict[tuple[Pair, str], _Sums] = {}
        self.added: list[Numbers] = []

    def take(self, path: str, rows: pa.Table) -> None:
        """Add the rows of a file."""
        if not len(rows):
            return
        hashes, texts = numbers_of(rows["hash"]), numbers_of(_joined(rows))
        kinds = rows["kind"].combine_chunks().dictionary_encode()
        pairs = texts_in(rows).combine_chunks().dictionary_encode()
        num_kinds = len(kinds.dictionary)
        codes = np.asarray(pairs.indices, np.int64) * num_kinds + np.asarray(kinds.indices)
        size = len(pairs.dictionary) * num_kinds
        counts = np.bincount(codes, minlength=size)
        of_hashes, of_rows = np.zeros(size, np.uint64), np.zeros(size, np.uint64)
        np.add.at(of_hashes, codes, hashes)
        np.add.at(of_rows, codes, texts)
        for number in np.flatnonzero(counts).tolist():
            pair = pair_of(pairs.dictionary[number // num_kinds].as_py())
            kind = kinds.dictionary[number % num_kinds].as_py()
            sums = self._sums.setdefault((pair, run_of(path)), _Sums())
            sums.counts[kind] += int(counts[number])
            sums.totals[kind] += int(of_hashes[number])
            sums.rows += int(of_rows[number])
        is_added = pc.equal(rows["kind"], SpecChangeKind.ADDED.value)
        self.added.append(numbers_of_named(rows.filter(is_added)))

    def replace(self, pairs: Collection[Pair], rows: pa.Table) -> None:
        """Put the rows of some pairs, all of them and each once, in the place of what was taken."""
        self._sums = {it: sums for it, sums in self._sums.items() if it[0] not in pairs}
        self.take("", rows)

    def copies(self) -> Iterator[tuple[Pair, SummedUp]]:
        """Yield each pair, once for each run that it stands in."""
        for (pair, _), sums in self._sums.items():
            yield pair, _summed_up(sums)


def rows_of_pairs(rows: pa.Table, pairs: Collection[Pair]) -> pa.Table:
    """Return those rows of ``changes`` that are of some pairs."""
    return rows.filter(are_of(rows, texts_of(pairs)))


def numbers_of_named(rows: pa.Table) -> Numbers:
    """Return the number of each hash with the name of its package."""
    return numbers_of(pc.binary_join_element_wise(rows["hash"], rows["name"], _SEPARATOR))


def summed_up(rows: pa.Table) -> SummedUp:
    """Return the sums of the rows of one pair."""
    kept = KeptPairs()
    kept.take("", rows)
    return next((found for _, found in kept.copies()), _summed_up(_Sums()))


def _summed_up(sums: _Sums) -> SummedUp:
    def of(kind: SpecChangeKind) -> SetOfHashes:
        return SetOfHashes(sums.counts[kind.value], sums.totals[kind.value] % MODULUS)

    return SummedUp(
        of(SpecChangeKind.ADDED),
        of(SpecChangeKind.REMOVED),
        of(SpecChangeKind.CHANGED),
        sums.rows % MODULUS,
    )


def _joined(rows: pa.Table) -> pa.ChunkedArray:
    return pc.binary_join_element_wise(*(rows[name] for name in _OF_ROW), _SEPARATOR)
