"""The causes of all neighbours of a series, summed up over time."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime
from enum import Enum
from functools import partial
from itertools import chain

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from snapshots.arrays import Mask
from snapshots.changes.stored_changes import pairs_in
from snapshots.history import History, Neighbours
from snapshots.models import CauseKind, RevisionInfo
from snapshots.recipes.commits import Between, Commit
from snapshots.timelines.steps import Steps


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

    ``package``, ``kind`` and ``commit`` are None if not part of the key; the package is also
    None for ARCHITECTURE and FORMAT. A commit explains the causes in packages whose recipes it
    touched; if several commits explain a cause, it counts for each of them. ``num_specs`` and
    ``num_involved`` are sums over causes and revisions, so a spec in which two causes of one
    package are involved counts twice in the latter. ``size`` is None if no size is known.
    """

    package: str | None
    kind: CauseKind | None
    commit: Commit | None
    num_specs: int
    num_involved: int
    size: int | None
    num_revisions: int
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


_COUNTS = ("num_specs", "num_involved")


class SeriesCauses:
    """The causes of all neighbours in a series, as a table with the ``place`` of their step.

    ``rows`` are those of the table ``comparisons`` with the column ``causes``, one per pair.
    """

    def __init__(self, rows: pa.Table, series: str, history: History) -> None:
        self.steps = steps = Steps.of(history, [series])
        at = [*map(steps.of_pair, pairs_in(rows))]
        of_steps = rows.take(np.repeat(np.arange(len(rows)), list(map(len, at))))
        causes = of_steps["causes"].combine_chunks()
        of_items = pc.list_parent_indices(causes).to_numpy()
        self._places = np.array([*chain.from_iterable(at)], np.int64)[of_items]
        items = pa.Table.from_struct_array(causes.flatten())
        self._table = items.append_column("place", pa.array(self._places))
        self._taken = np.array(
            [revision.taken_at.timestamp() for revision in steps.revisions], np.float64
        )

    @property
    def num_bytes(self) -> int:
        """Approximate memory used by the columns, in bytes."""
        return int(self._table.nbytes + self._places.nbytes) + 1_000

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
        is_in = pc.is_in(self._table["package"], pa.array([*packages], pa.string()))
        places = self._places[is_in.to_numpy()]
        later = places[places > revisions.index(revision)]
        return self.steps.neighbours[int(later.min())] if len(later) else None

    def summed(
        self,
        by: Sequence[SeriesCauseKey],
        since: datetime | None = None,
        until: datetime | None = None,
        between: CommitsBetween = lambda _base, _head: None,
    ) -> list[SeriesCause]:
        """Return the sums for each key over the causes of revisions from ``since`` to ``until``.

        Keys are sorted by ``num_specs``, then ``num_involved``, both largest first, then by package
        and kind. By commit, only causes that a commit explains count; ``between`` returns the
        commits of two neighbours.
        """
        table = self._table.filter(pa.array(self._are_within(since, until)[self._places]))
        commits: list[Commit] = []
        if SeriesCauseKey.COMMIT in by:
            table, commits = self._by_commit(table, between)
        names = [key.value for key in by]
        summed = [*_COUNTS, "size"]
        groups = table.append_column("all", pa.nulls(len(table))).group_by(
            [*names, "all"], use_threads=False
        )
        lists = ("place", *_COUNTS)
        of_groups = groups.aggregate(
            [*((name, "sum") for name in summed), *((name, "list") for name in lists)]
        )
        of = {name: of_groups[name].to_pylist() for name in of_groups.column_names}
        nothing = [None] * len(of_groups)
        columns = (
            of.get("package", nothing),
            [kind and CauseKind(kind) for kind in of.get("kind", nothing)],
            [commits[number] for number in of["commit"]] if commits else nothing,
            *(of[f"{name}_sum"] for name in (*_COUNTS, "size")),
            [len({*places}) for places in of["place_list"]],
            map(partial(partial, self._points), *(of[f"{name}_list"] for name in lists)),
        )
        return sorted(map(SeriesCause, *columns), key=_most_first)

    def _points(self, places: Iterable[int], *counts: Iterable[int]) -> list[SeriesCausePoint]:
        """Return the sums of the counts of causes at some places, by place."""
        sums: defaultdict[int, list[int]] = defaultdict(lambda: [0, 0])
        for place, num_specs, num_involved in zip(places, *counts, strict=True):
            sums[place][0] += num_specs
            sums[place][1] += num_involved
        return [
            SeriesCausePoint(self.steps.revisions[place], *of_place)
            for place, of_place in sorted(sums.items())
        ]

    def _by_commit(self, table: pa.Table, between: CommitsBetween) -> tuple[pa.Table, list[Commit]]:
        """Return the causes that commits explain, repeated for each of these commits.

        The column ``commit`` has the index of the commit in the second value.
        """
        commits: dict[str, tuple[int, Commit]] = {}
        places, packages = table["place"].to_pylist(), table["package"].to_pylist()
        touching: defaultdict[tuple[int, str | None], list[int]] = defaultdict(list)
        for place in sorted({*places}):
            step = self.steps.neighbours[place]
            commits_between = step.base and between(step.base, step.head)
            if commits_between is not None:
                for commit in (*commits_between.reached, *commits_between.taken_back):
                    number, _ = commits.setdefault(commit.oid, (len(commits), commit))
                    for package in commit.packages:
                        touching[place, package].append(number)
        explaining = [touching.get(key, []) for key in zip(places, packages, strict=True)]
        rows = np.repeat(np.arange(len(table)), list(map(len, explaining)))
        numbers = pa.array([*chain.from_iterable(explaining)], pa.int64())
        return table.take(rows).append_column("commit", numbers), [
            commit for _, commit in commits.values()
        ]

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
