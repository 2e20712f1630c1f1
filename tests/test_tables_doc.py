"""docs/tables.md: its queries and programs have the expected results, its tables the columns."""

import re
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from docs.hooks import TABLES
from snapshots.catalog.catalog import Catalog
from snapshots.catalog.recipes_import import import_recipes
from snapshots.contents import Snapshot
from snapshots.models import NOTHING
from snapshots.sources.settings import ReadSettings
from tests.snapshots.factories import a_snapshot, a_spec, day, hash_of
from tests.snapshots.recipes.repositories import RecipesRepository, recipe

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "docs" / "tables.md").read_text(encoding="utf-8")
QUERIES = dict(re.findall(r"^### (.+?)\n.*?^```sql\n(.+?)^```", TEXT, re.M | re.S))


def snapshots() -> list[Snapshot]:
    """Return two snapshots of develop, the first of them twice, and a release."""
    first = [
        a_spec("1", size=10, stacks=("e4s", "hep")),
        a_spec("2", name="zlib", size=5, stacks=("e4s",)),
    ]
    second = [first[0], a_spec("3", name="zlib", version="1.3", size=7, stacks=("e4s",))]
    return [
        a_snapshot(first, "develop", day(0)),
        a_snapshot(first, "develop", day(2)),
        a_snapshot(second, "develop", day(7)),
        a_snapshot(first, "v0.22.0", day(3)),
    ]


FIRST, _, SECOND, _ = (state.content.digest for state in snapshots())


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a catalog in which develop has two states, the first of them twice."""
    folder = tmp_path_factory.mktemp("catalog")
    Catalog(str(folder)).publish(snapshots())
    return folder


def query(catalog: Path, sql: str) -> list[tuple[Any, ...]]:
    """Return the rows of a query, executed as the document describes."""
    import duckdb  # late: it reports objects that are frozen after the collection as leaked

    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    for name in (name for name in TABLES if (catalog / name).exists()):
        connection.register(name, DeltaTable(catalog / name).to_pyarrow_dataset())
    return [tuple(row.values()) for row in connection.sql(sql).to_arrow_table().to_pylist()]


def days_of(*values: Any) -> tuple[Any, ...]:
    """Return a row with its times as days since the first."""
    return tuple(
        (value - day(0)).days if isinstance(value, datetime) else value for value in values
    )


def test_specs_of_a_content_are_its_partition(catalog: Path) -> None:
    """The query in the text has the specs that cachelog reads."""
    (sql,) = re.findall(r"`(SELECT \* FROM specs WHERE digest = '…' AND in_cache)`", TEXT)
    read = Catalog(str(catalog))
    for digest in read.require_history().digests:
        frame = read.reader().frame(digest)
        rows = query(catalog, sql.replace("*", "hash").replace("…", digest))
        assert {text for (text,) in rows} == {*frame.hashes.texts}
        assert len(rows) == len(frame)


def test_all_queries_are_tested() -> None:
    """All queries of the document are tested."""
    assert len(QUERIES) == 7


def test_commits_of_a_package_are_queried(tmp_path: Path) -> None:
    """Newest first, with the first revision that has each."""
    catalog, recipes = Catalog(str(tmp_path / "catalog")), RecipesRepository(tmp_path / "recipes")
    catalog.publish(snapshots())
    for number in range(3):
        recipes.commit(f"zlib: change (#{number + 1})", [recipe("zlib")], seconds=seconds(number))
    revisions = catalog.require_history().revisions
    import_recipes(catalog, revisions, str(recipes.folder), settings=ReadSettings())
    sql = next(sql for heading, sql in QUERIES.items() if heading.startswith("Which commits"))
    rows = [row[1:] for row in query(tmp_path / "catalog", sql)]
    assert rows == [("zlib: change (#3)", 3, "develop"), ("zlib: change (#2)", 2, "v0.22.0")]


def test_build_times_are_joined(catalog: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file beside the catalog has the times; specs that it does not name count, without one."""
    monkeypatch.chdir(catalog)
    rows = f"{hash_of('1')},7200\n{hash_of('2')},60\n"
    Path("build_times.csv").write_text(f"hash,seconds\n{rows}")
    sql = next(sql for heading, sql in QUERIES.items() if heading.startswith("How long"))
    assert query(catalog, sql) == [("hdf5", 1, 1, 2.0), ("zlib", 0, 1, None)]


def seconds(number: int) -> int:
    """Return the time of a commit, just before one of the first three snapshots."""
    return int(day((0, 3, 7)[number]).timestamp()) - 60


@pytest.mark.parametrize(
    ("heading", "expected"),
    [
        # Rows that only confirm a revision are merged into it, with the last date.
        (
            "Which revisions are there, and until when was each seen?",
            [
                ("develop", SECOND, 7, 7, 2),
                ("v0.22.0", FIRST, 3, 3, 2),
                ("develop", FIRST, 0, 2, 2),
            ],
        ),
        # The newest row of the tag up to the date.
        ("What did a tag hold at a date?", [("hdf5", "1.14.5", 1), ("zlib", "1.14.5", 1)]),
        (
            "Which specs were added and removed since the state before?",
            [("removed", "zlib", "1.14.5", hash_of("2")), ("added", "zlib", "1.3", hash_of("3"))],
        ),
        (
            "What became of a package?",
            [
                (7, "1.14.5", "replaced", 1),
                (7, "1.3", "replaces", 1),
                (0, "1.14.5", "new_package", 1),
            ],
        ),
    ],
)
def test_queries_have_the_expected_rows(
    heading: str, expected: list[tuple[Any, ...]], catalog: Path
) -> None:
    """The rows in their order, with times as days since the first."""
    assert [days_of(*row) for row in query(catalog, QUERIES[heading])] == expected


@pytest.mark.parametrize(
    ("label", "expected"), [("2", ("removed", 7, "replaced")), ("3", ("added", 7, "replaces"))]
)
def test_last_change_of_a_hash_is_queried(
    catalog: Path, label: str, expected: tuple[Any, ...]
) -> None:
    """A hash that is present was added last."""
    sql = QUERIES["Since when is a hash gone, and why?"].replace("HASH", hash_of(label))
    assert [days_of(*row) for row in query(catalog, sql)] == [expected]


def test_digest_without_a_content_is_documented() -> None:
    """It precedes the first state of a series."""
    assert TEXT.count(f"'{NOTHING}'") == 2
    assert f"`{NOTHING[:8]}…{NOTHING[-4:]}`" in TEXT


def test_columns_have_comments(catalog: Path) -> None:
    """The Delta tables contain them, for other readers."""
    for name, schema in TABLES.items():
        if not (catalog / name).exists():
            continue  # no recipes were imported
        fields = DeltaTable(catalog / name).schema().fields
        assert {field.name: field.metadata["comment"] for field in fields} == {
            field.name: field.metadata[b"comment"].decode() for field in schema
        }


@pytest.fixture(scope="module", params=["folder", "S3"])
def location(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the location of a catalog in which develop has two states."""
    if request.param == "S3":
        request.getfixturevalue("bucket")
        location = "s3://bucket/documented/catalog"
    else:
        location = str(tmp_path_factory.mktemp("catalog"))
    Catalog(location).publish(snapshots())
    return location


def test_introduction(location: str, capsys: pytest.CaptureFixture[str]) -> None:
    """It opens the tables with DuckDB, in a folder and in S3, and lists the revisions."""
    (text,) = re.findall(r"^```python\n(.+?)^```", TEXT, re.M | re.S)
    assert text.count('catalog = "catalog"\n') == 1
    exec(text.replace('catalog = "catalog"', f"catalog = {location!r}"), {})  # noqa: S102
    assert capsys.readouterr().out.count("develop") == 3
