"""Two sides without common builds, as caches of two machines: counterparts, reasons, causes."""

from collections.abc import Collection
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from snapshots.changes.diff import SpecChangeKind
from snapshots.changes.sides import find_unmatched
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
from tests.snapshots.changes.test_explanation import check
from tests.snapshots.factories import hash_of

HERE = {"target": "zen4", "stacks": ("root",)}
THERE = {"target": "neoverse_v2", "stacks": ("root",)}
ANY = {"target": "x86_64", "stacks": ("root",)}


@pytest.mark.parametrize(
    ("base", "head", "expected"),
    [
        ([HERE], [THERE], {(0, 0)}),
        ([HERE], [HERE], set()),
        ([HERE], [{**HERE, "operating_system": "rhel8"}], {(0, 0)}),
        ([HERE], [{**HERE, "platform": "darwin"}], {(0, 0)}),
        ([HERE, THERE], [THERE], set()),
        ([HERE, ANY], [ANY, THERE], {(0, 1)}),
        ([{**HERE, "stacks": ("e4s",)}], [{**THERE, "stacks": ("e4s", "hep")}], set()),
        ([{**HERE, "stacks": ("e4s", "root")}], [{**THERE, "stacks": ("hep", "root")}], {(0, 0)}),
        ([{**HERE, "stacks": ()}], [{**THERE, "stacks": ("e4s",)}], {(0, 0)}),
        ([], [THERE], set()),
    ],
)
def test_separate_specs(
    base: list[dict[str, object]], head: list[dict[str, object]], expected: set[tuple[int, int]]
) -> None:
    """Specs whose architecture one side alone has, and with no common stack except root."""
    states = [
        [node(f"{side} {number}", name="a", **facts) for number, facts in enumerate(specs)]
        for side, specs in enumerate((base, head))
    ]
    before, after = map(side_of, states)
    is_apart = changes.Apart(*map(State, states))
    every = set(product(range(len(base)), range(len(head))))
    assert {at for at in every if is_apart(states[0][at[0]], states[1][at[1]])} == expected
    masks, turned = find_unmatched(before, after), find_unmatched(after, before)
    assert (masks is None) == (turned is None) == (not expected)
    if masks and turned:
        rows = [
            np.array([side.frame.hashes.texts.index(spec.hash) for spec in specs])
            for side, specs in zip((before, after), states, strict=True)
        ]
        ours, theirs = (mask[of] for mask, of in zip(masks, rows, strict=True))
        assert {(i, j) for i, j in every if ours[i] and theirs[j]} == expected
        assert all((one == other).all() for one, other in zip(masks, turned[::-1], strict=True))


def moved(state: State, generic: Collection[str] = ()) -> State:
    """Return a state as another machine builds it: the same builds, with other hashes.

    Generic packages have the same target on both.
    """

    def there(spec: Spec) -> Spec:
        edges = spec.dependencies
        return replace(
            spec,
            hash=hash_of(f"moved {spec.hash}"),
            target=spec.target if spec.name in generic else f"{spec.target}_there",
            stacks=tuple(stack if stack == "root" else f"{stack}-there" for stack in spec.stacks),
            dependencies=edges
            and tuple(replace(edge, hash=hash_of(f"moved {edge.hash}")) for edge in edges),
        )

    inside = [there(spec) for spec in state.specs.values()]
    outside = [there(spec) for key, spec in state.nodes.items() if key not in state.specs]
    return State(inside, outside)


GENERIC = st.sets(st.sampled_from(("a", "b", "gcc", "mpich")), max_size=2)


@FEWER_EXAMPLES
@given(st.one_of(weeks(), users), GENERIC)
def test_two_machines(week: tuple[State, State], generic: set[str]) -> None:
    """Specs of one machine have counterparts on the other, as in the model."""
    check(week[0], moved(week[1], generic))


ARCHITECTURE = Cause(
    Kind.ARCHITECTURE, None, "linux-ubuntu22.04-zen4", "linux-ubuntu22.04-zen4_there"
)


def test_architecture_as_a_cause() -> None:
    """It is involved in all specs, and the main cause of those without another."""
    machine = {"target": "zen4", "operating_system": "ubuntu22.04", "platform": "linux"}
    zlib, xz = node("zlib", version="1.2", **machine), node("xz", **machine)
    app = node("app", edge("zlib"), edge("xz"), **machine)
    tool = node("tool", edge("xz"), **machine)
    base = State([zlib, xz, app, tool])
    head = moved(State([replace(zlib, version="1.3"), xz, app, tool]))
    explained = Explained(base, head)
    version = Cause(Kind.VERSION, "zlib", "1.2", "1.3")
    assert explained.num_specs == {ARCHITECTURE: 2, version: 2}
    assert explained.num_involved == {ARCHITECTURE: 3, version: 2}
    reasons = explained.reasons(SpecChangeKind.ADDED)
    assert sorted(reasons.values()) == ["rebuilt", "rebuilt", "rebuilt", "replaces"]


def test_real_stacks() -> None:
    """Each stack is built for one machine; common packages have counterparts."""
    base, head = (State(*real_records(dates()[-1], [stack])) for stack in STACKS[1:])
    check(base, head)
    before, after = ({spec.name for spec in state.specs.values()} for state in (base, head))
    common = before & after
    paired = counterparts(base, head)
    assert {head.specs[digest].name for digest in paired} == common
    assert len(common) > 50
