"""The records of a content, made again from the rows of the table ``specs``."""

from collections.abc import Iterable, Sequence
from typing import Any, get_origin

import pyarrow as pa
import pyarrow.compute as pc

from snapshots.contents import Content
from snapshots.frames.columns import list_column_of
from snapshots.models import SPEC_FACTS, Dependency, Fact, Kept, Spec
from snapshots.tables import split_by_cache


def content_of(rows: pa.Table) -> Content:
    """Return the content that was written as these rows: it has its digest again."""
    inside, outside = split_by_cache(rows)
    return Content.of(_specs(inside), _specs(outside))


def _specs(rows: pa.Table) -> Iterable[Spec]:
    columns = [_values(fact, rows[fact.name]) for fact in SPEC_FACTS.values()]
    for values in zip(*columns, strict=True):
        yield Spec(**dict(zip(SPEC_FACTS, values, strict=True)))


def _values(fact: Fact, column: pa.ChunkedArray) -> Sequence[Any]:
    if fact.kept is Kept.EDGES:
        return _edges(column.combine_chunks())
    if get_origin(fact.value_type) is tuple:
        return _lists(column)
    values: list[Any] = column.to_pylist()
    return values


def _lists(column: pa.ChunkedArray) -> list[Any]:
    found = list_column_of(column)
    return [found.values[code] for code in found.codes.tolist()]


def _edges(lists: pa.ListArray) -> list[Any]:
    flat = lists.flatten()
    fields = [flat.field(name) for name in Dependency.__struct_fields__]
    parts = [
        _lists(pa.chunked_array([it])) if pa.types.is_list(it.type) else it.to_pylist()
        for it in fields
    ]
    edges = map(Dependency, *parts)
    lengths = pc.list_value_length(lists).to_pylist()
    return [
        None if length is None else tuple(next(edges) for _ in range(length)) for length in lengths
    ]
