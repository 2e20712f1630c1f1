"""Results of history queries: cached until the history changes; missing pairs are computed."""

import shutil
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.history_cache import HistoryCache, HistoryCall
from snapshots.catalog.history_queries import HistoryQueries, fill, missing_pairs
from snapshots.catalog.library import Library, names_of_history
from snapshots.catalog.specs_table import ContentReader
from snapshots.changes.sides import Side
from snapshots.changes.stored_changes import StoredChanges
from snapshots.contents import Content
from snapshots.errors import CatalogError, IncompleteHistory
from snapshots.frames.suggestions import SuggestionKind
from snapshots.history import History, Pair
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
Asked = tuple[Callable[..., Any], tuple[Any, ...]]
"""A method of HistoryQueries, and its arguments after the history."""

GROWTH: Asked = HistoryQueries.growth, ("develop",)
OF_HASH: Asked = HistoryQueries.hash_history, (HASH,)
CALLS: list[Asked] = [
    OF_HASH,
    (HistoryQueries.hash_histories, (frozenset({(HASH, "hdf5")}),)),
    (HistoryQueries.content_histories, (Content.of(STATES[3]).digest, frozenset({"hdf5"}))),
    (HistoryQueries.package_timelines, ("develop", frozenset({"hdf5", "nope"}))),
    (HistoryQueries.package_timeline, ("develop", "hdf5")),
    (HistoryQueries.all_packages, ()),
    (HistoryQueries.package_causes, ("develop", frozenset({("hdf5", REPLACING)}))),
    GROWTH,
    (HistoryQueries.holding, (frozenset({HASH}), "develop")),
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


def cache_of(catalog: Catalog, **options: Any) -> HistoryCache:
    """Return the cache of a catalog."""
    return HistoryCache(catalog, Library(catalog), **options)


def call(catalog: Catalog, asked: Asked) -> HistoryCall:
    """Return a call for the current history."""
    method, arguments = asked
    return HistoryCall.of(method, catalog.history, *arguments)


def value(cache: HistoryCache, catalog: Catalog, asked: Asked) -> Any:
    """Return the value of a result."""
    return cache.get(call(catalog, asked)).value


def directly(catalog: Catalog, history: History, asked: Asked) -> Any:
    """Return the result of a method without a cache."""
    method, arguments = asked
    return method(Library(catalog).history_queries, history, *arguments)


@pytest.mark.parametrize("asked", CALLS, ids=lambda asked: asked[0].__name__)
def test_results_are_cached(whole: Catalog, asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cache counts their bytes."""
    cache, cached = cache_of(whole), call(whole, asked)
    assert cache.peek(cached) is None
    assert cache.is_complete(whole.history)
    result = cache.get(cached)
    assert result.value
    assert cache.num_bytes == result.num_bytes > 0
    monkeypatch.setattr(HistoryQueries, asked[0].__name__, None)
    assert cache.get(cached) is cache.peek(cached) is result
    assert cache.compute(cached) is result


@pytest.mark.parametrize(
    "call_of",
    [
        lambda text: (HistoryQueries.hash_histories, (frozenset({(HASH, text)}),)),
        lambda text: (
            HistoryQueries.content_histories,
            (Content.of(STATES[3]).digest, frozenset({text})),
        ),
        lambda text: (HistoryQueries.package_timelines, ("develop", frozenset({text}))),
        lambda text: (HistoryQueries.package_timeline, ("develop", text)),
        lambda text: (HistoryQueries.package_timeline, (text, "hdf5")),
        lambda text: (HistoryQueries.growth, (text,)),
        lambda text: (HistoryQueries.holding, (frozenset({HASH}), text)),
    ],
)
def test_texts_of_clients_are_counted(whole: Catalog, call_of: Callable[[str], Asked]) -> None:
    """The cache counts long texts of requests, so that it stays within its bound."""
    cache = cache_of(whole, max_bytes=100_000)
    calls = [call(whole, call_of(f"{number:03}" + "a" * 3_997)) for number in range(40)]
    for each in calls:
        cache.get(each)
    num_cached = sum(cache.peek(each) is not None for each in calls)
    assert 4_000 * num_cached <= cache.num_bytes <= 100_000
    assert 10 < num_cached < 25


def test_results_are_dropped_with_their_history(catalog: Catalog) -> None:
    """The first query of a newer history drops them; the older history can still be queried."""
    cache = cache_of(catalog)
    before = call(catalog, GROWTH)
    assert len(cache.get(before).value) == 4
    published(Path(catalog.location), [("develop", 20, STATES[0])])
    catalog.refresh()
    after = call(catalog, GROWTH)
    assert cache.peek(before) is not None, "no query of the newer history was answered yet"
    assert cache.peek(after) is None
    assert len(cache.get(after).value) == 5
    assert cache.peek(before) is None
    assert len(cache.get(before).value) == 4
    assert cache.peek(after) is not None


# -- missing pairs


@pytest.mark.parametrize(("asked", "num_missing"), [(OF_HASH, 0), (GROWTH, 1)])
def test_missing_pairs_are_stored(older: Catalog, asked: Asked, num_missing: int) -> None:
    """The first query computes those that it needs: of a series only its own."""
    cache = cache_of(older)
    assert not cache.is_complete(older.history)
    with pytest.raises(IncompleteHistory):
        cache.compute(call(older, asked))
    assert value(cache, older, asked)
    missing = missing_pairs(older, older.history)
    assert len(missing) == num_missing
    assert cache.is_complete(older.history) == (not missing)
    reader = Catalog(older.location)
    assert missing_pairs(reader, reader.require_history()) == missing


def test_time_of_a_query_is_limited(older: Catalog) -> None:
    """Each query computes some pairs; the error states how many are missing."""
    cache = cache_of(older, fill_seconds=0)
    for num_missing in (4, 3, 2, 1):
        with pytest.raises(IncompleteHistory) as caught:
            cache.get(call(older, OF_HASH))
        assert (caught.value.num_pairs, caught.value.hindrance) == (5, None)
        assert caught.value.num_missing == num_missing
    assert value(cache, older, OF_HASH)


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
    cache = cache_of(older, fill_seconds=20)
    calls = [(HistoryQueries.hash_history, (HASH[:length],)) for length in range(20, 24)]
    with ThreadPoolExecutor(4) as pool:
        values = list(pool.map(lambda asked: value(cache, older, asked), calls))
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
    cache = cache_of(older)
    for _ in range(3):
        with pytest.raises(IncompleteHistory, match="the catalog is read-only to it") as caught:
            cache.get(call(older, GROWTH))
        assert caught.value.num_missing == caught.value.num_pairs == 4
    assert len(made) == 1


def test_unreadable_content_is_left_out(older: Catalog) -> None:
    """The answer is that of the other contents and says so, until the content is repaired."""
    digest = Content.of(STATES[1]).digest
    folder = Path(older.location) / "specs" / f"digest={digest}"
    shutil.move(folder, folder.with_name("away"))
    cache, without = cache_of(older), older.history.without([digest])
    left_out = next(it.ref for it in older.history.revisions if it.digest == digest)
    for asked in [*CALLS, CALLS[0]]:
        result = cache.get(call(older, asked))
        assert result.left_out is not None
        assert result.left_out.revisions == (left_out,)
        assert cache.peek(call(older, asked)) is None
        assert result.value == directly(older, without, asked)
    shutil.move(folder.with_name("away"), folder)
    fill(older, missing_pairs(older, older.history))
    for asked in CALLS:
        result = cache.get(call(older, asked))
        assert result.left_out is None
        assert result.value == directly(older, older.history, asked)


def test_no_readable_content(older: Catalog) -> None:
    """If no revision of a series is left, the error names the remedy."""
    for state in STATES:
        folder = Path(older.location) / "specs" / f"digest={Content.of(state).digest}"
        shutil.rmtree(folder, ignore_errors=True)
    with pytest.raises(IncompleteHistory, match="cachelog verify") as caught:
        cache_of(older).get(call(older, GROWTH))
    assert older.location not in str(caught.value)


def test_suggestions(whole: Catalog) -> None:
    """Series and tags are those of the current history."""
    of_history, kinds = names_of_history(whole.history), [SuggestionKind.SERIES, SuggestionKind.TAG]
    assert [name.value for _, name in of_history.like("v0", kinds, 5)] == ["v0.22", "v0.23"]
    assert [name.value for _, name in of_history.like("develop", kinds, 5)] == ["develop"]
    assert names_of_history(whole.history) is of_history
