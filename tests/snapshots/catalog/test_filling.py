"""Filling the history of a catalog: of one that is older than its tables, or lacks some."""

from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.library import Library
from snapshots.catalog.past import fill, missing_pairs
from snapshots.catalog.specs_table import ContentReader
from snapshots.errors import (
    IncompleteHistory,
)
from snapshots.models import NOTHING
from tests.expensive import examples
from tests.model.histories import Past
from tests.snapshots.catalog.pasts import (
    TABLES,
    check,
    forget,
    pairs,
    past_of,
    snapshots_of,
    states,
)
from tests.snapshots.catalog.threads import in_one_thread
from tests.snapshots.factories import a_snapshot, a_spec, day, hash_of
from tests.snapshots.timelines.pasts import PASTS


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    """Return a catalog that is not there yet."""
    return Catalog(str(tmp_path / "catalog"))


@examples(15)
@given(PASTS, st.randoms(use_true_random=False))
def test_filling_a_catalog_of_before(past: Past, random: Random) -> None:
    """Some pairs now, the others later, make the same history."""
    with TemporaryDirectory() as folder:
        catalog = Catalog(f"{folder}/catalog")
        catalog.publish(snapshots_of(past))
        forget(catalog, *TABLES)
        older = Catalog(f"{folder}/catalog")
        older.refresh()
        missing = missing_pairs(older, older.history)
        assert missing == older.history.pairs
        some = random.sample(missing, random.randrange(len(missing) + 1))
        assert fill(older, some).num_made == len(some)
        rest = missing_pairs(older, older.history)
        assert set(rest) == set(missing) - set(some)
        assert fill(older, rest).failures == {}
        check(older, past_of(older, past))


def test_each_content_is_read_once(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    """A history is walked in its order, however many states one import has."""
    read: list[str] = []
    reading = ContentReader.side
    made = states(*(f"a{letter}" for letter in "bcdefghijk"))
    catalog.publish(made)
    forget(catalog, *TABLES)
    older = Catalog(catalog.location)
    older.refresh()

    def recording(self: ContentReader, digest: str) -> object:
        read.append(digest)
        return reading(self, digest)

    monkeypatch.setattr(ContentReader, "side", recording)
    shuffled = missing_pairs(older, older.history)
    Random(3).shuffle(shuffled)
    fill(older, shuffled)
    assert read == [NOTHING, *(it.content.digest for it in made)]


def test_what_was_made_is_kept_by_who_is_interrupted(catalog: Catalog) -> None:
    """The same goes on behind it."""
    catalog.publish(states("ab", "bc", "cd", "de"))
    forget(catalog, *TABLES)
    catalog.refresh()
    seen: list[tuple[int, int]] = []

    def interrupting(done: int, total: int) -> None:
        seen.append((done, total))
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fill(catalog, catalog.history.pairs, progress=interrupting)
    assert seen == [(1, 4), (2, 4), (3, 4)]
    again = Catalog(catalog.location)
    again.refresh()
    assert fill(again, missing_pairs(again, again.history)).num_made == 2


@pytest.mark.usefixtures("processes")
def test_filling_in_processes(catalog: Catalog) -> None:
    """It makes what one process makes; contents that cannot be read are told."""
    made = states(*(f"a{letter}" for letter in "bcdefghijklmnopqrst"))
    catalog.publish(made)
    expected = dict(catalog.counts)
    forget(catalog, *TABLES)
    folder = Path(catalog.location) / "specs" / f"digest={made[5].content.digest}"
    (file,) = folder.glob("*.parquet")
    whole = file.read_bytes()
    file.write_bytes(whole[::-1])
    catalog.refresh()
    filled = fill(catalog, missing_pairs(catalog, catalog.history), jobs=2)
    assert set(filled.failures) == set(pairs(made)[5:7])
    assert filled.num_made == len(made) - 2
    file.write_bytes(whole)
    assert fill(catalog, missing_pairs(catalog, catalog.history), jobs=2).num_made == 2
    assert dict(catalog.counts) == expected


def test_one_series_can_be_complete_without_the_others(catalog: Catalog) -> None:
    """A package is told of then, a hash is not: it may have been anywhere."""
    catalog.publish([*states("ab", "bc"), a_snapshot([a_spec("a")], "v1.0", day(0))])
    forget(catalog, *TABLES)
    catalog.refresh()
    library, history = Library(catalog), catalog.history
    fill(catalog, missing_pairs(catalog, history, "develop"))
    assert library.package_timeline(history, "develop", "package-a") is not None
    assert len(library.past.growth(history, "develop")) == 2
    with pytest.raises(IncompleteHistory) as caught:
        library.past.growth(history, "vX.Y.Z")
    assert (caught.value.num_missing, caught.value.num_pairs) == (1, 1)
    with pytest.raises(IncompleteHistory, match="1 of 3 pairs"):
        library.past.hash_history(history, hash_of("a"))
    with pytest.raises(IncompleteHistory, match="1 of 3 pairs"):
        library.past.holding(history, [hash_of("a")])


def test_state_moves_where_changes_are_filled(catalog: Catalog) -> None:
    """What was answered before may be answered better; the revisions are the same."""
    catalog.publish(states("ab", "bc"))
    forget(catalog, *TABLES)
    writer, reader = Catalog(catalog.location), Catalog(catalog.location)
    writer.refresh()
    reader.refresh()
    before = reader.generation, reader.state
    assert reader.refresh() is False
    assert (reader.generation, reader.state) == before
    fill(writer, writer.history.pairs)
    assert reader.refresh() is False
    assert reader.generation == before[0]
    assert reader.state != before[1]
    assert set(reader.counts) == set(reader.history.pairs)


def test_no_more_is_ahead_than_there_is_room_for(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two pieces for each process wait; in pieces all the same is made."""
    made = states("ab", "bc", "cd", "de", "ef", "fg", "gh")
    catalog.publish(made)
    expected = dict(catalog.counts)
    forget(catalog, *TABLES)
    catalog.refresh()
    submitted: list[Future[object]] = []
    most = 0
    submit = ThreadPoolExecutor.submit

    def submitting(self: ThreadPoolExecutor, *arguments: object) -> Future[object]:
        nonlocal most
        future: Future[object] = submit(self, *arguments)  # type: ignore[arg-type]
        submitted.append(future)
        most = max(most, sum(not it.done() for it in submitted))
        return future

    monkeypatch.setattr(ThreadPoolExecutor, "submit", submitting)
    monkeypatch.setattr("snapshots.catalog.workers.processes", in_one_thread)
    monkeypatch.setattr("snapshots.catalog.pairs._PAIRS_EACH", 1)
    filled = fill(catalog, missing_pairs(catalog, catalog.history), jobs=2)
    assert (filled.num_made, filled.failures, filled.unreadable) == (len(made), {}, {})
    assert len(submitted) == len(made)
    assert most <= 4
    assert dict(catalog.counts) == expected
