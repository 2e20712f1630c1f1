"""An explanation answers for any part of a comparison, as a naive walk over records does."""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from snapshots.changes.cause_names import NEITHER, NO_DEPENDENCIES, NO_PACKAGE_HASHES, CauseKind
from snapshots.changes.diff import Comparison, SpecChangeKind
from snapshots.changes.explanation import Explanation, explain
from snapshots.demo import history
from snapshots.models import Spec
from tests.expensive import FEWER_EXAMPLES, examples
from tests.model.builds import crowds, towers, users, weeks
from tests.model.changes import (
    Causes,
    added_reasons,
    counterparts,
    counterparts_and_ties,
    removed_reasons,
)
from tests.model.explained import Explained
from tests.model.real import STACKS, dates
from tests.model.real import records as real_records
from tests.model.states import State
from tests.snapshots.changes.cause_records import records
from tests.snapshots.changes.graphs import node, side_of
from tests.snapshots.changes.states import pairs
from tests.snapshots.factories import hash_of
from tests.snapshots.memory import measured


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


def test_columns() -> None:
    """Each change has its counterpart and its causes, or none."""
    found = explained(BASE, HEAD)
    changes = found.comparison.specs
    frames = found.head.frame, found.base.frame
    names = [cause.package for cause in records(found.causes)]
    counterparts, main = found.counterpart_rows(changes), found.main_causes(changes)
    involved = found.involved(changes)
    told = {}
    for place, change in enumerate(changes):
        row = int(counterparts[place])
        causes = involved.numbers[involved.offsets[place] : involved.offsets[place + 1]].tolist()
        number = int(main[place])
        assert causes[:1] == ([] if number < 0 else [number])
        frame = frames[change.kind is SpecChangeKind.ADDED]
        counterpart = None if row < 0 else frame.hashes.at(row)
        told[change.hash] = counterpart, [names[it] for it in causes]
    hashes = {it: hash_of(it) for it in ("zlib", "hdf5", "py")}
    later = {it: hash_of(f"{it}:2") for it in hashes}
    # zlib is involved in more specs than hdf5, which is so only for itself the main cause.
    causes_of = {"zlib": ["zlib"], "hdf5": ["hdf5", "zlib"], "py": ["zlib", "hdf5"]}
    expected: dict[str, tuple[str | None, list[str]]] = {
        hash_of(it): (None, []) for it in ("gone", "new", "moved")
    }
    for name, causes in causes_of.items():
        expected[hashes[name]] = later[name], causes
        expected[later[name]] = hashes[name], causes
    assert told == expected


def test_fields_of_counterparts() -> None:
    """What took another's place differs from it in facts of its own, on both of its sides."""
    found = explained(BASE, HEAD)
    changes = found.comparison.specs
    fields = changes.fields(found.counterpart_rows(changes))
    told = {
        change.hash: {it.path: (it.before, it.after) for it in own}
        for change, own in zip(changes, fields, strict=True)
    }
    version: dict[str, Any] = {"version": ("1.2", "1.3")}
    variants: dict[str, Any] = {"variants": ([], ["+mpi"])}
    assert {name: told[hash_of(name)] for name in ("zlib", "hdf5", "py", "gone", "new")} == {
        "zlib": version,
        "hdf5": variants,
        "py": {},
        "gone": {},
        "new": {},
    }
    assert (told[hash_of("zlib:2")], told[hash_of("hdf5:2")]) == (version, variants)
    assert told[hash_of("moved")] == {"stacks": (["e4s"], ["hep"])}


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


def test_paths() -> None:
    """The path of a spec leads to its main cause; what has no counterpart has none."""
    found = explained(BASE, HEAD)
    frame = found.head.frame
    row = {name: frame.hashes.find(hash_of(name)) or 0 for name in ("py:2", "zlib:2", "new")}
    assert [step.name for step in found.causes.path(row["zlib:2"])] == ["zlib"]
    assert [step.name for step in found.causes.path(row["py:2"])] == ["py", "hdf5", "zlib"]
    assert found.causes.path(row["new"]) == []
    assert [frame.hashes.at(it) for it in found.without_counterpart().tolist()] == [hash_of("new")]


def test_numbers_add_up() -> None:
    """Each spec with a counterpart has one main cause."""
    found = explained(BASE, HEAD)
    causes = records(found.causes)
    assert sum(cause.num_specs for cause in causes) == len(found.counterparts) == 3
    assert {cause.kind for cause in causes} == {
        CauseKind.VERSION,
        CauseKind.VARIANTS,
    }


def test_what_is_not_known() -> None:
    """What sources do not tell is said; what can be told without it is told."""
    told = [node("a", version="1")], [node("a:2", version="1")]
    no_edges: dict[str, Any] = {"dependencies": None}
    no_hashes: dict[str, Any] = {"package_hash": None}
    facts: dict[str, Any]
    for facts, expected in (
        ({}, None),
        (no_edges, NO_DEPENDENCIES),
        (no_hashes, NO_PACKAGE_HASHES),
        (no_edges | no_hashes, NEITHER),
    ):
        base = [node("a", version="1", **facts)]
        found = explained(base, [node("a:2", version="1", **facts)])
        assert found.why_unknown == expected
        (cause,) = records(found.causes)
        assert cause.kind is CauseKind.UNKNOWN
        assert cause.why_unknown
        (cause,) = records(explained(base, [node("a:2", version="2", **facts)]).causes)
        assert (cause.kind, cause.before, cause.after) == (CauseKind.VERSION, "1", "2")
    assert explained(*told).why_unknown is None
    assert explained([], []).why_unknown is not None


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
        below = [f"{it}:head" for it in below]
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


ADDED, REMOVED, CHANGED = SpecChangeKind

Week = tuple[State, State]


@pytest.mark.untraced
@given(weeks())
def test_reasons(week: Week) -> None:
    """Reasons and counterparts agree, those of specs that had been there before included."""
    assert_same_reasons(*week)


@pytest.mark.untraced
@examples(200)
@given(crowds)
def test_reasons_among_many(week: Week) -> None:
    """So they do where a package has many specs that are much alike."""
    assert_same_reasons(*week)


@pytest.mark.untraced
@examples(200)
@given(users)
def test_reasons_where_many_vote(week: Week) -> None:
    """So they do where what uses many alike ones says which took the place of which."""
    assert_same_reasons(*week)


@pytest.mark.untraced
@given(weeks())
def test_causes(week: Week) -> None:
    """So do causes, their order and numbers, those of each spec, and the paths to them."""
    assert_same_causes(*week)


@pytest.mark.untraced
@examples(50)  # each is a catalog of its own
@given(towers)
def test_far_above(week: Week) -> None:
    """So does everything where causes lie far below what they rebuilt."""
    assert_same_reasons(*week)
    assert_same_causes(*week)


def test_demo() -> None:
    """So does everything on what the demo shows, week by week."""
    snapshots = history(revisions=4, packages=40, specs=200)
    contents = [snapshot.content for snapshot in snapshots]
    states = [State(content.specs(), content.outside.specs) for content in contents]
    for base, head in pairwise(states):
        assert_same_reasons(base, head)
        assert_same_causes(base, head)


@pytest.mark.parametrize("stacks", [*([it] for it in STACKS), STACKS])
def test_real_weeks(stacks: Sequence[str]) -> None:
    """So does everything on real indexes, in both directions."""
    before, after = (State(*real_records(date, stacks)) for date in dates()[-2:])
    for base, head in ((before, after), (after, before)):
        assert_same_reasons(base, head)
        assert_same_causes(base, head)


def assert_same_reasons(base: State, head: State) -> None:
    """Fail where a counterpart or a reason is not as the oracle has it."""
    returned = frozenset(digest for digest in head.specs if digest < "n")
    found = Explained(base, head, returned)
    expected, ties = counterparts_and_ties(base, head)
    assert found.counterparts(ADDED) == expected
    assert found.ties == ties
    assert found.counterparts(REMOVED) == {before: after for after, before in expected.items()}
    assert found.reasons(ADDED) == added_reasons(base, head, returned)
    assert found.reasons(REMOVED) == removed_reasons(base, head)
    assert set(found.reasons(CHANGED).values()) <= {"facts"}


def assert_same_causes(base: State, head: State) -> None:
    """Fail where a cause, its numbers or a path are not as the oracle has them."""
    pairs = counterparts(base, head)
    expected = Causes(base, head, pairs)
    found = Explained(base, head)
    num_specs = Counter(expected.main.values())
    assert found.causes == expected.ordered()
    assert found.num_specs == {it: num_specs[it] for it in expected.ordered()}
    assert found.num_involved == expected.num_involved
    assert found.together == {it: expected.together(it) for it in expected.ordered()}
    assert found.specs(involved=False) == {it: expected.specs(it) for it in found.causes}
    assert found.specs(involved=True) == {it: expected.involved_in(it) for it in found.causes}
    assert found.packages == {it: expected.packages(it) for it in expected.ordered()}
    assert found.facts == {it: expected.facts(it) for it in expected.ordered()}
    assert found.main == expected.main | {pairs[it]: main for it, main in expected.main.items()}
    for after, before in pairs.items():
        involved = found.involved[after]
        assert involved[0] == expected.main[after]
        assert set(involved) == expected.involved[after]
        assert len(involved) == len(expected.involved[after])
        assert found.involved[before] == involved
        assert expected.is_shortest_path(after, found.paths[after])
    some = [digest for digest in head.specs if digest < "n"]
    assert found.counted(some) == expected.counted(some)
