"""How much of digests people are shown."""

import pytest

from snapshots.wording import short_digest, told_apart

A = "ab" * 32


def test_one_alone() -> None:
    """Its beginning is enough."""
    assert short_digest(A) == "abababababab"


@pytest.mark.parametrize(
    ("digests", "shown"),
    [
        ([A], [A]),
        ([A, "cd" * 32], ["ab" * 6, "cd" * 6]),
        ([A, A[:11] + "c" * 53], [A[:15], A[:11] + "cccc"]),
        (["c" * 64, "cd" * 32], ["c" * 12, "cd" * 6]),
    ],
)
def test_several_that_begin_alike(digests: list[str], shown: list[str]) -> None:
    """They are shown in their order, and as far as it takes to tell one from another."""
    assert told_apart(digests) == shown
