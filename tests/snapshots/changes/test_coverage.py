"""Coverage: lost and gained cells, beside a plain way over records, and what is nearest."""

from collections import Counter
from collections.abc import Iterable, Sequence
from random import Random

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from snapshots.changes import coverage as coverage_module
from snapshots.changes.coverage import (
    CoverageChange,
    CoverageChangeKind,
    CoverageDimension,
    coverage,
    usual_dimensions,
)
from snapshots.changes.diff import Comparison
from snapshots.frames.filters import SpecFilter
from snapshots.frames.frame import Frame
from snapshots.models import Spec
from snapshots.spack.names import natural_key
from snapshots.spack.notation import compiler_key
from snapshots.spack.versions import version_key
from tests.model import cells as oracle
from tests.model.builds import weeks
from tests.model.explained import compared
from tests.model.real import STACKS, dates, records
from tests.model.states import State
from tests.snapshots.changes.states import compare, pairs
from tests.snapshots.factories import a_spec, hash_of, shuffled
from tests.snapshots.records import frame_of

STACK, TARGET, OPERATING_SYSTEM, PLATFORM, COMPILER, COMPILER_NAME, VERSION = CoverageDimension
LOST, GAINED = CoverageChangeKind
DIMENSIONS = st.lists(st.sampled_from(CoverageDimension), max_size=8)

Cell = tuple[str, tuple[str, ...]]


def values_of(spec: Spec, dimension: CoverageDimension) -> list[str]:
    """Return the values of a spec for a dimension."""
    match dimension:
        case CoverageDimension.STACK:
            return [stack for stack in spec.stacks if stack != "root"]
        case CoverageDimension.COMPILER_NAME:
            return [spec.compiler.partition("@")[0]] if spec.compiler else []
    value = getattr(spec, dimension.value)
    return [] if value is None else [value]


def cells_of(spec: Spec, dimensions: Sequence[CoverageDimension]) -> list[Cell]:
    """Return the cells that a spec stands in: one a stack, where that is a dimension."""
    stacks = values_of(spec, STACK) if STACK in dimensions else [""]
    found = []
    for stack in stacks:
        values = [[stack] if it is STACK else values_of(spec, it) for it in dimensions]
        if all(values):
            found.append((spec.name, tuple(value for (value,) in values)))
    return found


def is_told(specs: Sequence[Spec], dimension: CoverageDimension) -> bool:
    """Tell whether a source tells a dimension, or has nothing to tell it of."""
    return not specs or any(values_of(spec, dimension) for spec in specs)


def counted(specs: Iterable[Spec], dimensions: Sequence[CoverageDimension]) -> Counter[Cell]:
    """Return how many specs stand in each cell."""
    return Counter(cell for spec in specs for cell in cells_of(spec, dimensions))


def order_of(cell: Cell, dimensions: Sequence[CoverageDimension]) -> object:
    """Return the sort key of a cell."""
    name, values = cell
    keys: list[object] = [(natural_key(name), name)]
    for dimension, value in zip(dimensions, values, strict=True):
        if dimension is VERSION:
            keys.append((version_key(value), value))
        else:
            natural = natural_key(value), value
            keys.append(compiler_key(value) if dimension is COMPILER else natural)
    return keys


def expected(
    base: Sequence[Spec], head: Sequence[Spec], dimensions: Sequence[CoverageDimension]
) -> list[tuple[CoverageChangeKind, str, tuple[str, ...], int]]:
    """Return the cells that only one side has, by records and dictionaries."""
    if not all(is_told(specs, it) for specs in (base, head) for it in dimensions):
        return []
    before, after = counted(base, dimensions), counted(head, dimensions)
    found = [(cell, LOST, before[cell]) for cell in before.keys() - after.keys()]
    found += [(cell, GAINED, after[cell]) for cell in after.keys() - before.keys()]
    found.sort(key=lambda it: order_of(it[0], dimensions))  # type: ignore[arg-type,return-value]
    return [(kind, name, values, count) for (name, values), kind, count in found]


def told(changes: Iterable[CoverageChange]) -> list[tuple[object, ...]]:
    """Return what cells say, without what is nearest to them."""
    return [(it.kind, it.package, it.values, it.num_specs) for it in changes]


@given(pairs(), DIMENSIONS)
@example(([], []), [])
def test_cells_are_those_of_the_records(
    states: tuple[list[Spec], list[Spec]], dimensions: list[CoverageDimension]
) -> None:
    """Any choice of dimensions, in any order, one named twice too, or none at all."""
    assert told(coverage(compare(*states), dimensions)) == expected(*states, dimensions)


@given(pairs(), DIMENSIONS, st.integers(1, 40))
def test_cells_of_many_values(
    states: tuple[list[Spec], list[Spec]], dimensions: list[CoverageDimension], most: int
) -> None:
    """Where the combinations are too many to be marked one by one, they are numbered first."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(coverage_module, "_MOST_MARKED", most)
        assert told(coverage(compare(*states), dimensions)) == expected(*states, dimensions)


@given(pairs(), DIMENSIONS)
def test_backwards(
    states: tuple[list[Spec], list[Spec]], dimensions: list[CoverageDimension]
) -> None:
    """What is lost on the way there is gained on the way back, and the order is the same."""
    there, back = (coverage(compare(*it), dimensions) for it in (states, states[::-1]))
    swapped = {LOST: GAINED, GAINED: LOST}
    assert told(there) == [
        (swapped[it.kind], *facts[1:]) for it, facts in zip(back, told(back), strict=True)
    ]


@given(pairs(), DIMENSIONS, st.integers(-3, 9), st.integers(-3, 9))
def test_a_table_is_a_list_of_records(
    states: tuple[list[Spec], list[Spec]],
    dimensions: list[CoverageDimension],
    start: int,
    stop: int,
) -> None:
    """Slices, places, counts, kinds and names are those of the list of all records."""
    table = coverage(compare(*states), dimensions)
    records = list(table)
    assert len(table) == len(records)
    assert list(table[start:stop]) == records[start:stop]
    assert [table.count(kind) for kind in CoverageChangeKind] == [
        sum(it.kind is kind for it in records) for kind in CoverageChangeKind
    ]
    for kinds in ([], [LOST], [GAINED], [GAINED, LOST]):
        assert list(table.select(kinds)) == [it for it in records if it.kind in kinds]
    assert list(table.select(search="LIB1")) == [
        it for it in records if "lib1" in it.package.lower()
    ]
    for place, record in enumerate(records):
        assert table.find(record.package, record.values) == place
        assert (
            table.select([record.kind], record.package).find(record.package, record.values)
            is not None
        )
        assert table.find(record.package, [*record.values, "more"]) is None
        assert table.find("nope", record.values) is None
        if record.values:
            assert table.find(record.package, ["nope", *record.values[1:]]) is None


BASE = [
    a_spec("1", stacks=("e4s", "hep", "root"), target="m1"),
    a_spec("2", stacks=("e4s", "root"), target="m1", compiler=None),
    a_spec("3", name="lib10", stacks=("root",), target="zen4"),
    a_spec("4", name="lib2", stacks=("hep", "root"), target="zen4", version="1.10"),
]
HEAD = [
    a_spec("1", stacks=("hep", "root"), target="m1"),
    a_spec("5", stacks=("hep", "root"), target="m1", compiler="gcc@13.1.0"),
    a_spec("6", name="lib10", stacks=("e4s", "root"), target="zen4"),
    a_spec("7", name="lib2", stacks=("hep",), target="zen4", version="1.9"),
    a_spec("8", name="lib2", stacks=("hep",), target="zen4", version="1.9", variants=()),
]
CASES: dict[str, tuple[list[CoverageDimension], list[tuple[object, ...]]]] = {
    "a spec that left a stack; one that root alone had came into a stack": (
        [STACK],
        [(LOST, "hdf5", ("e4s",), 2), (GAINED, "lib10", ("e4s",), 1)],
    ),
    "two dimensions": (
        [TARGET, STACK],
        [(LOST, "hdf5", ("m1", "e4s"), 2), (GAINED, "lib10", ("zen4", "e4s"), 1)],
    ),
    "versions stand in Spack's order; two specs in a cell": (
        [VERSION],
        [(GAINED, "lib2", ("1.9",), 2), (LOST, "lib2", ("1.10",), 1)],
    ),
    "a spec without a compiler has no cell of compilers": (
        [COMPILER],
        [(GAINED, "hdf5", ("gcc@13.1.0",), 1)],
    ),
    "a compiler's name alone": ([COMPILER_NAME], []),
    "packages alone": ([], []),
}


@pytest.mark.parametrize("case", CASES)
def test_cases(case: str) -> None:
    """What a release manager is told, whatever the order of the specs."""
    dimensions, cells_told = CASES[case]
    for base, head in ((BASE, HEAD), (shuffled(BASE), shuffled(HEAD))):
        assert told(coverage(compare(base, head), dimensions)) == cells_told


def test_packages_that_come_and_go() -> None:
    """Without dimensions a cell is a package; one side without specs lost or gained them all."""
    assert told(coverage(compare(BASE, []), [])) == [
        (LOST, "hdf5", (), 2),
        (LOST, "lib2", (), 1),
        (LOST, "lib10", (), 1),
    ]
    assert coverage(compare([], BASE), [COMPILER, STACK]).count(GAINED) == 3


@pytest.mark.parametrize(
    ("dimension", "facts"), [(COMPILER, {"compiler": None}), (STACK, {"stacks": ("root",)})]
)
def test_what_a_side_does_not_tell_is_not_counted(
    dimension: CoverageDimension, facts: dict[str, object]
) -> None:
    """Where a source states no compilers, or no stacks, none of them was lost or gained."""
    without = [replace(spec, **facts) for spec in BASE]
    assert not coverage(compare(BASE, without), [dimension])
    assert not coverage(compare(without, BASE), [TARGET, dimension])
    assert told(coverage(compare([*BASE, a_spec("9", target="m2")], without), [TARGET])) == [
        (LOST, "hdf5", ("m2",), 1)
    ]


def test_usual_dimensions() -> None:
    """Places are counted by stack and target, by target alone where a source tells no stacks."""
    without = [replace(spec, stacks=("root",)) for spec in BASE]
    assert usual_dimensions(compare(BASE, HEAD)) == [STACK, TARGET]
    assert usual_dimensions(compare(BASE, [])) == [STACK, TARGET]
    for sides in ((BASE, without), (without, HEAD), (without, without)):
        assert usual_dimensions(compare(*sides)) == [TARGET]


def test_scope() -> None:
    """Masks choose what counts on each side by itself; a narrowed comparison has both sides."""
    comparison = compare(BASE, HEAD)
    in_e4s = SpecFilter(stacks=("e4s",))
    masks = comparison.base.select(in_e4s), comparison.head.select(in_e4s)
    assert told(coverage(comparison, [TARGET], masks)) == [
        (LOST, "hdf5", ("m1",), 2),
        (GAINED, "lib10", ("zen4",), 1),
    ]
    narrowed = comparison.narrowed(in_e4s)
    assert told(coverage(narrowed, [TARGET])) == [(GAINED, "lib10", ("zen4",), 1)]
    nothing = np.zeros(len(BASE), np.bool_), np.zeros(len(HEAD), np.bool_)
    assert not coverage(comparison, [TARGET, STACK], nothing)


def test_the_nearest_are_of_the_whole_head() -> None:
    """What is outside the scope may be the nearest that is left."""
    comparison = compare(BASE, HEAD)
    masks = comparison.base.in_stack("e4s"), comparison.head.in_stack("e4s")
    (lost,) = coverage(comparison, [TARGET], masks).select([LOST])
    assert {comparison.head.hashes.at(row) for row in lost.nearest} == {
        spec.hash for spec in HEAD[:2]
    }


def test_a_dimension_costs_once() -> None:
    """To name a dimension a thousand times takes no more memory than to name it once."""
    base = [a_spec(str(number), name=f"p{number}", target=f"t{number}") for number in range(2_000)]
    comparison = compare(base, [])
    once, often = (coverage(comparison, [TARGET, STACK] * times) for times in (1, 1_000))
    assert often.num_bytes == once.num_bytes
    assert often[0].values == ("t0", "e4s") * 1_000
    assert often.find("p0", often[0].values) == 0
    assert often.find("p0", once[0].values) is None


@pytest.mark.untraced
def test_many_stacks_times_many_others() -> None:
    """The cells of a spec are as many as its stacks, not all that there could be."""
    random = Random(1)
    stacks = tuple(sorted(f"stack{number}" for number in range(300)))
    base = [
        a_spec(
            str(number),
            name=f"p{number % 40}",
            version=f"{number}.{random.randrange(9)}",
            target=f"t{number % 50}",
            operating_system=f"os{number % 70}",
            compiler=f"gcc@{number}",
            stacks=(stacks[number % 300], stacks[number % 7], "root"),
        )
        for number in range(2_000)
    ]
    head = [replace(spec, target="t0") if row % 3 else spec for row, spec in enumerate(base)]
    table = coverage(Comparison(frame_of(base), frame_of(head)), [*CoverageDimension])
    assert told(table) == expected(base, head, [*CoverageDimension])
    assert table.num_bytes < 60 * len(table) + 100_000


@given(pairs(), DIMENSIONS)
def test_cells_of_one_side(
    states: tuple[list[Spec], list[Spec]], dimensions: list[CoverageDimension]
) -> None:
    """The cells that some rows of a frame stand in, with their numbers, in the same order."""
    distinct = [*dict.fromkeys(dimensions)]
    specs, frame = states[1], frame_of(states[1])
    for package in frame.packages:
        rows = np.arange(len(frame), dtype=np.int32)[frame.rows_of(package)]
        found = coverage_module.cells_of(frame, rows, distinct)
        told_cells = [
            (
                frame.packages[code],
                tuple(values[it] for values, it in zip(found.values, own, strict=True)),
            )
            for code, own in zip(found.packages.tolist(), found.codes.T.tolist(), strict=True)
        ]
        numbers = counted((spec for spec in specs if spec.name == package), distinct)
        assert told_cells == sorted(numbers, key=lambda it: order_of(it, distinct))  # type: ignore[arg-type,return-value]
        assert found.num_specs.tolist() == [numbers[cell] for cell in told_cells]


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


def expected_nearest(
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
            assert found == expected_nearest(*states, dimensions, change.package, change.values)


WAS = a_spec("was", target="m1", compiler="gcc@13.2.0", version="1.14.5")
NEAR, FAR = a_spec("near", target="m1"), a_spec("far", target="zen4")
NEAREST_CASES = {
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


@pytest.mark.parametrize("case", NEAREST_CASES)
def test_what_decides(case: str) -> None:
    """Each rule where the rules before it decide nothing, whatever the order of the specs."""
    dimensions, near, far = NEAREST_CASES[case]
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


ANY_DIMENSIONS = st.lists(st.sampled_from(CoverageDimension), max_size=4)


@given(weeks(), ANY_DIMENSIONS)
def test_made_up_weeks(week: tuple[State, State], dimensions: list[CoverageDimension]) -> None:
    """Cells, their order, their numbers and what is nearest agree, for any choice of dimensions."""
    assert_agreement(*week, dimensions)


@pytest.mark.parametrize("stacks", [*([it] for it in STACKS), STACKS])
@pytest.mark.parametrize("names", ["", "stack target", "version", "compiler_name operating_system"])
def test_real_weeks(stacks: Sequence[str], names: str) -> None:
    """So they do on real indexes, in both directions."""
    dimensions = [CoverageDimension(name) for name in names.split()]
    before, after = (State(*records(date, stacks)) for date in dates()[-2:])
    assert_agreement(before, after, dimensions)
    assert_agreement(after, before, dimensions)


def assert_agreement(base: State, head: State, dimensions: Sequence[CoverageDimension]) -> None:
    """Fail where a cell is not as the oracle has it."""
    expected = oracle.coverage(base, head, [it.value for it in dimensions])
    comparison = compared(base, head)
    found = coverage(comparison, dimensions)
    assert [as_oracle(it, comparison.head) for it in found] == expected


def as_oracle(change: CoverageChange, head: Frame) -> oracle.CellChange:
    """Return a change in the oracle's terms."""
    return oracle.CellChange(
        change.kind is CoverageChangeKind.LOST,
        oracle.Cell(change.package, change.values),
        change.num_specs,
        tuple(map(head.hashes.at, change.nearest)),
    )
