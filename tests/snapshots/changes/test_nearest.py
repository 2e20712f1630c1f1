"""What is nearest to a lost cell: beside a plain way over records, and case by case."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from msgspec.structs import replace

from snapshots.changes.coverage import CoverageChangeKind, CoverageDimension, coverage
from snapshots.models import Spec
from snapshots.spack.versions import version_key
from tests.snapshots.changes.states import compare, pairs
from tests.snapshots.changes.test_coverage import DIMENSIONS, cells_of, values_of
from tests.snapshots.factories import a_spec, hash_of, shuffled

STACK, TARGET, OPERATING_SYSTEM, PLATFORM, COMPILER, COMPILER_NAME, VERSION = CoverageDimension
FACTS = ("version", "compiler", "platform", "operating_system", "target", "variants", "stacks")


def facts_alike(spec: Spec, cell: Sequence[Spec], dimensions: Sequence[CoverageDimension]) -> int:
    """Return how many facts that are no dimensions a spec has as some spec of a cell has them."""
    chosen = {"stacks" if it is STACK else it.value for it in dimensions}
    count = 0
    for name in FACTS:
        if name == "stacks":
            alike = any({*spec.stacks} & {*other.stacks} - {"root"} for other in cell)
        else:
            value = getattr(spec, name)
            alike = value is not None and any(getattr(other, name) == value for other in cell)
        count += alike and name not in chosen
    return count


def expected(
    base: Sequence[Spec],
    head: Sequence[Spec],
    dimensions: Sequence[CoverageDimension],
    package: str,
    values: Sequence[str],
) -> list[str]:
    """Return the hashes of the nearest specs, by records."""
    cell = [it for it in base if (package, tuple(values)) in cells_of(it, dimensions)]
    left = sorted((it for it in head if it.name == package), key=lambda it: it.hash)
    left.sort(key=lambda it: (version_key(it.version), it.version), reverse=True)
    left.sort(key=lambda it: -facts_alike(it, cell, dimensions))
    left.sort(
        key=lambda it: (
            -sum(
                value in values_of(it, dimension)
                for dimension, value in zip(dimensions, values, strict=True)
            )
        )
    )
    return [it.hash for it in left[:3]]


def nearest(
    base: Sequence[Spec], head: Sequence[Spec], dimensions: Sequence[CoverageDimension]
) -> list[list[str]]:
    """Return the hashes of what is nearest to each lost cell."""
    comparison = compare(base, head)
    table = coverage(comparison, dimensions).select([CoverageChangeKind.LOST])
    return [[comparison.head.hashes.at(row) for row in it.nearest] for it in table]


@given(pairs(), DIMENSIONS)
def test_nearest_are_those_of_the_records(
    states: tuple[list[Spec], list[Spec]], dimensions: list[CoverageDimension]
) -> None:
    """Most equal values, most facts alike, the newest version, the hash; nothing for a gain."""
    comparison = compare(*states)
    for change in coverage(comparison, dimensions):
        found = [comparison.head.hashes.at(row) for row in change.nearest]
        if change.kind is CoverageChangeKind.GAINED:
            assert found == []
        else:
            assert found == expected(*states, dimensions, change.package, change.values)


WAS = a_spec("was", target="m1", compiler="gcc@13.2.0", version="1.14.5")
NEAR, FAR = a_spec("near", target="m1"), a_spec("far", target="zen4")
CASES = {
    "more values of the cell": (
        [TARGET, COMPILER],
        replace(NEAR, compiler="gcc@12.1.0"),
        replace(FAR, compiler="clang@17.0.6"),
    ),
    "the same compiler, where any version counts": (
        [COMPILER_NAME, STACK, TARGET],
        replace(FAR, compiler="gcc@9.1.0", stacks=("hep",)),
        replace(FAR, hash=NEAR.hash, compiler="clang@17.0.6", stacks=("hep",)),
    ),
    "as many values, but more other facts": (
        [TARGET],
        replace(NEAR, target="zen4"),
        replace(FAR, variants=("~mpi",)),
    ),
    "a stack in common": ([TARGET], replace(NEAR, target="zen4"), replace(FAR, stacks=("root",))),
    "all else equal, the newer version": (
        [TARGET],
        replace(NEAR, target="zen4", version="1.14.10"),
        replace(FAR, version="1.14.9"),
    ),
    "all else equal, the lower hash": (
        [TARGET],
        replace(NEAR, hash=hash_of("x"), target="zen4"),
        replace(FAR, hash="z" * 32),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_decides(case: str) -> None:
    """Each rule where the rules before it decide nothing, whatever the order of the specs."""
    dimensions, near, far = CASES[case]
    for head in ([near, far], [far, near]):
        (found,) = nearest([WAS], head, dimensions)
        assert found == [near.hash, far.hash]


def test_three_are_enough_for_a_package_of_many_equal_specs() -> None:
    """Of 5,000 specs that are alike in all facts the lowest hashes are named."""
    head = shuffled([a_spec(str(number), target="zen4") for number in range(5_000)])
    (found,) = nearest([WAS], head, [TARGET, STACK])
    assert found == sorted(spec.hash for spec in head)[:3]


def test_nothing_is_near_to_a_package_that_is_gone() -> None:
    """Other packages are never named."""
    assert nearest([WAS], [replace(NEAR, name="netcdf-c")], [TARGET]) == [[]]
    assert nearest([WAS], [], []) == [[]]
