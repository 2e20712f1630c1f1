"""How much changed between two contents, and its rows in the table ``comparisons``."""

from collections.abc import Mapping
from datetime import datetime

import msgspec
import pyarrow as pa

from snapshots.changes.reasons import REASONS, SpecChangeReason
from snapshots.history import Pair
from snapshots.tables import COMPARISONS

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


def counts_table(counts: Mapping[Pair, PairCounts], made_by: str, made_at: datetime) -> pa.Table:
    """Return one row a pair, as the table ``comparisons`` has it."""
    rows = [
        pair._asdict()
        | {_NUM + name: getattr(of_pair, name) for name in _COUNTS}
        | {column: of_pair.reasons.get(reason, 0) for column, reason in _REASON_COLUMNS.items()}
        | {"made_by": made_by, "made_at": made_at}
        for pair, of_pair in counts.items()
    ]
    return pa.Table.from_pylist(rows, schema=COMPARISONS)


def counts_of(table: pa.Table) -> dict[Pair, PairCounts]:
    """Read rows of the table ``comparisons``."""
    found = {}
    for row in table.select([it for it in COMPARISONS.names if it != "made_at"]).to_pylist():
        reasons = {it: row[column] for column, it in _REASON_COLUMNS.items() if row[column]}
        counts = {name: row[_NUM + name] for name in _COUNTS}
        found[Pair(row["base"], row["head"])] = PairCounts(reasons=reasons, **counts)
    return found
