"""``cachelog export-site``: exports, and further exports into the same folder."""

import json
import re
from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson
import pytest
from httpx import AsyncClient, Response

from snapshots.demo import history
from tests.server.cache_pages import history_of
from tests.server.commands import fail
from tests.server.site.sites import export, files_in, index_of
from tests.snapshots.templates import catalog_of

STATIC_SITE = Path(__file__).parents[2] / "docs" / "static-site.md"
SERIES = ("--series", "develop-DATE")
QUERY = """
query Seen($ref: String!, $most: Int = 1, $from: String) {
  revision(ref: $ref) {
    __typename packages(first: $most, after: $from) {
      totalCount pageInfo { hasNextPage endCursor } nodes { name }
    }
  }
}
"""


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a catalog of a few revisions, whose pages take a second; tests only read it."""
    return catalog_of(tmp_path_factory.mktemp("small"), *history(revisions=3, packages=2, specs=2))


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, str]]:
    """Return the variables of each query that an export executes, in order of execution."""
    executed: list[dict[str, str]] = []
    post = AsyncClient.post

    async def record(self: AsyncClient, path: str, json: Any) -> Response:
        executed.append(json["variables"])
        return await post(self, path, json=json)

    monkeypatch.setattr(AsyncClient, "post", record)
    return executed


def test_second_export_writes_only_changes(
    catalog: Path, tmp_path: Path, requests: list[dict[str, str]]
) -> None:
    """Permanent answers are not computed again; without ``--prune`` no file is removed."""
    folder, options = tmp_path / "site", (*SERIES, "--no-pages")
    assert export(catalog, folder, *options, "--last", 1).code == 0
    before, newest = files_in(folder), history_of(catalog).of_series("develop-DATE")[0].digest
    assert not [file for file in before if file.endswith(".html")]
    assert {request["digest"] for request in requests if "digest" in request} == {newest}
    requests.clear()
    second = export(catalog, folder, *options, "--last", 1)
    assert second.err.startswith("0 files written")
    assert files_in(folder) == before
    # Answers with the hashes that returned, such as notes, may change.
    assert [request for request in requests if "head" not in request] == [
        {"name": "develop-DATE"},
        {},
    ]
    assert len([request for request in requests if "head" in request]) == 1
    assert export(catalog, folder, *options).code == 0
    more_files = files_in(folder)
    assert len(more_files) > len(before)
    assert before.keys() <= more_files.keys()
    (folder / "CNAME").write_text("example.org")
    pruned = export(catalog, folder, *options, "--last", 1, "--prune")
    assert f"{len(more_files) - len(before)} removed" in pruned.err
    assert files_in(folder) == {**before, "CNAME": b"example.org"}


def test_extended_site_equals_a_new_one(catalog: Path, tmp_path: Path) -> None:
    """Permanent pages are written again if their links lead to more pages."""
    folder, options = tmp_path / "site", (*SERIES, "--limit", 1)
    assert export(catalog, folder, *options, "--last", 1).code == 0
    assert export(catalog, folder, *options).code == 0
    assert export(catalog, tmp_path / "whole", *options).code == 0
    assert files_in(folder) == files_in(tmp_path / "whole")


def test_interrupted_export_leaves_complete_files(
    catalog: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The index lists them, and the next run continues from there."""
    folder, complete, post = tmp_path / "site", tmp_path / "whole", AsyncClient.post
    result: list[Any] = []

    async def interrupt(self: AsyncClient, path: str, json: Any) -> Response:
        if len(result) == 3:
            raise KeyboardInterrupt
        result.append(json)
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
    """They have their ids as names; lists are complete, and other variables have their defaults."""
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
    first = {revision.digest for revision in history_of(catalog).of_series("develop-DATE")}
    entries = [file for file in index["files"].values() if "document" in file]
    assert {entry["variables"]["ref"] for entry in entries} == first
    for digest in first:
        names, variables = [], {"ref": digest}
        while variables:
            file = sha256(orjson.dumps(variables, option=orjson.OPT_SORT_KEYS)).hexdigest()
            answer = orjson.loads((folder / f"graphql/{id_}/{file}.json").read_bytes())
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
    """Standard error lists the page; no file is removed, and the next run writes the page."""
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


def test_other_files_are_preserved(catalog: Path, tmp_path: Path) -> None:
    """They are not overwritten, nor removed because of an index that is not of a site."""
    (tmp_path / "index.html").write_text("mine")
    command = ("export-site", tmp_path, "--no-pages", "--prune")
    error = fail(*command, catalog=catalog)
    assert "FOLDER: " in error
    assert "no index.json that describes a site" in error
    for text in ("{", '{"format": "cachelog-site", "files": {"../../away": {}}}'):
        (tmp_path / "index.json").write_text(text)
        assert "does not describe a site" in fail(*command, catalog=catalog)
    assert files_in(tmp_path).keys() == {"index.html", "index.json"}


def test_documented_program_locates_answers(catalog: Path, tmp_path: Path) -> None:
    """It computes the file of an answer from the document and its variables, without the index."""
    (block,) = re.findall(r"```python\n(.*?)```", STATIC_SITE.read_text("utf-8"), re.DOTALL)
    names: dict[str, Any] = {}
    exec(block, names)  # noqa: S102
    assert export(catalog, tmp_path, "--no-pages", "--last", 1).code == 0
    files = json.loads((tmp_path / "index.json").read_bytes())["files"]
    answers = {path: entry for path, entry in files.items() if path.startswith("graphql/")}
    assert answers
    for path, entry in answers.items():
        assert names["file_of"](entry["document"], entry.get("variables", {})) == path
