"""Which rows of two tables are equal, column by column.

Rows are never made into objects: nested values are compared where they lie.
"""

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Mask = npt.NDArray[np.bool_]


def equal_rows(first: pa.Table, second: pa.Table) -> Mask:
    """Return a mask over the rows of two tables: those that are equal in all columns.

    Both have the same columns, and as many rows. Null equals null.
    """
    equal = np.ones(len(first), np.bool_)
    for name in first.column_names:
        equal &= _equal(first[name].combine_chunks(), second[name].combine_chunks())
    return equal


def _equal(first: pa.Array, second: pa.Array) -> Mask:
    if pa.types.is_list(first.type):
        equal = _equal_lists(first, second)
    elif pa.types.is_struct(first.type):
        equal = np.ones(len(first), np.bool_)
        for of_first, of_second in zip(first.flatten(), second.flatten(), strict=True):
            equal &= _equal(of_first, of_second)
    else:
        equal = _mask(pc.equal(first, second).fill_null(False))
    if not first.null_count and not second.null_count:
        return equal
    is_known, is_known_too = _mask(first.is_valid()), _mask(second.is_valid())
    return np.where(is_known & is_known_too, equal, is_known == is_known_too)


def _equal_lists(first: pa.ListArray, second: pa.ListArray) -> Mask:
    lengths = _lengths(first)
    equal: Mask = lengths == _lengths(second)
    if not equal.all():
        # Of those that are as long the items stand side by side.
        rows = pa.array(equal)
        equal[equal] = _equal_lists(first.filter(rows), second.filter(rows))
        return equal
    items = _equal(first.flatten(), second.flatten())
    unequal_before = np.concatenate(([0], np.cumsum(~items)))
    ends = np.cumsum(lengths)
    result: Mask = unequal_before[ends] == unequal_before[ends - lengths]
    return result


def _lengths(lists: pa.ListArray) -> npt.NDArray[np.int64]:
    return np.asarray(pc.list_value_length(lists).fill_null(0), np.int64)


def _mask(values: pa.BooleanArray) -> Mask:
    mask: Mask = np.asarray(values, np.bool_)
    return mask
