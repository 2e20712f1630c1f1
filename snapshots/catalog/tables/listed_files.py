"""The files that a table lists, and their rows in cachelog's own types.

Other tools that write into a table may choose other types for the same texts.
"""

from collections.abc import Iterable

import pyarrow as pa
from deltalake import DeltaTable


def sizes_of(files: pa.Table) -> dict[str, int]:
    """Return the size of each file by its path, of rows of ``Table.files``."""
    return dict(zip(files["path"].to_pylist(), files["size"].to_pylist(), strict=True))


def missing_columns(table: DeltaTable, names: Iterable[str]) -> list[str]:
    """Return those of the columns that a table does not have."""
    known = {field.name for field in table.schema().fields}
    return [name for name in names if name not in known]


def of_schema(path: str, rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return the columns of a schema, of its types.

    Raises ArrowInvalid that names the path where one is missing, or of a type that cannot be its.
    """
    if rows.schema.equals(schema):
        return rows
    if missing := [name for name in schema.names if name not in rows.column_names]:
        raise pa.ArrowInvalid(f"{path} has no column {', '.join(missing)}")
    try:
        return rows.select(schema.names).cast(schema)
    except pa.ArrowException as error:
        raise pa.ArrowInvalid(f"{path} has a column of another type ({error})") from None


def with_plain_texts(rows: pa.Table) -> pa.Table:
    """Return rows, whatever their columns are, whose texts are of the type that cachelog writes."""
    fields = [
        field.with_type(pa.string()) if _is_other_text(field.type) else field
        for field in rows.schema
    ]
    return rows.cast(pa.schema(fields))


def _is_other_text(column_type: pa.DataType) -> bool:
    return column_type in (pa.string_view(), pa.large_string())
