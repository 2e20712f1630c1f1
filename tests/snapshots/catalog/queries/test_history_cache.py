"""Results of history queries: cached until the history changes."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.history_cache import HistoryCache, HistoryCall
from snapshots.catalog.history_queries import HistoryQueries
from snapshots.catalog.library import Library, names_of_history
from snapshots.contents import Content
from snapshots.frames.suggestions import SuggestionKind
from snapshots.history import Pair
from snapshots.models import Spec
from tests.snapshots.factories import a_snapshot, a_spec, day

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


def cache_of(catalog: Catalog) -> HistoryCache:
    """Return the cache of a catalog."""
    return HistoryCache(catalog, Library(catalog))


def call(catalog: Catalog, asked: Asked) -> HistoryCall:
    """Return a call for the current history."""
    method, arguments = asked
    return HistoryCall.of(method, catalog.history, *arguments)


@pytest.mark.parametrize("asked", CALLS, ids=lambda asked: asked[0].__name__)
def test_results_are_cached(whole: Catalog, asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cache counts their bytes."""
    cache, cached = cache_of(whole), call(whole, asked)
    assert cache.peek(cached) is None
    result = cache.get(cached)
    assert result.value
    assert cache.num_bytes == result.num_bytes > 0
    monkeypatch.setattr(HistoryQueries, asked[0].__name__, None)
    assert cache.get(cached) is cache.peek(cached) is result


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


def test_suggestions(whole: Catalog) -> None:
    """Series and tags are those of the current history."""
    of_history, kinds = names_of_history(whole.history), [SuggestionKind.SERIES, SuggestionKind.TAG]
    assert [name.value for _, name in of_history.like("v0", kinds, 5)] == ["v0.22", "v0.23"]
    assert [name.value for _, name in of_history.like("develop", kinds, 5)] == ["develop"]
    assert names_of_history(whole.history) is of_history
