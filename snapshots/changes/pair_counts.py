"""How much changed between two contents, and its rows in the table ``comparisons``."""

from collections.abc import Mapping
from typing import Any

import msgspec
import pyarrow as pa

from snapshots.changes.reasons import REASONS, SpecChangeReason
from snapshots.history import Pair

_NUM = "num_"
_UNCOUNTED = (SpecChangeReason.RETURNED, SpecChangeReason.FACTS)
_REASON_COLUMNS = {f"{_NUM}{it.value}": it for it in REASONS if it not in _UNCOUNTED}


class PairCounts(msgspec.Struct, frozen=True, kw_only=True):
    """How many specs and packages were added, removed and changed between two contents.

    ``reasons`` counts specs by the reason that follows from the two contents alone: one that came
    back counts as new. Reasons that no spec has are left out, and so is that of changed ones.
    """

    specs_added: int = 0
    specs_removed: int = 0
    specs_changed: int = 0
    packages_added: int = 0
    packages_removed: int = 0
    packages_changed: int = 0
    reasons: Mapping[SpecChangeReason, int] = msgspec.field(default_factory=dict)


NO_COUNTS = PairCounts()
"""The counts of two neighbours with one content."""

_COUNTS = [name for name in PairCounts.__struct_fields__ if name != "reasons"]


COUNT_COLUMNS = ["base", "head", *(_NUM + name for name in _COUNTS), *_REASON_COLUMNS]
"""The columns of the table ``comparisons`` that the counts are read from."""


def counts_row(pair: Pair, counts: PairCounts) -> dict[str, Any]:
    """Return those columns of the row of a pair."""
    return (
        pair._asdict()
        | {_NUM + name: getattr(counts, name) for name in _COUNTS}
        | {column: counts.reasons.get(reason, 0) for column, reason in _REASON_COLUMNS.items()}
    )


def counts_of(table: pa.Table) -> dict[Pair, PairCounts]:
    """Read rows of the table ``comparisons``."""
    found = {}
    for row in table.select(COUNT_COLUMNS).to_pylist():
        reasons = {it: row[column] for column, it in _REASON_COLUMNS.items() if row[column]}
        counts = {name: row[_NUM + name] for name in _COUNTS}
        found[Pair(row["base"], row["head"])] = PairCounts(reasons=reasons, **counts)
    return found
