"""Pairs of contents, and their comparisons."""

from collections.abc import Sequence
from random import Random

from hypothesis import strategies as st
from msgspec.structs import replace

from snapshots.changes.diff import Comparison
from snapshots.frames.filters import SpecFilter
from snapshots.models import Spec
from tests.snapshots.factories import SPECS, random_facts
from tests.snapshots.records import frame_of


def compare(base: Sequence[Spec], head: Sequence[Spec]) -> Comparison:
    """Compare two contents."""
    return Comparison(frame_of(base), frame_of(head))


def narrowed(comparison: Comparison, conditions: SpecFilter) -> Comparison:
    """Return the comparison of the specs that match the conditions, before or after."""
    masks = comparison.base.select(conditions), comparison.head.select(conditions)
    return comparison.narrowed_to(*masks)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[list[Spec], list[Spec]]:
    """Draw two contents that share hashes, some of them with other facts."""
    base, head = draw(SPECS), draw(SPECS)
    random = Random(draw(st.integers(0, 1 << 32)))
    hashes = {spec.hash for spec in head}
    for spec in base:
        if spec.hash not in hashes and random.random() < 0.7:
            facts = random_facts(random)
            changed = random.sample(sorted(facts), random.choice((0, 0, 1, 2)))
            head.append(replace(spec, **{name: facts[name] for name in changed}))
    return base, head


def state_stacks(states: Sequence[Sequence[Spec]]) -> bool:
    """Return whether each state without stacks other than root has no specs."""
    return all(not specs or any({*spec.stacks} - {"root"} for spec in specs) for specs in states)
