"""Stories in the catalog: those of the newest pairs of each series are stored, and no others."""

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable, write_deltalake

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.history_answers import About, HistoryAnswers, HistoryQuestion, HistoryTopic
from snapshots.catalog.library import Library
from snapshots.catalog.past import fill, missing_pairs, pairs_without_story
from snapshots.contents import Snapshot
from snapshots.demo import history as demo
from snapshots.history import Pair
from snapshots.models import NOTHING
from snapshots.notes.stories import neighbours_in_feeds
from snapshots.notes.templates import story
from tests.snapshots.catalog.pasts import TABLES, forget, forget_stories
from tests.snapshots.templates import copied


@pytest.fixture(scope="module")
def weeks() -> list[Snapshot]:
    """Return states of two series, more than are in feeds."""
    return list(demo(revisions=12, packages=8, specs=50))


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory, weeks: list[Snapshot]) -> Path:
    """Publish all states except the last two."""
    folder = tmp_path_factory.mktemp("template")
    Catalog(str(folder)).publish(weeks[:-2])
    return folder


@pytest.fixture
def catalog(template: Path, tmp_path: Path) -> Catalog:
    """Return a copy of the template."""
    return copied(template, tmp_path)


def kept(catalog: Catalog) -> dict[Pair, str]:
    """Return the stories of all pairs with a stored story."""
    history = catalog.require_history()
    every = [it for name in history.series_names for it in history.neighbours(name)]
    return Library(catalog).past.kept_stories(every)


def made(catalog: Catalog) -> dict[Pair, str]:
    """Return the stories in feeds, composed from the contents."""
    library, pairs = Library(catalog), neighbours_in_feeds(catalog.require_history())
    return {pair: story(it, library.explanations.get((*pair,))) for pair, it in pairs.items()}


def rows_of(catalog: Catalog, table: str) -> int:
    """Return the number of rows of a table."""
    return len(DeltaTable(f"{catalog.location}/{table}").to_pyarrow_table(columns=["hash"]))


def test_an_import_keeps_the_stories_of_the_newest(catalog: Catalog, weeks: list[Snapshot]) -> None:
    """Each as it is made of the contents; what was kept before stays, older pairs have none."""
    assert kept(catalog) == made(catalog)
    before = kept(catalog)
    without_story = set(catalog.history.pairs) - before.keys()
    assert any(pair.base != NOTHING for pair in without_story)
    catalog.publish(weeks[-2:])
    after = made(catalog)
    assert after.keys() - before.keys()
    assert kept(catalog) == before | after


def test_a_catalog_that_is_older_than_stories(catalog: Catalog, weeks: list[Snapshot]) -> None:
    """It is read as before; an import adds the column, and tells what it compares."""
    counts = dict(catalog.counts)
    forget_stories(catalog.location)
    older = Catalog(catalog.location)
    assert kept(older) == {}
    assert older.counts == counts
    assert set(pairs_without_story(older, older.history)) == set(neighbours_in_feeds(older.history))
    older.publish(weeks[-2:])
    assert kept(older)
    assert kept(older).items() < made(older).items()


def test_filling_makes_the_stories_that_are_missing(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of pairs whose changes are kept nothing else is written again."""

    def mapping(make: Any, _location: str, pieces: Any, **_how: object) -> Any:
        return nullcontext(map(make, pieces))

    monkeypatch.setattr("snapshots.catalog.pairs.mapping", mapping)
    expected = kept(catalog)
    forget_stories(catalog.location)
    older = Catalog(catalog.location)
    history = older.require_history()
    assert missing_pairs(older, history) == []
    known = rows_of(older, "changes"), rows_of(older, "hashes")
    without_story = pairs_without_story(older, history)
    by_series = [pairs_without_story(older, history, name) for name in history.series_names]
    assert len([it for it in by_series if it]) > 1
    assert {pair for pairs in by_series for pair in pairs} == {*without_story}
    assert fill(older, without_story, jobs=2).num_made == len(without_story) == len(expected)
    assert kept(older) == kept(Catalog(catalog.location)) == expected
    assert pairs_without_story(older, history) == []
    assert (rows_of(older, "changes"), rows_of(older, "hashes")) == known


def test_stories_of_other_tools_are_ignored(catalog: Catalog) -> None:
    """What is not one of cachelog's stories counts as none; so does a table that cannot be read."""
    table = DeltaTable(f"{catalog.location}/comparisons")
    table.update({"story": '\'{"format": 1, "html": "<script>"}\''})
    other = Catalog(catalog.location)
    assert kept(other) == {}
    assert pairs_without_story(other, other.history)
    write_deltalake(
        table.table_uri,
        table.to_pyarrow_table().drop(["base"]),
        mode="overwrite",
        schema_mode="overwrite",
    )
    assert kept(Catalog(catalog.location)) == {}


def test_a_question_to_the_past_makes_them_too(catalog: Catalog) -> None:
    """With the changes that it needs and keeps."""
    expected = kept(catalog)
    forget(catalog, *TABLES)
    older = Catalog(catalog.location)
    history = older.require_history()
    answers = HistoryAnswers(older, Library(older), fill_seconds=600)
    for name in history.series_names:
        answers.get(HistoryQuestion(history, HistoryTopic(About.GROWTH, series=name)))
    assert kept(older) == expected
