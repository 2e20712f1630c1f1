"""Frames: selection, order and counts, against a walk over the records."""

from collections.abc import Sequence
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import asdict, replace
from strawberry.utils.str_converters import to_camel_case, to_snake_case

from snapshots.contents import Content
from snapshots.errors import AmbiguousHash
from snapshots.frames.filters import CONDITIONS, SpecFilter
from snapshots.frames.frame import Frame, PackageField, SpecField
from snapshots.models import Spec
from tests.model import listings
from tests.snapshots.factories import (
    COMPILERS,
    NAMES,
    PLATFORMS,
    SPECS,
    STACKS,
    SYSTEMS,
    TARGETS,
    VARIANTS,
    VERSIONS,
    a_spec,
    hash_of,
    seeded,
)
from tests.snapshots.records import frame_of

COMPILER_NAMES = ("gcc", "clang", "none", *filter(None, COMPILERS))


def choice(random: Random, items: Sequence[str]) -> tuple[str, ...] | None:
    """Return no condition, or a list of items, which may be empty or have an unknown item."""
    some = random.choices([*items, "unknown"], k=random.randrange(4))
    return None if random.random() < 0.7 else tuple(some)


def random_filter(random: Random) -> SpecFilter:
    """Return a filter with about three conditions."""
    prefix = hash_of(str(random.randrange(30)))[: random.choice((0, 1, 12, 13, 32))]
    return SpecFilter(
        packages=choice(random, NAMES),
        versions=choice(random, VERSIONS),
        compilers=choice(random, COMPILER_NAMES),
        operating_systems=choice(random, SYSTEMS),
        platforms=choice(random, PLATFORMS),
        targets=choice(random, TARGETS),
        stacks=choice(random, STACKS),
        variants=choice(random, VARIANTS),
        hash_prefix=random.choice((None, None, None, prefix)),
        search=random.choice((None, None, None, "LIB", "")),
    )


FILTERS = seeded(random_filter)


def meets(spec: Spec, conditions: SpecFilter) -> bool:
    """Return whether the spec meets every condition."""
    return listings.matches(
        spec, {to_camel_case(name): value for name, value in asdict(conditions).items()}
    )


@given(SPECS)
def test_rows_are_the_records_in_order(specs: list[Spec]) -> None:
    """Each row is one record with all of its facts but dependencies, from any order."""
    frame = frame_of(specs)
    assert len(frame) == len(specs)
    assert frame.digest == Content.of(specs).digest
    rows = [frame.spec(row) for row in range(len(frame))]
    assert rows == [replace(spec, dependencies=None) for spec in listings.own_order(specs)]


@given(SPECS.filter(bool), st.randoms())
def test_order_of_stored_rows_does_not_matter(specs: list[Spec], random: Random) -> None:
    """A store may return rows in any order and number of chunks; the frame is the same."""
    table = Content.of(specs).table()
    order = random.sample(range(len(specs)), len(specs))
    pieces = [table.slice(row, 1) for row in order]
    frame, other = Frame(table, "d"), Frame(pa.concat_tables(pieces), "d")
    rows = range(len(specs))
    assert [other.spec(row) for row in rows] == [frame.spec(row) for row in rows]


@given(SPECS, FILTERS)
def test_select(specs: list[Spec], conditions: SpecFilter) -> None:
    """One of the listed values matches, all variants are required, and all conditions hold."""
    frame = frame_of(specs)
    mask = frame.select(conditions)
    assert [frame.hashes.at(row) for row in np.flatnonzero(mask).tolist()] == [
        spec.hash for spec in listings.own_order(specs) if meets(spec, conditions)
    ]


@given(SPECS, FILTERS)
def test_select_packages(specs: list[Spec], conditions: SpecFilter) -> None:
    """A package matches by a single spec that meets all conditions."""
    frame = frame_of(specs)
    codes = frame.select_packages(conditions)
    assert [frame.packages[code] for code in codes] == sorted(
        {spec.name for spec in specs if meets(spec, conditions)}
    )


@given(SPECS)
def test_order(specs: list[Spec]) -> None:
    """Rows sort by a field, missing values first, equal ones in the frame's own order."""
    frame = frame_of(specs)
    for field in SpecField:
        order, positions = frame.order(field)
        assert [frame.hashes.at(row) for row in order] == [
            spec.hash for spec in listings.ordered(specs, field.name)
        ]
        assert order[positions].tolist() == list(range(len(specs)))


@given(SPECS)
def test_orders_of_packages(specs: list[Spec]) -> None:
    """Packages of unknown size sort first, equal ones by name."""
    frame = frame_of(specs)
    codes = frame.select_packages(SpecFilter())
    for field in PackageField:
        assert [frame.packages[code] for code in frame.sort_packages(codes, field)] == sorted(
            listings.names(specs), key=lambda name: listings.PACKAGE_ORDERS[field.name](name, specs)
        )


@given(SPECS, FILTERS)
def test_facets(specs: list[Spec], conditions: SpecFilter) -> None:
    """Values are counted over the selected rows, largest first; a missing compiler is no value."""
    frame = frame_of(specs)
    rows = np.flatnonzero(frame.select(conditions)).astype(np.int32)
    facets = listings.facets_json([spec for spec in specs if meets(spec, conditions)])
    for name, values in facets.items():
        fact = to_snake_case(name)
        counts = frame.facet(fact if fact == "stacks" else fact.removesuffix("s"), rows)
        assert [{"value": value, "numSpecs": count} for value, count in counts] == values


# -- spellings of conditions

LABELS = {hash_of(label): label for label in "abcd"}
FRAME = frame_of(
    [
        a_spec("a", name="adios2", compiler=None, variants=()),
        a_spec("b", compiler="gcc@13.2.0", variants=("+mpi", "amdgpu_target=gfx90a", "~cxx")),
        a_spec("c", compiler="gcc@9.4.0", variants=('cflags="-O2 -g"', "patches=26090f4,b231fcc")),
        a_spec("d", compiler="gcc-toolset@13.2.0", variants=("+mpi",), stacks=("hep",)),
    ]
)


@pytest.mark.parametrize(
    ("condition", "labels"),
    [
        # A name is any version of a compiler; a name with a version is that version alone.
        ({"compilers": ("gcc",)}, "bc"),
        ({"compilers": ("gcc@13.2.0",)}, "b"),
        ({"compilers": ("gcc@=13.2.0",)}, "b"),
        ({"compilers": ("gcc@13",)}, ""),
        ({"compilers": ("gcc@9.4.0", "gcc-toolset")}, "cd"),
        ({"compilers": ("none",)}, ""),
        ({"compilers": ("",)}, ""),
        ({"compilers": ()}, ""),
        # All variants are required, in any spelling.
        ({"variants": ("+mpi",)}, "bd"),
        ({"variants": ("+mpi", "~cxx")}, "b"),
        ({"variants": ("-cxx",)}, "b"),
        ({"variants": ("amdgpu_target:=gfx90a",)}, "b"),
        ({"variants": ("patches:=b231fcc,26090f4",)}, "c"),
        ({"variants": ("patches=26090f4",)}, ""),
        ({"variants": ("cflags='-O2 -g'",)}, "c"),
        ({"variants": ("mpi",)}, ""),
        ({"variants": ()}, "abcd"),
        # Hashes are lower case.
        ({"hash_prefix": ""}, "abcd"),
        ({"hash_prefix": hash_of("b")[:1]}, "b"),
        ({"hash_prefix": "A"}, ""),
        ({"hash_prefix": hash_of("e")}, ""),
    ],
)
def test_spellings_of_conditions(condition: dict[str, Any], labels: str) -> None:
    """Compilers, variants and prefixes of hashes match in the spellings of the web API."""
    rows = np.flatnonzero(FRAME.select(SpecFilter(**condition))).tolist()
    assert "".join(sorted(LABELS[FRAME.hashes.at(row)] for row in rows)) == labels


def test_row_of_prefix() -> None:
    """A prefix finds the only hash that begins with it; the error for several names their specs."""
    assert FRAME.row_of_prefix(hash_of("b")[:1]) == FRAME.hashes.find(hash_of("b"))
    assert FRAME.row_of_prefix(hash_of("e")) is None
    with pytest.raises(AmbiguousHash, match=r"'' begins 4 hashes: \w{32}, ") as caught:
        FRAME.row_of_prefix("")
    versions = {hash_of(label): "hdf5@1.14.5" for label in "bcd"}
    assert caught.value.candidates == {hash_of("a"): "adios2@1.14.5", **versions}


def test_all_conditions_are_evaluated() -> None:
    """Each field of a filter of specs has its column."""
    assert {*SpecFilter.__struct_fields__} == {*CONDITIONS, "hash_prefix"}
