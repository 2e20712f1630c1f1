"""Timelines of generated pasts, compared with the model, and examples."""

import gc
from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Any
from weakref import ref

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapshots.changes import stored_changes
from snapshots.changes.coverage import CoverageDimension
from snapshots.changes.package_changes import PackageChangeKind as K
from snapshots.changes.reasons import SpecChangeReason as R
from snapshots.changes.stored_changes import NO_COUNTS
from snapshots.history import History
from snapshots.models import Spec
from snapshots.timelines import availability
from snapshots.timelines.availability import PackageCells, is_current
from snapshots.timelines.catalog_packages import catalog_package, catalog_packages
from snapshots.timelines.growth import GrowthPoint, count_returned, growth, with_returned
from snapshots.timelines.packages import PackageTimeline, package_timeline
from snapshots.timelines.spans import Span, hash_histories, holding, last_seen
from snapshots.timelines.steps import Steps
from tests.expensive import FEWER_EXAMPLES
from tests.model.histories import HistoryQueries
from tests.snapshots.factories import NAMES, a_revision, a_spec, day, hash_of
from tests.snapshots.timelines.generated_histories import HASHES, PASTS, a_past


@pytest.mark.untraced
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


# -- packages


def zlib(version: str, label: str = "", **facts: object) -> Spec:
    """Return a spec of zlib; its hash depends on version and label."""
    return a_spec(f"{version}{label}", name="zlib", version=version, variants=(), **facts)


OTHER = a_spec("hdf5")


def timeline(past: HistoryQueries, name: str = "zlib", series: str = "develop") -> PackageTimeline:
    """Return the timeline of a package."""
    result = package_timeline(past.rows(), name, series, past.history)
    assert result
    return result


@pytest.mark.parametrize(
    ("before", "after", "kind", "added", "removed"),
    [
        ([], ["1.2"], K.ADDED, ("1.2",), ()),
        (["1.2"], [], K.REMOVED, (), ("1.2",)),
        (["1.9"], ["1.10"], K.UPGRADED, ("1.10",), ("1.9",)),
        (["1.2", "1.10"], ["1.2"], K.DOWNGRADED, (), ("1.10",)),
        (["1.10"], ["1.2", "1.3", "1.10"], K.VERSIONS_CHANGED, ("1.3", "1.2"), ()),
    ],
)
def test_kinds(
    before: list[str], after: list[str], kind: K, added: tuple[str, ...], removed: tuple[str, ...]
) -> None:
    """Versions are compared in Spack's order, and listed newest first."""
    past = a_past(
        ("develop", 1, [zlib("1", "there"), OTHER]),
        ("develop", 2, [OTHER, *map(zlib, before)]),
        ("develop", 3, [OTHER, *map(zlib, after)]),
    )
    entry = timeline(past).entries[0]
    assert (entry.kind, entry.versions_added, entry.versions_removed) == (kind, added, removed)
    assert entry.base is not None
    assert (entry.base.taken_at, entry.head.taken_at) == (day(2), day(3))


def test_best_series_of_a_package() -> None:
    """It is the main series that has it; of a removed package, the one that had it last."""
    states = [("develop", 1, [zlib("1")]), ("v1.0", 2, [zlib("1")]), ("develop", 3, [OTHER])]
    for num_states, series in ((2, "develop"), (3, "vX.Y.Z")):
        past = a_past(*states[:num_states])
        package = catalog_packages([past.comparisons()], past.history)["zlib"]
        assert (package.best.series, package.is_gone) == (series, False)


def test_dictionary_columns() -> None:
    """Some readers of Parquet return such rows; the result is the same."""
    past = a_past(("develop", 1, [zlib("1")]), ("develop", 2, [zlib("2")]))
    rows = past.rows()
    chunks = pa.concat_tables([rows.slice(0, 1), rows.slice(1)])
    encoded = pa.table({name: chunks[name].dictionary_encode() for name in chunks.column_names})
    assert package_timeline(encoded, "zlib", "develop", past.history) == timeline(past)


def test_growth_has_a_point_for_each_revision() -> None:
    """Neighbours with one content have no changes, and no pair."""
    past = a_past(
        ("v0.1", 1, [zlib("1"), OTHER]), ("v0.2", 2, [zlib("1"), OTHER]), ("v0.3", 3, [zlib("2")])
    )
    totals = {pair: past.counts(pair) for pair in past.history.pairs}
    first, second, third = growth(totals, "vX.Y.Z", past.history)
    assert (first.base, first.counts.specs_added, first.counts.packages_added) == (None, 2, 2)
    assert (second.base, second.counts) == (first.revision, NO_COUNTS)
    third_counts = third.counts
    assert (third_counts.specs_added, third_counts.specs_removed) == (1, 2)
    assert (third.counts.specs_rebuilt, third.counts.specs_replaced) == (0, 1)
    assert growth(totals, "develop", past.history) == []
    with pytest.raises(KeyError):
        growth({}, "vX.Y.Z", past.history)


# -- spans of hashes


ONE = a_spec("one", name="zlib", version="1", variants=())
MOVED = a_spec("one", name="zlib", version="1", variants=(), stacks=("hep",))
TWO = a_spec("two", name="hdf5", version="1", target="m1", variants=("+mpi",))
REBUILT = a_spec("three", name="zlib", version="1", variants=())


def spans_of(past: HistoryQueries, label: str) -> list[Span]:
    """Return the spans of the hash of a label."""
    return list(hash_histories(past.rows(), [hash_of(label)], past.history)[hash_of(label)].spans)


def days(span: Span) -> tuple[str, int, int, int | None]:
    """Return a span's series and the days of its first, last and next revision."""
    first, last = ((revision.taken_at - day(0)).days for revision in (span.first, span.last))
    gone_in = None if span.gone_in is None else (span.gone_in.taken_at - day(0)).days
    return span.series, first, last, gone_in


@pytest.mark.parametrize(
    ("states", "spans"),
    [
        ([(1, [ONE])], [(1, 1, None, R.NEW_PACKAGE, None)]),
        (
            [(1, [ONE]), (2, [TWO]), (3, [TWO]), (4, [ONE, TWO])],
            [(1, 1, 2, R.NEW_PACKAGE, R.PACKAGE_GONE), (4, 4, None, R.RETURNED, None)],
        ),
        (
            [(1, [ONE]), (2, [REBUILT]), (3, [ONE])],
            [(1, 1, 2, R.NEW_PACKAGE, R.REPLACED), (3, 3, None, R.REBUILT, None)],
        ),
        ([(1, [ONE]), (2, [MOVED])], [(1, 2, None, R.NEW_PACKAGE, None)]),
    ],
    ids=["one", "returned", "rebuilt", "changed"],
)
def test_spans(
    states: list[tuple[int, list[Spec]]], spans: list[tuple[int, int, int | None, R, R | None]]
) -> None:
    """A hash is added, removed and returns; a spec that replaces another does not return."""
    past = a_past(*(("develop", day, specs) for day, specs in states))
    assert spans == [
        (*days(span)[1:], span.reason_came, span.reason_gone) for span in spans_of(past, "one")
    ]


A, B = a_spec("a"), a_spec("b", name="zlib")
REVISIONS = [
    a_revision("develop", 1, "a"),
    a_revision("develop", 2, "b"),
    a_revision("v0.1", 3, "c"),
]


def tags_of_last(past: HistoryQueries, series: str) -> tuple[str, R | None, str | None]:
    """Return the last tag with a hash, the reason of its removal, and the tag that lacks it."""
    history = past.hash_history(hash_of("a"))
    assert history is not None
    last = last_seen(history, series)
    return last.revision.tag, last.reason, last.gone_in.tag if last.gone_in else None


def test_last_revision_with_a_hash() -> None:
    """It is in the series, in the order of the series, or else the latest of all series."""
    past = a_past(("v0.22", 5, [A]), ("v0.21.1", 6, [B]), ("v0.21", 9, [A]))
    assert tags_of_last(past, "vX.Y.Z") == ("v0.22", None, None)
    past = a_past(("develop", 1, [A]), ("develop", 2, [B]), ("main", 3, [A]), ("main", 4, [B]))
    assert tags_of_last(past, "develop") == ("develop", R.PACKAGE_GONE, "develop")
    assert tags_of_last(past, "vX.Y.Z") == ("main", R.PACKAGE_GONE, "main")


def test_steps_are_computed_once_per_history() -> None:
    """They are shared for the same series, and released with their history."""
    history, longer = History(REVISIONS[:2]), History(REVISIONS)
    steps = Steps.of(history, ["develop", "v0.1"])
    assert Steps.of(history, ["develop"]) is steps  # as the history has no v0.1
    assert steps.revisions == REVISIONS[:2]
    assert Steps.of(longer, ["develop"]) is not steps
    assert Steps.of(longer, ["develop", "v0"]).revisions == REVISIONS[:2]
    assert len(Steps.of(longer, longer.series_names)) == 3
    assert len(Steps.of(History(), ["develop"])) == 0
    reference = ref(steps)
    del history, steps
    gc.collect()
    assert reference() is None


# -- cells of packages


STACK, TARGET, VERSION = map(CoverageDimension, ("stack", "target", "version"))
ARM = a_spec("arm", target="neoverse_v1", stacks=("e4s-arm", "root"))
OLD_ARM = a_spec("old", target="neoverse_v1", version="1.12.0", stacks=("e4s-arm",))
X86 = a_spec("x86", stacks=("e4s", "ml", "root"))
X86_LESS = a_spec("x86", stacks=("e4s", "root"))
X86_ALONE = a_spec("x86", stacks=("root",))
UNRELATED = a_spec("other", name="zlib", target="a64fx", stacks=("hep",))
PAST = a_past(
    ("develop", 1, [X86]),
    ("develop", 2, [X86, ARM, OLD_ARM, UNRELATED]),
    ("develop", 3, [X86_LESS, ARM, UNRELATED]),
    ("develop", 4, [X86_ALONE]),
    ("develop", 5, [X86_ALONE, ARM, UNRELATED]),
    ("v1.0", 6, [OLD_ARM]),
)


def cells() -> PackageCells:
    """Return the cells of hdf5; reading rows twice makes no difference."""
    table = PAST.comparisons()
    return PackageCells([table, table], "hdf5", PAST.history)


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ({}, [(1, 5, 2, None, {})]),
        ({TARGET: "neoverse_v1"}, [(2, 3, 1, 4, {"target_gone": 1}), (5, 5, 1, None, {})]),
        ({STACK: "e4s"}, [(1, 3, 1, 5, {})]),
        ({STACK: "ml"}, [(1, 2, 1, 3, {"facts": 1})]),
        ({STACK: "root"}, []),
        ({TARGET: "neoverse_v1", VERSION: "1.14.5", STACK: "ml"}, []),
    ],
)
def test_spans_of_a_cell(cell: Any, expected: Any) -> None:
    """First, last, number of specs, removal, and reasons; a revision without stacks ends none."""
    spans = cells().spans("develop", cell)
    assert [
        (
            span.first.taken_at.day - 5,
            span.last.taken_at.day - 5,
            span.num_specs,
            span.gone_in and span.gone_in.taken_at.day - 5,
            {reason.value: count for reason, count in span.reasons.items()},
        )
        for span in spans
    ] == expected
    assert all((span.pair is None) == (span.gone_in is None) for span in spans)
    assert is_current(spans) == (bool(expected) and expected[-1][3] is None)


def test_values_of_a_package() -> None:
    """They are those that any of its specs had: versions newest first, stacks without root."""
    of_package = cells()
    assert of_package.values(VERSION) == ["1.14.5", "1.12.0"]
    assert of_package.values(TARGET) == ["neoverse_v1", "x86_64_v3"]
    assert of_package.values(STACK) == ["e4s", "e4s-arm", "ml"]
    assert of_package.num_bytes > 0


def test_rows_of_another_format_are_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another version of cachelog stored them."""
    table = PAST.comparisons()
    monkeypatch.setattr(availability, "CAUSES_FORMAT", stored_changes.CAUSES_FORMAT + 1)
    assert PackageCells([table], "hdf5", PAST.history).values(VERSION) == []
