"""Explanations of any part of a comparison, against the model."""

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
from tests.snapshots.changes.causes import records
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
    node("png"),
    node("gone"),
    node("moved", stacks=("e4s",)),
]
HEAD = [
    node("zlib:2", version="1.3"),
    node("hdf5:2", "zlib:2", variants=("+mpi",)),
    node("py:2", "hdf5:2"),
    node("png"),
    node("new"),
    node("moved", stacks=("hep",)),
]


def test_fields_of_counterparts() -> None:
    """Both specs of a pair list their differing own facts."""
    explanation = explained(BASE, HEAD)
    changes = explanation.comparison.specs
    fields = changes.fields(explanation.counterpart_rows(changes))
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


def test_part_of_the_table() -> None:
    """The columns of some changes are those of the entire comparison."""
    explanation = explained(BASE, HEAD)
    changes = explanation.comparison.specs
    rows = np.arange(len(changes))[::-2].astype(np.int32)
    part = changes.take(rows)
    for name in ("reasons", "counterpart_rows", "main_causes", "head_rows"):
        column = getattr(explanation, name)
        assert (column(part) == column(changes)[rows]).all()
    entire, some = explanation.involved(changes), explanation.involved(part)
    for number, row in enumerate(rows.tolist()):
        one = entire.numbers[entire.offsets[row] : entire.offsets[row + 1]]
        other = some.numbers[some.offsets[number] : some.offsets[number + 1]]
        assert one.tolist() == other.tolist()
    assert len(explanation.involved(changes.take(rows[:0])).numbers) == 0


@FEWER_EXAMPLES
@given(pairs())
def test_columns_agree(contents: tuple[list[Spec], list[Spec]]) -> None:
    """Changes have causes if, and only if, they have a counterpart."""
    explanation = explained(*contents)
    changes = explanation.comparison.specs
    paired = explanation.counterpart_rows(changes) >= 0
    assert ((explanation.main_causes(changes) >= 0) == paired).all()
    assert ((np.diff(explanation.involved(changes).offsets) > 0) == paired).all()
    assert np.count_nonzero(paired) == 2 * len(explanation.counterparts)
    once = explanation.pairs_once(changes)
    assert len(once) == len(changes) - len(explanation.counterparts)
    assert not (explanation.counterpart_rows(once)[once.after < 0] >= 0).any()
    removed = changes.take(changes.after < 0)
    assert len(explanation.pairs_once(removed)) == len(removed)
    rows = explanation.without_counterpart()
    added = [change for change, is_pair in zip(changes, paired, strict=True) if not is_pair]
    assert {explanation.head.frame.hashes.at(row) for row in rows.tolist()} == {
        change.hash for change in added if change.kind is ADDED
    }
    rows = explanation.head_rows(changes)
    head_rows = explanation.counterparts.head_rows.tolist()
    assert sorted(rows[paired].tolist()) == sorted(head_rows * 2)


def test_size() -> None:
    """The estimated size of an explanation is at least the memory that it takes."""
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

    def use(result: Explanation) -> None:
        changes = comparison.specs
        _ = result.reasons(changes), result.main_causes(changes), result.involved(changes)
        _ = records(result.causes)
        result.causes.path(int(result.counterparts.head_rows[-1]))

    explanation, size = measured(lambda: explain(comparison, before.graph, after.graph), use)
    counted = explanation.num_bytes - comparison.num_bytes
    counted -= before.graph.num_bytes + after.graph.num_bytes
    assert size <= counted <= 3 * size


@pytest.mark.untraced
@given(weeks())
def test_drawn_weeks(week: Week) -> None:
    """Reasons, counterparts and causes are those of the model."""
    check(*week)


@pytest.mark.untraced
@examples(100)
@given(st.one_of(crowds, users))
def test_many_specs_of_a_package(week: Week) -> None:
    """The model agrees on packages with many specs, with votes of dependents."""
    check_reasons(*week)


@pytest.mark.untraced
@examples(25)  # each is a catalog of its own
@given(towers)
def test_deep_dependencies(week: Week) -> None:
    """The model agrees on causes far below the specs that they rebuilt."""
    check(*week)


def test_real_week() -> None:
    """The model agrees on real indexes."""
    check(*(State(*real_records(date, STACKS)) for date in dates()[-2:]))


def check(base: State, head: State) -> None:
    """Assert that counterparts, reasons, causes, numbers and paths are the model's."""
    check_causes(base, head, check_reasons(base, head))


def check_reasons(base: State, head: State) -> dict[str, str]:
    """Assert that counterparts and reasons are the model's; return the counterparts."""
    returned = frozenset(digest for digest in head.specs if digest < "n")
    week = Explained(base, head, returned)
    expected, ties = counterparts_and_ties(base, head)
    assert week.counterparts(ADDED) == expected
    assert week.ties == ties
    assert week.counterparts(REMOVED) == {before: after for after, before in expected.items()}
    assert week.reasons(ADDED) == added_reasons(base, head, returned)
    assert week.reasons(REMOVED) == removed_reasons(base, head)
    assert set(week.reasons(CHANGED).values()) <= {"facts"}
    return expected


def check_causes(base: State, head: State, pairs: Mapping[str, str]) -> None:
    """Assert that the causes of counterparts, their numbers and paths are the model's."""
    expected = Causes(base, head, pairs)
    week = Explained(base, head)
    num_specs = Counter(expected.main.values())
    assert week.causes == expected.ordered()
    assert week.num_specs == {cause: num_specs[cause] for cause in week.causes}
    assert week.num_involved == expected.num_involved
    assert week.together == {cause: expected.together(cause) for cause in week.causes}
    assert week.specs(involved=False) == {cause: expected.specs(cause) for cause in week.causes}
    assert week.specs(involved=True) == {
        cause: expected.involved_in(cause) for cause in week.causes
    }
    assert week.packages == {cause: expected.packages(cause) for cause in week.causes}
    assert week.facts == {cause: expected.facts(cause) for cause in week.causes}
    assert week.main == expected.main | {
        pairs[digest]: main for digest, main in expected.main.items()
    }
    for after, before in pairs.items():
        involved = week.involved[after]
        assert involved[0] == expected.main[after]
        assert set(involved) == expected.involved[after]
        assert len(involved) == len(expected.involved[after])
        assert week.involved[before] == involved
        assert expected.is_shortest_path(after, week.paths[after])
    some = [digest for digest in head.specs if digest < "n"]
    assert week.counted(some) == expected.counted(some)
