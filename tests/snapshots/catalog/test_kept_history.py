"""The history that imports keep: whatever is published when, it is that of the contents."""

from multiprocessing.context import ForkServerContext
from multiprocessing.synchronize import Barrier
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest
from deltalake import DeltaTable, write_deltalake
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from snapshots.catalog import whole_table
from snapshots.catalog.catalog import Catalog
from snapshots.catalog.library import Library
from snapshots.catalog.past import fill, missing_pairs
from snapshots.changes.reasons import SpecChangeReason
from snapshots.errors import (
    AmbiguousHash,
    CatalogError,
    IncompleteHistory,
    InvalidArgument,
)
from snapshots.models import Spec
from tests.expensive import examples
from tests.model.histories import Past
from tests.snapshots.catalog.pasts import (
    TABLES,
    check,
    forget,
    grouped,
    pairs,
    past_of,
    snapshots_of,
    states,
)
from tests.snapshots.factories import a_snapshot, a_spec, day, hash_of
from tests.snapshots.timelines.pasts import PASTS


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    """Return a catalog that is not there yet."""
    return Catalog(str(tmp_path / "catalog"))


@examples(20)
@given(PASTS, st.randoms(use_true_random=False))
def test_any_order_and_any_grouping(past: Past, random: Random) -> None:
    """The same history comes of it, with every pair, by several catalogs that write in turn."""
    snapshots = snapshots_of(past)
    random.shuffle(snapshots)
    with TemporaryDirectory() as folder:
        importers = [Catalog(f"{folder}/catalog") for _ in range(2)]
        for group in grouped(snapshots, random):
            made = random.choice(importers).publish(group)
            assert not any(it.unkept for it in made)
        reader = Catalog(f"{folder}/catalog")
        reader.refresh()
        check(reader, past_of(reader, past))


def test_the_list_of_revisions_is_read_alone(catalog: Catalog) -> None:
    """Who asks for it alone does not wait for the counts; the next refresh has them."""
    published = states("ab", "abc")
    catalog.publish(published)
    reader = Catalog(catalog.location)
    assert reader.refresh(with_counts=False)
    assert reader.history.revisions == catalog.history.revisions
    assert not reader.counts
    assert not reader.refresh()
    assert set(reader.counts) == set(pairs(published))


def test_a_revision_that_is_put_in_between_makes_two_pairs(catalog: Catalog) -> None:
    """What was known of the two around it stays, and is no longer asked for."""
    first, middle, last = states("ab", "abc", "bc")
    catalog.publish([first, last])
    assert set(catalog.counts) == set(pairs([first, last]))
    catalog.publish([middle])
    assert set(catalog.counts) == {*pairs([first, last]), *pairs([first, middle, last])}
    assert set(catalog.history.pairs) == set(pairs([first, middle, last]))
    history = Library(catalog).past.hash_history(catalog.history, hash_of("c"))
    assert history is not None
    assert [it.first.taken_at for it in history.spans] == [day(1)]


def test_an_import_beside_a_damaged_content(catalog: Catalog) -> None:
    """It is published; what changed from the damaged one is made once that is mended."""
    first, second = states("ab", "bc")
    catalog.publish([first])
    for file in (Path(catalog.location) / "specs").glob("*/*.parquet"):
        file.write_bytes(file.read_bytes()[::-1])
    (made,) = catalog.publish([second])
    assert made.is_new
    assert made.unkept is not None
    assert "is damaged" in made.unkept
    library = Library(catalog)
    with pytest.raises(IncompleteHistory, match=r"1 of 2 pairs .* 'cachelog history fill'"):
        library.past.hash_history(catalog.history, hash_of("a"))
    filled = fill(catalog, missing_pairs(catalog, catalog.history))
    assert filled.num_made == 0
    assert list(filled.failures) == [pairs([first, second])[1]]
    catalog.publish([first])
    assert fill(catalog, missing_pairs(catalog, catalog.history)).num_made == 1
    assert library.past.hash_history(catalog.history, hash_of("a")) is not None


@pytest.mark.parametrize("table", TABLES)
def test_tables_that_are_damaged(catalog: Catalog, table: str) -> None:
    """Revisions are read and published all the same; what the history advises mends it."""
    first, second, third = states("ab", "bc", "cd")
    catalog.publish([first, second])
    for file in (Path(catalog.location) / table).glob("*.parquet"):
        file.write_bytes(file.read_bytes()[::-1])
    reader = Catalog(catalog.location)
    reader.refresh()
    library = Library(reader)
    assert len(library.frames.get(second.content.digest)) == 2
    with pytest.raises(CatalogError, match=f"{table}/.*; remove the tables comparisons, changes"):
        library.past.hash_history(reader.history, hash_of("a"))
    (made,) = reader.publish([third])
    assert made.is_new
    assert (made.unkept is not None) == (table == "comparisons")
    forget(catalog, *TABLES)
    reader.refresh()
    assert fill(reader, missing_pairs(reader, reader.history)).num_made == 3
    found = library.past.hash_history(reader.history, hash_of("a"))
    assert found is not None
    assert found.newest.taken_at == day(0)


@pytest.mark.parametrize("table", ["changes", "hashes"])
def test_a_table_that_is_missing_beside_the_others(catalog: Catalog, table: str) -> None:
    """It is not taken for one without rows."""
    catalog.publish(states("ab", "bc"))
    forget(catalog, table)
    reader = Catalog(catalog.location)
    reader.refresh()
    with pytest.raises(CatalogError, match=f"the table {table} is missing; remove the tables"):
        Library(reader).past.hash_history(reader.history, hash_of("a"))


def test_a_table_that_lacks_columns(catalog: Catalog) -> None:
    """It is told what to do about it; revisions are read and published all the same."""
    first, second = states("ab", "bc")
    catalog.publish([first])
    place = f"{catalog.location}/comparisons"
    rows = DeltaTable(place).to_pyarrow_table().drop_columns(["packages", "new_specs"])
    forget(catalog, "comparisons")
    write_deltalake(place, rows)
    told = "it has no column packages, new_specs; remove the tables comparisons, changes"
    (made,) = catalog.publish([second])
    assert made.is_new
    assert made.unkept is not None
    with pytest.raises(CatalogError, match=told):
        _ = catalog.counts


def test_rows_that_lack_what_is_read_on_demand(catalog: Catalog) -> None:
    """Another program wrote them."""
    catalog.publish(states("ab", "bc"))
    place = f"{catalog.location}/comparisons"
    rows = DeltaTable(place).to_pyarrow_table()
    write_deltalake(place, rows.drop_columns(["packages"]), mode="append", schema_mode="merge")
    catalog.refresh()
    with pytest.raises(CatalogError, match="packages; remove the tables comparisons, changes"):
        Library(catalog).past.package_counts(catalog.history.pairs)


def test_files_that_another_tool_merged(catalog: Catalog) -> None:
    """Their rows say the same."""
    for state in states("ab", "b", "abc"):
        catalog.publish([state])
    library, history = Library(catalog), catalog.history
    expected = library.past.package_counts(history.pairs)
    DeltaTable(f"{catalog.location}/comparisons").optimize.compact()
    reader = Catalog(catalog.location)
    reader.refresh()
    assert Library(reader).past.package_counts(history.pairs) == expected
    (returned,) = Library(reader).past.count_returned(history, "develop", history.pairs).items()
    assert returned == (history.resolve("develop"), {SpecChangeReason.NEW_PACKAGE: 1})


def test_large_files_stay_as_they_are(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    """A merge takes the small ones, where they are many, and no more of them than make one."""
    monkeypatch.setattr(whole_table, "_MAX_FILES", 3)
    *most, last = states("a", "ab", "b", "bc", "c")
    catalog.publish(most[:1])
    table = DeltaTable(f"{catalog.location}/comparisons")
    (large,) = table.file_uris()
    monkeypatch.setattr(whole_table, "_LARGE", Path(large).stat().st_size)
    for state in [*most[1:], last]:
        catalog.publish([state])
    table.update_incremental()
    assert large in table.file_uris()
    found = Library(catalog).past.package_counts(catalog.history.pairs)
    assert found.keys() == set(catalog.history.pairs)


def test_a_store_that_takes_no_changes(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    """What cannot be kept keeps no revision from being published."""

    def failing(*_: object) -> None:
        raise OSError(28, "No space left on device", "changes")

    with monkeypatch.context() as patch:
        patch.setattr("snapshots.catalog.sorted_table.SortedTable.append", failing)
        (made,) = catalog.publish(states("ab"))
        assert made.unkept is not None
        assert "No space left on device" in made.unkept
        with pytest.raises(CatalogError, match="No space left"):
            fill(catalog, catalog.history.pairs)
    assert not catalog.counts
    assert fill(catalog, catalog.history.pairs).num_made == 1


def test_beginnings_of_hashes(catalog: Catalog) -> None:
    """One that fits is taken, several are told, and what can be none is refused."""
    specs = [a_spec("a"), *(beginning_with(f"zzz{letter}") for letter in "abcdefgh")]
    catalog.publish([a_snapshot(specs, "develop", day(0))])
    library, history = Library(catalog), catalog.history
    found = library.past.hash_history(history, hash_of("a")[:9])
    assert found is not None
    assert found.hash == hash_of("a")
    assert library.past.hash_history(history, "yyyyyy") is None
    with pytest.raises(AmbiguousHash, match=r"'zzz' begins 8 hashes: zzza.*, \.\.\.$") as caught:
        library.past.hash_history(history, "zzz")
    assert list(caught.value.candidates.values()) == [f"{it.name}@{it.version}" for it in specs[1:]]
    for text in ("", "A", "/abc", "é", "0", "a" * 33):
        with pytest.raises(InvalidArgument, match="begins no hash"):
            library.past.hash_history(history, text)


@pytest.mark.parametrize("text", ["", "abc", "A" * 32, "a" * 33, "é" * 32])
def test_only_whole_hashes_are_held(catalog: Catalog, text: str) -> None:
    """Where part of one could be meant, it is not taken for one that nobody has."""
    catalog.publish(states("ab"))
    with pytest.raises(InvalidArgument, match="is no hash, which is 32 characters"):
        Library(catalog).past.holding(catalog.history, [hash_of("a"), text])


def beginning_with(beginning: str) -> Spec:
    """Return a spec whose hash begins so."""
    return replace(a_spec(beginning), hash=beginning.ljust(32, "a"))


def _publish_odd_or_even(location: str, first: int, barrier: Barrier) -> None:
    catalog = Catalog(location)
    catalog.refresh(missing_ok=True)
    barrier.wait()
    for snapshot in states(*(f"a{letter}" for letter in "bcdefghijklm"))[first::2]:
        catalog.publish([snapshot])


def test_two_importers_at_once(catalog: Catalog, processes: ForkServerContext) -> None:
    """Who publishes last beside another's revision compares the two."""
    barrier = processes.Barrier(2)
    running = [
        processes.Process(target=_publish_odd_or_even, args=(catalog.location, first, barrier))
        for first in (0, 1)
    ]
    for process in running:
        process.start()
    for process in running:
        process.join()
        assert process.exitcode == 0
    catalog.refresh()
    assert len(catalog.history.pairs) == 12
    assert missing_pairs(catalog, catalog.history) == []
    history = Library(catalog).past.hash_history(catalog.history, hash_of("c"))
    assert history is not None
    assert [(it.first.taken_at, it.last.taken_at) for it in history.spans] == [(day(1), day(1))]


def test_an_import_that_dies_before_its_revisions(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it has kept by then is true and harmless; the same import goes on."""
    first, second = states("ab", "bc")
    catalog.publish([first])
    with monkeypatch.context() as patch:
        patch.setattr("snapshots.catalog.revisions_table.RevisionsTable.append", None)
        with pytest.raises(TypeError):
            Catalog(catalog.location).publish([second])
    catalog.refresh()
    assert len(catalog.history.revisions) == 1
    assert len(catalog.counts) == 2
    assert Library(catalog).past.hash_history(catalog.history, hash_of("c")) is None
    catalog.publish([second])
    assert missing_pairs(catalog, catalog.history) == []
