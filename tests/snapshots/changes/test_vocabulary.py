"""The words for causes and counted reasons."""

import pytest

from snapshots.changes.candidates import Tie
from snapshots.changes.cause_names import CauseKind, CauseName
from snapshots.changes.diff import SpecChangeKind
from snapshots.changes.reasons import SpecChangeReason
from snapshots.changes.vocabulary import (
    cause_title,
    counted_reasons,
    tie_text,
    twins_title,
    without_direction,
)


@pytest.mark.parametrize(
    ("name", "title"),
    [
        (CauseName(CauseKind.VERSION, "zlib", "1.2", "1.3"), "zlib 1.2 → 1.3"),
        (CauseName(CauseKind.VERSION, "zlib", None, "1.3"), "zlib now 1.3"),
        (CauseName(CauseKind.RECIPE, "zlib"), "recipe of zlib changed"),
        (CauseName(CauseKind.EXTERNAL, "glibc"), "glibc changed (outside the cache)"),
    ],
)
def test_titles(name: CauseName, title: str) -> None:
    """They name what is known of both sides."""
    assert cause_title(name) == title


@pytest.mark.parametrize(
    ("tie", "text"),
    [
        (Tie(2, 1, 1), "1 of 2 was rebuilt; which is not known"),
        (Tie(3, 2, 2), "2 of 3 were rebuilt; which is not known"),
        (Tie(1, 2_000, 1), "1 of 2,000 was rebuilt; which is not known"),
        (Tie(2, 2, 2), "2 were rebuilt; which took the place of which is not known"),
    ],
)
def test_ties(tie: Tie, text: str) -> None:
    """They say how many of how many, and what is not known."""
    assert tie_text(tie, "rebuilt") == text


def test_reasons_are_counted_by_their_kind_of_change() -> None:
    """Only those of the kind are listed."""
    counts = {SpecChangeReason.FACTS: 2, SpecChangeReason.NEW_PACKAGE: 1}
    assert counted_reasons(SpecChangeKind.CHANGED, counts) == "2 with other facts"
    assert counted_reasons(SpecChangeKind.ADDED, counts) == "1 of a new package"


@pytest.mark.parametrize(
    ("cause", "title"),
    [
        (CauseName(CauseKind.VERSION, "a", "2.10", "2.9"), "a 2.9 / 2.10"),
        (CauseName(CauseKind.VERSION, "a", None, "2.9"), "a 2.9 / ?"),
        (CauseName(CauseKind.RECIPE, "a"), "two recipes of a"),
        (CauseName(CauseKind.VARIANTS, "a", "~mpi", "+mpi"), "a +mpi / ~mpi"),
        (CauseName(CauseKind.VARIANTS, "a", None, "x=1"), "a x=1 / without"),
        (CauseName(CauseKind.COMPILER, "a", "gcc@13", None), "compiler of a gcc@13 / none"),
        (CauseName(CauseKind.TARGET, "a", "linux-b", "linux-a"), "a linux-a / linux-b"),
        (CauseName(CauseKind.DEPENDENCY_ADDED, "a", None, "b"), "a with and without b"),
        (CauseName(CauseKind.DEPENDENCY_REMOVED, "a", "b"), "a with and without b"),
        (CauseName(CauseKind.DEPENDENCY_REMOVED, "a", "b", "b"), "a depends on b in two ways"),
        (CauseName(CauseKind.PROVIDER, "a", "openmpi", "mpich"), "a with mpich / openmpi"),
        (CauseName(CauseKind.EXTERNAL, "a"), "a ? / ? (outside the cache)"),
        (CauseName(CauseKind.FORMAT, None, "6", "5"), "Spack's format of specs 5 / 6"),
        (CauseName(CauseKind.UNKNOWN, "a"), "a, it is not known why"),
    ],
)
def test_causes_of_twins(cause: CauseName, title: str) -> None:
    """Neither side comes first: both ways are one."""
    other_way = CauseName(cause.kind, cause.package, cause.after, cause.before)
    assert twins_title(without_direction(cause)) == title
    assert twins_title(without_direction(other_way)) == title


def test_every_kind_of_cause_is_worded_for_twins() -> None:
    """As a title without any field left."""
    for kind in CauseKind:
        title = twins_title(without_direction(CauseName(kind, "a", "b", "c")))
        assert "{" not in title
