"""``cachelog export-site`` and ``feed``: the pages and feeds of a server, as files."""

import re
from pathlib import Path

import pytest
from httpx import AsyncClient, Response

from server.commands import exports
from snapshots.catalog.catalog import Catalog
from snapshots.demo import history
from tests.server.cache_pages import history_of
from tests.server.commands import cachelog, fail, succeed
from tests.server.site.sites import export, files_in
from tests.snapshots.notes.atom.feed_readers import read_feed
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


def test_feed_is_printed_or_written(demo_catalog: Path, tmp_path: Path) -> None:
    """Standard output and the file contain the same feed, of a series or of a package in it."""
    printed = succeed("feed", DATED, catalog=demo_catalog)
    feed = read_feed(printed.out.encode())
    revisions = history_of(demo_catalog).of_series(DATED)
    assert [entry.tags[0].term for entry in feed.entries] == [each.tag for each in revisions]
    assert [link.href for link in feed.feed.links] == [f"{DATED}.atom"]
    file = tmp_path / "new" / "feed.atom"
    assert cachelog("feed", DATED, "--output", file, catalog=demo_catalog).out == ""
    assert file.read_text("utf-8") == printed.out
    (name, *_) = Catalog(str(demo_catalog)).reader().frame(revisions[0].digest).packages
    of_package = read_feed(cachelog("feed", DATED, name, catalog=demo_catalog).out.encode())
    assert of_package.feed.links[0].href == f"../{DATED}/{name}.atom"


def test_all_feeds_are_written_to_a_folder(demo_catalog: Path, tmp_path: Path) -> None:
    """The folder has the structure of /feeds/ on a server; the feeds are valid and have URLs."""
    folder, past = tmp_path / "feeds", history_of(demo_catalog)
    urls = ("--base-url", "https://example.org/f", "--server-url", "https://example.org/cachelog/")
    command = ("feed", "--all", "--output", folder, *urls)
    result = cachelog(*command, catalog=demo_catalog)
    files = files_in(folder)
    assert result == (0, "", f"{len(files):,} files written in {folder}\n")
    assert cachelog(*command, catalog=demo_catalog).err == f"0 files written in {folder}\n"
    names = Catalog(str(demo_catalog)).reader().frame(past.of_series(DATED)[0].digest).packages
    assert {f"{DATED}/{name}.atom" for name in names} <= files.keys()
    assert {f"{series}.atom" for series in past.series_names} <= files.keys()
    for path, document in [*files.items()][::9]:
        feed = read_feed(document)
        assert feed.feed.links[0].href == f"https://example.org/f/{path}"
        assert len(feed.feed.links) == 1
        for entry in feed.entries:
            assert re.match(r"https://example\.org/cachelog/(compare|r)/[^/]+@", entry.link)
