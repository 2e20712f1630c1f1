"""The files that a table lists, and their rows in cachelog's own types.

Other tools that write into a table may choose other types for the same texts.
"""

import pyarrow as pa


def sizes_of(files: pa.Table) -> dict[str, int]:
    """Return the size of each file by its path, of rows of ``Table.files``."""
    return dict(zip(files["path"].to_pylist(), files["size"].to_pylist(), strict=True))


def of_schema(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return the columns of a schema, of its types; raises KeyError where one is missing."""
    is_own = rows.schema.equals(schema)
    return rows if is_own else rows.select(schema.names).cast(schema)


def with_plain_texts(rows: pa.Table) -> pa.Table:
    """Return rows, whatever their columns are, whose texts are of the type that cachelog writes."""
    fields = [
        field.with_type(pa.string()) if _is_other_text(field.type) else field
        for field in rows.schema
    ]
    return rows.cast(pa.schema(fields))


def _is_other_text(column_type: pa.DataType) -> bool:
    return column_type in (pa.string_view(), pa.large_string())
