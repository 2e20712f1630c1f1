"""docs/tables.md: its programs give the answers of its SQL, over a folder and over S3."""

import os
import re
from importlib.util import find_spec
from typing import Any

import pytest

from snapshots.catalog.catalog import Catalog
from tests.snapshots.overlays import laid_always
from tests.test_tables_doc import QUESTIONS, TEXT, VIEW, states

PROGRAMS = dict(
    re.findall(r"^### ([^\n]+)\n(?:(?!^###).)*?^```python\n(.+?)^```", TEXT, re.M | re.S)
)
"""The programs for Daft, by the question that they answer."""

BEGINNINGS = re.findall(
    r"^```python\n(.+?)^```",
    TEXT.split("\n## Queries\n")[1].split("\n### ")[0],
    re.M | re.S,
)
"""What comes before: for DuckDB, and for Daft."""

pytestmark = pytest.mark.skipif(
    find_spec("daft") is None and not os.environ.get("CI"), reason="Daft is not installed"
)


@pytest.fixture(scope="module", params=["folder", "S3"])
def catalog(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return where a catalog is in which develop was seen in two states."""
    if request.param == "S3":
        request.getfixturevalue("bucket")
        location = "s3://bucket/documented/catalog"
    else:
        location = str(tmp_path_factory.mktemp("catalog"))
    with laid_always():
        Catalog(location).publish(states())
    return location


def begun(number: int, catalog: str) -> dict[str, Any]:
    """Return the names that a beginning defines, for a catalog that is elsewhere."""
    text = BEGINNINGS[number]
    assert text.count('catalog = "catalog"\n') == 1
    names: dict[str, Any] = {}
    exec(text.replace('catalog = "catalog"', f"catalog = {catalog!r}"), names)  # noqa: S102
    return names


@pytest.fixture(scope="module")
def of_duckdb(catalog: str) -> dict[str, Any]:
    """Return the tables as the document opens them for DuckDB."""
    return begun(0, catalog)


@pytest.fixture(scope="module")
def of_daft(catalog: str) -> dict[str, Any]:
    """Return the tables as the document opens them for Daft."""
    return begun(1, catalog)


def test_the_first_five_have_programs() -> None:
    """As the document says."""
    assert len(BEGINNINGS) == 2
    assert list(PROGRAMS) == list(QUESTIONS)[:5]


@pytest.mark.parametrize("question", PROGRAMS)
def test_answers_are_the_same(
    question: str, of_duckdb: dict[str, Any], of_daft: dict[str, Any]
) -> None:
    """Row by row, in their order, whichever of the two is asked."""
    connection = of_duckdb["duckdb"]
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute(VIEW)
    expected = connection.sql(QUESTIONS[question]).to_arrow_table().to_pylist()
    names = dict(of_daft)
    exec(PROGRAMS[question], names)  # noqa: S102
    rows = names["answer"].to_pylist()
    assert len(expected) >= 2
    assert [[*row.values()] for row in rows] == [[*row.values()] for row in expected]
