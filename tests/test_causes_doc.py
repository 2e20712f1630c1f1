"""docs/causes.md: its tables, lists and bounds are those of the code."""

import re
from enum import Enum
from pathlib import Path

import pytest

from snapshots.catalog.past import MOST_CONTENTS
from snapshots.changes.candidates import MAX_CLASSES
from snapshots.changes.cause_graph import MOST_STEPS
from snapshots.changes.cause_names import MOST_TOGETHER, CauseKind
from snapshots.changes.counterparts import TIERS
from snapshots.changes.coverage import NUM_NEAREST
from snapshots.changes.reasons import SpecChangeReason

TEXT = (Path(__file__).parents[1] / "docs" / "causes.md").read_text("utf-8")


@pytest.mark.parametrize(
    ("section", "names"), [("Reasons", SpecChangeReason), ("Causes", CauseKind)]
)
def test_tables_are_whole_and_in_order(section: str, names: type[Enum]) -> None:
    """Every reason and every kind of cause is there, in the order of the API."""
    text = TEXT.split(f"\n## {section}\n")[1].split("\n## ")[0]
    assert re.findall(r"^\| `([A-Z_]+)` \|", text, re.MULTILINE) == [it.name for it in names]


def test_each_tier_of_counterparts_is_listed() -> None:
    """There are as many as the code has, and as often with each fact."""
    listed = re.findall(r"^\d\. (.*)$", TEXT, re.MULTILINE)
    assert len(listed) == len(TIERS)
    for line, tier in zip(listed, TIERS, strict=True):
        assert {word for word in ("variants", "names", "version") if word in line} == {*tier}


def test_bounds_are_those_of_the_code() -> None:
    """How many specs are ranked at once, how far causes are followed, how many are nearest."""
    assert f"more than {MAX_CLASSES} different specs" in TEXT
    assert f"stops after {MOST_STEPS:,} levels" in TEXT
    assert f"lists up\nto {MOST_TOGETHER} of the others under *together with*" in TEXT
    assert f"more than {MOST_CONTENTS} different contents" in TEXT
    assert "up to three *nearest* specs" in TEXT
    assert NUM_NEAREST == 3
