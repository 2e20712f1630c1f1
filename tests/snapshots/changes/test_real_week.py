"""Changes of real indexes within a week, and the commits of their recipes."""

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
    GETTEXT: 387,
    EXPAT: 333,
    Cause(Kind.VERSION, "py-scipy", "1.17.1", "1.18.0"): 14,
    Cause(Kind.VERSION, "py-torch", "2.12.0", "2.12.1"): 7,
    Cause(Kind.RECIPE, "go-bootstrap"): 6,
    Cause(Kind.VERSION, "intel-tbb", "2023.0.0", "2022.3.0"): 2,
    Cause(Kind.VERSION, "py-torchvision", "0.27.0", "0.27.1"): 2,
    Cause(Kind.VERSION, "bfs", "4.1.2", "4.1.3"): 1,
    Cause(Kind.RECIPE, "lammps"): 1,
    Cause(Kind.RECIPE, "py-fprettify"): 1,
    Cause(Kind.RECIPE, "raja"): 1,
    Cause(Kind.VERSION, "tau", "2.35.1", "2.35.2"): 1,
}
"""What changed itself, and how many specs of all stacks hang on it, itself among them."""

NUM_REPLACED = 394
"""How many specs have another hash, each of them with a counterpart."""


FORMAT = Cause(Kind.FORMAT, None, "5", "6")


def test_another_format_is_one_cause() -> None:
    """A new format of specs alone explains every spec."""
    base, head = (
        State(*records(AFTER, STACKS[:1], in_format_6=is_new)) for is_new in (False, True)
    )
    changed = head.specs.keys() - base.specs.keys()
    explained = Explained(base, head)
    assert len(changed) > 150
    assert explained.num_specs == explained.num_involved == {FORMAT: len(changed)}
    reasons = explained.reasons(SpecChangeKind.ADDED)
    assert reasons == dict.fromkeys(changed, SpecChangeReason.REBUILT.value)


def test_causes_besides_the_format() -> None:
    """Other causes remain, main ones too; the format explains the remaining specs."""
    base, head = State(*records(BEFORE, STACKS)), State(*records(AFTER, STACKS, in_format_6=True))
    explained = Explained(base, head)
    num_involved = explained.num_involved
    num_changed = len(head.specs.keys() - base.specs.keys())
    assert num_involved.pop(FORMAT) > 450
    assert num_involved == NUM_INVOLVED
    num_specs = explained.num_specs
    assert num_specs[FORMAT] == num_changed - NUM_REPLACED
    assert sum(num_specs.values()) == num_changed


def test_causes() -> None:
    """Nodes with own changes are the causes; each spec with another hash has one.

    A cause in three stacks is one cause, and no spec is counted twice.
    """
    base, head = (State(*records(date, STACKS)) for date in (BEFORE, AFTER))
    week = Explained(base, head)
    assert week.num_involved == NUM_INVOLVED
    assert week.causes[0] == GETTEXT
    assert sum(week.num_specs.values()) == NUM_REPLACED
    assert len(week.counterparts(SpecChangeKind.ADDED)) == NUM_REPLACED
    assert set(week.reasons(SpecChangeKind.ADDED).values()) == {"rebuilt", "replaces"}
    assert set(week.reasons(SpecChangeKind.REMOVED).values()) == {"replaced"}
    lines = (history() / AFTER / "recipes.txt").read_text().splitlines()
    changed_in_git = {line.split()[1] for line in lines if line.startswith("recipe ")}
    assert (
        changed_in_git
        >= {cause.package for cause in week.causes if cause.kind is Kind.RECIPE}
        != set()
    )


def test_builds_over_two_libraries() -> None:
    """Two builds of fftw, over openmpi and over mpich, keep their counterparts."""
    base, head = (State(*records(date, ["e4s"])) for date in (BEFORE, AFTER))
    names: list[set[str]] = []
    for after, before in Explained(base, head).counterparts(SpecChangeKind.ADDED).items():
        if head.specs[after].name == "fftw":
            sides = base.specs[before].dependencies, head.specs[after].dependencies
            ours, theirs = ({edge.name for edge in edges or ()} for edges in sides)
            assert ours == theirs
            names.append(ours & {"mpich", "openmpi"})
    assert sorted(map(sorted, names)) == [["mpich"], ["openmpi"]]
