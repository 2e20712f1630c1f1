"""Whatever happened, the timelines say what a walk through all contents says."""

from collections import Counter
from random import Random

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapshots.changes.coverage import CoverageDimension
from snapshots.history import History
from snapshots.timelines.availability import PackageCells
from snapshots.timelines.catalog_packages import catalog_package
from snapshots.timelines.growth import count_returned, growth, with_returned
from snapshots.timelines.packages import package_timeline
from snapshots.timelines.spans import hash_histories, holding
from tests.expensive import FEWER_EXAMPLES
from tests.model.histories import Past
from tests.snapshots.factories import NAMES
from tests.snapshots.timelines.pasts import HASHES, PASTS

SOME = FEWER_EXAMPLES  # each is many pairs of contents to explain


@pytest.mark.untraced
@SOME
@given(PASTS)
def test_histories_of_hashes(past: Past) -> None:
    """Every hash has the spans, reasons, newest revision and version of the walk."""
    histories = hash_histories(past.rows(), HASHES, past.history)
    expected = {text: past.hash_history(text) for text in HASHES}
    assert histories == {text: it for text, it in expected.items() if it}


@pytest.mark.untraced
@SOME
@given(PASTS)
def test_kinds_of_packages(past: Past) -> None:
    """What became of each package between two contents is what the walk says."""
    for pair in past.history.pairs:
        packages = past.compared(pair).packages
        assert {change.name: change.kind.name for change in packages} == past.package_kinds(pair)


@pytest.mark.untraced
@SOME
@given(PASTS)
def test_timelines_of_packages(past: Past) -> None:
    """Every package of every series has the entries of the walk."""
    rows = past.rows()
    for series in [*past.history.series_names, "nowhere"]:
        for name in NAMES:
            found = package_timeline(rows, name, series, past.history)
            assert found == past.package_timeline(name, series)


@pytest.mark.untraced
@SOME
@given(PASTS)
def test_a_package_over_all_series(past: Past) -> None:
    """It is where it is, or has gone, as the walk says."""
    expected, rows = past.all_packages(), past.rows()
    for name in NAMES:
        assert catalog_package(rows, name, past.history) == expected.get(name)


@pytest.mark.untraced
@SOME
@given(PASTS, st.lists(st.sampled_from(HASHES), max_size=3, unique=True))
def test_revisions_that_hold_hashes(past: Past, wanted: list[str]) -> None:
    """Those revisions hold all of them that the walk says, in every series."""
    histories = hash_histories(past.rows(), wanted, past.history)
    for series in [None, *past.history.series_names, "nowhere"]:
        found = (
            holding(list(histories.values()), past.history, series)
            if len(histories) == len(wanted)
            else []
        )
        assert found == past.holding(wanted, series)


@pytest.mark.untraced
@SOME
@given(PASTS, st.integers(0, 1 << 32))
def test_cells_of_packages(past: Past, seed: int) -> None:
    """Every cell of a package has the spans and reasons of the walk, in each series."""
    random = Random(seed)
    table = past.comparisons()
    for kept in table["cells"].to_pylist():
        keys = [
            tuple((value is not None, value or "") for value in list(it.values())[:4])
            for it in kept
        ]
        assert keys == sorted(keys)
    for name in NAMES:
        cells = PackageCells([table, table], name, past.history)
        cell = {
            by: random.choice(values)
            for by in (CoverageDimension.VERSION, CoverageDimension.TARGET, CoverageDimension.STACK)
            if (values := cells.values(by)) and random.random() < 0.5
        }
        for series in [*past.history.series_names, "nowhere"]:
            assert cells.spans(series, cell) == past.cell_spans(series, name, cell)


@pytest.mark.untraced
@SOME
@given(PASTS)
def test_growth_of_series(past: Past) -> None:
    """The numbers of specs follow from what came and went, from nothing."""
    totals = {pair: past.counts(pair) for pair in past.history.pairs}
    for series in past.history.series_names:
        points = growth(totals, series, past.history)
        assert [it.revision for it in points] == list(past.history.of_series(series))[::-1]
        num_specs = 0
        for point in points:
            num_specs += point.counts.specs_added - point.counts.specs_removed
            assert num_specs == len(past.specs_of(point.revision))
            came = sum(
                it for reason, it in point.counts.reasons.items() if _is_of_added(reason.value)
            )
            assert came == point.counts.specs_added


def _is_of_added(reason: str) -> bool:
    return reason in ("rebuilt", "replaces") or reason.startswith("new_")


@pytest.mark.untraced
@SOME
@given(PASTS, st.integers(0, 1 << 32))
def test_rows_in_any_order_and_twice(past: Past, seed: int) -> None:
    """Rows come in any order, some of them twice; those of pairs that are no more count nowhere."""
    random = Random(seed)
    fewer = History(past.history.revisions[:3])
    pairs = list(dict.fromkeys([*past.history.pairs, *fewer.pairs]))
    rows = past.rows(pairs)
    numbers = [it for it in range(len(rows)) for _ in range(random.choice((1, 1, 2)))]
    random.shuffle(numbers)
    mixed = rows.take(pa.array(numbers, pa.int64()))
    for history in (past.history, fewer):
        expected = past.rows(history.pairs)
        assert hash_histories(mixed, HASHES, history) == hash_histories(expected, HASHES, history)
        for series in history.series_names:
            for name in NAMES:
                found = package_timeline(mixed, name, series, history)
                assert found == package_timeline(expected, name, series, history)


@pytest.mark.untraced
@SOME
@given(PASTS)
def test_what_returned_is_told_apart_in_counts(past: Past) -> None:
    """The counts of each revision, what returned told apart, are those of the walk."""
    rows = past.comparisons()
    for series in past.history.series_names:
        returned = count_returned([rows], [rows], series, past.history)
        for step in past.history.neighbours(series):
            if step.pair.base == step.pair.head:
                assert step.head not in returned
                continue
            found = with_returned(past.counts(step.pair), returned.get(step.head, {}))
            assert found == Counter(past.reasons(step).values())
