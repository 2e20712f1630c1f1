"""Two sides for nothing in common, as caches of two machines are: counterparts, reasons, causes."""

from itertools import permutations

import pytest
from hypothesis import given
from msgspec.structs import replace

from snapshots.changes.diff import SpecChangeKind
from snapshots.changes.sides import are_apart
from snapshots.models import Spec
from tests.expensive import FEWER_EXAMPLES
from tests.model import changes
from tests.model.builds import users, weeks
from tests.model.changes import Cause, Kind, counterparts
from tests.model.explained import Explained
from tests.model.real import STACKS, dates
from tests.model.real import records as real_records
from tests.model.states import State
from tests.snapshots.changes.graphs import edge, node, side_of
from tests.snapshots.changes.test_explanation import assert_same_causes, assert_same_reasons
from tests.snapshots.factories import hash_of

HERE = {"target": "zen4", "stacks": ("root",)}
THERE = {"target": "neoverse_v2", "stacks": ("root",)}


@pytest.mark.parametrize(
    ("base", "head", "expected"),
    [
        ([HERE], [THERE], True),
        ([HERE], [HERE], False),
        ([HERE], [{**HERE, "operating_system": "rhel8"}], True),
        ([HERE], [{**HERE, "platform": "darwin"}], True),
        ([HERE, THERE], [THERE], False),
        ([{**HERE, "stacks": ("e4s",)}], [{**THERE, "stacks": ("e4s", "hep")}], False),
        ([{**HERE, "stacks": ("e4s", "root")}], [{**THERE, "stacks": ("hep", "root")}], True),
        ([{**HERE, "stacks": ()}], [{**THERE, "stacks": ("e4s",)}], True),
        ([], [THERE], True),
    ],
)
def test_what_is_apart(
    base: list[dict[str, object]], head: list[dict[str, object]], expected: bool
) -> None:
    """No architecture is that of both sides, and no stack but root."""
    states = [
        [node(f"{side} {number}", name="a", **facts) for number, facts in enumerate(specs)]
        for side, specs in enumerate((base, head))
    ]
    before, after = map(side_of, states)
    assert are_apart(before, after) == are_apart(after, before) == expected
    assert changes.are_apart(*map(State, states)) == expected


def moved(state: State) -> State:
    """Return a state as another machine has it: the same builds, with other hashes."""

    def there(spec: Spec) -> Spec:
        edges = spec.dependencies
        return replace(
            spec,
            hash=hash_of(f"moved {spec.hash}"),
            target=f"{spec.target}_there",
            stacks=tuple(stack if stack == "root" else f"{stack}-there" for stack in spec.stacks),
            dependencies=edges
            and tuple(replace(it, hash=hash_of(f"moved {it.hash}")) for it in edges),
        )

    inside = [there(spec) for spec in state.specs.values()]
    outside = [there(spec) for key, spec in state.nodes.items() if key not in state.specs]
    return State(inside, outside)


@FEWER_EXAMPLES
@given(weeks())
def test_weeks_on_two_machines(week: tuple[State, State]) -> None:
    """All is as the walk over records has it."""
    base, head = week[0], moved(week[1])
    assert_same_reasons(base, head)
    assert_same_causes(base, head)


@FEWER_EXAMPLES
@given(users)
def test_users_on_two_machines(week: tuple[State, State]) -> None:
    """So it is where candidates are many, and what uses them votes."""
    base, head = week[0], moved(week[1])
    assert_same_reasons(base, head)
    assert_same_causes(base, head)


@FEWER_EXAMPLES
@given(weeks())
def test_the_same_on_two_machines(week: tuple[State, State]) -> None:
    """Every spec has a counterpart."""
    base = week[0]
    head = moved(base)
    assert counterparts(base, head).keys() == head.specs.keys()
    assert set(Explained(base, head).reasons(SpecChangeKind.REMOVED).values()) <= {"replaced"}


ARCHITECTURE = Cause(
    Kind.ARCHITECTURE, None, "linux-ubuntu22.04-zen4", "linux-ubuntu22.04-zen4_there"
)


def test_the_architecture_explains_what_nothing_else_does() -> None:
    """It is one cause for all, involved in all, and the main one of what has no other."""
    machine = {"target": "zen4", "operating_system": "ubuntu22.04", "platform": "linux"}
    zlib, xz = node("zlib", version="1.2", **machine), node("xz", **machine)
    app = node("app", edge("zlib"), edge("xz"), **machine)
    tool = node("tool", edge("xz"), **machine)
    base = State([zlib, xz, app, tool])
    head = moved(State([replace(zlib, version="1.3"), xz, app, tool]))
    told = Explained(base, head)
    version = Cause(Kind.VERSION, "zlib", "1.2", "1.3")
    assert told.num_specs == {ARCHITECTURE: 2, version: 2}
    assert told.num_involved == {ARCHITECTURE: 3, version: 2}
    reasons = told.reasons(SpecChangeKind.ADDED)
    assert sorted(reasons.values()) == ["rebuilt", "rebuilt", "rebuilt", "replaces"]


@pytest.mark.parametrize("date", dates()[-2:])
@pytest.mark.parametrize("stacks", [*permutations(STACKS, 2)], ids=" to ".join)
def test_real_stacks(stacks: tuple[str, str], date: str) -> None:
    """Spack built each for a machine of its own; all that both have has a counterpart."""
    base, head = (State(*real_records(date, [stack])) for stack in stacks)
    assert_same_reasons(base, head)
    assert_same_causes(base, head)
    common = {it.name for it in base.specs.values()} & {it.name for it in head.specs.values()}
    paired = counterparts(base, head)
    assert {head.specs[it].name for it in paired} == common
    assert len(common) > 50
