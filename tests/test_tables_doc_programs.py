"""docs/tables.md: its programs have the results of its SQL, in a folder and in S3."""

import os
import re
from importlib.util import find_spec
from typing import Any

import pytest

from snapshots.catalog.catalog import Catalog
from tests.snapshots.overlays import laid_always
from tests.test_tables_doc import QUESTIONS, TEXT, VIEW, snapshots

PROGRAMS = dict(
    re.findall(r"^### ([^\n]+)\n(?:(?!^###).)*?^```python\n(.+?)^```", TEXT, re.M | re.S)
)
"""The programs for Daft, by the heading of their query."""

INTRODUCTIONS = re.findall(
    r"^```python\n(.+?)^```",
    TEXT.split("\n## Queries\n")[1].split("\n### ")[0],
    re.M | re.S,
)
"""The introductory programs for DuckDB and Daft."""

pytestmark = pytest.mark.skipif(
    find_spec("daft") is None and not os.environ.get("CI"), reason="Daft is not installed"
)


@pytest.fixture(scope="module", params=["folder", "S3"])
def catalog(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the location of a catalog in which develop has two states."""
    if request.param == "S3":
        request.getfixturevalue("bucket")
        location = "s3://bucket/documented/catalog"
    else:
        location = str(tmp_path_factory.mktemp("catalog"))
    with laid_always():
        Catalog(location).publish(snapshots())
    return location


def names_of(number: int, catalog: str) -> dict[str, Any]:
    """Return the names that an introductory program defines for a catalog."""
    text = INTRODUCTIONS[number]
    assert text.count('catalog = "catalog"\n') == 1
    names: dict[str, Any] = {}
    exec(text.replace('catalog = "catalog"', f"catalog = {catalog!r}"), names)  # noqa: S102
    return names


@pytest.fixture(scope="module")
def duckdb_names(catalog: str) -> dict[str, Any]:
    """Return the tables as the document opens them with DuckDB."""
    return names_of(0, catalog)


@pytest.fixture(scope="module")
def daft_names(catalog: str) -> dict[str, Any]:
    """Return the tables as the document opens them with Daft."""
    return names_of(1, catalog)


def test_first_five_queries_have_programs() -> None:
    """As the document states."""
    assert len(INTRODUCTIONS) == 2
    assert list(PROGRAMS) == list(QUESTIONS)[:5]


@pytest.mark.parametrize("question", PROGRAMS)
def test_results_are_equal(
    question: str, duckdb_names: dict[str, Any], daft_names: dict[str, Any]
) -> None:
    """The rows and their order."""
    connection = duckdb_names["duckdb"]
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute(VIEW)
    expected = connection.sql(QUESTIONS[question]).to_arrow_table().to_pylist()
    names = dict(daft_names)
    exec(PROGRAMS[question], names)  # noqa: S102
    rows = names["answer"].to_pylist()
    assert len(expected) >= 2
    assert [[*row.values()] for row in rows] == [[*row.values()] for row in expected]
