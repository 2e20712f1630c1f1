"""What is kept of two neighbours is what their explanation says."""

from datetime import UTC, datetime

from hypothesis import given

from snapshots.changes.kept_changes import keep_changes
from snapshots.changes.pair_counts import PairCounts, counts_of, counts_table
from snapshots.changes.reasons import REASONS, SpecChangeReason
from snapshots.history import Pair
from snapshots.tables import CHANGES, COMPARISONS
from tests.snapshots.changes.graphs import side_of
from tests.snapshots.factories import a_spec, digest_of
from tests.snapshots.timelines.naive import Past
from tests.snapshots.timelines.pasts import PASTS


@given(PASTS)
def test_rows_and_counts_are_those_of_the_explanation(past: Past) -> None:
    """Every hash that came, went or changed has its row, and each is counted."""
    for pair in past.history.pairs:
        kept = keep_changes(*(side_of(past.contents[digest].values()) for digest in pair))
        expected = past.rows([pair])
        names = ["name", "hash", "kind", "version", "reason"]
        assert kept.rows.select(names).to_pylist() == expected.select(names).to_pylist()
        assert kept.counts == past.counts(pair)


def test_rows_stand_by_package_and_hash() -> None:
    """As the table that they are added to is sorted."""
    base = side_of([a_spec(label, name=f"p{label}") for label in "bdx"])
    head = side_of([a_spec(label, name=f"p{label}") for label in "aecx"])
    rows = keep_changes(base, head).rows
    assert rows.schema == CHANGES
    assert rows["name"].to_pylist() == ["pa", "pb", "pc", "pd", "pe"]
    assert set(rows["base"].to_pylist()) == {base.frame.digest}


def test_the_table_counts_every_reason() -> None:
    """But for what is no fact of two contents, and the one of all that changed."""
    uncounted = {SpecChangeReason.RETURNED, SpecChangeReason.FACTS}
    reasons = {it: number for number, it in enumerate(REASONS, 1) if it not in uncounted}
    counts = PairCounts(
        specs_added=100,
        specs_removed=99,
        specs_changed=3,
        packages_added=2,
        packages_removed=1,
        packages_changed=7,
        reasons=reasons,
    )
    pair = Pair(digest_of("a"), digest_of("b"))
    table = counts_table({pair: counts}, "cachelog 1", datetime(2025, 1, 5, tzinfo=UTC))
    assert table.schema == COMPARISONS
    assert None not in table.to_pylist()[0].values()
    assert counts_of(table) == {pair: counts}
