"""A pair as one text, so that the rows of many pairs are looked for at once."""

from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc

from snapshots.history import Pair

_SEPARATOR = "\0"


def texts_of(pairs: Iterable[Pair]) -> pa.Array:
    """Return the text of each pair."""
    return pa.array(map(_SEPARATOR.join, pairs), pa.string())


def texts_in(rows: pa.Table) -> pa.ChunkedArray:
    """Return the text of the pair of each row, of its columns ``base`` and ``head``."""
    return pc.binary_join_element_wise(rows["base"], rows["head"], _SEPARATOR)


def are_of(rows: pa.Table, texts: pa.Array) -> pa.ChunkedArray:
    """Return a mask over rows: those of the pairs with these texts."""
    return pc.is_in(texts_in(rows), texts)


def pair_of(text: str) -> Pair:
    """Return the pair with a text."""
    return Pair(*text.split(_SEPARATOR))
