"""``cachelog export-site``: the pages and feeds of a server, as files."""

import re
from pathlib import Path

import pytest
from httpx import AsyncClient, Response

from server.commands import exports
from tests.demo_histories import history
from tests.server.commands import fail
from tests.server.site.sites import export, files_in
from tests.snapshots.templates import catalog_of

DATED = "develop-DATE"
SERIES = ("--series", DATED)


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a catalog of a few revisions, whose pages take a second; tests only read it."""
    return catalog_of(tmp_path_factory.mktemp("small"), *history(revisions=3, packages=2, specs=2))


def test_second_export_writes_only_changes(catalog: Path, tmp_path: Path) -> None:
    """Files that the site no longer has, and those of others, stay."""
    folder = tmp_path / "site"
    options = (*SERIES, "--limit", 1)
    assert export(catalog, folder, *options).code == 0
    before = files_in(folder)
    assert export(catalog, folder, *options).err.startswith("0 files written")
    (folder / "CNAME").write_text("example.org")
    assert export(catalog, folder, *options, "--last", 1).code == 0
    assert files_in(folder).keys() == {*before, "CNAME"}


def test_progress_is_reported_where_there_is_no_terminal(
    catalog: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line after a number of pages."""
    monkeypatch.setattr(exports, "PAGES_OF_A_LINE", 5)
    result = export(catalog, tmp_path / "site", *SERIES, "--last", 1, "--limit", 0)
    assert result.err.startswith("5 of ")
    assert re.match(r"5 of [0-9]+ pages written\n10 of ", result.err)


def test_failing_page_is_omitted(
    catalog: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Standard error lists the page, and the other files are written."""
    folder, get = tmp_path / "site", AsyncClient.get

    async def fail(self: AsyncClient, address: str) -> Response:
        return Response(503) if address.endswith("/coverage") else await get(self, address)

    monkeypatch.setattr(AsyncClient, "get", fail)
    result = export(catalog, folder, *SERIES, "--last", 1, "--limit", 0)
    assert result.code == 1
    assert re.search(r"left out: /compare/\S*/coverage: status 503\n", result.err)
    assert "1 page could not be made" in result.err
    assert not list(folder.rglob("coverage"))
    assert list(folder.rglob("notes/index.html"))


def test_other_files_are_preserved(catalog: Path, tmp_path: Path) -> None:
    """A folder that is not of a site is refused."""
    (tmp_path / "index.html").write_text("mine")
    error = fail("export-site", tmp_path, catalog=catalog)
    assert re.search(r"FOLDER: .*no search-index\.js of a site", error)
    assert files_in(tmp_path) == {"index.html": b"mine"}
