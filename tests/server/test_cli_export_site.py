"""``cachelog export-site``: what a server says, as files."""

import posixpath
import re
import shlex
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import orjson
import pytest
from lxml import html

from server.site.asking import Asked, Reply
from server.site.linking import Page, linked
from server.site.places import Places
from snapshots.catalog.catalog import Catalog
from snapshots.demo import history
from tests.server.cache_pages import history_of
from tests.server.commands import Done, cachelog

OPERATING = Path(__file__).parents[2] / "docs" / "operating.md"
MEANT = """
query Seen($ref: String!, $most: Int = 2) {
  revision(ref: $ref) { packages(first: $most) { nodes { name } } }
}
"""


def files_in(folder: Path) -> dict[str, bytes]:
    """Return what all files in a folder hold, by their paths in it."""
    files = (it for it in folder.rglob("*") if it.is_file())
    return {it.relative_to(folder).as_posix(): it.read_bytes() for it in files}


def exported(catalog: Path, folder: Path, *options: object) -> Done:
    """Run the command."""
    return cachelog("export-site", folder, *options, catalog=catalog)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a catalog of a few revisions, whose history is kept; tests only read it."""
    folder = tmp_path_factory.mktemp("small")
    Catalog(str(folder)).publish(list(history(revisions=3, packages=6, specs=40)))
    return folder


@pytest.fixture(scope="module")
def site(demo_catalog: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the whole site of the demo's newest revisions; tests only read it."""
    folder = tmp_path_factory.mktemp("exported") / "site"
    done = exported(demo_catalog, folder, "--last", 2, "--base-url", "https://example.org/cache")
    assert (done.code, done.out) == (0, ""), done.err
    assert re.match(r"\d+ files written, 0 as before in ", done.err)
    return folder


def index_of(folder: Path) -> dict[str, Any]:
    """Return what tells of a site."""
    found: dict[str, Any] = orjson.loads((folder / "index.json").read_bytes())
    return found


def test_answers_are_those_of_a_server(site: Path, client: httpx.Client) -> None:
    """Byte for byte, with its headers; each is where a program finds it without the index."""
    index, headers = index_of(site), orjson.loads((site / "headers.json").read_bytes())
    answers = {file: it for file, it in index["files"].items() if "document" in it}
    texts = {
        sha256(it.read_bytes()).hexdigest(): it.read_text("utf-8")
        for it in Path("server/site/documents").glob("*.graphql")
    }
    assert {it["document"] for it in answers.values()} == texts.keys() == index["documents"].keys()
    for file, it in answers.items():
        variables = it.get("variables", {})
        sent = orjson.dumps(variables, option=orjson.OPT_SORT_KEYS)
        assert file == f"graphql/{it['document']}/{sha256(sent).hexdigest()}.json"
        asked = {"query": texts[it["document"]], "variables": variables}
        response = client.post("/graphql", json=asked)
        assert "errors" not in response.json()
        assert (site / file).read_bytes() == response.content
        for name in ("content-type", "cache-control", "x-content-type-options"):
            assert headers[file][name] == response.headers[name]
        assert it.get("permanent", False) is ("immutable" in response.headers["cache-control"])
    permanent = {index["documents"][it["document"]] for it in answers.values() if "permanent" in it}
    assert permanent == {"Revision", "Comparison"}


def test_pages_say_what_those_of_a_server_say(site: Path, client: httpx.Client) -> None:
    """But for what only a server can do; notes as Markdown are byte for byte its own."""
    entries = index_of(site)["files"]
    pages = [file for file in entries if file.endswith(".html")]
    kinds = {re.sub(r"/[^/]*[0-9a-f]{64}|/(develop|vX).*?(?=/)", "", it) for it in pages}
    tabs = ("", "/packages", "/specs", "/stacks", "/coverage", "/notes")
    assert {f"compare{tab}/index.html" for tab in tabs} <= kinds
    assert {"index.html", "r/index.html", "series/index.html"} <= kinds
    for file in pages[::3]:
        here = html.document_fromstring((site / file).read_bytes())
        there = html.document_fromstring(client.get(entries[file]["address"]).content)
        for it in there.cssselect("form, [data-for=server]"):
            it.drop_tree()
        assert here.cssselect("main")[0].text_content() == there.cssselect("main")[0].text_content()
    (notes, *_) = (it for it in entries if it.endswith("/notes.md"))
    assert (site / notes).read_bytes() == client.get(f"/{notes}").content


def test_every_link_leads_to_a_file(site: Path) -> None:
    """Those to what needs a server are none; nothing asks for more than files."""
    files, links = files_in(site), set()
    for file in (it for it in files if it.endswith(".html")):
        dom = html.document_fromstring(files[file])
        for attribute in ("href", "src", "data-copy-from"):
            for it in dom.xpath(f"//*[@{attribute}]"):
                parts = urlsplit(it.get(attribute))
                if not parts.netloc and parts.path:
                    links.add(
                        posixpath.normpath(posixpath.join(posixpath.dirname(file), parts.path))
                    )
                    assert "?" not in it.get(attribute).replace("?v=", "")
        assert not dom.cssselect("form") + dom.xpath("//*[@*[starts-with(name(), 'hx-')]]")
        (canonical,) = dom.cssselect("link[rel=canonical]") or [None]
        if canonical is not None:
            path = canonical.get("href").removeprefix("https://example.org/cache/")
            assert f"{path}index.html" in files or path in files
    assert links <= files.keys()
    assert {it for it in files if it.startswith("compare/")} <= links


def test_feeds_lead_to_pages_of_the_site(site: Path) -> None:
    """Of each series one, with the address that the site is going to have."""
    files = files_in(site)
    feed = files["feeds/develop-DATE.atom"].decode()
    assert 'href="https://example.org/cache/feeds/develop-DATE.atom"' in feed
    told = re.findall(r'href="\.\./(compare/[^"]*)"', feed)
    assert f"{told[0]}/index.html" in files


def test_hosts_are_told_the_headers(site: Path) -> None:
    """No two rules mean one file, and none lets a file be kept that may change."""
    headers = orjson.loads((site / "headers.json").read_bytes())
    assert headers.keys() == index_of(site)["files"].keys()
    assert not any(name in it for it in headers.values() for name in ("etag", "date", "vary"))
    rules: dict[str, list[str]] = {}
    for line in (site / "_headers").read_text().splitlines():
        if line.startswith("/"):
            lines = rules[line] = []
        else:
            lines.append(line.strip())
    for file, it in headers.items():
        path = "/" if file == "index.html" else f"/{file}"
        fitting = [
            rule for rule in rules if re.fullmatch(re.escape(rule).replace(r"\*", ".*"), path)
        ]
        (rule,) = fitting
        told = dict(line.split(": ", 1) for line in rules[rule])
        assert told["cache-control"] in (it["cache-control"], "no-cache")
        assert it.items() >= {name: told[name] for name in told if name != "cache-control"}.items()


def test_a_further_run_writes_what_is_new(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is permanent is not even asked for again; without ``--prune`` nothing goes."""
    folder, asked = tmp_path / "site", []
    answer = Asked.answer

    async def seen(self: Asked, text: str, variables: dict[str, str]) -> Reply:
        asked.append(dict(variables))
        return await answer(self, text, variables)

    monkeypatch.setattr(Asked, "answer", seen)
    options = ("--series", "develop-DATE", "--no-pages")
    assert exported(small, folder, *options, "--last", 1).code == 0
    before, newest = files_in(folder), history_of(small).of_series("develop-DATE")[0].digest
    assert not [it for it in before if it.endswith(".html")]
    assert {it["digest"] for it in asked if "digest" in it} == {newest}
    asked.clear()
    again = exported(small, folder, *options, "--last", 1)
    assert again.err.startswith("0 files written")
    assert files_in(folder) == before
    # What tells which hashes returned, as notes do, may change.
    assert [it for it in asked if "head" not in it] == [{"name": "develop-DATE"}, {}]
    assert len([it for it in asked if "head" in it]) == 1
    more = exported(small, folder, *options)
    assert more.code == 0
    grown = files_in(folder)
    assert len(grown) > len(before)
    assert before.keys() <= grown.keys()
    (folder / "CNAME").write_text("example.org")
    less = exported(small, folder, *options, "--last", 1, "--prune")
    assert f"{len(grown) - len(before)} removed" in less.err
    assert files_in(folder) == {**before, "CNAME": b"example.org"}


def test_an_interrupted_run_leaves_whole_files(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are told of, and the next run goes on from there."""
    folder, whole, answer = tmp_path / "site", tmp_path / "whole", Asked.answer
    done: list[str] = []

    async def interrupted(self: Asked, text: str, variables: dict[str, str]) -> Reply:
        if len(done) == 3:
            raise KeyboardInterrupt
        done.append(text)
        return await answer(self, text, variables)

    options = ("--series", "develop-DATE", "--no-pages")
    with monkeypatch.context() as patched:
        patched.setattr(Asked, "answer", interrupted)
        stopped = exported(small, folder, *options)
    assert (stopped.code, stopped.err) == (130, "cachelog: interrupted\n")
    left = files_in(folder)
    assert len(index_of(folder)["files"]) == 3
    assert set(left) == {*index_of(folder)["files"], "index.json", "headers.json", "_headers"}
    assert exported(small, folder, *options).code == 0
    assert exported(small, whole, *options).code == 0
    assert files_in(folder) == files_in(whole)


def test_documents_of_a_manifest_are_answered(small: Path, tmp_path: Path) -> None:
    """By its ids; variables that are no revision's have their defaults."""
    manifest, folder = tmp_path / "manifest.json", tmp_path / "site"
    manifest.write_bytes(orjson.dumps({"seen": MEANT}))
    done = exported(
        small, folder, "--documents", manifest, "--no-pages", "--series", "develop-DATE"
    )
    assert done.code == 0, done.err
    index = index_of(folder)
    assert index["documents"] == {"seen": "Seen"}
    answers = [it for it in index["files"] if it.startswith("graphql/seen/")]
    assert len(answers) == len({it.digest for it in history_of(small).of_series("develop-DATE")})
    (one, *_) = answers
    assert (
        len(orjson.loads((folder / one).read_bytes())["data"]["revision"]["packages"]["nodes"]) == 2
    )


def test_answers_with_errors_are_left_out(small: Path, tmp_path: Path) -> None:
    """They are told of, the rest is written, and the exit code says so."""
    manifest, folder = tmp_path / "manifest.json", tmp_path / "site"
    wrong = 'query Wrong { revision(ref: "nowhere") { tag } }'
    manifest.write_bytes(orjson.dumps({"wrong": wrong, "right": "{ tags { name } }"}))
    done = exported(small, folder, "--documents", manifest, "--no-pages")
    assert done.code == 1
    assert "left out: Wrong {}: " in done.err
    assert "1 file could not be had" in done.err
    assert [it for it in index_of(folder)["files"] if it.startswith("graphql/")] == [
        f"graphql/right/{sha256(b'{}').hexdigest()}.json"
    ]


def test_a_folder_of_something_else_is_left_alone(small: Path, tmp_path: Path) -> None:
    """Nobody's files are written over, or removed by an index that somebody else made."""
    (tmp_path / "index.html").write_text("mine")
    done = exported(small, tmp_path, "--no-pages")
    assert (done.code, done.out) == (1, "")
    assert "FOLDER: " in done.err
    assert "no index.json that tells of a site" in done.err
    for text in ("{", '{"format": "cachelog-site", "files": {"../../away": {}}}'):
        (tmp_path / "index.json").write_text(text)
        done = exported(small, tmp_path, "--no-pages", "--prune")
        assert done.code == 1
        assert "does not tell of a site" in done.err
    assert files_in(tmp_path).keys() == {"index.html", "index.json"}


def test_with_a_server_links_lead_there(small: Path) -> None:
    """Where the site has not what they lead to, and only there."""
    past = history_of(small)
    digest = past.of_series("develop-DATE")[0].digest
    page = Page(f"/r/{digest}")
    text = (
        f'<a href="../r/{past.revisions[0].tag}">r</a>'
        '<a href="../search?q=a&amp;b=c" rel=next>s</a>'
        '<a href="#x">x</a><a href="https://example.org/">e</a>'
        '<form action="?"><a href="?">f</a></form>'
        '<a href="?after=z">n</a>'
    )
    places = Places(past, "https://cache.example.org/")
    places.add(page.address, page.file)
    places.add(f"/r/{past.revisions[0].digest}", "r/newest/index.html")
    found = linked(text.encode(), page, places)
    newest = "index.html" if past.revisions[0].digest == digest else "../newest/index.html"
    assert found.body.decode() == (
        '<a href="../newest/index.html">r</a>'.replace("../newest/index.html", newest)
        + '<a href="https://cache.example.org/search?q=a&amp;b=c" rel="next">s</a>'
        '<a href="#x">x</a><a href="https://example.org/">e</a><a href="page-2.html">n</a>'
    )
    assert found.next == f"{page.address}?after=z"
    bare = linked(text.encode(), page, Places(past))
    assert b"<a>s</a>" in bare.body


def test_the_documentation_s_example_runs(small: Path, tmp_path: Path) -> None:
    """Each command of the section, as it stands there."""
    section = OPERATING.read_text("utf-8").split("## A site of files")[1].split("\n## ")[0]
    (block,) = re.findall(r"```sh\n(.*?)```", section, re.DOTALL)
    lines = [shlex.split(line) for line in block.replace("\\\n", " ").splitlines() if line]
    ours = [words for words in lines if words[:2] == ["cachelog", "export-site"]]
    assert ours
    for words in ours:
        given = [it if it != "public" else tmp_path / "public" for it in words[1:]]
        done = cachelog(*given, catalog=small)
        assert done.code == 0, done.err
    assert (tmp_path / "public" / "index.html").is_file()
