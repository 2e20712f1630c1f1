"""Hashes as packed keys: the results are those of complete texts, even if keys collide."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapshots.frames.hashes import WIDTH, Hashes
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
    """Return hashes as a frame stores them."""
    return Hashes("".join(texts).encode())


@given(TEXTS)
def test_texts_of_hashes(texts: list[str]) -> None:
    """Each row has its hash: alone, in the list of all, and mapped; rows sort by them."""
    hashes = hashes_of(texts)
    assert len(hashes) == len(texts)
    assert hashes.texts == texts
    assert [hashes.at(row) for row in range(len(texts))] == texts
    rows = np.arange(len(texts), dtype=np.int32)[::-1]
    assert hashes.mapped_at(str.upper, rows) == [text.upper() for text in reversed(texts)]
    assert hashes.reordered(rows).texts == texts[::-1]
    assert [texts[row] for row in hashes.order] == sorted(texts)
    assert hashes.sorted_keys.tolist() == sorted(hashes.keys.tolist())


@given(TEXTS, PREFIXES)
def test_prefix(texts: list[str], prefix: str) -> None:
    """The hashes with a prefix of any length, even an empty one, are found in order."""
    rows = hashes_of(texts).with_prefix(prefix)
    assert [texts[row] for row in rows] == sorted(text for text in texts if text.startswith(prefix))


@given(TEXTS, APART | COLLIDING)
def test_find(texts: list[str], text: str) -> None:
    """A complete hash is found in its row or not at all; a prefix is not a match."""
    hashes = hashes_of(texts)
    assert hashes.find(text) == (texts.index(text) if text in texts else None)
    assert hashes.find(text[:-1]) is None


@pytest.mark.parametrize(
    "prefix", ["A", "1", "a8", "é", "\ud800", "\0", " a", "a" * 33, "abcdefghijklm1"]
)
def test_invalid_prefix(prefix: str) -> None:
    """A text that no hash can begin with has no matches."""
    assert not len(hashes_of(["a" * WIDTH, "abcdefghijklm" + "2" * 19]).with_prefix(prefix))


@given(TEXTS, TEXTS, st.data())
def test_match(base: list[str], others: list[str], data: st.DataObject) -> None:
    """Each hash of base is paired with the equal hash of head, even if one side has many more."""
    shared = data.draw(st.lists(st.sampled_from(base), unique=True)) if base else []
    head = list(dict.fromkeys([*others, *shared]))
    many = data.draw(st.sampled_from(([], base, head)))
    many += [hash_of(str(number)) for number in range(100, 300 if many else 100)]
    rows = {text: row for row, text in enumerate(head)}
    partners = hashes_of(base).match(hashes_of(head))
    assert partners.tolist() == [rows.get(text, -1) for text in base]
