"""The totals of each package on one side: how many specs, their sizes, their versions."""

import numpy as np
import numpy.typing as npt

from snapshots.frames.columns import Codes, Column, Rows
from snapshots.frames.frame import Frame

_UNKNOWN = -1


class PackageTotals:
    """Totals over some rows of a frame, rising ones, by package.

    ``codes`` name the packages by their codes in the frame, in any order; -1 stands for a package
    that the frame does not have. ``num_specs`` counts the rows of each.
    """

    def __init__(self, frame: Frame, rows: Rows | slice, codes: Codes) -> None:
        of_row = frame.package.codes[rows]
        starts = frame.starts
        if not isinstance(rows, slice):
            starts = np.searchsorted(of_row, np.arange(len(frame.packages) + 1)).astype(np.int32)
        self._codes = codes
        self._version: Column[str] = frame.version
        # A frame's rows stand by package and version, so equal versions of a package are a run.
        versions = frame.version.codes[rows]
        begins_run = np.ones(len(versions), np.bool_)
        begins_run[1:] = (versions[1:] != versions[:-1]) | (of_row[1:] != of_row[:-1])
        runs = np.flatnonzero(begins_run)
        self._versions = versions[runs]
        bounds = np.searchsorted(runs, starts).astype(np.int32)
        self._begins, self._ends = _at(bounds[:-1], codes), _at(bounds[1:], codes)
        self.num_specs = _at(np.diff(starts), codes)
        self._sizes = _at(_sizes(frame, rows, starts), codes)

    @property
    def num_bytes(self) -> int:
        """How much memory the totals take."""
        arrays = (self._versions, self._begins, self._ends, self.num_specs, self._sizes)
        return sum(it.nbytes for it in arrays)

    def size(self, place: int) -> int | None:
        """Return the sum of the known sizes of a package; None where no size is known."""
        size = int(self._sizes[place])
        return None if size == _UNKNOWN else size

    def total_size(self) -> int | None:
        """Return the sum of all known sizes; None where no size is known."""
        known = self._sizes[(self._sizes != _UNKNOWN) & (self.num_specs > 0)]
        return int(known.sum()) if len(known) else None

    def versions(self, place: int) -> tuple[str, ...]:
        """Return the versions of a package, newest first."""
        codes = self._versions[self._begins[place] : self._ends[place]]
        return tuple(self._version.values[code] for code in codes.tolist())

    def newest(self, place: int) -> str:
        """Return the newest version of a package, which must have one."""
        return self._version.values[int(self._versions[self._begins[place]])]

    def num_versions(self, places: Codes) -> npt.NDArray[np.integer]:
        """Return how many versions each of the packages has."""
        return self._ends[places] - self._begins[places]

    def version_fingerprints(self, places: Codes) -> npt.NDArray[np.int64]:
        """Return a fingerprint of each version of the packages, package by package."""
        counts = self.num_versions(places)
        offsets = np.cumsum(counts) - counts
        numbers = np.repeat(self._begins[places] - offsets, counts) + np.arange(counts.sum())
        prints: npt.NDArray[np.int64] = self._version.fingerprints[self._versions[numbers]]
        return prints


def _sizes(frame: Frame, rows: Rows | slice, starts: Rows) -> npt.NDArray[np.int64]:
    """Return the sum of the known sizes by package; -1 where there are specs but no known size."""
    num_specs = np.diff(starts)
    filled = np.flatnonzero(num_specs)
    sums = np.zeros(len(num_specs), np.int64)
    if not len(filled):
        return sums
    if not frame.size.is_known:
        sums[filled] = _UNKNOWN
        return sums
    sizes = frame.size.numbers[rows]
    sums[filled] = np.add.reduceat(np.maximum(sizes, 0), starts[filled])
    known = sizes >= 0
    if not known.all():
        sums[filled[~np.logical_or.reduceat(known, starts[filled])]] = _UNKNOWN
    return sums


def _at(values: npt.NDArray[np.integer], codes: Codes) -> npt.NDArray[np.integer]:
    """Return the values of the codes, 0 for -1."""
    return np.append(values, values.dtype.type(0))[codes]
