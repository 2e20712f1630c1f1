"""Pools: hashes that frames share equal those of each frame, and take less memory."""

import gc
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from random import Random
from weakref import ref

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from snapshots.frames.columns import Column
from snapshots.frames.frame import Frame, SpecField
from snapshots.frames.hashes import WIDTH, Hashes
from snapshots.frames.pools import MAX_GROWTH, Pool, Pools, pool_of
from snapshots.models import Spec
from tests.snapshots.factories import full_spec
from tests.snapshots.frames.test_hashes import APART, COLLIDING, hashes_of
from tests.snapshots.memory import measured
from tests.snapshots.records import frame_of

PASTS = st.lists(st.lists(APART | COLLIDING, unique=True, max_size=12), min_size=2, max_size=5)


def assert_equal(shared: Hashes, own: Hashes) -> None:
    """Assert that two lists of hashes are equal, in each row and in searches."""
    for name in ("keys", "words", "order", "sorted_keys"):
        assert getattr(shared, name).tolist() == getattr(own, name).tolist()
    assert shared.texts == own.texts
    rows = own.order
    assert [shared.at(row) for row in rows] == shared.texts_at(rows) == own.texts_at(rows)
    assert shared.mapped_at(str.upper, rows) == own.mapped_at(str.upper, rows)
    for text in (*own.texts, "a" * WIDTH):
        assert shared.find(text) == own.find(text)
        for length in (0, 3, 12, 20):
            beginning = text[:length]
            assert shared.with_prefix(beginning).tolist() == own.with_prefix(beginning).tolist()


@given(PASTS)
def test_hashes(past: list[list[str]]) -> None:
    """Each row keeps its hash as other frames join, and a hash is in the pool once."""
    pool = Pool()
    shared = []
    for texts in past:
        shared.append(pool.share(hashes_of(texts)))
        assert shared[-1].mapped_at(str.upper, shared[-1].order) == list(
            map(str.upper, sorted(texts))
        )
    for hashes, texts in zip(shared, past, strict=True):
        assert_equal(hashes, hashes_of(texts))
    assert sorted(pool.hashes.texts) == sorted({text for texts in past for text in texts})


@given(PASTS)
def test_pairs(past: list[list[str]]) -> None:
    """Hashes of two revisions are paired, with and without a pool."""
    pool = Pool()
    owned = list(map(hashes_of, past))
    shared = list(map(pool.share, owned))
    for base, ours in zip(owned, shared, strict=True):
        for head, theirs in zip(owned, shared, strict=True):
            expected = base.match(head).tolist()
            assert ours.match(theirs).tolist() == expected
            assert ours.match(head).tolist() == base.match(theirs).tolist() == expected


def states(number: int, size: int, *, churn: float = 0.05) -> list[list[Spec]]:
    """Return states of a cache with `size` specs each, a share of which get other hashes."""
    random = Random(1)
    labels = list(range(size))
    past = []
    for _ in range(number):
        past.append([_spec(label) for label in labels])
        for index in random.sample(range(size), int(churn * size)):
            labels[index] = max(labels) + 1
    return past


def _spec(label: int) -> Spec:
    return full_spec(
        str(label),
        name=f"package{label % 30}",
        version=f"1.{label % 70}",
        variants=(f"flavour={label % 200}", "+shared"),
        size=label,
        tarball=None,
    )


def test_size_of_a_pool() -> None:
    """Its estimate, with its frames, is about the memory that they take: less than without it."""
    past = states(5, 1_000)

    def load() -> list[Frame]:
        pools = Pools()
        return [pools.share(frame_of(specs)) for specs in past]

    def use(frames: Sequence[Frame]) -> None:
        for frame in frames:
            rows = np.arange(len(frame), dtype=np.int32)
            _ = frame.hashes.mapped_at(repr, rows), frame.hashes.sorted_keys, frame.hashes.texts
            for column in frame.columns.values():
                if isinstance(column, Column):
                    _ = column.mapped(repr), column.index, column.fingerprints
            for field in SpecField:
                frame.order(field)

    frames, size = measured(load, use)
    pool = pool_of(frames[0])
    assert pool is not None
    counted = pool.num_bytes + sum(frame.num_bytes for frame in frames)
    assert 0.7 * size < counted < 1.5 * size
    assert counted < 0.75 * sum(frame_of(specs).num_bytes for specs in past)


def test_frames_that_share_a_pool() -> None:
    """Frames share a pool that has half of their hashes; empty contents have no pool."""
    first, second = states(2, 300)
    pools = Pools()
    base, head = (pools.share(frame_of(specs)) for specs in (first, second))
    assert pool_of(base) is pool_of(head) is not None
    others = [_spec(1_000 + number) for number in range(300)]
    other_frame = pools.share(frame_of(others))
    assert pool_of(other_frame) not in (pool_of(base), None)
    assert pool_of(pools.share(frame_of(first[:100] + others[100:]))) is pool_of(other_frame)
    assert pool_of(pools.share(frame_of([]))) is None


def test_growth_of_pools_is_limited() -> None:
    """A frame far from the first of its series begins a new pool, which later frames join."""
    pools = Pools()
    frames = [pools.share(frame_of(specs)) for specs in states(30, 60, churn=0.3)]
    used = {pool for frame in frames if (pool := pool_of(frame)) is not None}
    assert 1 < len(used) < 8
    assert all(len(pool.hashes) <= (MAX_GROWTH + 1) * 60 for pool in used)


def test_pool_is_freed_with_its_last_frame() -> None:
    """A pool is freed as soon as its last frame is."""
    first, second = states(2, 200)
    pools = Pools()
    base, head = (pools.share(frame_of(specs)) for specs in (first, second))
    for frame in (base, head):
        _ = frame.package.codes, frame.hashes.sorted_keys, frame.hashes.texts, frame.spec(0)
    pool = pool_of(base)
    assert pool is not None
    reference = ref(pool)
    gc.disable()
    try:
        del base, frame, pool
        assert head.hashes.texts
        assert reference() is not None
        del head
        assert reference() is None
    finally:
        gc.enable()


def test_threads() -> None:
    """Frames may join a pool while other threads read it."""
    past = states(6, 20)
    owned = [frame_of(specs) for specs in past]
    pools = Pools()

    def one(number: int) -> Frame:
        frame = pools.share(frame_of(past[number]))
        for _ in range(5):
            assert frame.hashes.texts == owned[number].hashes.texts
            assert frame.hashes.sorted_keys.tolist() == owned[number].hashes.sorted_keys.tolist()
        return frame

    with ThreadPoolExecutor(6) as threads:
        frames = list(threads.map(one, range(len(past))))
    assert len(set(map(pool_of, frames))) == 1
    for frame, own in zip(frames, owned, strict=True):
        assert_equal(frame.hashes, own.hashes)
