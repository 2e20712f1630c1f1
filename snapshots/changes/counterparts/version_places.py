"""How far versions of a package are apart: by how many others lie between them."""

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from snapshots.frames.columns import Column, Rows, begins_of_runs
from snapshots.frames.frame import Frame
from snapshots.models import SPEC_FACTS

Places = npt.NDArray[np.int64]


def version_places(
    base: Frame, base_rows: Rows, head: Frame, head_rows: Rows
) -> tuple[Places, Places]:
    """Return for rows of two frames the place of each one's version in Spack's order.

    The places of two specs of one package are as far apart as their versions are among all distinct
    ones that the package has in either frame: 0 for the same version, 1 for neighbours.
    """
    sort_key = SPEC_FACTS["version"].sort_key
    versions = _ranks([base.version, head.version], sort_key)
    packages = _ranks([base.package, head.package], str)
    size = 1 + max(len(base.version.values), len(head.version.values)) * 2
    ours, theirs = (
        of_package * size + of_version
        for of_package, of_version in zip(packages, versions, strict=True)
    )
    # The rows of a frame stand by package and version, so that equal ones are neighbours.
    distinct = np.unique(np.concatenate([it[begins_of_runs(it)] for it in (ours, theirs)]))
    return np.searchsorted(distinct, ours[base_rows]), np.searchsorted(distinct, theirs[head_rows])


def _ranks(columns: Sequence[Column[str]], sort_key: Callable[[str], Any]) -> list[Places]:
    """Return for each column the rank of each row's value among the distinct values of all."""
    values = sorted(set(chain.from_iterable(it.values for it in columns)), key=sort_key)
    ranks = {value: rank for rank, value in enumerate(values)}
    return [
        np.fromiter(map(ranks.__getitem__, it.values), np.int64, len(it.values))[it.codes]
        for it in columns
    ]
