"""Requested specs that a content has, and the nearest specs to the others."""

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


def request_of(spec: Spec, *, is_root: bool = False, **facts: Any) -> ConcreteSpec:
    """Return a request for a spec; ``facts`` replace those that it has."""
    return ConcreteSpec(**{name: getattr(spec, name) for name in FACTS} | facts, is_root=is_root)


def look_up(requests: Sequence[ConcreteSpec], specs: Sequence[Spec]) -> Lookup:
    """Look up requested specs in a content."""
    return Lookup(RequestedSpecs(requests), frame_of(specs))


def test_roots_and_dependencies() -> None:
    """Roots come first; a hash listed twice counts once, as a root if it is one anywhere."""
    specs = [a_spec("a"), a_spec("b", name="zlib")]
    requests = [
        request_of(a_spec("b", name="zlib")),
        request_of(a_spec("c")),
        request_of(a_spec("a")),
        request_of(a_spec("a"), is_root=True),
        request_of(a_spec("d", name="zlib"), is_root=True),
    ]
    lookup = look_up(requests, specs)
    assert (len(lookup.requested), lookup.requested.num_roots) == (4, 2)
    assert (lookup.num_found, lookup.num_roots_found) == (2, 1)
    assert [lookup.frame.hashes.at(row) for row in lookup.found] == [hash_of("a"), hash_of("b")]
    missing = [lookup.requested.specs[index] for index in lookup.missing]
    assert [(spec.hash, spec.is_root) for spec in missing] == [
        (hash_of("d"), True),
        (hash_of("c"), False),
    ]
    assert [spec.is_root for spec in lookup.requested.specs] == [True, True, False, False]


def test_differences() -> None:
    """Differences are in the order of the facts, in JSON form, without unlisted facts."""
    request = request_of(full_spec("request"), version="1.14.4", variants=("~mpi",))
    lookup = look_up([request], [a_spec("a", compiler=None)])
    assert lookup.differences(0) == [
        FieldChange("version", "1.14.4", "1.14.5"),
        FieldChange("variants", ["~mpi"], ["+mpi", "~cxx"]),
        FieldChange("compiler", "gcc@13.2.0", None),
    ]
    assert look_up([request_of(full_spec("b"))], [full_spec("a")]).differences(0) == []


def _nearest_by_definition(request: ConcreteSpec, specs: Sequence[Spec]) -> str | None:
    """Find the nearest spec record by record, as defined."""

    def is_alike(name: str, spec: Spec) -> bool:
        return getattr(request, name) is not None and getattr(request, name) == getattr(spec, name)

    def key(spec: Spec) -> tuple[Any, ...]:
        versions = {spec.version for spec in specs if spec.name == request.name} | {request.version}
        distance, share = 0, 1.0
        if request.version is not None:
            in_order = sorted(
                (version for version in versions if version),
                key=lambda version: (version_key(version), version),
            )
            distance = abs(in_order.index(request.version) - in_order.index(spec.version))
        if request.variants is not None:
            ours, theirs = set(request.variants), set(spec.variants)
            share = len(ours & theirs) / len(ours | theirs) if ours | theirs else 1.0
        name = (request.compiler or "").partition("@")[0]
        return (
            *(is_alike(fact, spec) for fact in ("platform", "operating_system", "target")),
            -distance,
            share,
            is_alike("compiler", spec),
            bool(name) and name == (spec.compiler or "").partition("@")[0],
            is_alike("package_hash", spec),
            is_alike("namespace", spec),
            (version_key(spec.version), spec.version),
        )

    of_package = [spec for spec in specs if spec.name == request.name]
    if not of_package:
        return None
    best = max(map(key, of_package))
    return min(spec.hash for spec in of_package if key(spec) == best)


@given(specs=SPECS, seed=st.integers(0, 1 << 32), at_once=st.sampled_from([1, 3, 1 << 20]))
def test_nearest_against_the_definition(specs: list[Spec], seed: int, at_once: int) -> None:
    """Columns and records agree, for any number of pairs at a time."""
    random = Random(seed)
    requests = []
    for number in range(6):
        facts = random_facts(random)
        stated: dict[str, Any] = {
            fact: facts[fact] for fact in OWN_COLUMNS if random.random() < 0.7
        }
        name = random.choice(("hdf5", "zlib", "none"))
        requests.append(ConcreteSpec(hash=hash_of(f"w{number}"), name=name, **stated))
    specs = [replace(spec, name=random.choice(("hdf5", "zlib"))) for spec in specs]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("snapshots.changes.lookup.PAIRS_AT_ONCE", at_once)
        lookup = look_up(requests, specs)
        rows = lookup.nearest.tolist()
    assert len(rows) == len(requests)
    for request, row in zip(lookup.requested.specs, rows, strict=True):
        nearest = None if row < 0 else lookup.frame.hashes.at(row)
        assert nearest == _nearest_by_definition(request, specs)
