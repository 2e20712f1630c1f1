"""Plans of real and of drawn weeks, against the model and sets of records."""

from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from snapshots.changes.diff import SpecChangeKind
from snapshots.changes.plans import Plan, StackLock
from snapshots.changes.reasons import REASONS
from snapshots.contents import Content
from snapshots.models import Spec
from snapshots.sources import lock_files
from tests.expensive import FEWER_EXAMPLES
from tests.model.builds import weeks
from tests.model.explained import Explained
from tests.model.real import STACKS, dates, history, records
from tests.model.states import State
from tests.snapshots.factories import a_spec

# -- real weeks


def lock_of(date: str, stack: str) -> StackLock:
    """Return the specs of a real lock file."""
    content = lock_files.read(str(history() / date / stack / "spack.lock")).content
    return StackLock(stack, [*content.specs()], content.outside.specs)


def test_plan_of_a_published_week() -> None:
    """A plan of all stacks equals the comparison of the two revisions."""
    before, after = dates()
    rows = Content.of(*records(before, STACKS)).table()
    plan = Plan("", rows, [lock_of(after, stack) for stack in STACKS])
    base, head = (State(*records(date, STACKS)) for date in (before, after))
    published = Explained(base, head)
    assert reasons_of(plan) == published.reasons(SpecChangeKind.ADDED)
    assert [change.name for change in plan.downgrades] == ["intel-tbb"]
    assert plan.size_label == "101-500"


def reasons_of(plan: Plan) -> dict[str, str]:
    """Return the reason to build each spec."""
    texts, codes = plan.head.frame.hashes.texts, plan.explanation.reasoning.of_head
    return {texts[row]: REASONS[codes[row]].value for row in plan.to_build.tolist()}


# -- generated ones


def narrowed(base: State, stacks: set[str], hashes: set[str]) -> State:
    """Return the specs of base in these stacks, or with these hashes."""
    if not base.stacks:
        return base
    inside = {
        digest: replace(spec, stacks=tuple(stack for stack in spec.stacks if stack in stacks))
        for digest, spec in base.specs.items()
        if stacks & {*spec.stacks} or digest in hashes
    }
    outside = [spec for digest, spec in base.nodes.items() if digest not in inside]
    return State(inside.values(), outside)


@FEWER_EXAMPLES
@given(weeks(), st.sets(st.sampled_from(("e4s", "hep", "ml", "root")), min_size=1))
def test_against_dictionaries(week: tuple[State, State], names: set[str]) -> None:
    """The reasons are those of the stacks alone; specs of other stacks are found by hash."""
    base, head = week
    stacks = sorted(base.stacks | names)[:2]
    outside = [spec for digest, spec in head.nodes.items() if digest not in head.specs]
    locks = [
        StackLock(
            stack,
            [spec for index, spec in enumerate(head.specs.values()) if (index + number) % 3],
            outside,
        )
        for number, stack in enumerate(stacks)
    ]
    plan = Plan(
        "",
        Content.of(
            base.specs.values(),
            [spec for digest, spec in base.nodes.items() if digest not in base.specs],
        ).table(),
        locks,
    )
    planned: dict[str, Any] = {}
    for lock in locks:
        for spec in lock.specs:
            own = planned.get(spec.hash, replace(spec, stacks=()))
            planned[spec.hash] = replace(own, stacks=tuple(sorted((*own.stacks, lock.stack))))
    to_build = planned.keys() - base.specs.keys()
    assert (plan.num_specs, plan.num_reused) == (len(planned), len(planned) - len(to_build))
    assert plan.num_external == len({spec.hash for spec in outside})
    assert {*reasons_of(plan)} == to_build
    assert plan.unknown_stacks() == [
        name for name in stacks if base.stacks and name not in base.stacks
    ]
    for of_stack, lock in zip(plan.of_stacks(), locks, strict=True):
        own = {spec.hash for spec in lock.specs}
        assert of_stack.num_specs == len(own)
        assert of_stack.num_to_build == len(own & to_build)
        assert of_stack.num_reused == len(own - to_build)
        num_paired = of_stack.num_rebuilt + of_stack.num_replaced
        assert num_paired + of_stack.num_new == of_stack.num_to_build
        assert sum(cause.num_specs for cause in of_stack.causes) == num_paired
    expected = Explained(
        narrowed(base, {*stacks}, {*planned}), State(planned.values(), outside)
    ).reasons(SpecChangeKind.ADDED)
    assert reasons_of(plan) == expected


# -- by example


def plan_of(base: Sequence[Spec], specs: Sequence[Spec]) -> Plan:
    """Return the plan of one stack, e4s, over a revision of some specs."""
    return Plan("", Content.of(base).table(), [StackLock("e4s", specs)])


def test_a_hash_in_another_stack_is_reused() -> None:
    """A hash of another stack counts for the new one; that stack is not compared."""
    zlib, hdf5 = a_spec("1", name="zlib", stacks=("hep",)), a_spec("2", stacks=("hep",))
    plan = plan_of([zlib, hdf5], [replace(zlib, stacks=())])
    (of_stack,) = plan.of_stacks()
    assert (of_stack.num_reused, of_stack.num_to_build, of_stack.num_gone) == (1, 0, 0)
    assert len(plan.comparison.pairing.removed) == 0
    assert plan.unknown_stacks() == ["e4s"]
    assert plan.size_label == "0"
