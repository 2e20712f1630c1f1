"""Which of the specs that somebody wants are there, and what is nearest to the others."""

from collections.abc import Sequence
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from snapshots.changes.lookup import Lookup, RequestedSpecs
from snapshots.changes.pairings import FieldChange
from snapshots.models import OWN_COLUMNS, ConcreteSpec, Spec
from snapshots.spack.versions import version_key
from tests.snapshots.factories import SPECS, a_spec, full_spec, hash_of, random_facts
from tests.snapshots.records import frame_of

FACTS = [name for name in ConcreteSpec.__struct_fields__ if name != "is_root"]


def wanted_of(spec: Spec, *, is_root: bool = False, **facts: Any) -> ConcreteSpec:
    """Return a wish for a spec; ``facts`` replace those that it has."""
    return ConcreteSpec(**{name: getattr(spec, name) for name in FACTS} | facts, is_root=is_root)


def look_up(wanted: Sequence[ConcreteSpec], there: Sequence[Spec]) -> Lookup:
    """Look specs up among others."""
    return Lookup(RequestedSpecs(wanted), frame_of(there))


def nearest_of(wanted: ConcreteSpec, there: Sequence[Spec]) -> str | None:
    """Return the hash of what is nearest to a spec that is missing."""
    found = look_up([wanted], there)
    (row,) = found.nearest.tolist()
    return None if row < 0 else found.frame.hashes.at(row)


def test_roots_and_dependencies_are_counted_apart() -> None:
    """Roots come first, and a hash that is listed twice counts once, as a root if it is one."""
    there = [a_spec("a"), a_spec("b", name="zlib")]
    wishes = [
        wanted_of(a_spec("b", name="zlib")),
        wanted_of(a_spec("c")),
        wanted_of(a_spec("a")),
        wanted_of(a_spec("a"), is_root=True),
        wanted_of(a_spec("d", name="zlib"), is_root=True),
    ]
    found = look_up(wishes, there)
    assert (len(found.requested), found.requested.num_roots) == (4, 2)
    assert (found.num_found, found.num_roots_found) == (2, 1)
    assert [found.frame.hashes.at(row) for row in found.found] == [hash_of("a"), hash_of("b")]
    missing = [found.requested.specs[place] for place in found.missing]
    assert [(spec.hash, spec.is_root) for spec in missing] == [
        (hash_of("d"), True),
        (hash_of("c"), False),
    ]
    assert [spec.is_root for spec in found.requested.specs] == [True, True, False, False]


def test_empty_sides() -> None:
    """Either can be empty."""
    assert look_up([], [a_spec("a")]).num_found == 0
    found = look_up([wanted_of(a_spec("a"))], [])
    assert (found.num_found, found.nearest.tolist(), found.differences(0)) == (0, [-1], [])


def test_hashes_that_begin_alike() -> None:
    """The whole hash decides, also where the first twelve characters are those of another."""
    there = [a_spec(hash="a" * 32), a_spec(hash="a" * 31 + "b"), a_spec(hash="b" * 32)]
    wishes = [wanted_of(there[1]), wanted_of(there[0]), wanted_of(a_spec(hash="a" * 31 + "c"))]
    found = look_up(wishes, there)
    assert [found.frame.hashes.at(row) for row in found.found] == ["a" * 32, "a" * 31 + "b"]
    assert len(found.missing) == 1


SYSTEM = {"operating_system": "rhel8"}


@pytest.mark.parametrize(
    ("nearer", "farther"),
    [
        # Each step counts more than all that come after it.
        ({"version": "9", "variants": ()}, {"platform": "darwin"}),
        ({"target": "m1", "version": "9"}, SYSTEM),
        ({"version": "9", "variants": ()}, {"target": "m1"}),
        ({"variants": (), "compiler": None}, {"version": "1.14.4"}),
        ({"version": "1.14.4", "variants": ()}, {"version": "1.14.2"}),
        ({"version": "1.14.6", "variants": ()}, {"version": "1.14.8"}),
        ({"compiler": None}, {"variants": ("+mpi",)}),
        ({"variants": ("+mpi", "+x", "~cxx")}, {"variants": ("+mpi",)}),
        ({"compiler": "gcc@9.4.0"}, {"compiler": "clang@16.0.6"}),
        ({"package_hash": "other"}, {"compiler": "gcc@9.4.0"}),
        ({"namespace": "mine"}, {"package_hash": "other"}),
        # Last, the newest version decides, and then the hash.
        ({"version": "1.14.6"}, {"version": "1.14.4"}),
        ({"hash": "a" * 32}, {"hash": "b" * 32}),
    ],
)
def test_what_is_nearer(nearer: dict[str, Any], farther: dict[str, Any]) -> None:
    """Architecture, version, variants, compiler, recipe; whatever the order of the rows."""
    others = [full_spec("x", version=version, **SYSTEM) for version in ("1.14.3", "1.14.7")]
    near, far = full_spec("near", **nearer), full_spec("far", **farther)
    wish = wanted_of(full_spec("wanted"))
    assert nearest_of(wish, [near, far, *others]) == near.hash


def test_unstated_facts_are_not_compared() -> None:
    """It decides nothing, and never differs."""
    wish = ConcreteSpec(hash=hash_of("wanted"), name="hdf5", version="1.14.4")
    there = [
        a_spec("a", version="1.14.5", platform="darwin", variants=()),
        a_spec("b", version="1"),
    ]
    found = look_up([wish], there)
    assert found.frame.hashes.at(found.nearest[0]) == hash_of("a")
    assert found.differences(0) == [FieldChange("version", "1.14.4", "1.14.5")]


def test_what_differs() -> None:
    """In the order of the facts, as JSON has them; what the revision does not know is left out."""
    wish = wanted_of(full_spec("wanted"), version="1.14.4", variants=("~mpi",))
    found = look_up([wish], [a_spec("a", compiler=None)])
    assert found.differences(0) == [
        FieldChange("version", "1.14.4", "1.14.5"),
        FieldChange("variants", ["~mpi"], ["+mpi", "~cxx"]),
        FieldChange("compiler", "gcc@13.2.0", None),
    ]
    assert look_up([wanted_of(full_spec("b"))], [full_spec("a")]).differences(0) == []


def _plainly(wish: ConcreteSpec, there: Sequence[Spec]) -> str | None:
    """Find what is nearest record by record, as the definition says it."""

    def is_alike(name: str, spec: Spec) -> bool:
        return getattr(wish, name) is not None and getattr(wish, name) == getattr(spec, name)

    def key(spec: Spec) -> tuple[Any, ...]:
        versions = {spec.version for spec in there if spec.name == wish.name} | {wish.version}
        apart, share = 0, 1.0
        if wish.version is not None:
            in_order = sorted(
                (version for version in versions if version),
                key=lambda version: (version_key(version), version),
            )
            apart = abs(in_order.index(wish.version) - in_order.index(spec.version))
        if wish.variants is not None:
            ours, theirs = set(wish.variants), set(spec.variants)
            share = len(ours & theirs) / len(ours | theirs) if ours | theirs else 1.0
        name = (wish.compiler or "").partition("@")[0]
        return (
            *(is_alike(fact, spec) for fact in ("platform", "operating_system", "target")),
            -apart,
            share,
            is_alike("compiler", spec),
            bool(name) and name == (spec.compiler or "").partition("@")[0],
            is_alike("package_hash", spec),
            is_alike("namespace", spec),
            (version_key(spec.version), spec.version),
        )

    of_package = [spec for spec in there if spec.name == wish.name]
    if not of_package:
        return None
    best = max(map(key, of_package))
    return min(spec.hash for spec in of_package if key(spec) == best)


@given(there=SPECS, seed=st.integers(0, 1 << 32), at_once=st.sampled_from([1, 3, 1 << 20]))
def test_the_nearest_is_that_of_the_definition(there: list[Spec], seed: int, at_once: int) -> None:
    """Columns and records agree, however many pairs are looked at a time."""
    random = Random(seed)
    wishes = []
    for number in range(6):
        facts = random_facts(random)
        stated: dict[str, Any] = {
            fact: facts[fact] for fact in OWN_COLUMNS if random.random() < 0.7
        }
        name = random.choice(("hdf5", "zlib", "none"))
        wishes.append(ConcreteSpec(hash=hash_of(f"w{number}"), name=name, **stated))
    there = [replace(spec, name=random.choice(("hdf5", "zlib"))) for spec in there]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("snapshots.changes.lookup._PAIRS_AT_ONCE", at_once)
        found = look_up(wishes, there)
        rows = found.nearest.tolist()
    assert len(rows) == len(wishes)
    for wish, row in zip(found.requested.specs, rows, strict=True):
        nearest = None if row < 0 else found.frame.hashes.at(row)
        assert nearest == _plainly(wish, there)
