"""How Parquet calls the columns of plain values that it makes of nested ones."""

from collections.abc import Iterator

import pyarrow as pa


def leaf_paths(schema: pa.Schema) -> list[str]:
    """Return the paths of all of them, as Arrow writes lists: ``stacks.list.element``."""
    return [path for field in schema for path in _below(field.name, field.type)]


def _below(path: str, column_type: pa.DataType) -> Iterator[str]:
    if pa.types.is_list(column_type):
        yield from _below(f"{path}.list.element", column_type.value_type)
    elif pa.types.is_struct(column_type):
        for field in column_type:
            yield from _below(f"{path}.{field.name}", field.type)
    else:
        yield path
