"""Sets of hashes as numbers: what is added and removed leads from one to the next."""

from collections.abc import Set

from hypothesis import given
from hypothesis import strategies as st
from xxhash import xxh3_64_intdigest

from snapshots.catalog.verification import sum_of

HASHES = st.frozensets(st.text(max_size=4), max_size=20)


@given(HASHES)
def test_the_number_of_a_set(hashes: Set[str]) -> None:
    """It is the sum of the xxh3 of each hash, of 64 bits; of no hash it is 0."""
    total = sum(xxh3_64_intdigest(text.encode()) for text in hashes)
    assert sum_of(iter(hashes)).tolist() == [len(hashes), total % (1 << 64)]


@given(HASHES, HASHES)
def test_changes_lead_from_set_to_set(base: Set[str], head: Set[str]) -> None:
    """Some come and some go; without those that come another set is reached."""
    added, removed = sum_of(head - base), sum_of(base - head)
    assert (sum_of(base) + added - removed).tolist() == sum_of(head).tolist()
    if head - base:
        assert (sum_of(base) - removed).tolist() != sum_of(head).tolist()
