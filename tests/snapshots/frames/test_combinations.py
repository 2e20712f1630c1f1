"""Columns side by side: each row's combination of values, kept within bytes."""

import tracemalloc
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapshots.frames import columns
from snapshots.frames.columns import Column, Combinations

NAMES = ("letter", "digit", "sign")


def columns_of(rows: list[tuple[str, str, str]]) -> dict[str, Column[str]]:
    """Return a column for each part of the rows."""
    found = {}
    for name, values in zip(NAMES, zip(*rows, strict=True), strict=True):
        distinct = sorted(set(values))
        codes = np.array([distinct.index(value) for value in values], np.int32)
        found[name] = Column(codes, distinct)
    return found


ROWS = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from("0123"), st.sampled_from("+-")), min_size=1
)


@given(ROWS, st.permutations(NAMES), st.integers(1, 3))
def test_a_row_has_its_combination(
    rows: list[tuple[str, str, str]], order: list[str], size: int
) -> None:
    """Each row leads to its own values; no combination is there twice, or without a row."""
    names = order[:size]
    combination = Combinations(columns_of(rows), len(rows)).of(names)
    assert combination is not None
    values = [
        tuple(column.values[int(code)] for column, code in zip(columns, codes, strict=True))
        for columns, codes in [
            (
                [combination.parts[name][0] for name in names],
                [combination.parts[name][1][place] for name in names],
            )
            for place in range(len(combination.parts[names[0]][1]))
        ]
    ]
    expected = [tuple(row[NAMES.index(name)] for name in names) for row in rows]
    assert [values[code] for code in combination.codes.tolist()] == expected
    assert len(set(values)) == len(values) == len(set(expected))


def test_the_order_of_the_names_does_not_matter() -> None:
    """All orders of the same columns share what is kept."""
    every = Combinations(columns_of([("a", "0", "+"), ("b", "1", "+")]), 2)
    first = every.of(NAMES)
    assert all(every.of(order) is first for order in permutations(NAMES))
    assert every.of(("letter", "letter")) is every.of(["letter"])


def test_columns_with_too_many_values_are_not_combined(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not one alone, and not two that have too many columns; nor what is no such column."""
    rows = [(letter, digit, "+") for letter in "abc" for digit in "0123"]
    every = Combinations(columns_of(rows), len(rows))
    monkeypatch.setattr(columns, "MAX_COMBINATIONS", 3)
    assert every.of(["letter", "sign"]) is not None
    assert every.of(["digit"]) is None
    assert every.of(["letter", "digit"]) is None
    assert every.of(["letter", "hashes"]) is None


def test_what_is_kept_is_bounded_by_bytes() -> None:
    """Whatever is asked for, however often: memory stays within what is counted."""
    num_rows = 20_000
    draw = np.random.default_rng(1)
    columns = {
        f"c{number}": Column(draw.integers(0, 3, num_rows).astype(np.int32), ["a", "b", "c"])
        for number in range(9)
    }
    every = Combinations(columns, num_rows)
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        for order in list(permutations(columns, 4))[::30]:
            every.of(order)
            every.kept((order, order), lambda order=order: [f"{order}{n}" for n in range(81)])  # type: ignore[misc]
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert every.max_bytes / 2 < after - before < every.max_bytes * 1.1
    assert every.of(["c0"]) is not None


def test_what_is_larger_than_all_that_may_be_kept_is_made_anew() -> None:
    """It is answered all the same."""
    every = Combinations({}, 0)
    made = [every.kept((("a",), ("b",)), lambda: ["x" * 1_000_000]) for _ in range(2)]
    assert made[0] == made[1]
    assert made[0] is not made[1]
