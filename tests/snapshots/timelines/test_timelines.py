"""Timelines of generated pasts, compared with the model, and examples."""

from collections import Counter
from collections.abc import Sequence
from random import Random

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from snapshots.changes.coverage import CoverageDimension
from snapshots.changes.reasons import SpecChangeReason as R
from snapshots.changes.stack_changes import StackChangeKind
from snapshots.history import History
from snapshots.models import Spec
from snapshots.timelines.availability import PackageCells
from snapshots.timelines.catalog_packages import catalog_package, catalog_packages
from snapshots.timelines.growth import (
    GrowthPoint,
    MovedStack,
    count_returned,
    growth,
    main_changes,
    with_returned,
)
from snapshots.timelines.packages import package_timeline
from snapshots.timelines.spans import hash_histories, holding, last_span
from tests.expensive import FEWER_EXAMPLES
from tests.model.histories import HistoryQueries
from tests.snapshots.factories import NAMES, a_spec, hash_of
from tests.snapshots.timelines.generated_histories import HASHES, PASTS, a_past


@FEWER_EXAMPLES
@given(PASTS, st.integers(0, 1 << 32))
def test_hashes_and_packages(past: HistoryQueries, seed: int) -> None:
    """They are those of the model: rows come in any order, twice, or of pairs of no history."""
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


@FEWER_EXAMPLES
@given(PASTS, st.integers(0, 1 << 32))
def test_cells_of_packages(past: HistoryQueries, seed: int) -> None:
    """Presence, removal, and the spans of each cell are those of the model, in each series."""
    random = Random(seed)
    table, rows, packages = past.comparisons(), past.rows(), past.all_packages()
    for stored in table["cells"].to_pylist():
        lists = [list(cell.values())[:4] for cell in stored]
        orders = [[(value is not None, value or "") for value in values] for values in lists]
        assert orders == sorted(orders)
    for name in NAMES:
        assert catalog_package(rows, name, past.history) == packages.get(name)
        cells = PackageCells(table, name, past.history)
        cell = {
            by: random.choice(values)
            for by in (CoverageDimension.VERSION, CoverageDimension.TARGET, CoverageDimension.STACK)
            if (values := cells.values(by)) and random.random() < 0.5
        }
        for series in [*past.history.series_names, "nowhere"]:
            assert cells.spans(series, cell) == past.cell_spans(series, name, cell)


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
        check_stacks(past, series)
        returned = count_returned(rows, rows, series, past.history)
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


def check_stacks(past: HistoryQueries, series: str) -> None:
    """Check the stacks that each revision but the first added and removed."""
    totals = {pair: past.counts(pair) for pair in past.history.pairs}
    main = main_changes(totals, past.comparisons(), series, past.history)
    steps = past.history.neighbours(series)
    assert [*main] == [step.head.ref for step in steps[1:]]
    for base, head in steps[1:]:
        assert base is not None
        before, after = (
            Counter(
                stack
                for spec in past.specs_of(side).values()
                for stack in {*(spec.stacks or ())} - {"root"}
            )
            for side in (base, head)
        )
        added = [
            MovedStack(StackChangeKind.ADDED, name, after[name]) for name in after.keys() - before
        ]
        removed = [
            MovedStack(StackChangeKind.REMOVED, name, before[name])
            for name in before.keys() - after
        ]
        moved = sorted([*added, *removed], key=lambda stack: stack.name)
        is_known = base.known_stacks is not None and head.known_stacks is not None
        assert [*main[head.ref].stacks] == (moved if is_known else [])


# -- packages


def zlib(version: str) -> Spec:
    """Return a spec of zlib; its hash depends on the version."""
    return a_spec(version, name="zlib", version=version)


def test_best_series_of_a_package() -> None:
    """It is the main series that has it; of a removed package, the one that had it last."""
    states = [("develop", 1, [zlib("1")]), ("v1.0", 2, [zlib("1")]), ("develop", 3, [])]
    for num_states, series in ((2, "develop"), (3, "vX.Y.Z")):
        past = a_past(*states[:num_states])
        package = catalog_packages(past.comparisons(), past.history)["zlib"]
        assert (package.best.series, package.is_gone) == (series, False)


A, B = a_spec("a"), a_spec("b", name="zlib")


def days_of_last(past: HistoryQueries, ref: str) -> tuple[str, int, R | None, int | None]:
    """Return the last tag and day with a hash, the reason of its removal, and its day."""
    history = past.hash_history(hash_of("a"))
    assert history is not None
    last = last_span(history, past.history.resolve(ref), past.history)
    gone = last.gone_in.taken_at.day - 5 if last.gone_in else None
    return last.last.tag, last.last.taken_at.day - 5, last.reason_gone, gone


def test_last_revision_with_a_hash() -> None:
    """It is in the series, in the order of the series, or else the latest of all series."""
    past = a_past(("v0.22", 5, [A]), ("v0.21.1", 6, [B]), ("v0.21", 9, [A]), ("main", 1, [B]))
    assert days_of_last(past, "v0.21.1") == ("v0.21", 9, R.PACKAGE_GONE, 6)
    assert days_of_last(past, "main") == ("v0.21", 9, R.PACKAGE_GONE, 6)


# -- cells of packages


STACK, TARGET, VERSION = map(CoverageDimension, ("stack", "target", "version"))
ARM = a_spec("arm", target="neoverse_v1", stacks=("e4s-arm", "root"))
X86 = a_spec("x86", version="1.12.0", stacks=("e4s", "ml", "root"))
NO_STACK = replace(ARM, stacks=("root",))
PAST = a_past(("develop", 1, [X86]), ("develop", 2, [ARM]), ("develop", 3, [NO_STACK]))


def test_family_of_targets_is_a_cell_of_all_its_targets() -> None:
    """Since when there is anything for a machine of that kind."""
    of_package = PackageCells(PAST.comparisons(), "hdf5", PAST.history)
    for name, target in (("aarch64", "neoverse_v1"), ("x86_64", "x86_64_v3")):
        spans = of_package.spans("develop", {TARGET: name})
        assert spans == of_package.spans("develop", {TARGET: target}) != []
    assert of_package.spans("develop", {TARGET: "neoverse_v2"}) == []
