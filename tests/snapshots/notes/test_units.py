"""How notes write sizes."""

import pytest

from snapshots.notes.sentences import size_delta


@pytest.mark.parametrize(
    ("num_bytes", "expected"),
    [(None, ""), (0, "+0 B"), (999, "+999 B"), (-999, "-999 B")],
)
def test_by_how_much_a_size_rose(num_bytes: int | None, expected: str) -> None:
    """It has its sign; a size that nobody knows is no size."""
    assert size_delta(num_bytes) == expected
