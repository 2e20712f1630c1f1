"""Complete tables as CSV: of one content, and never truncated."""

import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.routing import compile_path

from schema.api import API
from schema.limits import Limits
from server.asgi.errors import BadRequest
from server.pages import exports
from server.pages.documents import IS_PAGE, DocumentAnswer, DocumentRunner, PageRequest
from server.pages.exports import cell, csv_body, csv_head, table_of
from server.pages.routes import PAGES
from server.settings import Settings
from tests.server.cache_pages import history_of
from tests.server.pages.page_reader import data_of
from tests.server.servers import application

_API = API()
WITH_TABLES = [page for page in PAGES if page.table]


@pytest.mark.parametrize("page", WITH_TABLES, ids=lambda page: page.path)
def test_document_can_select_only_the_table(page: Any) -> None:
    """By a variable of the page's document; an export costs less than the page."""
    document = page.document
    parameters = {key: ["x"] for key in re.findall(r"{(\w+)}", page.path)} | {"kind": ["RECIPE"]}
    variables = document.variables(document.known(parameters))
    export, entire = (
        _API.cost(document.text, None, variables | {IS_PAGE: is_page}).units
        for is_page in (False, True)
    )
    assert export < entire <= Limits.max_cost
    assert not document.known({IS_PAGE: ["false"]}), "an address cannot set it"
    assert table_of(page.document_name, page.table).columns


ROW = {
    "name": "=1+1",
    "size": None,
    "delta": "-12",
    "variants": ["+mpi", "~shared"],
    "ok": True,
    "spec": {"hash": 'a"b', "lines": "x\r\ny"},
    "facts": [{"path": "a", "before": {"x": 1}}, {"path": "b", "before": None}],
}


@pytest.mark.parametrize(
    ("row", "path", "text"),
    [
        (ROW, "name", "'=1+1"),
        (ROW, "size", ""),
        (ROW, "delta", "-12"),
        (ROW, "variants", "'+mpi ~shared"),
        (ROW, "ok", "true"),
        (ROW, "spec.hash", 'a"b'),
        (ROW, "facts.path", "a;b"),
        (ROW, "facts.before", '{"x":1};'),
        (ROW, "spec.nope", ""),
        ({"a": "-cmd"}, "a", "'-cmd"),
        ({"a": "@cmd"}, "a", "'@cmd"),
        ({"a": "\tcmd"}, "a", "'\tcmd"),
        ({"a": "\ncmd"}, "a", "'\ncmd"),
        ({"a": "\uff1dcmd"}, "a", "'\uff1dcmd"),
        ({"a": "x;=1+1"}, "a", "x;'=1+1"),
        ({"a": "x\n=1+1"}, "a", "x\n'=1+1"),
        ({"a": "x;y=1"}, "a", "x;y=1"),
        ({"a": "-1.5"}, "a", "-1.5"),
    ],
)
def test_cells(row: dict[str, Any], path: str, text: str) -> None:
    """Lists are joined, unknown values are empty, and formulas of OWASP's list are escaped.

    Also in a part of a cell that other separators delimit.
    """
    assert cell(row, tuple(path.split("."))) == text


def read_csv(text: str) -> Iterator[dict[str, str]]:
    """Yield the rows of a table."""
    yield from csv.DictReader(io.StringIO(text, newline=""))


def test_lines_round_trip() -> None:
    """By readers of RFC 4180."""
    columns = (("name",), ("spec", "hash"), ("spec", "lines"))
    text = (csv_head(columns) + csv_body([ROW, ROW], columns)).decode()
    assert text.startswith("name,spec.hash,spec.lines\r\n")
    assert [[*row.values()] for row in read_csv(text)] == [["'=1+1", 'a"b', "x\r\ny"]] * 2


def test_table_has_every_row_of_its_page(client: httpx.Client) -> None:
    """With the filters and order of the address."""
    address = "/r/develop/packages/hdf5"
    query = """{ revision(ref: "develop") { ref package(name: "hdf5") {
      specs(first: 1000, orderBy: {field: VERSION}) { nodes { hash version target } } } } }"""
    revision = data_of(client, query)["revision"]
    specs = revision["package"]["specs"]["nodes"]
    table = client.get(f"{address}?as=csv&order=VERSION")
    assert table.headers["content-type"].startswith("text/csv")
    name = f'attachment; filename="specs-{revision["ref"]}-hdf5.csv"'
    for answer in (table, client.head(f"{address}?as=csv")):
        assert answer.headers["content-disposition"] == name
    assert [{name: row[name] for name in specs[0]} for row in read_csv(table.text)] == specs
    target = specs[0]["target"]
    fewer = [*read_csv(client.get(f"{address}?as=csv&targets={target}").text)]
    assert 0 < len(fewer) < len(specs)
    assert {row["target"] for row in fewer} == {target}


def test_every_table_is_exported(history_client: httpx.Client, addresses: dict[str, str]) -> None:
    """Each page with a table exports it, with the fields of its rows."""
    routes = [(compile_path(page.path)[0], page) for page in WITH_TABLES]
    seen = set()
    for address in addresses.values():
        path = address.partition("?")[0]
        page = next((page for route, page in routes if route.match(path)), None)
        if page is None or "no-such" in path or "%40%40" in address:
            continue
        answer = history_client.get(f"{address}{'&' if '?' in address else '?'}as=csv")
        names = {".".join(path) for path in table_of(page.document_name, page.table).columns}
        rows = [*read_csv(answer.text)]
        # A leaf has no dependents, and the demo has no holes.
        assert rows or "/specs/" in path or path.endswith("/holes"), address
        assert all(names == {*row} for row in rows), (address, answer.text)
        seen.add(page.path)
    assert seen == {page.path for page in WITH_TABLES}


@pytest.fixture
def pieces(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Return a list of the variables of each piece of a table."""
    pieces: list[dict[str, Any]] = []
    weighed = DocumentRunner.weighed

    async def recorded(self: DocumentRunner, text: str, variables: dict[str, Any]) -> PageRequest:
        pieces.append(variables)
        return await weighed(self, text, variables)

    monkeypatch.setattr(DocumentRunner, "weighed", recorded)
    return pieces


def test_all_rows_are_of_one_content(
    small: str, monkeypatch: pytest.MonkeyPatch, pieces: list[dict[str, Any]]
) -> None:
    """Although the tag may name another while the table is sent."""
    monkeypatch.setattr(exports, "MAX_ROWS", 7)
    ref = history_of(Path(small)).resolve("develop").ref
    with application(Settings(catalog=small)) as client:
        rows = [*read_csv(client.get("/search?in=develop&q=*&as=csv").text)]
    num_rows = len({row["hash"] for row in rows})
    assert num_rows == len(rows) > 14
    further = [piece for piece in pieces if piece["after"]]
    assert len(further) == (num_rows - 1) // 7
    assert {piece["in"] for piece in further} == {ref}


def test_interrupted_table_is_an_error(small: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table of which a later part cannot be queried is not sent in part."""
    monkeypatch.setattr(exports, "MAX_ROWS", 3)
    run = DocumentRunner.run

    async def failing(self: DocumentRunner, text: str, variables: dict[str, Any]) -> DocumentAnswer:
        if variables.get("after"):
            raise BadRequest("too much", status=503)
        return await run(self, text, variables)

    monkeypatch.setattr(DocumentRunner, "run", failing)
    with application(Settings(catalog=small)) as client:
        answer = client.get("/r/develop?as=csv")
    assert (answer.status_code, answer.text) == (503, "too much\n")
