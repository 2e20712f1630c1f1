"""Caches in memory: each value is computed once, within bounds, and failures are not cached."""

import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event, Semaphore

import pytest

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.library import Library, SharedCache
from snapshots.errors import CatalogError, ConstraintSyntaxError
from tests.snapshots.factories import a_snapshot, a_spec, day, full_spec, hash_of

THREADS = 8


class Maker:
    """Computes texts for keys, slowly, and counts the calls; fails while ``failure`` is set."""

    def __init__(self) -> None:
        self.made: Counter[str] = Counter()
        self.failure: BaseException | None = None
        self.may_end = Event()

    def __call__(self, key: str) -> str:
        """Return the key twice."""
        self.made[key] += 1
        self.may_end.wait(10)
        if self.failure is not None:
            raise self.failure
        return key * 2


@pytest.fixture
def maker() -> Maker:
    """Return a maker that is only slow if its event is cleared."""
    maker = Maker()
    maker.may_end.set()
    return maker


def get_concurrently(maker: Maker, get: Callable[[], str]) -> list[str | BaseException]:
    """Request a key from several threads while the first one computes it; return all results."""
    maker.may_end.clear()
    barrier = Barrier(THREADS + 1)
    about_to_get = Semaphore(0)

    def one() -> str | BaseException:
        barrier.wait()
        about_to_get.release()
        try:
            return get()
        except BaseException as error:  # noqa: BLE001 - the result of each thread is tested
            return error

    with ThreadPoolExecutor(THREADS) as pool:
        answers = [pool.submit(one) for _ in range(THREADS)]
        barrier.wait()
        for _ in range(THREADS):
            about_to_get.acquire()
        time.sleep(0.2)  # for the last thread to reach the cache, on a busy machine
        maker.may_end.set()
        return [answer.result() for answer in answers]


def test_computed_once_for_many_threads(maker: Maker) -> None:
    """One of the threads that request a key computes the value for all."""
    cache = SharedCache(maker, 100, len)
    assert get_concurrently(maker, lambda: cache.get("a")) == ["aa"] * THREADS
    assert cache.get("a") == "aa"
    assert maker.made == {"a": 1}


def test_least_recently_used_is_dropped(maker: Maker) -> None:
    """Values are dropped as soon as the total would exceed the bound."""
    cache = SharedCache(maker, 6, len)
    for key in ("a", "b", "c"):
        cache.get(key)
    assert cache.get("a") == "aa"
    cache.get("d")
    assert [cache.peek(key) for key in "abcd"] == ["aa", None, "cc", "dd"]
    cache.get("big")
    assert [key for key in ("a", "c", "d", "big") if cache.peek(key)] == ["big"]


def test_value_that_is_too_large_is_the_only_one(maker: Maker) -> None:
    """Its users would otherwise compute it again and again; a bound of 0 caches nothing."""
    cache = SharedCache(maker, 6, len)
    for key in ("a", "wide", "wide"):
        cache.get(key)
    assert [cache.peek(key) for key in ("a", "wide")] == [None, "widewide"]
    assert (maker.made["wide"], cache.num_bytes) == (1, 6)
    cache.get("a")
    assert [cache.peek(key) for key in ("a", "wide")] == ["aa", None]
    nothing = SharedCache(maker, 0, len)
    nothing.get("a")
    assert nothing.peek("a") is None


@pytest.mark.parametrize("failure", [CatalogError("catalog", "is gone"), KeyboardInterrupt()])
def test_failures_are_not_cached(maker: Maker, failure: BaseException) -> None:
    """The next request computes the value again."""
    cache = SharedCache(maker, 100, len)
    maker.failure = failure
    with pytest.raises(type(failure)):
        cache.get("a")
    assert cache.peek("a") is None
    maker.failure = None
    assert cache.get("a") == "aa"


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    """Return a catalog with two contents, for tests that only read it."""
    catalog = Catalog(str(tmp_path_factory.mktemp("catalog")))
    states = [[full_spec("1")], [full_spec("1"), a_spec("2")]]
    catalog.publish([a_snapshot(specs, taken_at=day(len(specs))) for specs in states])
    return catalog


def test_library_is_bounded(catalog: Catalog) -> None:
    """The caches of frames and comparisons stay within their bounds."""
    base, head = catalog.history.pairs[-1]
    frame = Library(catalog).frames.get(head)
    library = Library(catalog, frame_bytes=frame.num_bytes, comparison_bytes=0)
    library.comparisons.get((base, head))
    assert [library.frames.peek(digest) is None for digest in (base, head)] == [True, False]
    assert library.comparisons.peek((base, head)) is None


def test_queries_comparisons_and_explanations(catalog: Catalog) -> None:
    """They use the caches, which count the memory of frames and graphs."""
    base, head = (catalog.history.resolve(ref) for ref in ("develop~1", "develop"))
    library = Library(catalog)
    assert library.matching(head, "hdf5").tolist() == [True, True]
    assert library.matching(head, f"/{hash_of('2')[:9]}").sum() == 1
    assert library.matching(head, "zlib").sum() == 0
    assert library.matching(base, "* ^zlib").tolist() == [True]
    with pytest.raises(ConstraintSyntaxError):
        library.matching(head, "@")
    comparison = library.compare(base, head)
    assert comparison is library.comparisons.peek((base.digest, head.digest))
    assert comparison.base is library.frames.peek(base.digest)
    assert [change.hash for change in comparison.specs] == [hash_of("2")]
    explanation = library.explain(base, head)
    assert explanation is library.explanations.peek((base.digest, head.digest))
    assert explanation.comparison is comparison
    assert explanation.head.graph is library.dependencies.peek(head.digest)
    sides = (explanation.base, explanation.head)
    assert explanation.num_bytes > sum(
        side.frame.num_bytes + side.graph.num_bytes for side in sides
    )
    assert library.explanations.num_bytes == explanation.num_bytes
    assert library.explanations.peek((head.digest, base.digest)) is None
