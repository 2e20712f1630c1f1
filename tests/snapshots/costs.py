"""Rows of costs for tests."""

import pyarrow as pa

from snapshots.tables import COSTS

Row = tuple[str | None, str | None, float, float | None]


def rows(*given_rows: Row, unit: str | None = None) -> pa.Table:
    """Return rows as a file of costs has them: hash, name, seconds, cost."""
    columns = zip(*given_rows, strict=True) if given_rows else ((), (), (), ())
    named = dict(zip(("hash", "name", "seconds", "cost"), map(list, columns), strict=True))
    schema = COSTS.remove(COSTS.get_field_index("recorded_at"))
    return pa.table(named | {"unit": [unit] * len(given_rows)}, schema)
