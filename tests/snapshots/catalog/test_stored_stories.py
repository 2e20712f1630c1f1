"""Stories in the catalog: those of the newest pairs of each series are stored, and no others."""

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable, write_deltalake

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.history_queries import fill, missing_pairs, pairs_without_story
from snapshots.catalog.library import Library
from snapshots.contents import Snapshot
from snapshots.demo import history as demo
from snapshots.history import Pair
from snapshots.models import NOTHING
from snapshots.notes.stories import neighbours_in_feeds
from snapshots.notes.templates import html_story
from tests.snapshots.catalog.expected_histories import forget_stories


@pytest.fixture(scope="module")
def weeks() -> list[Snapshot]:
    """Return states of two series, more than feeds contain."""
    return list(demo(revisions=12, packages=8, specs=50))


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory, weeks: list[Snapshot]) -> Path:
    """Publish all states except the last two."""
    folder = tmp_path_factory.mktemp("template")
    Catalog(str(folder)).publish(weeks[:-2])
    return folder


def stored(catalog: Catalog) -> dict[Pair, str]:
    """Return the stories of all pairs with a stored story."""
    history = catalog.require_history()
    every = [step for name in history.series_names for step in history.neighbours(name)]
    return Library(catalog).history_queries.stored_stories(every)


def computed(catalog: Catalog) -> dict[Pair, str]:
    """Return the stories in feeds, computed from the contents."""
    library, pairs = Library(catalog), neighbours_in_feeds(catalog.require_history())
    return {
        pair: html_story(step, library.explanations.get((*pair,))) for pair, step in pairs.items()
    }


def rows_of(catalog: Catalog, table: str) -> int:
    """Return the number of rows of a table."""
    return len(DeltaTable(f"{catalog.location}/{table}").to_pyarrow_table(columns=["hash"]))


def test_import_stores_the_newest_stories(catalog: Catalog, weeks: list[Snapshot]) -> None:
    """They equal those of the contents; earlier ones remain, and older pairs have none."""
    assert stored(catalog) == computed(catalog)
    before = stored(catalog)
    without_story = set(catalog.history.pairs) - before.keys()
    assert any(pair.base != NOTHING for pair in without_story)
    catalog.publish(weeks[-2:])
    after = computed(catalog)
    assert after.keys() - before.keys()
    assert stored(catalog) == before | after


def test_older_catalog_without_stories(catalog: Catalog, weeks: list[Snapshot]) -> None:
    """It is read without stories; an import adds the column, with the stories of its pairs."""
    counts = dict(catalog.changes.counts)
    forget_stories(catalog.location)
    older = Catalog(catalog.location)
    assert stored(older) == {}
    assert older.changes.counts == counts
    assert set(pairs_without_story(older, older.history)) == set(neighbours_in_feeds(older.history))
    older.publish(weeks[-2:])
    assert stored(older)
    assert stored(older).items() < computed(older).items()


def test_filling_adds_missing_stories(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of pairs with stored changes, nothing else is written again."""

    def mapping(make: Any, _location: str, pieces: Any, **_how: object) -> Any:
        return nullcontext(map(make, pieces))

    monkeypatch.setattr("snapshots.catalog.pairs.mapping", mapping)
    expected = stored(catalog)
    forget_stories(catalog.location)
    older = Catalog(catalog.location)
    history = older.require_history()
    assert missing_pairs(older, history) == []
    num_rows = rows_of(older, "changes"), rows_of(older, "hashes")
    without_story = pairs_without_story(older, history)
    by_series = [pairs_without_story(older, history, name) for name in history.series_names]
    assert len([pairs for pairs in by_series if pairs]) > 1
    assert {pair for pairs in by_series for pair in pairs} == {*without_story}
    assert fill(older, without_story, jobs=2).num_made == len(without_story) == len(expected)
    assert stored(older) == stored(Catalog(catalog.location)) == expected
    assert pairs_without_story(older, history) == []
    assert (rows_of(older, "changes"), rows_of(older, "hashes")) == num_rows


def test_stories_of_other_tools_are_ignored(catalog: Catalog) -> None:
    """Invalid stories count as missing, and so do those of an unreadable table."""
    table = DeltaTable(f"{catalog.location}/comparisons")
    table.update({"story": '\'{"format": 1, "html": "<script>"}\''})
    other = Catalog(catalog.location)
    assert stored(other) == {}
    assert pairs_without_story(other, other.history)
    write_deltalake(
        table.table_uri,
        table.to_pyarrow_table().drop(["base"]),
        mode="overwrite",
        schema_mode="overwrite",
    )
    assert stored(Catalog(catalog.location)) == {}
