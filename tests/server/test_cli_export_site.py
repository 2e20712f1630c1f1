"""``cachelog export-site``: runs, and further runs, over what is there."""

import json
import re
from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson
import pytest
from httpx import AsyncClient, Response

from snapshots.catalog.catalog import Catalog
from snapshots.demo import history
from tests.server.cache_pages import history_of
from tests.server.site.sites import exported, files_in, index_of

STATIC_SITE = Path(__file__).parents[2] / "docs" / "static-site.md"
SERIES = ("--series", "develop-DATE")
QUERY = """
query Seen($ref: String!, $most: Int = 1, $from: String) {
  revision(ref: $ref) {
    packages(first: $most, after: $from) {
      totalCount pageInfo { hasNextPage endCursor } nodes { name }
    }
  }
}
"""


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a catalog of a few revisions, whose pages take a second; tests only read it."""
    folder = tmp_path_factory.mktemp("small")
    Catalog(str(folder)).publish(list(history(revisions=3, packages=2, specs=2)))
    return folder


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, str]]:
    """Return the variables of each query that an export executes, as they come."""
    executed: list[dict[str, str]] = []
    post = AsyncClient.post

    async def recorded(self: AsyncClient, path: str, json: Any) -> Response:
        executed.append(json["variables"])
        return await post(self, path, json=json)

    monkeypatch.setattr(AsyncClient, "post", recorded)
    return executed


def test_a_further_run_writes_what_is_new(
    small: Path, tmp_path: Path, requests: list[dict[str, str]]
) -> None:
    """Permanent answers are not computed again; without ``--prune`` no file is removed."""
    folder, options = tmp_path / "site", (*SERIES, "--no-pages")
    assert exported(small, folder, *options, "--last", 1).code == 0
    before, newest = files_in(folder), history_of(small).of_series("develop-DATE")[0].digest
    assert not [it for it in before if it.endswith(".html")]
    assert {it["digest"] for it in requests if "digest" in it} == {newest}
    requests.clear()
    again = exported(small, folder, *options, "--last", 1)
    assert again.err.startswith("0 files written")
    assert files_in(folder) == before
    # Answers with the hashes that returned, such as notes, may change.
    assert [it for it in requests if "head" not in it] == [{"name": "develop-DATE"}, {}]
    assert len([it for it in requests if "head" in it]) == 1
    assert exported(small, folder, *options).code == 0
    grown = files_in(folder)
    assert len(grown) > len(before)
    assert before.keys() <= grown.keys()
    (folder / "CNAME").write_text("example.org")
    less = exported(small, folder, *options, "--last", 1, "--prune")
    assert f"{len(grown) - len(before)} removed" in less.err
    assert files_in(folder) == {**before, "CNAME": b"example.org"}


def test_a_site_that_grew_is_as_one_made_anew(small: Path, tmp_path: Path) -> None:
    """Permanent pages are written again where their links lead to more pages."""
    folder, options = tmp_path / "site", (*SERIES, "--limit", 1)
    assert exported(small, folder, *options, "--last", 1).code == 0
    assert exported(small, folder, *options).code == 0
    assert exported(small, tmp_path / "whole", *options).code == 0
    assert files_in(folder) == files_in(tmp_path / "whole")


def test_an_interrupted_run_leaves_whole_files(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The index names them, and the next run continues from there."""
    folder, whole, post = tmp_path / "site", tmp_path / "whole", AsyncClient.post
    done: list[Any] = []

    async def interrupted(self: AsyncClient, path: str, json: Any) -> Response:
        if len(done) == 3:
            raise KeyboardInterrupt
        done.append(json)
        return await post(self, path, json=json)

    options = (*SERIES, "--no-pages")
    with monkeypatch.context() as patched:
        patched.setattr(AsyncClient, "post", interrupted)
        stopped = exported(small, folder, *options)
    assert (stopped.code, stopped.err) == (130, "cachelog: interrupted\n")
    left = files_in(folder)
    assert len(index_of(folder)["files"]) == 3
    assert set(left) == {*index_of(folder)["files"], "index.json", "headers.json", "_headers"}
    assert exported(small, folder, *options).code == 0
    assert exported(small, whole, *options).code == 0
    assert files_in(folder) == files_in(whole)


def test_documents_of_a_manifest_are_answered(small: Path, tmp_path: Path) -> None:
    """By its ids, and list by list to the end; other variables have their defaults."""
    manifest, folder = tmp_path / "manifest.json", tmp_path / "site"
    manifest.write_bytes(orjson.dumps({"seen": QUERY}))
    options = ("--documents", manifest, "--no-pages", *SERIES)
    for _ in range(2):
        done = exported(small, folder, *options)
        assert done.code == 0, done.err
    assert done.err.startswith("0 files written")
    index = index_of(folder)
    assert index["documents"] == {"seen": "Seen"}
    first = {it.digest for it in history_of(small).of_series("develop-DATE")}
    entries = [it for it in index["files"].values() if "document" in it]
    assert {it["variables"]["ref"] for it in entries} == first
    for digest in first:
        names, variables = [], {"ref": digest}
        while variables:
            file = sha256(orjson.dumps(variables, option=orjson.OPT_SORT_KEYS)).hexdigest()
            answer = orjson.loads((folder / f"graphql/seen/{file}.json").read_bytes())
            packages = answer["data"]["revision"]["packages"]
            names += [it["name"] for it in packages["nodes"]]
            page = packages["pageInfo"]
            variables = {"ref": digest, "from": page["endCursor"]} if page["hasNextPage"] else {}
        assert len(names) == len(set(names)) == packages["totalCount"] > 1


def test_answers_with_errors_are_left_out(small: Path, tmp_path: Path) -> None:
    """Standard error names them, the rest is written, and the exit code is 1."""
    manifest, folder = tmp_path / "manifest.json", tmp_path / "site"
    wrong = 'query Wrong { revision(ref: "nowhere") { tag } }'
    manifest.write_bytes(orjson.dumps({"wrong": wrong, "right": "{ tags { name } }"}))
    done = exported(small, folder, "--documents", manifest, "--no-pages")
    assert done.code == 1
    assert "left out: Wrong {}: " in done.err
    assert "1 file could not be made" in done.err
    assert [it for it in index_of(folder)["files"] if it.startswith("graphql/")] == [
        f"graphql/right/{sha256(b'{}').hexdigest()}.json"
    ]


def test_a_page_that_fails_is_left_out(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Standard error names the page; nothing is removed, and the next run writes the page."""
    folder, get = tmp_path / "site", AsyncClient.get

    async def failing(self: AsyncClient, address: str) -> Response:
        if address.endswith("/coverage"):
            return Response(503)
        return await get(self, address)

    options = (*SERIES, "--last", 1, "--limit", 0, "--prune")
    assert exported(small, folder, *SERIES, "--no-pages").code == 0
    with monkeypatch.context() as patched:
        patched.setattr(AsyncClient, "get", failing)
        done = exported(small, folder, *options)
    assert done.code == 1
    assert re.search(r"left out: /compare/\S*/coverage: status 503\n", done.err)
    assert ", 0 removed in " in done.err
    assert not list(folder.rglob("coverage"))
    done = exported(small, folder, *options)
    assert done.code == 0
    assert re.search(r", [1-9]\d* removed in ", done.err)
    assert list(folder.rglob("coverage/index.html"))


def test_a_bad_manifest_is_refused_by_its_option(small: Path, tmp_path: Path) -> None:
    """Before anything is written."""
    (tmp_path / "manifest.json").write_text("[]")
    done = exported(small, tmp_path / "site", "--documents", tmp_path / "manifest.json")
    assert done.code == 1
    assert done.err.startswith("cachelog: --documents: ")
    assert not (tmp_path / "site").exists()


def test_a_folder_of_something_else_is_left_alone(small: Path, tmp_path: Path) -> None:
    """Nobody's files are written over, or removed by an index that somebody else made."""
    (tmp_path / "index.html").write_text("mine")
    done = exported(small, tmp_path, "--no-pages")
    assert (done.code, done.out) == (1, "")
    assert "FOLDER: " in done.err
    assert "no index.json that describes a site" in done.err
    for text in ("{", '{"format": "cachelog-site", "files": {"../../away": {}}}'):
        (tmp_path / "index.json").write_text(text)
        done = exported(small, tmp_path, "--no-pages", "--prune")
        assert done.code == 1
        assert "does not describe a site" in done.err
    assert files_in(tmp_path).keys() == {"index.html", "index.json"}


def test_the_documentation_s_program_finds_answers(small: Path, tmp_path: Path) -> None:
    """Without the index, by the document and its variables."""
    (block,) = re.findall(r"```python\n(.*?)```", STATIC_SITE.read_text("utf-8"), re.DOTALL)
    names: dict[str, Any] = {}
    exec(block, names)  # noqa: S102
    assert exported(small, tmp_path, "--no-pages", "--last", 1).code == 0
    files = json.loads((tmp_path / "index.json").read_bytes())["files"]
    answers = {path: it for path, it in files.items() if path.startswith("graphql/")}
    assert answers
    for path, it in answers.items():
        assert names["file_of"](it["document"], it.get("variables", {})) == path
