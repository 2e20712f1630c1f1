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
    """Return the reason of each change by its hash; some hashes were there before."""
    before, after = side_of(base), side_of(head)
    explanation = explain(Comparison(before.frame, after.frame), before.graph, after.graph)
    texts = explanation.head.frame.hashes.texts
    mask = np.array([text in returned for text in texts], np.bool_)
    changes = explanation.comparison.specs
    codes = explanation.reasons(changes, mask if returned else None).tolist()
    return {change.hash: REASONS[code] for change, code in zip(changes, codes, strict=True)}


def hdf5(label: str, *edges: Any, **facts: Any) -> Spec:
    """Return an hdf5 by a label that only tells it from others."""
    return node(label, *edges, **{"name": "hdf5", "stacks": ("e4s", "root"), **facts})


KEPT = hdf5("kept", version="1", target="zen3")


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
def test_what_the_other_side_lacks(facts: dict[str, Any], expected: R) -> None:
    """A spec without a counterpart is new, or gone, for what base, or head, does not have."""
    spec = replace(KEPT, hash=hash_of("1"), **facts)
    assert reasons([KEPT], [KEPT, spec]) == {spec.hash: expected}
    assert reasons([KEPT, spec], [KEPT]) == {spec.hash: MIRRORED[expected]}


def test_stacks_that_the_other_side_does_not_state() -> None:
    """A spec is of no new stack, and none is gone, where the other side states none."""
    bare = replace(KEPT, stacks=("root",))
    spec = hdf5("1", version="2")
    assert reasons([bare], [KEPT, spec]) == {spec.hash: R.NEW_VERSION}
    assert reasons([KEPT, spec], [bare]) == {spec.hash: R.VERSION_GONE}


def test_returned() -> None:
    """What was there earlier has returned, where it would be new; what is gone is not looked up."""
    spec, gone = hdf5("1", version="2"), node("zlib", name="zlib")
    returned = [spec.hash, gone.hash]
    assert reasons([KEPT, gone], [KEPT, spec], returned) == {
        spec.hash: R.RETURNED,
        gone.hash: R.PACKAGE_GONE,
    }
    other = hdf5("2", version="3")
    found = reasons([KEPT, gone], [KEPT, spec, other], returned)
    assert found[other.hash] is R.NEW_VERSION
