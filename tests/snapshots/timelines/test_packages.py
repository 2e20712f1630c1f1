"""Timelines of packages, by examples."""

import pyarrow as pa
import pytest

from snapshots.changes.package_changes import PackageChangeKind as K
from snapshots.changes.reasons import SpecChangeReason as R
from snapshots.changes.stored_changes import NO_COUNTS
from snapshots.models import Spec
from snapshots.timelines.catalog_packages import catalog_packages
from snapshots.timelines.growth import growth
from snapshots.timelines.packages import PackageTimeline, package_timeline
from tests.model.histories import HistoryQueries
from tests.snapshots.factories import a_spec, day
from tests.snapshots.timelines.generated_histories import a_past


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
        (["1.10"], ["develop", "1.10"], K.UPGRADED, ("develop",), ()),
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


def test_entries_of_a_timeline() -> None:
    """Only changes of the package are entries; returned and new specs have different reasons."""
    past = a_past(
        ("develop", 0, [OTHER]),
        ("develop", 1, [zlib("1"), OTHER]),
        ("develop", 2, [zlib("1")]),
        ("develop", 3, [zlib("1", "rebuilt"), OTHER]),
        ("develop", 4, [OTHER]),
        ("develop", 5, [OTHER, zlib("1"), zlib("2")]),
        ("develop", 6, [zlib("1", target="m1"), zlib("2")]),
        ("develop", 7, []),
        ("develop", 8, [OTHER]),
    )
    of_zlib = timeline(past)
    assert (of_zlib.first_seen.taken_at, of_zlib.last_seen.taken_at) == (day(1), day(6))
    assert [
        (
            (entry.head.taken_at - day(0)).days,
            entry.kind,
            (entry.specs_added, entry.specs_removed, entry.specs_changed),
            dict(entry.reasons),
        )
        for entry in of_zlib.entries
    ] == [
        (7, K.REMOVED, (0, 2, 0), {R.PACKAGE_GONE: 2}),
        (6, K.CHANGED, (0, 0, 1), {R.FACTS: 1}),
        (5, K.ADDED, (2, 0, 0), {R.NEW_PACKAGE: 1, R.RETURNED: 1}),
        (4, K.REMOVED, (0, 1, 0), {R.PACKAGE_GONE: 1}),
        (3, K.REBUILT, (1, 1, 0), {R.REBUILT: 1, R.REPLACED: 1}),
        (1, K.ADDED, (1, 0, 0), {R.NEW_PACKAGE: 1}),
    ]


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
        ("v0.1", 1, [zlib("1"), OTHER]),
        ("v0.2", 2, [zlib("1"), OTHER]),
        ("v0.3", 3, [zlib("2")]),
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
