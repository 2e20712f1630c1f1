"""Answers of history queries: cached until the history changes; missing pairs are computed."""

import shutil
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.history_answers import (
    About,
    HistoryAnswers,
    HistoryQuery,
    HistoryTopic,
    _answer,
)
from snapshots.catalog.history_queries import fill, missing_pairs
from snapshots.catalog.library import Library, names_of_history
from snapshots.catalog.specs_table import ContentReader
from snapshots.changes.sides import Side
from snapshots.changes.stored_changes import StoredChanges
from snapshots.contents import Content
from snapshots.errors import CatalogError, IncompleteHistory
from snapshots.frames.suggestions import SuggestionKind
from snapshots.history import Pair
from snapshots.models import Spec
from tests.snapshots.catalog.expected_histories import TABLES, forget
from tests.snapshots.factories import a_snapshot, a_spec, day
from tests.snapshots.templates import copied

STATES = [
    [a_spec("a", version="1")],
    [a_spec("a", version="1"), a_spec("b", version="2")],
    [a_spec("c", version="3")],
    [a_spec("a", version="1"), a_spec("c", version="3")],
]
STATES_OF_TAGS = [
    *(("develop", taken, specs) for taken, specs in enumerate(STATES)),
    ("v0.22", 9, STATES[0]),
    ("v0.23", 10, STATES[3]),
]
HASH = a_spec("a").hash
REPLACING = Pair(Content.of(STATES[1]).digest, Content.of(STATES[2]).digest)
GROWTH = HistoryTopic(About.GROWTH, series="develop")
OF_HASH = HistoryTopic(About.HASH, HASH)
TOPICS: list[HistoryTopic] = [
    OF_HASH,
    HistoryTopic(About.HASHES, items=frozenset({(HASH, "hdf5")})),
    HistoryTopic(About.CONTENT, Content.of(STATES[3]).digest, frozenset({"hdf5"})),
    HistoryTopic(About.PACKAGES, items=frozenset({"hdf5", "nope"}), series="develop"),
    HistoryTopic(About.PACKAGE, "hdf5", series="develop"),
    HistoryTopic(About.ALL_PACKAGES),
    HistoryTopic(About.PACKAGE_CAUSES, items=frozenset({("hdf5", REPLACING)}), series="develop"),
    GROWTH,
    HistoryTopic(About.HOLDING, items=frozenset({HASH}), series="develop"),
]


def published(
    folder: Path, lines: Sequence[tuple[str, int, list[Spec]]] = STATES_OF_TAGS
) -> Catalog:
    """Publish some states, and return the catalog."""
    catalog = Catalog(str(folder))
    for tag, taken, specs in lines:
        catalog.publish([a_snapshot(specs, tag, day(taken))])
    return catalog


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Publish the states once for all tests."""
    return Path(published(tmp_path_factory.mktemp("template")).location)


@pytest.fixture(scope="module")
def whole(template: Path) -> Catalog:
    """Return a catalog with a complete history, for tests that only read it."""
    catalog = Catalog(str(template))
    catalog.refresh()
    return catalog


@pytest.fixture
def older(template: Path, tmp_path: Path) -> Catalog:
    """Return a catalog in an older form, without stored changes."""
    forget(copied(template, tmp_path), *TABLES)
    catalog = Catalog(str(tmp_path))
    catalog.refresh()
    return catalog


def answers_of(catalog: Catalog, **options: Any) -> HistoryAnswers:
    """Return the cache of answers of a catalog."""
    return HistoryAnswers(catalog, Library(catalog), **options)


def query(catalog: Catalog, topic: HistoryTopic) -> HistoryQuery:
    """Return a query of the current history."""
    return HistoryQuery(catalog.history, topic)


def value(answers: HistoryAnswers, catalog: Catalog, topic: HistoryTopic) -> Any:
    """Return the value of the answer to a topic."""
    return answers.get(query(catalog, topic)).value


@pytest.mark.parametrize("topic", TOPICS, ids=lambda topic: topic.about.value)
def test_answers_are_cached(
    whole: Catalog, topic: HistoryTopic, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cache counts their bytes."""
    answers, cached_query = answers_of(whole), query(whole, topic)
    assert answers.peek(cached_query) is None
    assert answers.is_complete(cached_query)
    answer = answers.get(cached_query)
    assert answer.value
    assert answers.num_bytes == answer.num_bytes > 0
    monkeypatch.setattr("snapshots.catalog.history_answers._answer", None)
    assert answers.get(cached_query) is answers.peek(cached_query) is answer


@pytest.mark.parametrize(
    "topic_of",
    [
        lambda text: HistoryTopic(About.HASHES, items=frozenset({(HASH, text)})),
        lambda text: HistoryTopic(About.CONTENT, Content.of(STATES[3]).digest, frozenset({text})),
        lambda text: HistoryTopic(About.PACKAGES, items=frozenset({text}), series="develop"),
        lambda text: HistoryTopic(About.PACKAGE, text, series="develop"),
        lambda text: HistoryTopic(About.PACKAGE, "hdf5", series=text),
        lambda text: HistoryTopic(About.GROWTH, series=text),
        lambda text: HistoryTopic(About.HOLDING, items=frozenset({HASH}), series=text),
    ],
)
def test_texts_of_clients_are_counted(
    whole: Catalog, topic_of: Callable[[str], HistoryTopic]
) -> None:
    """The cache counts long texts of requests, so that it stays within its bound."""
    answers = answers_of(whole, max_bytes=100_000)
    queries = [query(whole, topic_of(f"{number:03}" + "a" * 3_997)) for number in range(40)]
    for each in queries:
        answers.get(each)
    num_cached = sum(answers.peek(each) is not None for each in queries)
    assert 4_000 * num_cached <= answers.num_bytes <= 100_000
    assert 10 < num_cached < 25


def test_answers_are_dropped_with_their_history(catalog: Catalog) -> None:
    """The first query of a newer history drops them; the older history can still be queried."""
    answers = answers_of(catalog)
    before = query(catalog, GROWTH)
    assert len(answers.get(before).value) == 4
    published(Path(catalog.location), [("develop", 20, STATES[0])])
    catalog.refresh()
    after = query(catalog, GROWTH)
    assert answers.peek(before) is not None, "no query of the newer history was answered yet"
    assert answers.peek(after) is None
    assert len(answers.get(after).value) == 5
    assert answers.peek(before) is None
    assert len(answers.get(before).value) == 4
    assert answers.peek(after) is not None


# -- missing pairs


@pytest.mark.parametrize(("topic", "num_missing"), [(OF_HASH, 0), (GROWTH, 1)])
def test_missing_pairs_are_stored(older: Catalog, topic: HistoryTopic, num_missing: int) -> None:
    """The first query computes those that it needs: of a series only its own."""
    answers = answers_of(older)
    assert not any(answers.is_complete(query(older, topic)) for topic in TOPICS)
    assert value(answers, older, topic)
    assert answers.is_complete(query(older, topic))
    missing = missing_pairs(older, older.history)
    assert len(missing) == num_missing
    reader = Catalog(older.location)
    assert missing_pairs(reader, reader.require_history()) == missing
    for other in TOPICS:
        is_answered = not missing or other.needs is not None
        assert answers.is_complete(query(older, other)) == is_answered


def test_time_of_a_query_is_limited(older: Catalog) -> None:
    """Each query computes some pairs; the error states how many are missing."""
    answers = answers_of(older, fill_seconds=0)
    for num_missing in (4, 3, 2, 1):
        with pytest.raises(IncompleteHistory) as caught:
            answers.get(query(older, OF_HASH))
        assert (caught.value.num_pairs, caught.value.hindrance) == (5, None)
        assert caught.value.num_missing == num_missing
    assert value(answers, older, OF_HASH)


def test_one_query_fills_at_a_time(older: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    """Others wait, and use its results: nothing is computed twice."""
    loaded, lock = list[str](), threading.Lock()
    load = ContentReader.side

    def watched(reader: ContentReader, digest: str) -> Side:
        assert lock.acquire(blocking=False), "another query is filling"
        loaded.append(digest)
        time.sleep(0.02)
        side = load(reader, digest)
        lock.release()
        return side

    monkeypatch.setattr(ContentReader, "side", watched)
    answers = answers_of(older, fill_seconds=20)
    topics = [HistoryTopic(About.HASH, HASH[:length]) for length in range(20, 24)]
    with ThreadPoolExecutor(4) as pool:
        values = list(pool.map(lambda topic: value(answers, older, topic), topics))
    assert values[0]
    assert values == values[:1] * 4
    assert len(loaded) <= 8, "each content of each chain once"


def test_failure_to_store_is_remembered(older: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server without write access reports it, from the second query on at once."""
    made: list[int] = []

    def refused(_catalog: Catalog, changes: Sequence[StoredChanges]) -> None:
        made.append(len(changes))
        raise CatalogError("here", "may not be written")

    monkeypatch.setattr(Catalog, "keep", refused)
    answers = answers_of(older)
    for _ in range(3):
        with pytest.raises(IncompleteHistory, match="the catalog is read-only to it") as caught:
            answers.get(query(older, GROWTH))
        assert caught.value.num_missing == caught.value.num_pairs == 4
    assert len(made) == 1


def test_unreadable_content_is_left_out(older: Catalog) -> None:
    """The answer is that of the other contents and says so, until the content is repaired."""
    digest = Content.of(STATES[1]).digest
    folder = Path(older.location) / "specs" / f"digest={digest}"
    shutil.move(folder, folder.with_name("away"))
    answers, without = answers_of(older), older.history.without([digest])
    for topic in [*TOPICS, TOPICS[0]]:
        answer = answers.get(query(older, topic))
        assert answer.left_out is not None
        assert answer.left_out.revisions == (f"develop@{digest[:12]}",)
        assert answers.peek(query(older, topic)) is None
        assert answer.value == _answer(Library(older), without, topic)
    shutil.move(folder.with_name("away"), folder)
    fill(older, missing_pairs(older, older.history))
    for topic in TOPICS:
        answer = answers.get(query(older, topic))
        assert answer.left_out is None
        assert answer.value == _answer(Library(older), older.history, topic)


def test_no_readable_content(older: Catalog) -> None:
    """If no revision of a series is left, the error names the remedy."""
    for state in STATES:
        folder = Path(older.location) / "specs" / f"digest={Content.of(state).digest}"
        shutil.rmtree(folder, ignore_errors=True)
    with pytest.raises(IncompleteHistory, match="cachelog verify") as caught:
        answers_of(older).get(query(older, GROWTH))
    assert older.location not in str(caught.value)


def test_suggestions(whole: Catalog) -> None:
    """Series and tags are those of the current history."""
    of_history, kinds = names_of_history(whole.history), [SuggestionKind.SERIES, SuggestionKind.TAG]
    assert [name.value for _, name in of_history.like("v0", kinds, 5)] == ["v0.22", "v0.23"]
    assert [name.value for _, name in of_history.like("develop", kinds, 5)] == ["develop"]
    assert names_of_history(whole.history) is of_history
