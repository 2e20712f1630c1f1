"""How alike specs are: what lies below them, and how far their versions are apart."""

from collections.abc import Sequence
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapshots.changes import likeness
from snapshots.changes.likeness import Below, version_places
from snapshots.frames.frame import Frame
from snapshots.models import Spec
from tests.snapshots.changes.graphs import edge, node, side_of
from tests.snapshots.factories import seeded
from tests.snapshots.records import frame_of

Item = tuple[str, str | None]


def random_specs(random: Random) -> list[Spec]:
    """Return specs that depend on any of them, themselves included, and on what is absent."""
    labels = [f"{random.choice('abc')}:{number}" for number in range(random.randrange(1, 7))]
    specs = []
    for label in labels:
        below = {random.choice([*labels, "absent"]) for _ in range(random.randrange(4))}
        edges = [edge(it) for it in sorted(below)]
        if random.random() < 0.3:
            edges.append(edge("gcc", ("build",), ("c",)))
        compiler = random.choice((None, "gcc@12", "gcc@13"))
        version = random.choice("12")
        known = random.random() < 0.9
        specs.append(node(label, *(edges if known else ()), compiler=compiler, version=version))
    return specs


def below_by_walking(specs: Sequence[Spec], spec: Spec) -> set[Item]:
    """Return the names and versions of all that a spec depends on, itself left out."""
    known = {it.hash: it for it in specs}
    found: set[str] = set()
    items: set[Item] = set()
    left = [spec.hash]
    walked: set[str] = set()
    while left:
        digest = left.pop()
        if digest in walked or digest not in known:
            continue
        walked.add(digest)
        one = known[digest]
        edges = one.dependencies or ()
        if one.compiler and not any("c" in it.virtuals for it in edges):
            name, _, version = one.compiler.partition("@")
            items.add((name, version))
        for it in edges:
            if it.hash not in known:
                items.add((it.name, None))
            elif it.hash != spec.hash:
                items.add((it.name, known[it.hash].version))
            found.add(it.hash)
            left.append(it.hash)
    return items


def check(base: Sequence[Spec], head: Sequence[Spec]) -> None:
    """Hold numbers and shares of all rows of two contents against plain sets."""
    sides = side_of(base), side_of(head)
    rows = [np.arange(len(side.frame), dtype=np.int32) for side in sides]
    made = Below(sides[0], rows[0], sides[1], rows[1], ("package", "version"))
    sets = [
        [below_by_walking(specs, next(it for it in specs if it.hash == digest)) for digest in texts]
        for specs, texts in zip(
            (base, head), (side.frame.hashes.texts for side in sides), strict=True
        )
    ]
    numbers = [*made.base_numbers.tolist(), *made.head_numbers.tolist()]
    by_number = dict(zip(numbers, [*sets[0], *sets[1]], strict=True))
    assert [by_number[number] for number in numbers] == [*sets[0], *sets[1]]
    assert len({frozenset(it) for it in by_number.values()}) == len(by_number)
    ours = np.repeat(made.base_numbers, len(head))
    theirs = np.tile(made.head_numbers, len(base))
    expected = [
        len(one & other) / len(one | other) if one | other else 1.0
        for one in sets[0]
        for other in sets[1]
    ]
    assert made.shares(ours, theirs).tolist() == expected


CONTENTS = seeded(random_specs)


@given(CONTENTS, CONTENTS, st.sampled_from((0, 2, 1 << 20)), st.sampled_from((0, 500, 1 << 20)))
def test_against_plain_walks(
    base: list[Spec], head: list[Spec], num_bytes: int, kept_bytes: int
) -> None:
    """Cycles, what is absent, and compilers that are no dependencies are taken in.

    So it is whether the sets are small enough to be made at once and kept, or not.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(likeness, "_BLOCK_BYTES", num_bytes)
        patch.setattr(likeness, "_KEPT_BYTES", kept_bytes)
        check(base, head)


@pytest.mark.parametrize(
    ("base", "head"),
    [
        ([], []),
        ([node("a")], []),
        ([node("a")], [node("b")]),
        ([node("a", "a")], [node("a:2", "a:3"), node("a:3", "a:2")]),
        ([node("a", "b"), node("b", "a")], [node("a", "b", "c"), node("b", "a"), node("c", "b")]),
    ],
)
def test_small_graphs(base: list[Spec], head: list[Spec]) -> None:
    """So it is where there is nothing, and where specs depend on themselves."""
    check(base, head)


def test_only_some_rows() -> None:
    """Rows are asked for in any order; what none of them reaches is not looked at."""
    specs = [node("a", "b"), node("b", "c"), node("c"), node("d", "c")]
    side = side_of(specs)
    rows = np.array([side.frame.hashes.find(specs[it].hash) for it in (1, 0)], np.int32)
    made = Below(side, rows, side, rows[:1], ("package", "version"))
    assert made.base_numbers[0] == made.head_numbers[0] != made.base_numbers[1]
    assert made.shares(made.base_numbers, np.repeat(made.head_numbers, 2)).tolist() == [1.0, 0.5]
    assert made.shares(made.base_numbers[:0], made.head_numbers[:0]).tolist() == []


def places(frame: Frame, found: np.ndarray[tuple[int], np.dtype[np.int64]]) -> dict[str, int]:
    """Return the place of each row by its label."""
    names = [f"{frame.package.at(row)} {frame.version.at(row)}" for row in range(len(frame))]
    return dict(zip(names, found.tolist(), strict=True))


def test_places() -> None:
    """What either side has counts, once; other packages do not; the order is Spack's."""
    base = frame_of([node(f"a:{it}", version=it) for it in ("1.9", "1.10", "develop")])
    others = [node(f"b:{it}", version=it) for it in ("1.9.5", "1.9.6")]
    head = frame_of([*(node(f"a:{it}", version=it) for it in ("1.10", "2.0", "1.2")), *others])
    rows = [np.arange(len(it), dtype=np.int32) for it in (base, head)]
    before, after = version_places(base, rows[0], head, rows[1])
    ours, theirs = places(base, before), places(head, after)
    assert ours["a 1.10"] == theirs["a 1.10"]
    assert ours["a 1.10"] - ours["a 1.9"] == 1
    assert ours["a 1.10"] - theirs["a 1.2"] == 2
    assert theirs["a 2.0"] - ours["a 1.9"] == 2
    assert ours["a develop"] - theirs["a 2.0"] == 1
    some = version_places(base, rows[0][1:], head, rows[1][:0])
    assert [it.tolist() for it in some] == [before.tolist()[1:], []]
