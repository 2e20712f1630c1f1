"""Cells that were lost and gained, as lines of text."""

from collections.abc import Iterator
from itertools import groupby
from operator import attrgetter

from server.terminal.printing import styles
from server.terminal.printing.layout import wrapped
from snapshots.changes.coverage import (
    CoverageChange,
    CoverageChangeKind,
    CoverageChanges,
    CoverageDimension,
)
from snapshots.spack.names import ROOT_STACK
from snapshots.wording import in_words

_STYLES = {CoverageChangeKind.LOST: styles.removed, CoverageChangeKind.GAINED: styles.added}
_SIGNS = {CoverageChangeKind.LOST: "-", CoverageChangeKind.GAINED: "+"}
_INDENT = " " * 8


def cell_lines(cells: CoverageChanges, width: int | None) -> Iterator[str]:
    """Yield the cells package by package; below a lost one what is left that is nearest to it."""
    for package, inside in groupby(cells, key=attrgetter("package")):
        yield styles.name(package)
        for cell in inside:
            text = f"  {_SIGNS[cell.kind]} {' '.join(cell.values) or package}"
            yield from map(_STYLES[cell.kind], wrapped(text, width, _INDENT))
            if cell.kind is CoverageChangeKind.LOST:
                yield from map(styles.quiet, wrapped(_nearest(cells, cell), width, _INDENT))


def cell_totals(cells: CoverageChanges) -> str:
    """Return how many cells were lost and gained."""
    counts = {kind: cells.count(kind) for kind in CoverageChangeKind}
    what = ", ".join(in_words(it) for it in ("package", *map(_name, cells.dimensions)))
    return ", ".join(f"{count:,} {kind.value}" for kind, count in counts.items()) + f" ({what})"


def _nearest(cells: CoverageChanges, cell: CoverageChange) -> str:
    if not cell.nearest:
        return "      nothing of it is left"
    spec = cells.head.spec(cell.nearest[0])
    stacks = [stack for stack in spec.stacks if stack != ROOT_STACK]
    where = f" (stacks: {' '.join(stacks)})" if stacks else ""
    return f"      nearest: {spec.hash} {spec.short}{where}"


def _name(dimension: CoverageDimension) -> str:
    return dimension.value
