"""Pairs as texts: each pair is found by its text."""

import pyarrow as pa

from snapshots.catalog.history_tables import are_of, pair_of, texts_in, texts_of
from snapshots.history import Pair

PAIRS = (Pair("a", "bc"), Pair("ab", "c"), Pair("abc", ""), Pair("a", "b"))


def test_a_text_names_one_pair() -> None:
    """Pairs whose digests follow on to the same letters have texts of their own, and back."""
    texts = texts_of(PAIRS).to_pylist()
    assert len(set(texts)) == len(PAIRS)
    assert tuple(map(pair_of, texts)) == PAIRS


def test_rows_of_pairs() -> None:
    """Rows have the texts of their pairs, and are found by these; none is of no pair."""
    base, head = zip(*PAIRS, strict=True)
    table = pa.table({"base": base, "head": head})
    assert texts_in(table).to_pylist() == texts_of(PAIRS).to_pylist()
    assert are_of(table, texts_of(PAIRS[1:3])).to_pylist() == [False, True, True, False]
    assert are_of(table, texts_of([])).to_pylist() == [False] * len(PAIRS)
