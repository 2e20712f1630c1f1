"""Which concrete specs, such as those of a lock file, a revision holds; what is nearest to others.

A spec is there where its hash is. Roots, what somebody asked for, are counted apart from what they
depend on.
"""

from functools import cached_property
from typing import Any

import numpy as np

from snapshots.changes.facts import FieldChange
from snapshots.changes.nearest_specs import nearest_specs
from snapshots.changes.wanted import COMPARED, Wanted
from snapshots.frames.columns import Rows, rows_where
from snapshots.frames.frame import Frame
from snapshots.models import SPEC_FACTS


class Lookup:
    """What is wanted, against what a revision holds.

    ``rows`` says for each wanted spec the row that has its hash, -1 where it is missing.
    """

    def __init__(self, wanted: Wanted, frame: Frame) -> None:
        self.wanted = wanted
        self.frame = frame
        self.rows: Rows = frame.hashes.find_all(wanted.hashes)

    @property
    def num_found(self) -> int:
        """How many of the wanted specs are there."""
        return int(np.count_nonzero(self.rows >= 0))

    @property
    def num_roots_found(self) -> int:
        """How many of the roots are there."""
        return int(np.count_nonzero(self.rows[: self.wanted.num_roots] >= 0))

    @property
    def found(self) -> Rows:
        """The rows of those that are there, roots first, then by name and hash."""
        return self.rows[self.rows >= 0]

    @cached_property
    def missing(self) -> Rows:
        """The places, among what is wanted, of those that are not there; the roots come first."""
        return rows_where(self.rows < 0)

    @cached_property
    def nearest(self) -> Rows:
        """For each that is missing the row that ``nearest_specs`` finds; -1 where there is none."""
        return nearest_specs(self.wanted, self.missing, self.frame)

    def differences(self, number: int) -> list[FieldChange]:
        """Return the facts in which the nearest differs from a missing spec.

        ``number`` counts those that are missing; ``before`` is what was wanted, ``after`` what is
        there. What is not told is not compared, nor what the revision's source does not know.
        Where nothing differs, only hashes of dependencies do, or what is not told.
        """
        row = int(self.nearest[number])
        if row < 0:
            return []
        wanted = self.wanted.specs[int(self.missing[number])]
        changes = []
        for name in COMPARED:
            before, after = getattr(wanted, name), self.frame.columns[name].at(row)
            is_known = after is not None or not SPEC_FACTS[name].may_be_unknown
            if before is not None and is_known and before != after:
                changes.append(FieldChange(name, _as_json(before), _as_json(after)))
        return changes


def _as_json(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
