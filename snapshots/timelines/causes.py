"""The causes of all neighbours of a series, summed up over time."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import datetime
from enum import Enum
from functools import partial
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from snapshots.changes.costs import BuildCost, Costs
from snapshots.changes.stored_changes import CAUSES_FORMAT
from snapshots.frames.columns import Mask
from snapshots.history import History, Neighbours, Pair
from snapshots.models import CauseKind, RevisionInfo
from snapshots.recipes.commits import Between, Commit
from snapshots.tables import COMPARISONS
from snapshots.timelines.steps import Steps

Numbers = npt.NDArray[np.int64]


class SeriesCauseKey(Enum):
    """How the causes of a series are grouped.

    - PACKAGE: By the package that changed by itself.
    - KIND: By what changed.
    - COMMIT: By the commit that touched the recipe of the package; causes without such a commit
      are left out.
    """

    PACKAGE = "package"
    KIND = "kind"
    COMMIT = "commit"


CommitsBetween = Callable[[RevisionInfo, RevisionInfo], Between | None]
"""A function that returns the commits between the recipes of two revisions; None if unknown."""


class SeriesCausePoint(msgspec.Struct, frozen=True):
    """The numbers of specs that causes explain in one revision."""

    revision: RevisionInfo
    num_specs: int
    num_involved: int


class SeriesCause(msgspec.Struct, frozen=True):
    """The numbers of specs that causes with the same key explain in some revisions of a series.

    ``package``, ``kind`` and ``commit`` are None if they are not part of the key; the package is
    also None for the kind FORMAT. A commit explains the causes in packages whose recipes it
    touched; if several commits explain a cause, it counts for each of them. ``num_specs`` and
    ``num_involved`` are sums over causes and revisions, so a spec in which two causes of one
    package are involved counts twice in the latter. ``size`` is None if no size is known.
    ``build_cost`` is the cost of building the specs counted by ``num_specs``, each estimated by the
    median of its package; None without costs.
    """

    package: str | None
    kind: CauseKind | None
    commit: Commit | None
    num_specs: int
    num_involved: int
    size: int | None
    num_revisions: int
    build_cost: BuildCost | None
    make_points: Callable[[], list[SeriesCausePoint]]

    @property
    def points(self) -> list[SeriesCausePoint]:
        """The numbers in each of these revisions, oldest first."""
        return self.make_points()

    @property
    def key(self) -> str:
        """The key as a single text, which is permanent."""
        kind = self.kind.value if self.kind else ""
        return f"{kind}|{self.package or ''}|{self.commit.oid if self.commit else ''}"


_NUMBERS = ("num_specs", "num_involved", "size")
_NAMES = ("package", "kind")


class SeriesCauses:
    """The causes of all neighbours in a series, as columns.

    ``tables`` are rows of the table ``comparisons`` with the columns ``causes`` and
    ``causes_format``. If several rows have the same pair, only one is used. Build costs require the
    column ``package_causes``.
    """

    def __init__(self, tables: Iterable[pa.Table], series: str, history: History) -> None:
        self.steps = steps = Steps.of(history, [series])
        chosen: list[pa.Table] = []
        at: list[int] = []
        seen: set[Pair] = set()
        for table in tables:
            rows = table.filter(pc.equal(table["causes_format"], CAUSES_FORMAT))
            pairs = map(Pair, rows["base"].to_pylist(), rows["head"].to_pylist())
            numbers = []
            for number, pair in enumerate(pairs):
                places = () if pair in seen else steps.of_pair(pair)
                seen.add(pair)
                numbers += [number] * len(places)
                at += places
            chosen.append(rows.take(pa.array(numbers, pa.int64())))
        of_steps = pa.concat_tables(chosen or [COMPARISONS.empty_table()])
        causes = of_steps["causes"].combine_chunks()
        items, of_items = causes.flatten(), pc.list_parent_indices(causes).to_numpy()
        self._places = np.array(at, np.int64)[of_items]
        self._numbers: dict[str, Numbers] = {
            name: np.asarray(items.field(name).fill_null(-1), np.int64) for name in _NUMBERS
        }
        encoded = {name: items.field(name).dictionary_encode("encode") for name in _NAMES}
        self._codes = {
            name: column.indices.to_numpy().astype(np.int64) for name, column in encoded.items()
        }
        self._values = {name: column.dictionary.to_pylist() for name, column in encoded.items()}
        self._taken = np.array(
            [revision.taken_at.timestamp() for revision in steps.revisions], np.float64
        )
        # For each row of causes and package, the number of specs whose main cause it is.
        self._explained: tuple[Numbers, Numbers, pa.Array] | None = None
        if "package_causes" in of_steps.column_names:
            lists = of_steps["package_causes"].combine_chunks()
            cells, first = lists.flatten(), np.searchsorted(of_items, np.arange(len(lists)))
            own = first[pc.list_parent_indices(lists)] + cells.field("cause").to_numpy()
            self._explained = own, cells.field("num_specs").to_numpy(), cells.field("package")

    @property
    def num_bytes(self) -> int:
        """Approximate memory used by the columns, in bytes."""
        names = 100 * sum(map(len, self._values.values()))
        explained = 0 if self._explained is None else 30 * len(self._explained[0])
        return 48 * len(self._places) + names + explained + 1_000

    def revisions(
        self, since: datetime | None = None, until: datetime | None = None
    ) -> list[RevisionInfo]:
        """Return the revisions with ``taken_at`` from ``since`` to ``until``, in series order."""
        are_within = self._are_within(since, until)
        revisions = zip(self.steps.revisions, are_within.tolist(), strict=True)
        return [revision for revision, is_within in revisions if is_within]

    def next_in(self, packages: Collection[str], revision: RevisionInfo) -> Neighbours | None:
        """Return the first neighbours after a revision that have a cause in one of the packages.

        Return None if there are none, or if the series does not have the revision.
        """
        revisions = self.steps.revisions
        if revision not in revisions:
            return None
        codes = [code for code, name in enumerate(self._values["package"]) if name in packages]
        places = self._places[np.isin(self._codes["package"], codes)]
        later = places[places > revisions.index(revision)]
        return self.steps.neighbours[int(later.min())] if len(later) else None

    def summed(
        self,
        by: Sequence[SeriesCauseKey],
        since: datetime | None = None,
        until: datetime | None = None,
        between: CommitsBetween = lambda _base, _head: None,
        costs: Costs | None = None,
    ) -> list[SeriesCause]:
        """Return the sums for each key over the causes of revisions from ``since`` to ``until``.

        Keys are sorted by ``num_specs``, then ``num_involved``, both largest first, then by package
        and kind. By commit, only causes that a commit explains count; ``between`` returns the
        commits of two neighbours. ``costs`` are the build costs of specs.
        """
        rows = np.flatnonzero(self._are_within(since, until)[self._places])
        values: dict[str, list[Any]] = {**self._values}
        codes = {name: of_rows[rows] for name, of_rows in self._codes.items()}
        if SeriesCauseKey.COMMIT in by:
            is_explained, commit_codes, values["commit"] = self._explained_by(rows, between)
            rows = rows[is_explained]
            codes = {name: of_rows[is_explained] for name, of_rows in codes.items()}
            codes["commit"] = commit_codes
        keys = np.zeros(len(rows), np.int64)
        for key in by:
            keys = keys * (len(values[key.value]) + 1) + codes[key.value]
        _, first, groups = np.unique(keys, return_index=True, return_inverse=True)
        size = len(first)
        # Encode group and step in one number, to sum the points of all groups at once, in order.
        num_places = len(self.steps) or 1
        of_points, at = np.unique(groups * num_places + self._places[rows], return_inverse=True)
        points = {name: self._sums(name, rows, at, len(of_points)) for name in _NUMBERS[:2]}
        sums = {name: self._sums(name, rows, groups, size).tolist() for name in _NUMBERS}
        is_known = np.zeros(size, np.bool_)
        is_known[groups[self._numbers["size"][rows] >= 0]] = True
        bounds = np.searchsorted(of_points // num_places, np.arange(size + 1)).tolist()

        def points_of(number: int) -> list[SeriesCausePoint]:
            own = slice(bounds[number], bounds[number + 1])
            places = (of_points[own] % num_places).tolist()
            revisions = [self.steps.revisions[place] for place in places]
            counts = (points[name][own].tolist() for name in _NUMBERS[:2])
            return list(map(SeriesCausePoint, revisions, *counts))

        chosen = {
            key: [values[key.value][code] for code in codes[key.value][first].tolist()]
            for key in by
        }
        nothing = [None] * size
        packages, kinds, commits = (chosen.get(key, nothing) for key in SeriesCauseKey)
        columns = (
            packages,
            [kind and CauseKind(kind) for kind in kinds],
            commits,
            sums["num_specs"],
            sums["num_involved"],
            [total if known else None for total, known in zip(sums["size"], is_known, strict=True)],
            np.diff(bounds).tolist(),
            self._build_costs(costs, rows, groups, sums["num_specs"]),
            [partial(points_of, number) for number in range(size)],
        )
        return sorted(map(SeriesCause, *columns), key=_most_first)

    def _build_costs(
        self, costs: Costs | None, rows: Numbers, groups: Numbers, num_specs: Sequence[int]
    ) -> Sequence[BuildCost | None]:
        """Return the build cost of the specs of each group; ``num_specs`` has their numbers."""
        size = len(num_specs)
        if costs is None:
            return [None] * size
        seconds, cost, num_known = (
            np.bincount(groups, values[rows], minlength=size).tolist()
            for values in self._costs_of_rows(costs)
        )
        return [
            BuildCost(
                seconds[number] if num_known[number] else None,
                cost[number] if num_known[number] and costs.unit is not None else None,
                costs.unit,
                int(num_known[number]),
                num_specs[number] - int(num_known[number]),
            )
            for number in range(size)
        ]

    def _costs_of_rows(self, costs: Costs) -> Iterator[npt.NDArray[np.float64]]:
        """Yield per cause the seconds, the cost, and the number of its specs with known costs."""
        if self._explained is None:
            yield from np.zeros((3, len(self._places)))
            return
        rows, counts, packages = self._explained
        names = packages.dictionary_encode()
        of_packages = costs.of_packages(names.dictionary.to_pylist())
        seconds = of_packages.seconds[names.indices.to_numpy()]
        cost = seconds if of_packages.cost is None else of_packages.cost[names.indices.to_numpy()]
        counts = np.where(np.isnan(seconds), 0, counts)
        for weight in (np.nan_to_num(seconds) * counts, np.nan_to_num(cost) * counts, counts):
            yield np.bincount(rows, weight, len(self._places)).astype(np.float64)

    def _explained_by(
        self, rows: Numbers, between: CommitsBetween
    ) -> tuple[Numbers, Numbers, list[Commit]]:
        """Return the rows that commits explain, repeated for each commit, and the commits.

        The rows are indexes into ``rows``. The second array has the code of the commit for each of
        them: an index into the third value, the list of commits.
        """
        places: list[int] = []
        codes: list[int] = []
        commits: list[Commit] = []
        numbers: dict[str, int] = {}
        at = self._places[rows]
        packages = self._codes["package"][rows].tolist()
        order = np.argsort(at, kind="stable")
        for step in np.unique(at).tolist():
            neighbours = self.steps.neighbours[step]
            commits_between = neighbours.base and between(neighbours.base, neighbours.head)
            if commits_between is None:
                continue
            touching: defaultdict[str, list[int]] = defaultdict(list)
            for commit in (*commits_between.reached, *commits_between.taken_back):
                if commit.oid not in numbers:
                    numbers[commit.oid] = len(commits)
                    commits.append(commit)
                for package in commit.packages:
                    touching[package].append(numbers[commit.oid])
            start, stop = np.searchsorted(at, (step, step + 1), sorter=order).tolist()
            for place in order[start:stop].tolist():
                explaining = touching.get(self._values["package"][packages[place]] or "", ())
                places += [place] * len(explaining)
                codes += explaining
        return np.array(places, np.int64), np.array(codes, np.int64), commits

    def _sums(self, name: str, rows: Numbers, groups: Numbers, size: int) -> Numbers:
        values = np.maximum(self._numbers[name][rows], 0)
        sums = np.zeros(size, np.int64)
        np.add.at(sums, groups, values)
        return sums

    def _are_within(self, since: datetime | None, until: datetime | None) -> Mask:
        mask = np.ones(len(self._taken), np.bool_)
        if since is not None:
            mask &= self._taken >= since.timestamp()
        if until is not None:
            mask &= self._taken <= until.timestamp()
        return mask


def _most_first(cause: SeriesCause) -> tuple[object, ...]:
    kind = "" if cause.kind is None else cause.kind.value
    newest_first = () if cause.commit is None else cause.commit.order
    return -cause.num_specs, -cause.num_involved, newest_first, cause.package or "", kind
