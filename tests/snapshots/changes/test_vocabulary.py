"""The words for causes and counted reasons."""

import pytest

from snapshots.changes.cause_names import CauseKind, CauseName
from snapshots.changes.diff import SpecChangeKind
from snapshots.changes.reasons import SpecChangeReason
from snapshots.changes.vocabulary import cause_title, counted_reasons


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


def test_reasons_are_counted_by_their_kind_of_change() -> None:
    """Only those of the kind are listed."""
    counts = {SpecChangeReason.FACTS: 2, SpecChangeReason.NEW_PACKAGE: 1}
    assert counted_reasons(SpecChangeKind.CHANGED, counts) == "2 with other facts"
    assert counted_reasons(SpecChangeKind.ADDED, counts) == "1 of a new package"
