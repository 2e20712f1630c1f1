"""Sets of hashes: what is in them, whatever the hashes have in common."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapshots.frames.hashes import Hashes, HashSet

ALIKE = st.tuples(st.integers(0, 31), st.sampled_from("ab7"), st.integers(0, 31)).map(
    lambda it: ("a" * it[0] + it[1] + "b" * it[2] + "c" * 32)[:32]
)
TEXTS = st.lists(ALIKE, max_size=20, unique=True)


def having(there: list[str], wanted: list[str], pieces: int = 1) -> list[bool]:
    """Ask a set of some hashes, which come in so many pieces, for others."""
    array = pa.chunked_array([there[start::pieces] for start in range(pieces)], pa.string())
    found: list[bool] = HashSet(array).having(Hashes("".join(wanted).encode())).tolist()
    return found


@given(there=TEXTS, wanted=TEXTS, pieces=st.integers(1, 3))
def test_what_is_there(there: list[str], wanted: list[str], pieces: int) -> None:
    """As a set of texts has it, also for hashes that begin and end alike."""
    assert having(there, wanted, pieces) == [text in there for text in wanted]


@pytest.mark.parametrize("place", range(32))
def test_each_character_counts(place: int) -> None:
    """No two of all hashes that differ in two characters are taken for one another."""
    letters = "abcdefghijklmnopqrstuvwxyz234567"
    texts = [
        "".join({place: one, (place + 8) % 32: other}.get(at, "a") for at in range(32))
        for one in letters
        for other in letters
    ]
    array = pa.chunked_array([pa.array(texts[::2])])
    found = HashSet(array.slice(3)).having(Hashes("".join(texts).encode()))
    assert found.tolist() == [at % 2 == 0 and at >= 6 for at in range(len(texts))]
