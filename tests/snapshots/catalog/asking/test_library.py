"""Caches in memory: each value is computed once, within bounds, and failures are not cached."""

import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier, Event, Semaphore
from typing import NamedTuple

import pytest

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.library import Library, SharedCache
from snapshots.errors import CatalogError, ConstraintSyntaxError
from snapshots.frames.pools import pool_of
from tests.snapshots.factories import a_snapshot, a_spec, day, full_spec, hash_of
from tests.snapshots.templates import copied

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


def ask_together(maker: Maker, ask: Callable[[], str]) -> list[str | BaseException]:
    """Request a key from several threads while the first one computes it; return all results."""
    maker.may_end.clear()
    barrier = Barrier(THREADS + 1)
    about_to_ask = Semaphore(0)

    def one() -> str | BaseException:
        barrier.wait()
        about_to_ask.release()
        try:
            return ask()
        except BaseException as error:  # noqa: BLE001 - what each thread got is what is tested
            return error

    with ThreadPoolExecutor(THREADS) as pool:
        answers = [pool.submit(one) for _ in range(THREADS)]
        barrier.wait()
        for _ in range(THREADS):
            about_to_ask.acquire()
        time.sleep(0.2)  # for the last of them to get from there to the cache, on a busy machine
        maker.may_end.set()
        return [answer.result() for answer in answers]


def test_made_once_for_many_threads(maker: Maker) -> None:
    """Of threads that ask for the same one makes it, and all get it."""
    cache = SharedCache(maker, 100, len)
    assert ask_together(maker, lambda: cache.get("a")) == ["aa"] * THREADS
    assert cache.get("a") == "aa"
    assert maker.made == {"a": 1}


class Pot(NamedTuple):
    """A pool that texts share; each text adds to it."""

    texts: list[str]

    @property
    def num_bytes(self) -> int:
        """The size of the pool in bytes."""
        return 10 * len(self.texts)

    def __hash__(self) -> int:
        return id(self)


def test_what_is_shared_counts_once() -> None:
    """It counts as long as a value shares it; values are dropped where it grows beyond bounds."""
    pots = {name: Pot([]) for name in "ab"}

    def make(key: str) -> str:
        pots[key[0]].texts.append(key)
        return key

    cache = SharedCache(make, 70, len, lambda it: (pots[it[0]], None))
    cache.get("a1")
    assert cache.num_bytes == 12
    cache.get("a2")
    assert cache.num_bytes == 24
    cache.get("b1")
    assert cache.num_bytes == 36
    cache.get("b2")
    cache.get("a3")
    assert (cache.num_kept, cache.num_bytes) == (5, 60)
    assert cache.get("a1") == "a1"
    cache.get("b3")  # the latest ones that fit, with what they share
    assert (cache.num_kept, cache.num_bytes) == (5, 70)
    gone = [key for key in ("a1", "a2", "a3", "b1", "b2", "b3") if cache.kept(key) is None]
    assert gone == ["a2"]


@pytest.mark.parametrize("is_shared", [False, True])
def test_failure_to_count(maker: Maker, is_shared: bool) -> None:
    """Who asks again after it failed to tell a size waits for nobody."""
    failures = [MemoryError()]

    def fail_once(number: int) -> int:
        if failures:
            raise failures.pop()
        return number

    if is_shared:
        cache = SharedCache(maker, 100, len, lambda _: (None,) * fail_once(1))
    else:
        cache = SharedCache(maker, 100, lambda it: fail_once(len(it)))
    with pytest.raises(MemoryError):
        cache.get("a")
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(cache.get, "a").result(10) == "aa"


def test_others_need_not_wait(maker: Maker) -> None:
    """While one thing is being made, another one can be made and taken."""
    cache: SharedCache[str, str] = SharedCache(
        lambda key: maker(key) if key == "slow" else key, 100, len
    )
    maker.may_end.clear()
    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(cache.get, "slow")
        while not maker.made:
            time.sleep(0.001)
        assert cache.get("fast") == "fast"
        assert cache.kept("slow") is None
        assert not slow.done()
        maker.may_end.set()
        assert slow.result() == "slowslow"


def test_bounded(maker: Maker) -> None:
    """The least recently used goes as soon as all would be too much."""
    cache = SharedCache(maker, 6, len)
    for key in ("a", "b", "c"):
        cache.get(key)
    assert cache.get("a") == "aa"
    cache.get("d")
    assert [cache.kept(key) for key in "abcd"] == ["aa", None, "cc", "dd"]
    cache.get("wide")
    assert cache.kept("wide") is None
    cache.get("big")
    assert [key for key in ("a", "c", "d", "big") if cache.kept(key)] == ["big"]
    assert maker.made["wide"] == 1


def test_too_large_to_keep(maker: Maker) -> None:
    """What alone is more than may be kept is made each time, for all that wait for it."""
    cache = SharedCache(maker, 1, len)
    assert ask_together(maker, lambda: cache.get("a")) == ["aa"] * THREADS
    made = maker.made["a"]
    assert cache.kept("a") is None
    assert cache.get("a") == "aa"
    assert maker.made["a"] == made + 1


@pytest.mark.parametrize("failure", [CatalogError("catalog", "is gone"), KeyboardInterrupt()])
def test_failures_reach_all_and_are_not_kept(maker: Maker, failure: BaseException) -> None:
    """Who waits for what cannot be made gets the reason; the next to ask tries again."""
    cache = SharedCache(maker, 100, len)
    maker.failure = failure
    assert ask_together(maker, lambda: cache.get("a")) == [failure] * THREADS
    assert maker.made == {"a": 1}
    assert cache.kept("a") is None
    maker.failure = None
    assert cache.get("a") == "aa"


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    """Return a catalog with two contents, for tests that only read it."""
    catalog = Catalog(str(tmp_path_factory.mktemp("catalog")))
    states = [[full_spec("1")], [full_spec("1"), a_spec("2")]]
    catalog.publish([a_snapshot(it, taken_at=day(len(it))) for it in states])
    return catalog


def test_library(catalog: Catalog) -> None:
    """Frames, graphs and comparisons are those of the catalog, and the same object again."""
    base, head = (catalog.history.resolve(ref).digest for ref in ("develop~1", "develop"))
    library = Library(catalog)
    frame = library.frames.get(base)
    assert (frame.digest, len(frame)) == (base, 1)
    comparison = library.comparisons.get((base, head))
    assert comparison.base is frame
    assert comparison.head is library.frames.get(head)
    assert [change.hash for change in comparison.specs] == [hash_of("2")]
    assert library.comparisons.get((base, head)) is comparison
    assert library.comparisons.kept((head, base)) is None
    graph = library.dependencies.get(head)
    assert graph.num_rows == 2
    assert library.dependencies.get(head) is graph


def test_package_names_follow_the_catalog(catalog: Catalog, tmp_path: Path) -> None:
    """The names of packages are read once for each state of the catalog."""
    catalog = copied(Path(catalog.location), tmp_path)
    library = Library(catalog)
    names = library.package_names()
    assert names == {"hdf5"}
    assert library.package_names() is names
    catalog.publish([a_snapshot([a_spec("3", name="zlib")], taken_at=day(9))])
    catalog.refresh()
    assert library.package_names() == {"zlib"}


def test_library_is_bounded(catalog: Catalog) -> None:
    """Of frames and comparisons only as many are kept as there is memory for."""
    base, head = (catalog.history.resolve(ref).digest for ref in ("develop~1", "develop"))
    frame = Library(catalog).frames.get(head)
    pool = pool_of(frame)
    assert pool is not None
    size = frame.num_bytes + 2 * pool.num_bytes
    library = Library(catalog, frame_bytes=size, comparison_bytes=0)
    library.comparisons.get((base, head))
    assert [library.frames.kept(digest) is None for digest in (base, head)] == [True, False]
    assert library.comparisons.kept((base, head)) is None


def test_what_is_found_and_compared(catalog: Catalog) -> None:
    """Queries and comparisons are answered from what is kept."""
    base, head = (catalog.history.resolve(ref) for ref in ("develop~1", "develop"))
    library = Library(catalog)
    assert library.matching(head, "hdf5").tolist() == [True, True]
    assert library.matching(head, f"/{hash_of('2')[:9]}").sum() == 1
    assert library.matching(head, "zlib").sum() == 0
    assert library.matching(base, "* ^zlib").tolist() == [True]
    assert library.frames.kept(head.digest) is not None
    assert library.compare(base, head) is library.comparisons.kept((base.digest, head.digest))
    with pytest.raises(ConstraintSyntaxError):
        library.matching(head, "@")


def test_explanations(catalog: Catalog) -> None:
    """A comparison is explained once, from what is kept; its explanation counts all it keeps."""
    base, head = (catalog.history.resolve(ref).digest for ref in ("develop~1", "develop"))
    library = Library(catalog)
    explanation = library.explanations.get((base, head))
    assert explanation is library.explanations.kept((base, head))
    assert explanation.comparison is library.comparisons.kept((base, head))
    assert explanation.base.graph is library.dependencies.kept(base)
    assert explanation.head.graph is library.dependencies.kept(head)
    sides = (explanation.base, explanation.head)
    kept = sum(side.frame.num_bytes + side.graph.num_bytes for side in sides)
    pools = {pool_of(side.frame) for side in sides}
    counted = explanation.num_bytes + sum(pool.num_bytes for pool in pools if pool is not None)
    assert explanation.num_bytes > kept
    assert library.explanations.num_bytes == counted
    assert library.explanations.kept((head, base)) is None
