"""An explanation answers for any part of a comparison, as a naive walk over records does."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapshots.changes.diff import Comparison, SpecChangeKind
from snapshots.changes.explanation import Explanation, explain
from snapshots.models import Spec
from tests.expensive import FEWER_EXAMPLES, examples
from tests.model.builds import crowds, towers, users, weeks
from tests.model.changes import Causes, added_reasons, counterparts_and_ties, removed_reasons
from tests.model.explained import Explained
from tests.model.real import STACKS, dates
from tests.model.real import records as real_records
from tests.model.states import State
from tests.snapshots.changes.cause_records import records
from tests.snapshots.changes.graphs import node, side_of
from tests.snapshots.changes.states import pairs
from tests.snapshots.factories import hash_of
from tests.snapshots.memory import measured

ADDED, REMOVED, CHANGED = SpecChangeKind

Week = tuple[State, State]


def explained(base: Sequence[Spec], head: Sequence[Spec]) -> Explanation:
    """Explain the comparison of two contents."""
    before, after = side_of(base), side_of(head)
    return explain(Comparison(before.frame, after.frame), before.graph, after.graph)


BASE = [
    node("zlib", version="1.2"),
    node("hdf5", "zlib"),
    node("py", "hdf5"),
    node("kept"),
    node("gone"),
    node("moved", stacks=("e4s",)),
]
HEAD = [
    node("zlib:2", version="1.3"),
    node("hdf5:2", "zlib:2", variants=("+mpi",)),
    node("py:2", "hdf5:2"),
    node("kept"),
    node("new"),
    node("moved", stacks=("hep",)),
]


def test_fields_of_counterparts() -> None:
    """Both specs of a pair list the own facts in which they differ."""
    found = explained(BASE, HEAD)
    changes = found.comparison.specs
    fields = changes.fields(found.counterpart_rows(changes))
    values_of = {
        change.hash: {change.path: (change.before, change.after) for change in own}
        for change, own in zip(changes, fields, strict=True)
    }
    version: dict[str, Any] = {"version": ("1.2", "1.3")}
    variants: dict[str, Any] = {"variants": ([], ["+mpi"])}
    assert {name: values_of[hash_of(name)] for name in ("zlib", "hdf5", "py", "gone", "new")} == {
        "zlib": version,
        "hdf5": variants,
        "py": {},
        "gone": {},
        "new": {},
    }
    assert (values_of[hash_of("zlib:2")], values_of[hash_of("hdf5:2")]) == (version, variants)
    assert values_of[hash_of("moved")] == {"stacks": (["e4s"], ["hep"])}


def test_parts_of_the_table() -> None:
    """The answers about some of the changes are those of the whole comparison."""
    found = explained(BASE, HEAD)
    changes = found.comparison.specs
    places = np.arange(len(changes))[::-2].astype(np.int32)
    part = changes.take(places)
    for column in (found.reasons, found.counterpart_rows, found.main_causes, found.head_rows):
        assert (column(part) == column(changes)[places]).all()
    whole, some = found.involved(changes), found.involved(part)
    for number, place in enumerate(places.tolist()):
        one = whole.numbers[whole.offsets[place] : whole.offsets[place + 1]]
        other = some.numbers[some.offsets[number] : some.offsets[number + 1]]
        assert one.tolist() == other.tolist()
    assert len(found.involved(changes.take(places[:0])).numbers) == 0


@FEWER_EXAMPLES
@given(pairs())
def test_columns_agree(contents: tuple[list[Spec], list[Spec]]) -> None:
    """Changes have causes where, and only where, they have a counterpart."""
    found = explained(*contents)
    changes = found.comparison.specs
    paired = found.counterpart_rows(changes) >= 0
    assert ((found.main_causes(changes) >= 0) == paired).all()
    assert ((np.diff(found.involved(changes).offsets) > 0) == paired).all()
    assert np.count_nonzero(paired) == 2 * len(found.counterparts)
    once = found.pairs_once(changes)
    assert len(once) == len(changes) - len(found.counterparts)
    assert not (found.counterpart_rows(once)[once.after < 0] >= 0).any()
    removed = changes.take(changes.after < 0)
    assert len(found.pairs_once(removed)) == len(removed), "of a pair with one side in the list"
    rows = found.without_counterpart()
    added = [change for change, is_pair in zip(changes, paired, strict=True) if not is_pair]
    assert {found.head.frame.hashes.at(row) for row in rows.tolist()} == {
        change.hash for change in added if change.kind is ADDED
    }
    rows = found.head_rows(changes)
    assert sorted(rows[paired].tolist()) == sorted([*found.counterparts.head_rows.tolist()] * 2)


def test_size() -> None:
    """The bytes that an explanation counts are about those that it takes, and not fewer."""
    base: list[Spec] = []
    head: list[Spec] = []
    for number in range(2_000):
        name = f"package-{number % 300}"
        below = [f"{name}:{number - 300}"] if number >= 300 else []
        facts: dict[str, Any] = {"name": name, "version": str(number // 300), "stacks": ("e4s",)}
        base.append(node(f"{name}:{number}", *below, **facts))
        below = [f"{label}:head" for label in below]
        head.append(node(f"{name}:{number}:head", *below, **facts, variants=("+x",)))
    before, after = side_of(base), side_of(head)
    comparison = Comparison(before.frame, after.frame)

    def use(made: Explanation) -> None:
        changes = comparison.specs
        _ = made.reasons(changes), made.main_causes(changes), made.involved(changes)
        _ = records(made.causes)
        made.causes.path(int(made.counterparts.head_rows[-1]))

    found, held = measured(lambda: explain(comparison, before.graph, after.graph), use)
    counted = found.num_bytes - comparison.num_bytes
    counted -= before.graph.num_bytes + after.graph.num_bytes
    assert held <= counted <= 3 * held


@pytest.mark.untraced
@given(weeks())
def test_made_up_weeks(week: Week) -> None:
    """Reasons, counterparts and causes are those of the model."""
    check(*week)


@pytest.mark.untraced
@examples(100)
@given(st.one_of(crowds, users))
def test_many_alike(week: Week) -> None:
    """Counterparts are chosen as in the model where a package has many specs, and users vote."""
    check_reasons(*week)


@pytest.mark.untraced
@examples(25)  # each is a catalog of its own
@given(towers)
def test_far_above(week: Week) -> None:
    """The model agrees where causes lie far below what they rebuilt."""
    check(*week)


def test_real_week() -> None:
    """The model agrees on real indexes."""
    check(*(State(*real_records(date, STACKS)) for date in dates()[-2:]))


def check(base: State, head: State) -> None:
    """Fail where a counterpart, a reason, a cause, its numbers or a path are not the model's."""
    check_causes(base, head, check_reasons(base, head))


def check_reasons(base: State, head: State) -> dict[str, str]:
    """Fail where a counterpart or a reason is not the model's; return the counterparts."""
    returned = frozenset(digest for digest in head.specs if digest < "n")
    found = Explained(base, head, returned)
    expected, ties = counterparts_and_ties(base, head)
    assert found.counterparts(ADDED) == expected
    assert found.ties == ties
    assert found.counterparts(REMOVED) == {before: after for after, before in expected.items()}
    assert found.reasons(ADDED) == added_reasons(base, head, returned)
    assert found.reasons(REMOVED) == removed_reasons(base, head)
    assert set(found.reasons(CHANGED).values()) <= {"facts"}
    return expected


def check_causes(base: State, head: State, pairs: Mapping[str, str]) -> None:
    """Fail where a cause of counterparts, its numbers or a path are not the model's."""
    expected = Causes(base, head, pairs)
    found = Explained(base, head)
    num_specs = Counter(expected.main.values())
    assert found.causes == expected.ordered()
    assert found.num_specs == {cause: num_specs[cause] for cause in expected.ordered()}
    assert found.num_involved == expected.num_involved
    assert found.together == {cause: expected.together(cause) for cause in expected.ordered()}
    assert found.specs(involved=False) == {cause: expected.specs(cause) for cause in found.causes}
    assert found.specs(involved=True) == {
        cause: expected.involved_in(cause) for cause in found.causes
    }
    assert found.packages == {cause: expected.packages(cause) for cause in expected.ordered()}
    assert found.facts == {cause: expected.facts(cause) for cause in expected.ordered()}
    assert found.main == expected.main | {
        pairs[digest]: main for digest, main in expected.main.items()
    }
    for after, before in pairs.items():
        involved = found.involved[after]
        assert involved[0] == expected.main[after]
        assert set(involved) == expected.involved[after]
        assert len(involved) == len(expected.involved[after])
        assert found.involved[before] == involved
        assert expected.is_shortest_path(after, found.paths[after])
    some = [digest for digest in head.specs if digest < "n"]
    assert found.counted(some) == expected.counted(some)
