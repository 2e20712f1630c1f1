"""Since when a package has specs for a target, in a stack or of a version, or until when."""

from typing import Any

import pytest

from snapshots.changes import stored_changes
from snapshots.changes.coverage import CoverageDimension
from snapshots.timelines import availability
from snapshots.timelines.availability import PackageCells, is_current
from tests.snapshots.factories import a_spec
from tests.snapshots.timelines.generated_histories import a_past

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
    """Return the cells of hdf5; reading rows twice makes no difference."""
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
    """First, last, number of specs, removal, and reasons; a spec of two stacks counts once.

    If a changed fact removes the last spec from a stack, the stack is gone without the spec. A
    revision without stacks ends no span; moves between stacks after it have no reasons.
    """
    spans = cells().spans("develop", cell)
    assert [
        (
            span.first.taken_at.day - 5,
            span.last.taken_at.day - 5,
            span.num_specs,
            span.gone_in and span.gone_in.taken_at.day - 5,
            {reason.value: count for reason, count in span.reasons.items()},
        )
        for span in spans
    ] == expected
    assert all((span.pair is None) == (span.gone_in is None) for span in spans)
    assert is_current(spans) == (bool(expected) and expected[-1][3] is None)


def test_values_of_a_package() -> None:
    """They are those that any of its specs had: versions newest first, stacks without root."""
    of_package = cells()
    assert of_package.values(VERSION) == ["1.14.5", "1.12.0"]
    assert of_package.values(TARGET) == ["neoverse_v1", "x86_64_v3"]
    assert of_package.values(STACK) == ["e4s", "e4s-arm", "ml"]
    assert of_package.num_bytes > 0


def test_rows_of_another_format_are_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another version of cachelog stored them."""
    table = PAST.comparisons()
    monkeypatch.setattr(availability, "CAUSES_FORMAT", stored_changes.CAUSES_FORMAT + 1)
    assert PackageCells([table], "hdf5", PAST.history).values(VERSION) == []
