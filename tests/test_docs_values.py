"""Bounds, lists, names and settings in documents are those of the code."""

import re
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec.structs import fields

from docs.generated import WRITERS
from schema.context import MAX_CONTENTS
from schema.limits import Limits
from server.asgi.admission import (
    BODY_SECONDS,
    LARGE_BODY,
    MAX_PIECES,
    MAX_SENDING,
    MAX_UNFINISHED,
    MAX_UPLOADS,
    PIECE,
    SEND_SECONDS,
)
from server.cli import FAULT, INTERRUPTED, UNREAD
from server.commands.imports import NOT_NOTIFIED
from server.commands.service import KEEP_ALIVE_SECONDS
from server.pages.check import BODIES, LISTED, LONGEST_ADDRESS
from server.pages.filters import MAX_MISSING
from server.settings import Settings, variable_of
from server.terminal.printing.histories import MAX_CHANGED
from server.terminal.printing.verdicts import FORMAT as VERDICT_FORMAT
from server.webhooks import PAUSES, TIMEOUT
from snapshots.catalog.revisions_table import FORMAT as CATALOG_FORMAT
from snapshots.catalog.vacuum import MAX_AGE, MIN_AGE
from snapshots.changes import lookup
from snapshots.changes.cause_graph import MAX_STEPS
from snapshots.changes.causes import MAX_TOGETHER
from snapshots.changes.counterparts import MAX_CLASSES, TIERS
from snapshots.changes.coverage import NUM_NEAREST
from snapshots.changes.impact import size_label
from snapshots.changes.package_changes import PackageChangeKind
from snapshots.changes.reasons import SpecChangeReason
from snapshots.changes.rules.rule_files import LARGEST_FILE
from snapshots.changes.rules.rules import (
    DIMENSIONS,
    FEW,
    LONGEST_TEXT,
    MAX_GLOBS,
    MAX_RULES_IN_FILE,
    SIZES,
    RuleLevel,
)
from snapshots.changes.stored_changes import CAUSES_FORMAT
from snapshots.errors import NewerCatalog
from snapshots.models import CauseKind
from snapshots.notes.changelog import FORMAT as NOTES_FORMAT
from snapshots.notes.plan_comments import MAX_CHARACTERS
from snapshots.recipes.commits import SWEEPING, RecipesOrigin
from snapshots.recipes.effects import MAX_DEPENDENTS, CommitLevel
from snapshots.recipes.repository import REFS, package_of, stack_of
from snapshots.sources.lock_files import LOCK_FILE_VERSIONS, MAX_BYTES, MAX_SPECS
from tests.schema.default_api import api
from tests.test_docs import DOCUMENTS, blocks, section

WORDS = {3: "three", 6: "six", 8: "eight", 10: "ten", 60: "a minute"}
LABELS = f"its pull requests: {', '.join(dict.fromkeys(map(size_label, range(2_000))))}."
*OLDER_LOCK_FILES, NEWEST_LOCK_FILE = map(str, LOCK_FILE_VERSIONS)

SENTENCES = {
    "causes.md": (
        f"more than {SWEEPING} packages",
        f"the newest {MAX_DEPENDENTS} ",
        *(f"`{pattern}`" for pattern in REFS),
        f"more than {MAX_CLASSES} different specs",
        f"stops after {MAX_STEPS:,} levels",
        f"lists up to {MAX_TOGETHER} of the others under *together with*",
        f"up to {WORDS[NUM_NEAREST]} *nearest* specs",
    ),
    "gates.md": (
        ", ".join(f"`{dimension}`" for dimension in DIMENSIONS),
        f"; {', '.join(SIZES)})",
        " or ".join(f"`{level.value}`" for level in RuleLevel),
        f"1 to {LONGEST_TEXT} characters",
        f"a list of up to {MAX_GLOBS}",
        f"A file may have {MAX_RULES_IN_FILE} rules and {LARGEST_FILE:,} bytes",
        f"the first {FEW} breaches",
        f"The version of the document, now {VERDICT_FORMAT}.",
    ),
    "history.md": (f"The {WORDS[MAX_CHANGED]} packages with the most changed specs are listed",),
    "keeping.md": (
        f"from `{MIN_AGE // timedelta(hours=1)}h` to `{MAX_AGE // timedelta(days=1)}d`",
    ),
    "settings.md": (
        f"at most {MAX_UNFINISHED} requests",
        f"within {BODY_SECONDS:g} s and in at most {MAX_PIECES:,} pieces",
        f"Up to {MAX_UPLOADS} requests with bodies over {LARGE_BODY >> 10} KiB",
        f"Responses over {PIECE >> 10} KiB share {MAX_SENDING >> 20} MiB",
        f"within {SEND_SECONDS:g} s is dropped",
        f"idle for {KEEP_ALIVE_SECONDS} s",
        f"{Limits.max_document_bytes:,} bytes, {Limits.max_tokens:,} tokens, {Limits.max_depth} ",
        f"names of {Limits.max_name_length} characters",
        f"{Limits.max_aliases} aliases, {Limits.max_root_fields} root fields, "
        f"{Limits.max_selections:,} fields",
        f"{Limits.max_variable_bytes:,} bytes, {Limits.max_variable_depth} levels, lists of "
        f"{Limits.max_list_length:,} values, texts of {Limits.max_text_length:,} characters, "
        f"{Limits.max_filter_values} values in a filter",
        f"{Limits.max_revisions} revisions whose contents are queried, {Limits.max_seconds:g} s",
        f"{Limits.max_answer_bytes >> 20} MiB, {Limits.max_errors} errors",
    ),
    "lock-files.md": (
        f"{MAX_BYTES >> 20} MiB and {MAX_SPECS:,} specs",
        f"versions {', '.join(OLDER_LOCK_FILES)} and {NEWEST_LOCK_FILE}:",
        f"the newest {MAX_CONTENTS} different contents",
        f"{WORDS[BODIES]} times `CACHELOG_MAX_BODY`",
        f"the first {LISTED[0]} are grouped by their cause",
        f"{MAX_MISSING} of them are listed",
        f"no more than {LONGEST_ADDRESS:,} characters",
        "some 1,500.",
        f"{MAX_CHARACTERS:,} characters",
    ),
    "notes.md": (f"`format` is its version, now {NOTES_FORMAT}.",),
    "notifications.md": (
        f"{TIMEOUT:g} s of silence",
        f"after {PAUSES[1]} and {PAUSES[2]} s",
    ),
    "questions.md": (LABELS,),
    "tables.md": (
        f"number of the catalog's format: {CATALOG_FORMAT},",
        f"the version of their definition, now {CAUSES_FORMAT};",
    ),
    "install.md": (
        f"#the-format), now {CATALOG_FORMAT}.",
        f"cachelog: {NewerCatalog('/srv/catalog', str(CATALOG_FORMAT + 1), CATALOG_FORMAT)}",
    ),
}
"""Sentences of documents about bounds, versions and patterns, without line breaks."""


@pytest.mark.parametrize(
    ("document", "sentence"),
    [(document, sentence) for document in SENTENCES for sentence in SENTENCES[document]],
)
def test_sentences_state_values_of_the_code(document: str, sentence: str) -> None:
    """Numbers, versions and patterns."""
    assert sentence in " ".join(DOCUMENTS[document].split())


ROWS = r"^\| `([A-Z_]+)` \|"
STEPS = r"^ +(\d\. .*)$"


@pytest.mark.parametrize(
    ("text", "pattern", "names"),
    [
        (section("causes.md", "Reasons"), ROWS, (reason.name for reason in SpecChangeReason)),
        (section("causes.md", "Causes"), ROWS, (kind.name for kind in CauseKind)),
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
    ids=["reasons", "causes", "levels", "commits", "packages", "nearest specs", "exit codes"],
)
def test_lists_are_complete_and_in_order(text: str, pattern: str, names: Iterable[str]) -> None:
    """They have all members of the code, in its order."""
    expected = [*names]
    assert re.findall(pattern, text, re.MULTILINE) == expected != []


def test_all_tiers_of_counterparts_are_listed() -> None:
    """The document lists all of them, with their facts."""
    listed = re.findall(r"^\d\. (.*)$", section("causes.md", "Counterparts"), re.MULTILINE)
    assert len(listed) == len(TIERS)
    for line, tier in zip(listed, TIERS, strict=True):
        assert {word for word in ("variants", "names", "version") if word in line} == {*tier}


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


@pytest.mark.parametrize("document", DOCUMENTS)
def test_documented_variables_are_settings(document: str) -> None:
    """A misspelt variable keeps the server from starting."""
    names = set(re.findall(r"`(CACHELOG_[A-Z0-9_]*[A-Z])", DOCUMENTS[document]))
    tests_and_builds = {
        name for name in names if name.startswith(("CACHELOG_TEST_", "CACHELOG_BUILD_"))
    }
    assert names - tests_and_builds <= {variable_of(field.name) for field in fields(Settings)}
