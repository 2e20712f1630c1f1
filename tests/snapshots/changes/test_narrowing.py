"""A narrowed comparison: everything follows from the specs that meet the conditions."""

from collections.abc import Sequence
from itertools import product

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import asdict

from snapshots.changes.diff import Comparison, SpecChange
from snapshots.changes.stack_changes import StackChangeKind
from snapshots.frames.filters import SpecFilter
from snapshots.models import Spec
from snapshots.notes.summary import summarize
from tests.expensive import FEWER_EXAMPLES
from tests.snapshots.changes.states import compare, pairs, tell_stacks
from tests.snapshots.factories import NAMES, STACKS, TARGETS, VERSIONS, a_spec


def optional(values: Sequence[str]) -> st.SearchStrategy[tuple[str, ...] | None]:
    """Draw some of the values, or None for no condition."""
    return st.none() | st.lists(st.sampled_from(values), max_size=2).map(tuple)


FILTERS = st.builds(
    SpecFilter,
    packages=optional(NAMES),
    stacks=optional(STACKS),
    targets=optional(TARGETS),
    versions=optional(VERSIONS),
)


def meets(spec: Spec, conditions: SpecFilter) -> bool:
    """Tell whether a record meets the conditions of a filter that FILTERS draws."""
    return (
        (conditions.packages is None or spec.name in conditions.packages)
        and (conditions.stacks is None or bool({*spec.stacks} & {*conditions.stacks}))
        and (conditions.targets is None or spec.target in conditions.targets)
        and (conditions.versions is None or spec.version in conditions.versions)
    )


def of_hashes(comparison: Comparison) -> list[tuple[str, str, str]]:
    """Return the changed hashes without their rows, which are those of the frames."""
    return [(change.kind.value, change.name, change.hash) for change in comparison.specs]


def assert_alike(one: Comparison, other: Comparison) -> None:
    """Hold that two comparisons tell the same."""
    assert of_hashes(one) == of_hashes(other)
    assert one.specs.fields() == other.specs.fields()
    assert list(one.packages) == list(other.packages)
    assert list(one.stacks) == list(other.stacks)
    assert asdict(summarize(one)) == asdict(summarize(other))
    assert one.stacks.num_stacks == other.stacks.num_stacks


@given(pairs(), FILTERS)
def test_narrowing_is_comparing_the_specs_that_meet_the_conditions(
    states: tuple[list[Spec], list[Spec]], conditions: SpecFilter
) -> None:
    """As if both contents held nothing else; a hash that both have stays whole.

    But whether a source tells stacks is known from all that it holds.
    """
    hashes = {spec.hash for specs in states for spec in specs if meets(spec, conditions)}
    kept = [[spec for spec in specs if spec.hash in hashes] for specs in states]
    assume(tell_stacks(kept) == tell_stacks(states))
    assert_alike(compare(*states).narrowed(conditions), compare(*kept))


@FEWER_EXAMPLES
@given(pairs(), FILTERS, FILTERS)
def test_narrowing_twice(
    states: tuple[list[Spec], list[Spec]], one: SpecFilter, other: SpecFilter
) -> None:
    """The second time, only what the first left can be met."""
    hashes = {spec.hash for specs in states for spec in specs if meets(spec, one)}
    kept = [[spec for spec in specs if spec.hash in hashes] for specs in states]
    assume(tell_stacks(kept) == tell_stacks(states))
    twice = compare(*states).narrowed(one).narrowed(other)
    assert_alike(twice, compare(*kept).narrowed(other))


@given(pairs(), FILTERS)
def test_the_narrowed_specs_are_those_that_are_selected(
    states: tuple[list[Spec], list[Spec]], conditions: SpecFilter
) -> None:
    """To select of all changes chooses the same ones, with the same rows."""
    comparison = compare(*states)
    selected: list[SpecChange] = list(comparison.select_specs(conditions=conditions))
    assert list(comparison.narrowed(conditions).specs) == selected


@pytest.mark.parametrize(("stack", "size"), [*product(("e4s", "hep"), (None, 5))])
def test_what_is_gone_from_a_stack(stack: str, size: int | None) -> None:
    """A stack that no spec of the package has any more is removed, for this package."""
    others = [a_spec("other", name="zlib", stacks=("e4s", "hep", "root"), size=7)]
    base = [a_spec("1", stacks=(stack, "root"), size=size), *others]
    narrowed = compare(base, others).narrowed(SpecFilter(packages=("hdf5",)))
    (change,) = narrowed.stacks
    assert (change.name, change.kind) == (stack, StackChangeKind.REMOVED)
    assert (change.size_before, change.size_after) == (size, 0)
    summary = summarize(narrowed)
    assert (summary.specs_unchanged, summary.packages_unchanged) == (0, 0)
    assert (summary.total_size_before, summary.total_size_after) == (size, None)
