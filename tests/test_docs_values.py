"""Bounds, lists, names and settings in documents are those of the code."""

import re
from collections.abc import Iterable
from pathlib import Path

import pytest
from msgspec.structs import fields

from docs.generated import WRITERS
from server.cli import FAULT, INTERRUPTED, UNREAD
from server.commands.imports import NOT_NOTIFIED
from server.settings import Settings, variable_of
from snapshots.changes import lookup
from snapshots.changes.package_changes import PackageChangeKind
from snapshots.changes.reasons import SpecChangeReason
from snapshots.changes.summary import LEFT_OUT
from snapshots.models import CauseKind
from snapshots.recipes.commits import RecipesOrigin
from snapshots.recipes.effects import CommitLevel
from snapshots.recipes.repository import package_of, stack_of
from tests.schema.default_api import api
from tests.test_docs import DOCUMENTS, blocks, section

ROWS = r"^\| `([A-Z_]+)` \|"
STEPS = r"^ +(\d\. .*)$"


@pytest.mark.parametrize(
    ("text", "pattern", "names"),
    [
        (section("causes.md", "Reasons"), ROWS, (reason.name for reason in SpecChangeReason)),
        (section("causes.md", "Causes"), ROWS, (kind.name for kind in CauseKind)),
        (section("causes.md", "What is not counted as a change"), r"^- (.*)$", LEFT_OUT),
        (
            section("causes.md", "The commits of a cause"),
            ROWS,
            (level.name for level in CommitLevel),
        ),
        (
            section("causes.md", "The commit of a revision"),
            r"^\d\. `(\w+)`",
            (method.value for method in RecipesOrigin),
        ),
        (
            DOCUMENTS["history.md"].split("in this order: ")[1].split(".\n")[0],
            "`([a-z_]+)`",
            (kind.value for kind in PackageChangeKind),
        ),
        (
            DOCUMENTS["lock-files.md"],
            STEPS,
            re.findall(STEPS, lookup.nearest_specs.__doc__ or "", re.MULTILINE),
        ),
        (
            DOCUMENTS["install.md"].split("| Exit codes |")[1].split("\n")[0],
            r"\b\d+\b",
            map(str, (0, FAULT, 2, NOT_NOTIFIED, INTERRUPTED, UNREAD)),
        ),
    ],
    ids=[
        *("reasons", "causes", "not counted", "levels", "commits"),
        *("packages", "nearest specs", "exit codes"),
    ],
)
def test_lists_are_complete_and_in_order(text: str, pattern: str, names: Iterable[str]) -> None:
    """They have all members of the code, in its order."""
    expected = [*names]
    assert re.findall(pattern, text, re.MULTILINE) == expected != []


def test_paths_of_commits_are_those_of_the_code() -> None:
    """The code assigns each documented path to its category."""
    text = section("causes.md", "The commits of a comparison")
    recipes, stacks = re.findall(r"^\| (?:the recipe|a stack).*\| (.*) \|$", text, re.MULTILINE)
    for path in re.findall(r"`(.+?)`", recipes):
        assert package_of(f"{path}package.py") in ("FOLDER", "NAME")
    assert [stack_of(f"{path}x") for path in re.findall(r"`(.+?)`", stacks)] == ["STACK"] * 3


@pytest.mark.parametrize(
    ("query", "spec", "count"),
    [
        ("query Check", {"hash": "a" * 32, "name": "a"}, 2_000),
        ("query Plan", {"hash": "a" * 32, "name": "a", "version": "1"}, 1_500),
    ],
)
def test_queries_of_specs_are_allowed(query: str, spec: dict[str, str], count: int) -> None:
    """For the documented number of specs."""
    (text,) = [
        block for name, block in blocks("graphql") if name == "lock-files.md" and query in block
    ]
    assert 0 < api.cost(text, None, {"specs": [spec] * count}).units <= api.limits.max_cost


@pytest.mark.parametrize("path", WRITERS, ids=lambda path: path.name)
def test_generated_files_are_current(path: Path) -> None:
    """``python -m docs.generated`` updates them."""
    text = path.read_text("utf-8")
    assert WRITERS[path](text) == text


def test_settings_have_one_row() -> None:
    """In one section only."""
    rows = re.findall(r"^\| `(CACHELOG_\w+)` \|", DOCUMENTS["settings.md"], re.MULTILINE)
    assert rows == [variable_of(name) for name in Settings.__struct_fields__]


@pytest.mark.parametrize("document", sorted(DOCUMENTS.keys() - {"CHANGELOG.md"}))
def test_documented_variables_are_settings(document: str) -> None:
    """A misspelt variable keeps the server from starting. The changelog names some that went."""
    names = set(re.findall(r"`(CACHELOG_[A-Z0-9_]*[A-Z])", DOCUMENTS[document]))
    tests_and_builds = {
        name for name in names if name.startswith(("CACHELOG_TEST_", "CACHELOG_BUILD_"))
    }
    assert names - tests_and_builds <= {variable_of(field.name) for field in fields(Settings)}
