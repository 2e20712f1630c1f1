"""Lookup of concrete specs, such as those of a lock file, in a revision, and their nearest specs.

A spec is available if its hash is. Roots, which a user requested, are counted separately from their
dependencies.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from snapshots.arrays import NO_ROW, Mask, Rows
from snapshots.changes.coverage import compiler_name
from snapshots.changes.likeness import shares
from snapshots.changes.pairings import FieldChange, as_json
from snapshots.frames.columns import Column, ListColumn, begins_of_runs, rows_where
from snapshots.frames.frame import Frame
from snapshots.frames.hashes import Hashes
from snapshots.models import OWN_COLUMNS, OWN_FACTS, ConcreteSpec


class RequestedSpecs:
    """Requested specs: each hash once, roots first, then by name and hash.

    A hash that is given several times has the facts of the first, and is a root if any of them is.
    """

    def __init__(self, specs: Iterable[ConcreteSpec]) -> None:
        by_hash: dict[str, ConcreteSpec] = {}
        for spec in specs:
            first = by_hash.setdefault(spec.hash, spec)
            if spec.is_root and not first.is_root:
                by_hash[spec.hash] = replace(first, is_root=True)
        self.specs: Sequence[ConcreteSpec] = sorted(
            by_hash.values(), key=lambda spec: (not spec.is_root, spec.name, spec.hash)
        )
        self.num_roots = sum(spec.is_root for spec in self.specs)
        self._columns: dict[str, Column[object]] = {}

    def __len__(self) -> int:
        return len(self.specs)

    @cached_property
    def hashes(self) -> Hashes:
        """The hashes, which are all complete."""
        return Hashes("".join(spec.hash for spec in self.specs).encode())

    def column(self, name: str) -> Column[object]:
        """Return a fact of all specs; None if it is not stated, and therefore not compared."""
        if name not in self._columns:
            values = [getattr(spec, name) for spec in self.specs]
            codes = {value: code for code, value in enumerate(dict.fromkeys(values))}
            of_specs = np.fromiter(map(codes.__getitem__, values), np.int32, len(values))
            self._columns[name] = Column(of_specs, [*codes])
        return self._columns[name]


PAIRS_AT_ONCE = 1 << 20

Scores = npt.NDArray[np.int64] | npt.NDArray[np.float64]


def nearest_specs(requested: RequestedSpecs, places: Rows, frame: Frame) -> Rows:
    """Return the row nearest to each requested spec at ``places``; -1 if there is none.

    Only specs of the same package are considered. Each step keeps those that are most similar:

    1. the architecture: the platform, then the operating system, then the target;
    2. the version, by how many others of the package, in Spack's order, lie between the two;
    3. the share of variants that both have, of all that either has;
    4. the compiler, then its name alone;
    5. the recipe: the hash of the package, then the repository (namespace).

    Ties are resolved by the newest version, then by the hashes. A fact that is not stated is not
    compared: all specs are equal in it.
    """
    nearest = np.full(len(places), NO_ROW, np.int32)
    for part, pairs in _pairs(requested, places, frame):
        for score in (_architecture, _version, _variants, _compiler, _recipe):
            pairs = pairs.where_best(score(pairs))
        # The rows are sorted by version, newest first, then by hash.
        firsts = pairs.firsts
        nearest[part + pairs.owners[firsts]] = pairs.rows[firsts]
    return nearest


class _Pairs(msgspec.Struct, frozen=True):
    """Requested specs, each with the rows of its package.

    ``owners`` are indices into ``places``, ascending; ``places`` are indices of requested specs.
    """

    requested: RequestedSpecs
    places: Rows
    frame: Frame
    owners: Rows
    rows: Rows

    @property
    def firsts(self) -> npt.NDArray[np.int64]:
        """The index of the first pair of each owner that has any."""
        return np.flatnonzero(begins_of_runs(self.owners))

    def where_best(self, scores: Scores) -> "_Pairs":
        """Return the pairs with the highest score among those of the same owner."""
        if not len(self.owners):
            return self
        firsts = self.firsts
        highest = np.maximum.reduceat(scores, firsts)
        sizes = np.diff(np.append(firsts, len(self.owners)))
        best = scores == np.repeat(highest, sizes)
        return replace(self, owners=self.owners[best], rows=self.rows[best])

    def stated(self, name: str) -> tuple[Column[object], Mask]:
        """Return a fact of the requested specs, and which of the pairs state it."""
        column = self.requested.column(name)
        return column, column.known()[self.codes_of(column)]

    def codes_of(self, column: Column[object]) -> Rows:
        """Return the code of each pair's requested spec in one of its columns."""
        return column.codes[self.places][self.owners]

    def equal(self, name: str) -> Scores:
        """Return 1 for pairs with the same value of a fact, else 0."""
        ours, theirs = self.requested.column(name), self.frame.columns[name]
        assert isinstance(theirs, Column)  # noqa: S101 - what is compared has codes
        codes = [-2 if value is None else theirs.index.get(value, NO_ROW) for value in ours.values]
        same: Mask = np.array(codes, np.int64)[self.codes_of(ours)] == theirs.codes[self.rows]
        return same.astype(np.int64)


def _pairs(requested: RequestedSpecs, places: Rows, frame: Frame) -> Iterator[tuple[int, _Pairs]]:
    """Yield batches of pairs, each with the index into ``places`` at which it starts."""
    index = frame.package.index
    codes = [index.get(requested.specs[place].name, NO_ROW) for place in places.tolist()]
    # A package that the frame does not have has no rows.
    starts = np.array([frame.starts[code] if code >= 0 else 0 for code in codes], np.int64)
    stops = np.array([frame.starts[code + 1] if code >= 0 else 0 for code in codes], np.int64)
    sums = np.concatenate(([0], np.cumsum(stops - starts)))
    bounds = [0]
    while bounds[-1] < len(places):
        further = int(np.searchsorted(sums, sums[bounds[-1]] + PAIRS_AT_ONCE, "right")) - 1
        bounds.append(max(further, bounds[-1] + 1))
    for start, stop in pairwise(bounds):
        sizes = (stops - starts)[start:stop]
        owners = np.repeat(np.arange(stop - start, dtype=np.int32), sizes)
        before = np.repeat(sums[start:stop] - sums[start] - starts[start:stop], sizes)
        rows = (np.arange(len(owners)) - before).astype(np.int32)
        yield start, _Pairs(requested, places[start:stop], frame, owners, rows)


def _architecture(pairs: _Pairs) -> Scores:
    return 4 * pairs.equal("platform") + 2 * pairs.equal("operating_system") + pairs.equal("target")


def _version(pairs: _Pairs) -> Scores:
    """Return the similarity of the versions: 0 if equal, -1 for the next one on either side."""
    frame, sort_key = pairs.frame, OWN_FACTS["version"].sort_key
    column, are_stated = pairs.stated("version")
    size, values = len(frame.version.values), frame.version.values
    # Twice the position from the newest version; odd if the revision lacks the version.
    places = []
    for value in column.values:
        code = frame.version.index.get(str(value))
        below = bisect_left(values, sort_key(str(value)), key=sort_key) if code is None else 0
        places.append(2 * (size - below) + 1 if code is None else 2 * (size - code))
    step = 2 * size + 4
    names, versions = (column.codes.astype(np.int64) for column in (frame.package, frame.version))
    keys = names * step + 2 * (size - versions)
    begins = begins_of_runs(keys)
    runs, run_of_row = keys[begins], np.cumsum(begins) - 1
    ours = names[pairs.rows] * step + np.array(places, np.int64)[pairs.codes_of(column)]
    nearest = np.searchsorted(runs, ours)
    is_there = runs[np.minimum(nearest, len(runs) - 1)] == ours
    apart = np.abs(2 * run_of_row[pairs.rows] - np.where(is_there, 2 * nearest, 2 * nearest - 1))
    scores: Scores = np.where(are_stated, -((apart + 1) // 2), 0)
    return scores


def _variants(pairs: _Pairs) -> Scores:
    column, are_stated = pairs.stated("variants")
    ours = ListColumn(pairs.codes_of(column), column.values, (), _NO_ITEMS)  # type: ignore[arg-type]
    numbers = np.arange(len(pairs.rows), dtype=np.int32)
    common = shares(ours, numbers, pairs.frame.variants, pairs.rows)
    scores: Scores = np.where(are_stated, common, 0.0)
    return scores


def _compiler(pairs: _Pairs) -> Scores:
    ours, theirs = pairs.requested.column("compiler"), pairs.frame.compiler
    numbers: dict[object, int] = {}
    names = [numbers.setdefault(name, len(numbers)) for name in theirs.mapped(compiler_name)]
    codes = [
        NO_ROW if compiler is None else numbers.get(compiler_name(str(compiler)), NO_ROW)
        for compiler in ours.values
    ]
    name_codes = np.array(codes, np.int64)[pairs.codes_of(ours)]
    same_name: Mask = name_codes == np.array(names, np.int64)[theirs.codes[pairs.rows]]
    return pairs.equal("compiler") + same_name


def _recipe(pairs: _Pairs) -> Scores:
    return 2 * pairs.equal("package_hash") + pairs.equal("namespace")


_NO_ITEMS = np.empty(0, np.int32)


class Lookup:
    """Requested specs, looked up in a revision.

    ``rows`` contains for each requested spec the row that has its hash, -1 if it is missing.
    """

    def __init__(self, requested: RequestedSpecs, frame: Frame) -> None:
        self.requested = requested
        self.frame = frame
        self.rows: Rows = requested.hashes.match(frame.hashes)

    @property
    def num_found(self) -> int:
        """Number of requested specs that are available."""
        return int(np.count_nonzero(self.rows >= 0))

    @property
    def num_roots_found(self) -> int:
        """Number of roots that are available."""
        return int(np.count_nonzero(self.rows[: self.requested.num_roots] >= 0))

    @property
    def found(self) -> Rows:
        """The rows of the available specs, roots first, then by name and hash."""
        return self.rows[self.rows >= 0]

    @cached_property
    def missing(self) -> Rows:
        """The indices of the missing specs among the requested ones; roots come first."""
        return rows_where(self.rows < 0)

    @cached_property
    def nearest(self) -> Rows:
        """For each missing spec the row that ``nearest_specs`` finds; -1 if there is none."""
        return nearest_specs(self.requested, self.missing, self.frame)

    def differences(self, number: int) -> list[FieldChange]:
        """Return the facts in which the nearest spec differs from a missing one.

        ``number`` is an index into ``missing``; ``before`` is the requested value, ``after`` that
        of the nearest spec. Facts that are not stated, or that the revision's source does not
        provide, are not compared. If none differs, only hashes of dependencies or facts that are
        not stated do.
        """
        row = int(self.nearest[number])
        if row < 0:
            return []
        spec = self.requested.specs[int(self.missing[number])]
        changes = []
        for name in OWN_COLUMNS:
            before, after = getattr(spec, name), self.frame.columns[name].at(row)
            is_known = after is not None or not OWN_FACTS[name].may_be_unknown
            if before is not None and is_known and before != after:
                changes.append(FieldChange(name, as_json(name, before), as_json(name, after)))
        return changes
