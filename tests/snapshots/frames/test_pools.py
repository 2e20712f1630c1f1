"""Frames that share their records answer as frames of their own do, and take less memory."""

import gc
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from random import Random
from weakref import ref

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from snapshots.frames.columns import Column, ListColumn, NumberColumn
from snapshots.frames.filters import SpecFilter
from snapshots.frames.frame import Frame, SpecField
from snapshots.frames.hashes import WIDTH, match
from snapshots.frames.pools import MAX_GROWTH, Pool, Pools
from snapshots.frames.shared_arrays import Array, ArrayCache, GrowingArray
from snapshots.models import Spec
from tests.snapshots.factories import STACKS, full_spec, hash_of, random_facts, seeded
from tests.snapshots.memory import measured
from tests.snapshots.records import frame_of

ROOMS = st.sampled_from([0, 40, 500, 1 << 20])


def random_past(random: Random) -> list[list[Spec]]:
    """Return some states of a cache: each has many of the specs before, a few with other facts."""
    specs: dict[str, Spec] = {}
    past = []
    for _ in range(random.randrange(2, 6)):
        for _ in range(random.randrange(8)):
            # Twelve characters in common are all that a key has of a hash.
            own = hash_of(str(random.randrange(12)))
            text = own if random.random() < 0.6 else f"abcdefghijkl{own[12:]}"
            specs[text] = Spec(hash=text, **random_facts(random))
        for text in [it for it in specs if random.random() < 0.2]:
            del specs[text]
        for text in [it for it in specs if random.random() < 0.2]:
            specs[text] = replace(specs[text], stacks=(random.choice(STACKS),))
        past.append(random.sample([*specs.values()], len(specs)))
    return past


PASTS = seeded(random_past)


def assert_equal(shared: Frame, own: Frame) -> None:
    """Assert that two frames have the same columns, whole and row by row."""
    rows = np.arange(len(own), dtype=np.int32)[::-1]
    assert (shared.digest, len(shared)) == (own.digest, len(own))
    assert shared.starts.tolist() == own.starts.tolist()
    assert shared.fingerprints.tolist() == own.fingerprints.tolist()
    assert list(shared.columns) == list(own.columns)
    for name, column in own.columns.items():
        other = shared.columns[name]
        assert type(other) is type(column) or column is own.hashes
        assert [other.at(row) for row in rows] == [column.at(row) for row in rows]
        assert other.mapped_at(repr, rows) == column.mapped_at(repr, rows)
        if isinstance(column, Column):
            assert isinstance(other, Column)
            assert list(other.values) == list(column.values)
            assert other.codes.tolist() == column.codes.tolist()
        if isinstance(column, ListColumn):
            assert isinstance(other, ListColumn)
            assert [*other.items] == [*column.items]
            assert other.item_counts(rows) == column.item_counts(rows)
        if isinstance(column, NumberColumn):
            assert isinstance(other, NumberColumn)
            assert other.numbers.tolist() == column.numbers.tolist()
            assert (other.is_known, other.total()) == (column.is_known, column.total())
    assert_equal_hashes(shared, own)
    assert [shared.spec(row) for row in rows] == [own.spec(row) for row in rows]


def assert_equal_hashes(shared: Frame, own: Frame) -> None:
    """Assert that two frames have the same hashes, and find them likewise."""
    for name in ("keys", "words", "table", "order", "sorted_keys"):
        assert getattr(shared.hashes, name).tolist() == getattr(own.hashes, name).tolist()
    assert shared.hashes.texts == own.hashes.texts
    rows = own.hashes.order
    assert shared.hashes.texts_at(rows) == own.hashes.texts_at(rows)
    for text in (*own.hashes.texts, "a" * WIDTH):
        assert shared.hashes.find(text) == own.hashes.find(text)
        for length in (0, 3, 12, 20):
            found = shared.hashes.with_prefix(text[:length])
            assert found.tolist() == own.hashes.with_prefix(text[:length]).tolist()


@given(PASTS, ROOMS)
def test_columns(past: list[list[Spec]], max_bytes: int) -> None:
    """Whatever joins later, and however little room there is, every row has its own facts."""
    pool, room = Pool(), ArrayCache(max_bytes)
    shared = [pool.share(frame_of(specs), room) for specs in past]
    for frame, specs in zip(shared, past, strict=True):
        assert_equal(frame, frame_of(specs))


@given(PASTS)
def test_pairs(past: list[list[Spec]]) -> None:
    """Hashes that two frames have are paired, with the same facts or others, as in any frames."""
    pool, room = Pool(), ArrayCache(1 << 20)
    owned = [frame_of(specs) for specs in past]
    shared = [pool.share(frame, room) for frame in owned]
    for base, ours in zip(owned, shared, strict=True):
        for head, theirs in zip(owned, shared, strict=True):
            expected = match(base.hashes, head.hashes).tolist()
            assert match(ours.hashes, theirs.hashes).tolist() == expected
            assert match(ours.hashes, head.hashes).tolist() == expected
            assert match(base.hashes, theirs.hashes).tolist() == expected
            found = base.hashes.find_all(head.hashes).tolist()
            assert ours.hashes.find_all(theirs.hashes).tolist() == found


def states(number: int, size: int, *, churn: float = 0.05) -> list[list[Spec]]:
    """Return states of a cache, each with so many specs of which a share has other hashes."""
    random = Random(1)
    labels = list(range(size))
    past = []
    for _ in range(number):
        past.append([_spec(label) for label in labels])
        for place in random.sample(range(size), int(churn * size)):
            labels[place] = max(labels) + 1
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


def test_a_record_is_kept_once() -> None:
    """A frame that joins adds what is new, and nothing where all is there."""
    first, second = states(2, 200)
    pool, room = Pool(), ArrayCache(0)
    for specs, number in ((first, 200), (first, 200), (second, 210), (first, 200)):
        pool.share(frame_of(specs), room)
        assert pool.num_records == max(number, pool.num_records) <= 210


def test_other_facts_of_a_hash_are_a_record() -> None:
    """They are known as the first ones are, whichever of them was there last."""
    (specs,) = states(1, 50)
    other = [replace(it, stacks=("hep",)) for it in specs]
    pool, room = Pool(), ArrayCache(0)
    for state, number in ((specs, 50), (other, 100), (specs, 100), (other, 100)):
        pool.share(frame_of(state), room)
        assert pool.num_records == number


@pytest.mark.untraced
def test_memory() -> None:
    """Twenty states that differ by five in a hundred take less than six times one."""
    past = [frame_of(specs) for specs in states(20, 400)]

    def share(number: int) -> list[Frame]:
        pools = Pools(unpacked_bytes=0)
        return [pools.share(frame) for frame in past[:number]]

    def use(frames: Sequence[Frame]) -> None:
        for frame in frames:
            _ = (
                frame.hashes.mapped_at(repr, np.arange(9, dtype=np.int32)),
                frame.package.counts(slice(None)),
            )
            frame.select(SpecFilter(stacks=("e4s",)))

    one, twenty = (measured(lambda number=number: share(number), use)[1] for number in (1, 20))  # type: ignore[misc]
    assert twenty < 6 * one


@pytest.mark.untraced
def test_counted_memory() -> None:
    """What is counted for a pool and its frames is about what they take."""
    past = [frame_of(specs) for specs in states(5, 1_000)]

    def share() -> list[Frame]:
        pools = Pools(unpacked_bytes=0)
        return [pools.share(frame) for frame in past]

    def use(frames: Sequence[Frame]) -> None:
        for frame in frames:
            rows = np.arange(len(frame), dtype=np.int32)
            _ = frame.hashes.mapped_at(repr, rows)
            for column in frame.columns.values():
                if isinstance(column, Column):
                    _ = column.mapped(repr), column.index, column.fingerprints
            for field in SpecField:
                frame.order(field)

    frames, held = measured(share, use)
    (shared,) = {it.shared for it in frames}
    assert shared is not None
    own = sum(it.num_bytes for it in frames)
    assert 0.7 * held < shared.num_bytes + own < 1.5 * held


def test_who_shares() -> None:
    """Frames share a pool where half of their hashes are in it, and contents without specs none."""
    first, second = states(2, 300)
    pools = Pools()
    base, head = (pools.share(frame_of(it)) for it in (first, second))
    assert base.shared is head.shared is not None
    alike = [replace(it, hash=hash_of(f"other {it.hash}")) for it in first]
    other = pools.share(frame_of(alike))
    assert other.shared not in (base.shared, None)
    assert pools.share(frame_of(first[:100] + alike[100:])).shared is other.shared
    assert pools.share(frame_of([])).shared is None


def test_pools_do_not_grow_for_ever() -> None:
    """Where a series has moved on a frame begins another pool, which others of its time join."""
    pools = Pools()
    frames = [pools.share(frame_of(it)) for it in states(30, 60, churn=0.3)]
    found = [frame.shared for frame in frames]
    assert 1 < len(set(found)) < 8
    assert all(
        isinstance(it, Pool) and it.num_records <= (MAX_GROWTH + 1) * 60 for it in set(found)
    )


def test_memory_comes_back() -> None:
    """A pool goes with the last of its frames, at once."""
    first, second = states(2, 200)
    pools = Pools()
    base, head = (pools.share(frame_of(it)) for it in (first, second))
    for frame in (base, head):
        _ = frame.package.codes, frame.hashes.sorted_keys, frame.hashes.texts, frame.spec(0)
    pool = ref(base.shared)
    gc.disable()
    try:
        del base, frame
        assert head.hashes.texts
        assert pool() is not None
        del head
        assert pool() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("max_bytes", [0, 2_000, 1 << 20])
def test_threads(max_bytes: int) -> None:
    """Frames join while others of the pool are read."""
    past = states(6, 20)
    owned = [frame_of(specs) for specs in past]
    pools = Pools(max_bytes)

    def one(number: int) -> Frame:
        frame = pools.share(frame_of(past[number]))
        for _ in range(5):
            assert frame.package.codes.tolist() == owned[number].package.codes.tolist()
            assert frame.size.numbers.tolist() == owned[number].size.numbers.tolist()
            assert frame.hashes.texts == owned[number].hashes.texts
            assert frame.hashes.sorted_keys.tolist() == owned[number].hashes.sorted_keys.tolist()
        return frame

    with ThreadPoolExecutor(6) as threads:
        frames = list(threads.map(one, range(len(past))))
    assert len({it.shared for it in frames}) == 1
    for frame, own in zip(frames, owned, strict=True):
        assert_equal(frame, own)


@pytest.mark.parametrize("number", range(15))
def test_without_memory(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A frame that cannot be added leaves nothing behind that others would be read from."""
    first, second, third = states(3, 20)
    pools = Pools(0)
    base = pools.share(frame_of(first))
    left = number
    append = GrowingArray.append

    def fail_once(array: GrowingArray, values: Array) -> None:
        nonlocal left
        left -= 1
        if left == -1:
            raise MemoryError
        append(array, values)

    monkeypatch.setattr(GrowingArray, "append", fail_once)
    with pytest.raises(MemoryError):
        pools.share(frame_of(second))
    frames = [pools.share(frame_of(specs)) for specs in (third, second)]
    for frame, specs in zip((base, *frames), (first, third, second), strict=True):
        assert frame.shared is base.shared
        assert_equal(frame, frame_of(specs))


def test_many_states_of_one_hash() -> None:
    """A hash that had very many facts is a record once more, but no other one's."""
    pool, room = Pool(), ArrayCache(0)
    frames = {
        number: pool.share(frame_of([full_spec(size=number % 20)]), room) for number in range(60)
    }
    assert all(frame.size.at(0) == number % 20 for number, frame in frames.items())
