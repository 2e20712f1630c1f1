"""Rows of costs for tests."""

import pyarrow as pa

from snapshots.tables import COSTS

Row = tuple[str | None, str | None, float, float | None]


def rows(*costs: Row, unit: str | None = None) -> pa.Table:
    """Return rows of a file of costs: hash, name, seconds, cost."""
    columns = zip(*costs, strict=True) if costs else ((), (), (), ())
    named = dict(zip(("hash", "name", "seconds", "cost"), map(list, columns), strict=True))
    schema = COSTS.remove(COSTS.get_field_index("recorded_at"))
    return pa.table(named | {"unit": [unit] * len(costs)}, schema)
