"""What is left of a package beside a cell that was lost."""

from collections.abc import Collection, Iterator, Mapping

import numpy as np

from snapshots.changes.cells import CoverageDimension, having
from snapshots.frames.columns import Mask, Rows, rows_where
from snapshots.frames.filters import having_any
from snapshots.frames.frame import Frame
from snapshots.spack.names import ROOT_STACK

NUM_NEAREST = 3
"""How many specs are named at the most."""

_FACTS = ("version", "compiler", "platform", "operating_system", "target", "variants")
_MANY = 100


def nearest_rows(
    base: Frame,
    head: Frame,
    package: str,
    wanted: Mapping[tuple[CoverageDimension, str], int],
) -> Rows:
    """Return the rows of head, three at the most, that are nearest to a cell that only base has.

    ``wanted`` are the cell's dimensions and values, each with how many times it counts.

    Those of the package come first that have most of the cell's values; of equal ones those that
    are alike in most other facts: version, compiler, platform, operating system, target, all
    variants, and a stack other than root in common. Alike is what some spec of the cell has, too.
    Then the newest version comes first, and last the hashes decide.
    """
    was, left = base.rows_of(package), head.rows_of(package)
    if was is None or left is None:
        return np.empty(0, np.int32)
    in_cell = np.ones(was.stop - was.start, np.bool_)
    for mask in having(base, was, wanted):
        in_cell &= mask
    cell = rows_where(in_cell) + np.int32(was.start)
    score = np.zeros(left.stop - left.start, np.int64)
    for mask, times in zip(having(head, left, wanted), wanted.values(), strict=True):
        score += _MANY * times * mask
    for mask in _alike(base, cell, head, left, {dimension for dimension, _ in wanted}):
        score += mask
    # The rows stand newest version first, then by hash.
    nearest: Rows = np.argsort(-score, kind="stable")[:NUM_NEAREST].astype(np.int32)
    return nearest + np.int32(left.start)


def _alike(
    base: Frame,
    cell: Rows,
    head: Frame,
    rows: slice,
    dimensions: Collection[CoverageDimension],
) -> Iterator[Mask]:
    """Yield for each fact that is no dimension which rows of head have it as one of the cell."""
    chosen = {dimension.value for dimension in dimensions}
    for name in _FACTS:
        if name not in chosen:
            before, after = getattr(base, name), getattr(head, name)
            yield after.among(before.present(cell))[after.codes[rows]]
    if CoverageDimension.STACK not in dimensions:
        stacks = {stack for stack, _ in base.stacks.item_counts(cell)} - {ROOT_STACK}
        yield having_any(head.stacks, tuple(stacks))[head.stacks.codes[rows]]
