"""The stored history, by imports or filled in later, equals that of the contents."""

import shutil
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest
from deltalake import DeltaTable, write_deltalake
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.history_queries import missing_pairs
from snapshots.catalog.library import Library
from snapshots.changes import stored_changes
from snapshots.changes.stored_changes import changes_to_store
from snapshots.errors import AmbiguousHash, IncompleteHistory, InvalidArgument
from tests.expensive import examples
from tests.model.histories import HistoryQueries
from tests.snapshots.catalog.expected_histories import (
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
from tests.snapshots.timelines.generated_histories import PASTS


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    """Return a catalog that does not exist yet."""
    return Catalog(str(tmp_path / "catalog"))


@examples(20, in_suite=2)
@given(PASTS, st.randoms(use_true_random=False))
def test_any_order_and_any_grouping(past: HistoryQueries, random: Random) -> None:
    """The same history results from several catalogs that write in turn, or fill it in later."""
    snapshots = snapshots_of(past)
    random.shuffle(snapshots)
    with TemporaryDirectory() as folder:
        importers = [Catalog(f"{folder}/catalog") for _ in range(2)]
        for group in grouped(snapshots, random):
            made = random.choice(importers).publish(group)
            assert not any(publication.not_stored for publication in made)
        reader = Catalog(f"{folder}/catalog")
        reader.refresh()
        check(reader, past_of(reader, past))

        forget(reader, *TABLES)
        older = Catalog(f"{folder}/catalog")
        older.refresh()
        missing = missing_pairs(older, older.history)
        assert missing == older.history.pairs
        some = random.sample(missing, random.randrange(len(missing) + 1))
        assert older.fill(some).num_made == len(some)
        rest = missing_pairs(older, older.history)
        assert set(rest) == set(missing) - set(some)
        assert older.fill(rest).failures == {}
        check(older, past_of(older, past))


def test_import_after_a_damaged_content(catalog: Catalog) -> None:
    """It is published; its changes are computed after the damaged content is repaired."""
    first, second = states("ab", "bc")
    catalog.publish([first])
    for file in (Path(catalog.location) / "specs").glob("*/*.parquet"):
        file.write_bytes(file.read_bytes()[::-1])
    (made,) = catalog.publish([second])
    assert made.is_new
    assert made.not_stored is not None
    assert "is damaged" in made.not_stored
    library = Library(catalog)
    with pytest.raises(IncompleteHistory, match=r"1 of 2 pairs .* 'cachelog upkeep'"):
        library.history_queries.hash_history(catalog.history, hash_of("a"))
    filled = catalog.fill(missing_pairs(catalog, catalog.history))
    assert filled.num_made == 0
    assert list(filled.failures) == [pairs([first, second])[1]]
    catalog.publish([first])
    assert catalog.fill(missing_pairs(catalog, catalog.history)).num_made == 1
    assert library.history_queries.hash_history(catalog.history, hash_of("a")) is not None


def remove_table(location: str, table: str) -> None:
    """Remove a table."""
    shutil.rmtree(Path(location, table))


def drop_columns(location: str, table: str) -> None:
    """Write a table without two of its columns."""
    rows = DeltaTable(f"{location}/{table}").to_pyarrow_table()
    remove_table(location, table)
    write_deltalake(f"{location}/{table}", rows.drop_columns(["packages", "new_specs"]))


def test_pairs_that_are_stored_again(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each has one row: that with causes of the current format, whichever was stored last."""
    catalog.publish(states("ab", "bc"))
    pairs_of_catalog, columns = catalog.history.pairs, ["causes", "causes_format"]
    before = catalog.changes.comparisons(pairs_of_catalog, columns)
    assert len(before) == 2
    assert {*before["causes_format"].to_pylist()} == {stored_changes.CAUSES_FORMAT}
    computed = [changes_to_store(*map(catalog.reader().side, it)) for it in pairs_of_catalog]
    catalog.keep(computed)
    with monkeypatch.context() as patch:
        patch.setattr(stored_changes, "CAUSES_FORMAT", 0)
        catalog.keep([replace(changes, causes=()) for changes in computed])
    assert len(DeltaTable(f"{catalog.location}/comparisons").to_pyarrow_table()) == 6
    assert catalog.changes.comparisons(pairs_of_catalog, columns) == before
    assert catalog.changes.explained == {*pairs_of_catalog}


def test_prefixes_of_hashes(catalog: Catalog) -> None:
    """A prefix of one hash is accepted, one of several lists them; invalid prefixes are refused."""
    hashes = [f"zzz{letter}".ljust(32, "a") for letter in "abcdefgh"]
    specs = [a_spec("a"), *(a_spec(hash=digest) for digest in hashes)]
    catalog.publish([a_snapshot(specs, "develop", day(0))])
    library, history = Library(catalog), catalog.history
    history_of_hash = library.history_queries.hash_history(history, hash_of("a")[:9])
    assert history_of_hash is not None
    assert history_of_hash.hash == hash_of("a")
    assert library.history_queries.hash_history(history, "yyyyyy") is None
    with pytest.raises(AmbiguousHash, match=r"'zzz' begins 8 hashes: zzza.*, \.\.\.$") as caught:
        library.history_queries.hash_history(history, "zzz")
    candidates = [f"{spec.name}@{spec.version}" for spec in specs[1:]]
    assert list(caught.value.candidates.values()) == candidates
    for text in ("", "A", "/abc", "é", "0", "a" * 33):
        with pytest.raises(InvalidArgument, match="is not a prefix of a hash"):
            library.history_queries.hash_history(history, text)
    # A prefix is not treated as a hash that no revision has.
    for text in ("", "abc", "A" * 32, "a" * 33, "é" * 32):
        with pytest.raises(InvalidArgument, match="is not a hash, which is 32 characters"):
            library.history_queries.holding(history, [hash_of("a"), text])


# -- filling


@pytest.mark.usefixtures("processes")
def test_filling_in_processes(catalog: Catalog) -> None:
    """The result equals that of one process; unreadable contents are returned."""
    made = states(*(f"a{letter}" for letter in "bcdefg"))
    catalog.publish(made)
    expected = dict(catalog.changes.counts)
    forget(catalog, *TABLES)
    folder = Path(catalog.location) / "specs" / f"digest={made[3].content.digest}"
    (file,) = folder.glob("*.parquet")
    whole = file.read_bytes()
    file.write_bytes(whole[::-1])
    catalog.refresh()
    filled = catalog.fill(missing_pairs(catalog, catalog.history), jobs=2)
    assert set(filled.failures) == set(pairs(made)[3:5])
    assert filled.num_made == len(made) - 2
    file.write_bytes(whole)
    assert catalog.fill(missing_pairs(catalog, catalog.history), jobs=2).num_made == 2
    assert dict(catalog.changes.counts) == expected


def test_filling_changes_the_state(catalog: Catalog) -> None:
    """Answers may improve, although the revisions are the same."""
    catalog.publish(states("ab", "bc"))
    forget(catalog, *TABLES)
    writer, reader = Catalog(catalog.location), Catalog(catalog.location)
    writer.refresh()
    reader.refresh()
    before = reader.generation, reader.state
    assert reader.refresh() is False
    assert (reader.generation, reader.state) == before
    writer.fill(writer.history.pairs)
    assert reader.refresh() is False
    assert reader.generation == before[0]
    assert reader.state != before[1]
    assert set(reader.changes.counts) == set(reader.history.pairs)
