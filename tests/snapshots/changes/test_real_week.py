"""What became of real indexes within a real week, and what the recipes' own history says of it."""

from collections.abc import Iterable

import pytest

from snapshots.changes.diff import SpecChangeKind
from snapshots.changes.reasons import SpecChangeReason
from tests.model.changes import Cause, Kind
from tests.model.explained import Explained
from tests.model.real import STACKS, history, records
from tests.model.states import State

BEFORE, AFTER = "2026-06-20", "2026-06-27"

EXPAT = Cause(Kind.VERSION, "expat", "2.8.1", "2.8.2")
GETTEXT = Cause(Kind.RECIPE, "gettext")

NUM_INVOLVED = {
    "developer-tools": {
        GETTEXT: 73,
        EXPAT: 48,
        Cause(Kind.RECIPE, "go-bootstrap"): 6,
        Cause(Kind.VERSION, "bfs", "4.1.2", "4.1.3"): 1,
        Cause(Kind.RECIPE, "py-fprettify"): 1,
    },
    "e4s": {
        GETTEXT: 112,
        EXPAT: 95,
        Cause(Kind.VERSION, "intel-tbb", "2023.0.0", "2022.3.0"): 2,
        Cause(Kind.RECIPE, "lammps"): 1,
        Cause(Kind.VERSION, "py-scipy", "1.17.1", "1.18.0"): 1,
        Cause(Kind.RECIPE, "raja"): 1,
        Cause(Kind.VERSION, "tau", "2.35.1", "2.35.2"): 1,
    },
    "ml-linux-aarch64-cpu": {
        GETTEXT: 202,
        EXPAT: 190,
        Cause(Kind.VERSION, "py-scipy", "1.17.1", "1.18.0"): 13,
        Cause(Kind.VERSION, "py-torch", "2.12.0", "2.12.1"): 7,
        Cause(Kind.VERSION, "py-torchvision", "0.27.0", "0.27.1"): 2,
    },
}
"""What changed itself, and how many specs hang on it, itself among them."""

NUM_REPLACED = {"developer-tools": 75, "e4s": 116, "ml-linux-aarch64-cpu": 203}
"""How many specs of a stack have another hash, each of them with a counterpart."""


def the_week(stacks: Iterable[str]) -> Explained:
    """Return the explanation of the week."""
    stacks = list(stacks)
    return Explained(State(*records(BEFORE, stacks)), State(*records(AFTER, stacks)))


FORMAT = Cause(Kind.FORMAT, None, "5", "6")


@pytest.mark.parametrize("stack", STACKS)
def test_another_format_is_one_cause(stack: str) -> None:
    """Where a Spack of another format concretizes the same, that explains every spec."""
    base, head = (State(*records(AFTER, [stack], in_format_6=it)) for it in (False, True))
    changed = head.specs.keys() - base.specs.keys()
    explained = Explained(base, head)
    assert len(changed) > 150
    assert explained.num_specs == explained.num_involved == {FORMAT: len(changed)}
    reasons = explained.reasons(SpecChangeKind.ADDED)
    assert reasons == dict.fromkeys(changed, SpecChangeReason.REBUILT.value)


@pytest.mark.parametrize("stack", STACKS)
def test_what_changes_beside_the_format(stack: str) -> None:
    """It keeps its causes, main ones too; the format explains the specs that they do not."""
    base, head = State(*records(BEFORE, [stack])), State(*records(AFTER, [stack], in_format_6=True))
    explained = Explained(base, head)
    num_involved = explained.num_involved
    num_changed = len(head.specs.keys() - base.specs.keys())
    assert num_involved.pop(FORMAT) > 150
    assert num_involved == NUM_INVOLVED[stack]
    num_specs = explained.num_specs
    assert num_specs[FORMAT] == num_changed - NUM_REPLACED[stack]
    assert sum(num_specs.values()) == num_changed


@pytest.mark.parametrize("stack", STACKS)
def test_causes(stack: str) -> None:
    """Nodes that changed by themselves are the causes; each spec with another hash has one."""
    week = the_week([stack])
    assert week.num_involved == NUM_INVOLVED[stack]
    assert sum(week.num_specs.values()) == NUM_REPLACED[stack]
    assert len(week.counterparts(SpecChangeKind.ADDED)) == NUM_REPLACED[stack]
    assert set(week.reasons(SpecChangeKind.ADDED).values()) == {"rebuilt", "replaces"}
    assert set(week.reasons(SpecChangeKind.REMOVED).values()) == {"replaced"}
    lines = (history() / AFTER / "recipes.txt").read_text().splitlines()
    changed_in_git = {line.split()[1] for line in lines if line.startswith("recipe ")}
    assert changed_in_git >= {it.package for it in week.causes if it.kind is Kind.RECIPE} != set()


def test_all_stacks_together() -> None:
    """A cause that three stacks share is one, with the numbers of all; no spec is counted twice."""
    week = the_week(STACKS)
    expected: dict[Cause, int] = {}
    for of_stack in NUM_INVOLVED.values():
        for cause, number in of_stack.items():
            expected[cause] = expected.get(cause, 0) + number
    assert week.num_involved == expected
    assert sum(week.num_specs.values()) == sum(NUM_REPLACED.values())
    assert week.causes[0] == GETTEXT


def test_builds_over_two_libraries() -> None:
    """Two builds of fftw, over openmpi and over mpich, do not take each other's place."""
    base, head = (State(*records(date, ["e4s"])) for date in (BEFORE, AFTER))
    names: list[set[str]] = []
    for after, before in Explained(base, head).counterparts(SpecChangeKind.ADDED).items():
        if head.specs[after].name == "fftw":
            sides = base.specs[before].dependencies, head.specs[after].dependencies
            ours, theirs = ({edge.name for edge in edges or ()} for edges in sides)
            assert ours == theirs
            names.append(ours & {"mpich", "openmpi"})
    assert sorted(map(sorted, names)) == [["mpich"], ["openmpi"]]
