"""Each added, removed and changed spec has the first reason that applies."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from snapshots.changes.diff import Comparison
from snapshots.changes.explanation import explain
from snapshots.changes.reasons import REASONS, SpecChangeReason
from snapshots.models import Spec
from tests.snapshots.changes.graphs import node, side_of
from tests.snapshots.factories import hash_of

R = SpecChangeReason

MIRRORED = {
    R.NEW_PACKAGE: R.PACKAGE_GONE,
    R.NEW_STACK: R.STACK_GONE,
    R.NEW_VERSION: R.VERSION_GONE,
    R.NEW_TARGET: R.TARGET_GONE,
    R.NEW_BUILD: R.BUILD_GONE,
}


def reasons(
    base: Sequence[Spec], head: Sequence[Spec], returned: Sequence[str] = ()
) -> dict[str, SpecChangeReason]:
    """Return the reason of each change by its hash; ``returned`` are earlier hashes."""
    before, after = side_of(base), side_of(head)
    explanation = explain(Comparison(before.frame, after.frame), before.graph, after.graph)
    texts = explanation.head.frame.hashes.texts
    mask = np.array([text in returned for text in texts], np.bool_)
    changes = explanation.comparison.specs
    codes = explanation.reasons(changes, mask if returned else None).tolist()
    return {change.hash: REASONS[code] for change, code in zip(changes, codes, strict=True)}


def hdf5(label: str, *edges: Any, **facts: Any) -> Spec:
    """Return a spec of hdf5; its label only distinguishes it from others."""
    return node(label, *edges, **{"name": "hdf5", "stacks": ("e4s", "root"), **facts})


UNCHANGED = hdf5("unchanged", version="1", target="zen3")


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"name": "zlib", "stacks": ("hep",), "version": "2"}, R.NEW_PACKAGE),
        ({"stacks": ("hep", "root"), "version": "2"}, R.NEW_STACK),
        ({"stacks": ("hep", "ml", "root")}, R.NEW_STACK),
        ({"stacks": ("e4s", "hep"), "version": "2", "target": "zen4"}, R.NEW_VERSION),
        ({"stacks": ("root",), "version": "2"}, R.NEW_VERSION),
        ({"stacks": (), "version": "2"}, R.NEW_VERSION),
        ({"target": "zen4"}, R.NEW_TARGET),
        ({"platform": "darwin"}, R.NEW_TARGET),
        ({"operating_system": "rhel8"}, R.NEW_TARGET),
        ({"variants": ("+mpi",)}, R.NEW_BUILD),
    ],
)
def test_specs_without_counterpart(facts: dict[str, Any], expected: R) -> None:
    """A spec is new, or removed, for the first fact that the other side does not have."""
    spec = replace(UNCHANGED, hash=hash_of("1"), **facts)
    assert reasons([UNCHANGED], [UNCHANGED, spec]) == {spec.hash: expected}
    assert reasons([UNCHANGED, spec], [UNCHANGED]) == {spec.hash: MIRRORED[expected]}


def test_unlisted_stacks() -> None:
    """If the other side lists no stacks, no spec is of a new or removed stack."""
    bare = replace(UNCHANGED, stacks=("root",))
    spec = hdf5("1", version="2")
    assert reasons([bare], [UNCHANGED, spec]) == {spec.hash: R.NEW_VERSION}
    assert reasons([UNCHANGED, spec], [bare]) == {spec.hash: R.VERSION_GONE}


def test_returned() -> None:
    """A new spec with an earlier hash has returned; removed specs are not looked up."""
    spec, removed = hdf5("1", version="2"), node("zlib", name="zlib")
    returned = [spec.hash, removed.hash]
    assert reasons([UNCHANGED, removed], [UNCHANGED, spec], returned) == {
        spec.hash: R.RETURNED,
        removed.hash: R.PACKAGE_GONE,
    }
    other = hdf5("2", version="3")
    by_hash = reasons([UNCHANGED, removed], [UNCHANGED, spec, other], returned)
    assert by_hash[other.hash] is R.NEW_VERSION
