"""What holds for the causes of any two contents, circles and absent nodes included."""

from itertools import pairwise
from random import Random

import numpy as np
from hypothesis import given

from snapshots.changes.cause_names import CauseKind
from snapshots.changes.causes import Causes, find_causes
from snapshots.changes.own_facts import differing_facts
from snapshots.changes.sides import Side, frame_row
from snapshots.contents import Content
from snapshots.frames.columns import Rows
from snapshots.frames.dependencies import DependencyGraph
from snapshots.frames.frame import Frame
from snapshots.models import Dependency
from tests.expensive import FEWER_EXAMPLES
from tests.snapshots.changes.cause_records import records
from tests.snapshots.changes.finding import all_rows
from tests.snapshots.changes.graphs import node
from tests.snapshots.factories import seeded, shuffled, some_of

Drawn = tuple[Side, Side, Rows, Rows]


def random_side(random: Random, label: str) -> Content:
    """Return specs of few packages that depend on each other, on others, and twice on one."""
    size = random.randrange(1, 12)
    labels = [f"p{it % 4}:{it}{label}" for it in range(size)]
    labels += [f"p{it}:same" for it in range(2)] + [f"gone:{label}", f"out:{label}"]

    def facts() -> dict[str, object]:
        return {
            "version": random.choice("1112"),
            "package_hash": random.choice(("r" * 56, "r" * 56, "s" * 56, None)),
            "variants": random.choice(((), (), ("+x",))),
            "dependencies": None if random.random() < 0.1 else tuple(map(edge, range(number()))),
        }

    def number() -> int:
        return random.choice((0, 1, 1, 2, 3))

    def edge(_: int) -> Dependency:
        end = random.choice(labels)
        types = random.choice((("link",), ("build", "link")))
        return Dependency(end.partition(":")[0], node(end).hash, types, some_of(random, ("v",)))

    specs = [node(it, **facts()) for it in labels[:-2]]
    return Content.of(specs, [node(labels[-1], **facts())] if random.random() < 0.7 else [])


def side_of(content: Content) -> Side:
    """Return the side of a content, whose table the graph reads in another order."""
    table = content.table()
    frame = Frame(table, content.digest)
    return Side(frame, DependencyGraph(table.take(shuffled(range(len(table)))), frame.hashes))


def random_comparison(random: Random) -> Drawn:
    """Return two sides, and some pairs of rows of one package with different hashes."""
    base, head = (side_of(random_side(random, label)) for label in "ab")
    pairs: list[tuple[int, int]] = []
    for package in set(base.frame.packages).intersection(head.frame.packages):
        ours, theirs = (
            [
                row
                for row in range(len(it.frame))
                if it.frame.package.at(row) == package
                and (other.frame.hashes.find(it.frame.hashes.at(row)) is None)
            ]
            for it, other in ((base, head), (head, base))
        )
        random.shuffle(theirs)
        pairs += zip(ours, theirs, strict=False)
    rows = np.array(sorted(pairs), np.int32).reshape(-1, 2)
    return base, head, rows[:, 0], rows[:, 1]


COMPARISONS = seeded(random_comparison)


def causes_of(drawn: Drawn) -> Causes:
    """Return the causes of a comparison."""
    return find_causes(*drawn, differing_facts(*drawn))


_WITHOUT_FACTS = (CauseKind.EXTERNAL, CauseKind.FORMAT, CauseKind.UNKNOWN)


@FEWER_EXAMPLES
@given(COMPARISONS)
def test_numbers(drawn: Drawn) -> None:
    """The main numbers add up to the counterparts, and all numbers lead to their rows."""
    head, rows = drawn[1], drawn[3]
    causes = causes_of(drawn)
    assert sum(it.num_specs for it in records(causes)) == len(rows)
    mains = causes.main_of(all_rows(head))
    assert (mains >= 0).tolist() == [row in rows for row in range(len(head.frame))]
    for number, cause in enumerate(records(causes)):
        own, involved = causes.rows_of(number), causes.rows_of(number, involved=True)
        assert (len(own), len(involved)) == (cause.num_specs, cause.num_involved)
        assert own.tolist() == np.flatnonzero(mains == number).tolist()
        assert set(own.tolist()) <= set(involved.tolist()) <= set(rows.tolist())
        assert cause.num_involved > 0
        assert set(cause.packages) == {head.frame.package.at(row) for row in own}
        assert causes.find(cause.key) == number
        assert (cause.why_unknown is not None) == (cause.kind is CauseKind.UNKNOWN)
        for other in cause.together:
            assert causes.rows_of(other, involved=True).tolist() == involved.tolist()
    offsets, numbers = causes.involved_in(rows)
    for row, of_row in zip(rows.tolist(), np.split(numbers, offsets[1:-1]), strict=False):
        assert of_row[0] == mains[row]
        assert of_row[1:].tolist() == sorted(set(of_row.tolist()) - {of_row[0]})
        assert all(row in causes.rows_of(it, involved=True) for it in of_row.tolist())
    counted = [(it.num_specs, it.num_involved) for it in records(causes)]
    assert [it[1:] for it in causes.counted(rows)] == counted


@FEWER_EXAMPLES
@given(COMPARISONS)
def test_paths(drawn: Drawn) -> None:
    """Each step of a path is a dependency on both sides, and its end has the cause."""
    base, head = drawn[:2]
    causes = causes_of(drawn)
    for old, new in zip(*(it.tolist() for it in drawn[2:]), strict=True):
        path = causes.path(new)
        assert path[0][1:] == (old, new)
        nodes = [(step.base_node or 0, step.head_node or 0) for step in path]
        for (name, *_), (before, after) in zip(path, nodes, strict=True):
            for side, number in ((base, before), (head, after)):
                frame, row = frame_row(side, number)
                assert frame.package.at(row) == name
        for above, below in pairwise(nodes):
            for side, source, target in zip((base, head), above, below, strict=True):
                graph = side.graph
                assert target in graph.targets[graph.sources == source]
        cause = causes.name_of(int(causes.main_of(np.array([new], np.int32))[0]))
        assert cause.package in (path[-1].name, None)
        has_facts = differing_facts(base, head, *np.array(nodes[-1:]).T).any()
        assert has_facts == (cause.kind not in _WITHOUT_FACTS)


@FEWER_EXAMPLES
@given(COMPARISONS)
def test_order_of_rows(drawn: Drawn) -> None:
    """In what order the counterparts are given makes no difference."""
    base, head, ours, theirs = drawn
    order = np.array(shuffled(range(len(ours))), np.int64)
    causes, again = causes_of(drawn), causes_of((base, head, ours[order], theirs[order]))
    assert records(causes) == records(again)
    rows = all_rows(head)
    assert causes.main_of(rows).tolist() == again.main_of(rows).tolist()
    assert causes.paths(rows) == again.paths(rows)
