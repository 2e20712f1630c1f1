"""``cachelog export-site`` and ``feed``: the pages, answers and feeds of a server, as files."""

import re
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any

import orjson
import pytest
from httpx import AsyncClient, Response
from msgspec.structs import replace

from snapshots.catalog.catalog import Catalog
from snapshots.demo import history
from tests.server.cache_pages import history_of
from tests.server.commands import cachelog, fail, succeed
from tests.server.site.sites import export, files_in, index_of
from tests.snapshots.notes.atom.feed_readers import read_feed
from tests.snapshots.templates import catalog_of, copied

STATIC_SITE = Path(__file__).parents[2] / "docs" / "static-site.md"
DATED = "develop-DATE"
SERIES = ("--series", DATED)
QUERY = """query Seen($ref: String!, $most: Int = 1, $from: String) { revision(ref: $ref) {
  packages(first: $most, after: $from) {
    totalCount pageInfo { hasNextPage endCursor } nodes { name }
} } }"""


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a catalog of a few revisions, whose pages take a second; tests only read it."""
    return catalog_of(tmp_path_factory.mktemp("small"), *history(revisions=3, packages=2, specs=2))


def test_second_export_writes_only_changes(
    catalog: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Permanent answers are not computed again; without ``--prune`` no file is removed."""
    requests = list[dict[str, str]]()
    post = AsyncClient.post

    async def record(self: AsyncClient, path: str, json: Any) -> Response:
        requests.append(json["variables"])
        return await post(self, path, json=json)

    monkeypatch.setattr(AsyncClient, "post", record)
    folder, options = tmp_path / "site", (*SERIES, "--no-pages")
    assert export(catalog, folder, *options, "--last", 1).code == 0
    before, newest = files_in(folder), history_of(catalog).of_series(DATED)[0].digest
    assert not [file for file in before if file.endswith(".html")]
    assert {request["digest"] for request in requests if "digest" in request} == {newest}
    requests.clear()
    second = export(catalog, folder, *options, "--last", 1)
    assert second.err.startswith("0 files written")
    assert files_in(folder) == before
    # Answers with the hashes that returned, such as notes, may change.
    repeated = [request for request in requests if "head" not in request]
    assert (repeated, len(requests)) == ([{"name": "develop-DATE"}, {}], 3)
    assert export(catalog, folder, *options).code == 0
    more_files = files_in(folder)
    assert before.keys() < more_files.keys()
    (folder / "CNAME").write_text("example.org")
    pruned = export(catalog, folder, *options, "--last", 1, "--prune")
    assert f"{len(more_files) - len(before)} removed" in pruned.err
    assert files_in(folder) == {**before, "CNAME": b"example.org"}


def test_interrupted_export_leaves_complete_files(
    catalog: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The index lists them, and the next run continues from there."""
    folder, complete, post = tmp_path / "site", tmp_path / "whole", AsyncClient.post
    numbers = count()

    async def interrupt(self: AsyncClient, path: str, json: Any) -> Response:
        if next(numbers) == 3:
            raise KeyboardInterrupt
        return await post(self, path, json=json)

    options = (*SERIES, "--no-pages")
    with monkeypatch.context() as patched:
        patched.setattr(AsyncClient, "post", interrupt)
        stopped = export(catalog, folder, *options)
    assert (stopped.code, stopped.err) == (130, "cachelog: interrupted\n")
    listed = index_of(folder)["files"]
    assert len(listed) == 3
    assert files_in(folder).keys() == {*listed, "index.json", "headers.json", "_headers"}
    assert export(catalog, folder, *options).code == 0
    assert export(catalog, complete, *options).code == 0
    assert files_in(folder) == files_in(complete)


def test_documents_of_a_manifest_are_answered(catalog: Path, tmp_path: Path) -> None:
    """The documented program computes their files; lists are complete, with default variables."""
    (block,) = re.findall(r"```python\n(.*?)```", STATIC_SITE.read_text("utf-8"), re.DOTALL)
    program: dict[str, Any] = {}
    exec(block, program)  # noqa: S102
    manifest, folder = tmp_path / "manifest.json", tmp_path / "site"
    id_ = "7c0dd33f6b5a0aa1b6a4a1b4cd5f15ae6e0d5ae8"  # as in the manifests of code generators
    manifest.write_bytes(orjson.dumps({f"sha256:{id_}": QUERY}))
    options = ("--documents", manifest, "--no-pages", *SERIES)
    for _ in range(2):
        result = export(catalog, folder, *options)
        assert result.code == 0, result.err
    assert result.err.startswith("0 files written")
    index = index_of(folder)
    assert index["documents"] == {id_: "Seen"}
    first = {revision.digest for revision in history_of(catalog).of_series(DATED)}
    entries = [file for file in index["files"].values() if "document" in file]
    assert {entry["variables"]["ref"] for entry in entries} == first
    for digest in first:
        names, variables = [], {"ref": digest}
        while variables:
            answer = orjson.loads((folder / program["file_of"](id_, variables)).read_bytes())
            packages = answer["data"]["revision"]["packages"]
            names += [node["name"] for node in packages["nodes"]]
            page = packages["pageInfo"]
            variables = {"ref": digest, "from": page["endCursor"]} if page["hasNextPage"] else {}
        assert len(names) == len(set(names)) == packages["totalCount"] > 1


def test_answers_with_errors_are_omitted(catalog: Path, tmp_path: Path) -> None:
    """Standard error lists them, the other files are written, and the exit code is 1."""
    manifest, folder = tmp_path / "manifest.json", tmp_path / "site"
    wrong = 'query Wrong { revision(ref: "nowhere") { tag } }'
    manifest.write_bytes(orjson.dumps({"wrong": wrong, "right": "{ tags { name } }"}))
    result = export(catalog, folder, "--documents", manifest, "--no-pages")
    assert result.code == 1
    assert "left out: Wrong {}: " in result.err
    assert "1 file could not be made" in result.err
    assert [file for file in index_of(folder)["files"] if file.startswith("graphql/")] == [
        f"graphql/right/{sha256(b'{}').hexdigest()}.json"
    ]


def test_failing_page_is_omitted(
    catalog: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Standard error lists the page; no file is removed, and the next run writes the page.

    Permanent pages are written again if their links lead to more pages, as on a new site.
    """
    folder, get = tmp_path / "site", AsyncClient.get

    async def fail(self: AsyncClient, address: str) -> Response:
        if address.endswith("/coverage"):
            return Response(503)
        return await get(self, address)

    options = (*SERIES, "--last", 1, "--limit", 0, "--prune")
    assert export(catalog, folder, *SERIES, "--no-pages").code == 0
    with monkeypatch.context() as patched:
        patched.setattr(AsyncClient, "get", fail)
        result = export(catalog, folder, *options)
    assert result.code == 1
    assert re.search(r"left out: /compare/\S*/coverage: status 503\n", result.err)
    assert ", 0 removed in " in result.err
    assert not list(folder.rglob("coverage"))
    result = export(catalog, folder, *options)
    assert result.code == 0
    assert re.search(r", [1-9]\d* removed in ", result.err)
    assert list(folder.rglob("coverage/index.html"))
    assert export(catalog, folder, *SERIES, "--limit", 0).code == 0
    assert export(catalog, tmp_path / "whole", *SERIES, "--limit", 0).code == 0
    assert files_in(folder) == files_in(tmp_path / "whole")


def test_other_files_are_preserved(catalog: Path, tmp_path: Path) -> None:
    """They are not overwritten, nor removed because of an index that is not of a site."""
    (tmp_path / "index.html").write_text("mine")
    command = ("export-site", tmp_path, "--no-pages", "--prune")
    error = fail(*command, catalog=catalog)
    assert re.search("FOLDER: .*no index.json that describes a site", error)
    for text in ("{", '{"format": "cachelog-site", "files": {"../../away": {}}}'):
        (tmp_path / "index.json").write_text(text)
        assert "does not describe a site" in fail(*command, catalog=catalog)
    assert files_in(tmp_path).keys() == {"index.html", "index.json"}


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
            assert re.match(r"https://example\.org/cachelog/(compare|r)/[0-9a-f]{64}", entry.link)


def test_removed_package_has_an_entry(demo_catalog: Path, tmp_path: Path) -> None:
    """It has an entry for the removal; files of other programs are unchanged."""
    opened, folder = copied(demo_catalog, tmp_path / "catalog"), tmp_path / "feeds"
    command = ("feed", DATED, "--all", "--output", folder)
    cachelog(*command, catalog=opened.location)
    newest = opened.require_history().of_series(DATED)[0]
    emptied = next(iter(history(revisions=1, packages=1, specs=1, seed=7)))
    packages = opened.reader().frame(newest.digest).packages
    removed = next(package for package in packages if package not in emptied.content.packages)
    (folder / DATED / "never-there.atom").write_text("of somebody else")
    opened.publish([replace(emptied, tag="develop-2044-01-01", taken_at=None)])
    cachelog(*command, catalog=opened.location)
    feed = read_feed((folder / DATED / f"{removed}.atom").read_bytes())
    assert feed.entries[0].title.startswith(f"{removed}: removed, ")
    assert (folder / DATED / "never-there.atom").read_text() == "of somebody else"
