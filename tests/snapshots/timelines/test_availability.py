"""Since when specs of a package for a target, in a stack or of a version are there, or gone."""

from typing import Any

import pytest

from snapshots.changes import kept_changes
from snapshots.changes.coverage import CoverageDimension
from snapshots.timelines import availability
from snapshots.timelines.availability import PackageCells, is_current
from tests.snapshots.factories import a_spec
from tests.snapshots.timelines.pasts import a_past

VERSION, TARGET, STACK = (
    CoverageDimension.VERSION,
    CoverageDimension.TARGET,
    CoverageDimension.STACK,
)
ARM = a_spec("arm", target="neoverse_v1", stacks=("e4s-arm", "root"))
OLD_ARM = a_spec("old", target="neoverse_v1", version="1.12.0", stacks=("e4s-arm",))
X86 = a_spec("x86", stacks=("e4s", "ml", "root"))
X86_LESS = a_spec("x86", stacks=("e4s", "root"))
X86_ALONE = a_spec("x86", stacks=("root",))
OTHER = a_spec("other", name="zlib", target="a64fx", stacks=("hep",))
PAST = a_past(
    ("develop", 1, [X86]),
    ("develop", 2, [X86, ARM, OLD_ARM, OTHER]),
    ("develop", 3, [X86_LESS, ARM, OTHER]),
    ("develop", 4, [X86_ALONE]),
    ("develop", 5, [X86_ALONE, ARM, OTHER]),
    ("v1.0", 6, [OLD_ARM]),
)


def cells() -> PackageCells:
    """Return those of hdf5; that its rows are read twice makes no difference."""
    table = PAST.comparisons()
    return PackageCells([table, table], "hdf5", PAST.history)


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ({}, [(1, 5, 2, None, {})]),
        ({TARGET: "neoverse_v1"}, [(2, 3, 1, 4, {"target_gone": 1}), (5, 5, 1, None, {})]),
        ({VERSION: "1.12.0"}, [(2, 2, 1, 3, {"version_gone": 1})]),
        ({STACK: "e4s"}, [(1, 3, 1, 5, {})]),
        ({STACK: "ml"}, [(1, 2, 1, 3, {"facts": 1})]),
        ({STACK: "e4s-arm"}, [(2, 5, 1, None, {})]),
        ({STACK: "root"}, []),
        ({TARGET: "a64fx"}, []),
        ({TARGET: "neoverse_v1", VERSION: "1.14.5", STACK: "ml"}, []),
    ],
)
def test_spans_of_a_cell(cell: Any, expected: Any) -> None:
    """First, last, how many specs, gone in, and why; a spec of two stacks counts once.

    A stack that a spec left by other facts is gone without the spec. A revision that tells no
    stacks ends none, and nothing says why a spec is in another stack after it.
    """
    spans = cells().spans("develop", cell)
    assert [
        (
            it.first.taken_at.day,
            it.last.taken_at.day,
            it.num_specs,
            it.gone_in and it.gone_in.taken_at.day,
            {reason.value: count for reason, count in it.reasons.items()},
        )
        for it in spans
    ] == [
        (first + 5, last + 5, num_specs, gone_in and gone_in + 5, reasons)
        for first, last, num_specs, gone_in, reasons in expected
    ]
    assert [it.pair is None for it in spans] == [it.gone_in is None for it in spans]
    assert is_current(spans) == (bool(expected) and expected[-1][3] is None)


def test_values_that_specs_ever_had() -> None:
    """Of the package alone: versions newest first, stacks without root."""
    found = cells()
    assert found.values(VERSION) == ["1.14.5", "1.12.0"]
    assert found.values(TARGET) == ["neoverse_v1", "x86_64_v3"]
    assert found.values(STACK) == ["e4s", "e4s-arm", "ml"]
    assert found.num_bytes > 0


def test_what_another_version_kept_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of another format are read as if nothing were kept."""
    table = PAST.comparisons()
    monkeypatch.setattr(availability, "CAUSES_FORMAT", kept_changes.CAUSES_FORMAT + 1)
    assert PackageCells([table], "hdf5", PAST.history).values(VERSION) == []
