"""Timelines of generated pasts, compared with the model, which walks through all contents."""

from collections import Counter
from collections.abc import Sequence
from random import Random

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapshots.changes.coverage import CoverageDimension
from snapshots.history import History
from snapshots.timelines.availability import PackageCells
from snapshots.timelines.catalog_packages import catalog_package
from snapshots.timelines.growth import GrowthPoint, count_returned, growth, with_returned
from snapshots.timelines.packages import package_timeline
from snapshots.timelines.spans import hash_histories, holding
from tests.expensive import FEWER_EXAMPLES
from tests.model.histories import HistoryQueries
from tests.snapshots.factories import NAMES
from tests.snapshots.timelines.generated_histories import HASHES, PASTS


@pytest.mark.untraced
@FEWER_EXAMPLES
@given(PASTS, st.integers(0, 1 << 32))
def test_hashes_and_packages(past: HistoryQueries, seed: int) -> None:
    """Spans, reasons, holders and entries are those of the model, in every series.

    Rows come in any order, some of them twice, and some belong to pairs that are not in the
    history.
    """
    random = Random(seed)
    fewer = History(past.history.revisions[:3])
    pairs = list(dict.fromkeys([*past.history.pairs, *fewer.pairs]))
    rows = past.rows(pairs)
    numbers = [number for number in range(len(rows)) for _ in range(random.choice((1, 1, 2)))]
    random.shuffle(numbers)
    mixed = rows.take(pa.array(numbers, pa.int64()))
    contents = {digest: [*specs.values()] for digest, specs in past.contents.items()}
    for walk in (past, HistoryQueries(fewer, contents)):
        histories = hash_histories(mixed, HASHES, walk.history)
        expected = {text: walk.hash_history(text) for text in HASHES}
        assert histories == {
            text: history_of_hash for text, history_of_hash in expected.items() if history_of_hash
        }
        some = random.sample(HASHES, random.randrange(4))
        those = [histories[text] for text in some if text in histories]
        for series in [None, *walk.history.series_names, "nowhere"]:
            holders = holding(those, walk.history, series) if len(those) == len(some) else []
            assert holders == walk.holding(some, series)
        for series in [*walk.history.series_names, "nowhere"]:
            for name in NAMES:
                timeline = package_timeline(mixed, name, series, walk.history)
                assert timeline == walk.package_timeline(name, series)


@pytest.mark.untraced
@FEWER_EXAMPLES
@given(PASTS)
def test_packages_over_all_series(past: HistoryQueries) -> None:
    """Presence and removal in each series are those of the model."""
    expected, rows = past.all_packages(), past.rows()
    for name in NAMES:
        assert catalog_package(rows, name, past.history) == expected.get(name)


@pytest.mark.untraced
@FEWER_EXAMPLES
@given(PASTS, st.integers(0, 1 << 32))
def test_cells_of_packages(past: HistoryQueries, seed: int) -> None:
    """Every cell of a package has the spans and reasons of the model, in each series."""
    random = Random(seed)
    table = past.comparisons()
    for stored in table["cells"].to_pylist():
        lists = [list(cell.values())[:4] for cell in stored]
        orders = [[(value is not None, value or "") for value in values] for values in lists]
        assert orders == sorted(orders)
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
@FEWER_EXAMPLES
@given(PASTS)
def test_counts(past: HistoryQueries) -> None:
    """Kinds of packages, the growth of series, and returned specs are those of the model."""
    for pair in past.history.pairs:
        kinds = {change.name: change.kind.name for change in past.compared(pair).packages}
        assert kinds == past.package_kinds(pair)
    totals = {pair: past.counts(pair) for pair in past.history.pairs}
    rows = past.comparisons()
    for series in past.history.series_names:
        check_growth(past, growth(totals, series, past.history), series)
        returned = count_returned([rows], [rows], series, past.history)
        for step in past.history.neighbours(series):
            if step.pair.base == step.pair.head:
                assert step.head not in returned
                continue
            counts = with_returned(totals[step.pair], returned.get(step.head, {}))
            assert counts == Counter(past.reasons(step).values())


def check_growth(past: HistoryQueries, points: Sequence[GrowthPoint], series: str) -> None:
    """Check that the numbers of specs follow from those of added and removed specs."""
    assert [point.revision for point in points] == list(past.history.of_series(series))[::-1]
    num_specs = 0
    for point in points:
        num_specs += point.counts.specs_added - point.counts.specs_removed
        assert num_specs == len(past.specs_of(point.revision))
        reasons = {reason.value: count for reason, count in point.counts.reasons.items()}
        added = ("rebuilt", "replaces", "new_")
        num_added = sum(count for reason, count in reasons.items() if reason.startswith(added))
        assert num_added == point.counts.specs_added
