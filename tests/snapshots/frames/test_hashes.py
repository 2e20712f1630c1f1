"""Hashes through packed keys: the same answers as with whole texts, also where keys collide."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapshots.frames.hashes import WIDTH, Hashes, HashSet
from tests.snapshots.factories import hash_of

COLLIDING = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(["abcdefghijkl", "abcdefghijk2", "2222222zzzzz"]),
    st.sampled_from("2z"),
    st.just("abcdefghijklmnop"),
    st.sampled_from(["222", "2ab", "ab7", "zzz"]),
)
"""Hashes of which many share their first twelve characters, which is all that a key holds."""

APART = st.integers(0, 40).map(str).map(hash_of)
TEXTS = st.lists(APART | COLLIDING, unique=True, max_size=12)
PREFIXES = st.builds(
    lambda text, length: text[:length],
    APART | COLLIDING,
    st.sampled_from((0, 1, 2, 11, 12, 13, 14, 30, 31, WIDTH)),
)


def hashes_of(texts: list[str]) -> Hashes:
    """Return the hashes as a frame has them."""
    return Hashes("".join(texts).encode())


@given(TEXTS)
def test_hashes_come_back(texts: list[str]) -> None:
    """Each row has its hash, alone, as one of all, and quoted for JSON."""
    hashes = hashes_of(texts)
    assert len(hashes) == len(texts)
    assert hashes.texts == texts
    assert [hashes.at(row) for row in range(len(texts))] == texts
    rows = np.arange(len(texts), dtype=np.int32)[::-1]
    assert hashes.mapped_at(str.upper, rows) == [text.upper() for text in reversed(texts)]
    assert hashes.reordered(rows).texts == texts[::-1]


@given(TEXTS)
def test_order_is_that_of_the_texts(texts: list[str]) -> None:
    """Rows sort as their whole hashes do."""
    hashes = hashes_of(texts)
    assert [texts[row] for row in hashes.order] == sorted(texts)
    assert hashes.sorted_keys.tolist() == sorted(hashes.keys.tolist())


@given(TEXTS, PREFIXES)
def test_prefix(texts: list[str], prefix: str) -> None:
    """A prefix of any length, none included, finds the hashes that begin so, in their order."""
    found = hashes_of(texts).with_prefix(prefix)
    assert [texts[row] for row in found] == sorted(
        text for text in texts if text.startswith(prefix)
    )


@given(TEXTS, APART | COLLIDING)
def test_find(texts: list[str], wanted: str) -> None:
    """A whole hash is found in its row or not at all; its beginning is not taken for it."""
    hashes = hashes_of(texts)
    row = hashes.find(wanted)
    assert row == (texts.index(wanted) if wanted in texts else None)
    assert hashes.find(wanted[:-1]) is None


@pytest.mark.parametrize(
    "prefix", ["A", "1", "a8", "é", "\ud800", "\0", " a", "a" * 33, "abcdefghijklm1"]
)
def test_what_begins_no_hash(prefix: str) -> None:
    """What cannot stand in a hash finds nothing."""
    assert not len(hashes_of(["a" * WIDTH, "abcdefghijklm" + "2" * 19]).with_prefix(prefix))


@given(TEXTS, TEXTS, st.data())
def test_match(base: list[str], others: list[str], data: st.DataObject) -> None:
    """Each hash of base is paired with the same hash of head, wherever that stands."""
    shared = data.draw(st.lists(st.sampled_from(base), unique=True)) if base else []
    head = list(dict.fromkeys([*others, *shared]))
    rows = {text: row for row, text in enumerate(head)}
    partners = hashes_of(base).match(hashes_of(head))
    assert partners.tolist() == [rows.get(text, -1) for text in base]


@pytest.mark.parametrize(
    ("base", "head", "expected"),
    [
        ("xy", "x", [0, -1]),
        ("xy", "y", [-1, 0]),
        ("x", "yx", [1]),
        ("x", "xy", [0]),
        ("x", "y", [-1]),
        ("xy", "yx", [1, 0]),
        ("yx", "yx", [0, 1]),
        ("", "xy", []),
        ("xy", "", [-1, -1]),
    ],
)
def test_match_of_colliding_keys(base: str, head: str, expected: list[int]) -> None:
    """Hashes that share their first twelve characters differ in the rest."""
    one, other = (
        hashes_of(["abcdefghijkl" + letter * 20 for letter in side]) for side in (base, head)
    )
    assert len(set(one.keys.tolist()) | set(other.keys.tolist())) == 1
    assert one.match(other).tolist() == expected


# -- sets of hashes


ALIKE = st.tuples(st.integers(0, 31), st.sampled_from("ab7"), st.integers(0, 31)).map(
    lambda it: ("a" * it[0] + it[1] + "b" * it[2] + "c" * 32)[:32]
)
MANY_TEXTS = st.lists(ALIKE, max_size=20, unique=True)


def having(there: list[str], wanted: list[str], pieces: int = 1) -> list[bool]:
    """Ask a set of some hashes, which come in so many pieces, for others."""
    array = pa.chunked_array([there[start::pieces] for start in range(pieces)], pa.string())
    found: list[bool] = HashSet(array).having(Hashes("".join(wanted).encode())).tolist()
    return found


@given(there=MANY_TEXTS, wanted=MANY_TEXTS, pieces=st.integers(1, 3))
def test_what_is_there(there: list[str], wanted: list[str], pieces: int) -> None:
    """As a set of texts has it, also for hashes that begin and end alike."""
    assert having(there, wanted, pieces) == [text in there for text in wanted]


@pytest.mark.parametrize("place", [0, 7, 12, 31])
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
