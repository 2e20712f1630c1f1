"""Results of history queries: cached until the history changes; missing pairs are computed."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.history_cache import HistoryCache, HistoryCall
from snapshots.catalog.history_queries import HistoryQueries, missing_pairs
from snapshots.catalog.library import Library, names_of_history
from snapshots.contents import Content
from snapshots.errors import IncompleteHistory
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


def test_suggestions(whole: Catalog) -> None:
    """Series and tags are those of the current history."""
    of_history, kinds = names_of_history(whole.history), [SuggestionKind.SERIES, SuggestionKind.TAG]
    assert [name.value for _, name in of_history.like("v0", kinds, 5)] == ["v0.22", "v0.23"]
    assert [name.value for _, name in of_history.like("develop", kinds, 5)] == ["develop"]
    assert names_of_history(whole.history) is of_history
