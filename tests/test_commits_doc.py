"""docs/commits.md: its tables, patterns and bounds are those of the code."""

import re
from pathlib import Path

from snapshots.recipes.commits import SWEEPING, FoundBy, package_of, stack_of
from snapshots.recipes.effects import MOST_DEPENDENTS, CommitLevel
from snapshots.recipes.repository import REFS

TEXT = (Path(__file__).parents[1] / "docs" / "commits.md").read_text("utf-8")


def section(title: str) -> str:
    """Return what stands below a heading."""
    return TEXT.split(f"\n## {title}\n")[1].split("\n## ")[0]


def test_levels_are_those_of_the_code() -> None:
    """Each is there, the closest first."""
    levels = re.findall(r"^\| `([A-Z_]+)` \|", section("The commits of a cause"), re.MULTILINE)
    assert levels == [level.name for level in CommitLevel]


def test_ways_to_find_a_commit_are_those_of_the_code() -> None:
    """Each is there, in the order in which they are tried, with all patterns of refs."""
    text = section("The commit of a revision")
    assert re.findall(r"^\d\. `(\w+)`", text, re.MULTILINE) == [way.value for way in FoundBy]
    assert all(f"`{pattern}`" in text for pattern in REFS)


def test_paths_are_those_of_the_code() -> None:
    """Each path of the table belongs to what its line says."""
    text = section("The commits of a comparison")
    recipes, stacks = re.findall(r"^\| (?:the recipe|a stack).*\| (.*) \|$", text, re.MULTILINE)
    for path in re.findall(r"`(.+?)`", recipes):
        assert package_of(f"{path}package.py") in ("FOLDER", "NAME")
    assert [stack_of(f"{path}x") for path in re.findall(r"`(.+?)`", stacks)] == ["STACK"] * 3


def test_bounds_are_those_of_the_code() -> None:
    """When a commit is sweeping, and how many of dependents are named."""
    assert f"more than {SWEEPING} packages" in TEXT
    assert f"the newest {MOST_DEPENDENTS} " in TEXT
