"""Generated files are current, and each variable that a document names is a setting."""

import re
from pathlib import Path

import pytest
from msgspec.structs import fields

from docs.generated import WRITERS
from server.settings import Settings, environ_of, variable_of
from tests.test_docs import DOCUMENTS


@pytest.mark.parametrize("path", WRITERS, ids=lambda path: path.name)
def test_generated_files_are_those_of_the_code(path: Path) -> None:
    """``python -m docs.generated`` has written them."""
    text = path.read_text("utf-8")
    assert WRITERS[path](text) == text


def test_each_setting_has_one_row() -> None:
    """In one section alone, also one that is new."""
    rows = re.findall(r"^\| `(CACHELOG_\w+)` \|", DOCUMENTS["settings.md"], re.MULTILINE)
    assert rows == [*environ_of(Settings())]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_each_variable_that_is_named_is_a_setting(document: str) -> None:
    """A misspelt one would keep the server from starting."""
    named = set(re.findall(r"`(CACHELOG_[A-Z0-9_]*[A-Z])", DOCUMENTS[document]))
    tests_and_builds = {it for it in named if it.startswith(("CACHELOG_TEST_", "CACHELOG_BUILD_"))}
    assert named - tests_and_builds <= {variable_of(field.name) for field in fields(Settings)}
