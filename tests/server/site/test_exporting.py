"""What is in a site: what a server of the same catalog says."""

import posixpath
import re
from hashlib import sha256
from pathlib import Path
from urllib.parse import unquote, urlsplit

import httpx
import orjson
import pytest
from lxml import html
from starlette.routing import compile_path

from server.pages.routes import PAGES
from tests.server.pages.api_answers import data_of
from tests.server.site.sites import export, files_in, index_of

DOCUMENTS = Path(__file__).parents[3] / "server" / "site" / "documents"
ONLY_OF_A_SERVER = {
    "/search",
    "/hash",
    "/specs",
    "/specs/{base}...{head}",
    "/compare",
    "/badge/{ref}/{name}.svg",
    "/badge/{ref}/{name}.json",
    "/compare/{base}...{head}/notes.md",  # which is not HTML
    "/compare/{base}...{head}/causes/{cause}",
    "/compare/{base}...{head}/packages/{packages}/commits",
    "/compare/{base}...{head}/specs/{hashPrefix}/commits",
}
BASE = ("--base-url", "https://example.org/cache")


def kind_of(address: str) -> str:
    """Return the path of the page that a server has at an address."""
    path = unquote(address.partition("?")[0])
    return next(it.path for it in PAGES if compile_path(it.path)[0].match(path))


@pytest.fixture(scope="module")
def site(history_catalog: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the site of the newest revisions of a series with commits; tests only read it."""
    folder = tmp_path_factory.mktemp("exported") / "site"
    done = export(history_catalog, folder, "--last", 2, "--limit", 2, *BASE)
    assert (done.code, done.out) == (0, ""), done.err
    assert re.match(r"\d+ files written, 0 as before in ", done.err)
    return folder


def test_answers_are_those_of_a_server(site: Path, history_client: httpx.Client) -> None:
    """Byte for byte, with its headers; each is where a program finds it without the index."""
    index, headers = index_of(site), orjson.loads((site / "headers.json").read_bytes())
    answers = {file: it for file, it in index["files"].items() if "document" in it}
    texts = {
        sha256(it.read_bytes()).hexdigest(): it.read_text("utf-8")
        for it in DOCUMENTS.glob("*.graphql")
    }
    assert {it["document"] for it in answers.values()} == texts.keys() == index["documents"].keys()
    for file, it in answers.items():
        variables = it.get("variables", {})
        sent = orjson.dumps(variables, option=orjson.OPT_SORT_KEYS)
        assert file == f"graphql/{it['document']}/{sha256(sent).hexdigest()}.json"
        body = {"query": texts[it["document"]], "variables": variables}
        response = history_client.post("/graphql", json=body)
        assert "errors" not in response.json()
        assert (site / file).read_bytes() == response.content
        for name in ("content-type", "cache-control", "x-content-type-options"):
            assert headers[file][name] == response.headers[name]
        assert it.get("permanent", False) is ("immutable" in response.headers["cache-control"])
    permanent = {index["documents"][it["document"]] for it in answers.values() if "permanent" in it}
    assert permanent == {"Revision", "Comparison", "ChangedPackages"}


def test_pages_say_what_those_of_a_server_say(site: Path, history_client: httpx.Client) -> None:
    """But for what only a server can do; notes as Markdown are byte for byte its own."""
    entries = index_of(site)["files"]
    pages = {kind_of(it["address"]): file for file, it in entries.items() if file.endswith(".html")}
    assert {it.path for it in PAGES} - pages.keys() == ONLY_OF_A_SERVER
    for file in pages.values():
        here = html.document_fromstring((site / file).read_bytes())
        there = html.document_fromstring(history_client.get(entries[file]["address"]).content)
        live = "form:not(.choosing), .choosing button, .choosing abbr, details.narrowing"
        asking = '.examples, .exports, .live, .unfolded a, a[href*="compare?head="]'
        for it in [*there.cssselect(f"{live}, {asking}"), *here.cssselect("form")]:
            it.drop_tree()
        texts = [it.cssselect("main")[0].text_content().split() for it in (here, there)]
        assert texts[0] == texts[1], file
    (notes, *_) = (it for it in entries if it.endswith("/notes.md"))
    assert (site / notes).read_bytes() == history_client.get(f"/{notes}").content


def test_every_link_leads_to_a_file(site: Path) -> None:
    """Those to what needs a server are none; nothing asks for more than files."""
    files, links = files_in(site), set()
    for file in (it for it in files if it.endswith(".html")):
        dom = html.document_fromstring(files[file])
        for attribute in ("href", "src", "data-copy-from"):
            for it in dom.xpath(f"//*[@{attribute}]"):
                assert it.get(attribute), (file, it.tag)
                parts = urlsplit(it.get(attribute))
                if not parts.netloc and parts.path:
                    links.add(
                        posixpath.normpath(posixpath.join(posixpath.dirname(file), parts.path))
                    )
                    assert "?" not in it.get(attribute).replace("?v=", "")
        assert not dom.xpath("//form[not(@data-index)] | //*[@*[starts-with(name(), 'hx-')]]")
        for box in dom.cssselect("form"):
            index = posixpath.join(posixpath.dirname(file), box.get("data-index", ""))
            links.add(posixpath.normpath(index))
        (canonical,) = dom.cssselect("link[rel=canonical]") or [None]
        if canonical is not None:
            path = canonical.get("href").removeprefix("https://example.org/cache/")
            assert f"{path}index.html" in files or path in files
    assert links <= files.keys()
    assert {it for it in files if it.startswith("compare/")} <= links


def test_commits_have_pages(site: Path, history_client: httpx.Client) -> None:
    """Those that explain a comparison of the site, which links to them as they link to it."""
    files = files_in(site)
    newest = data_of(history_client, "{ revision { digest previous { digest } } }")["revision"]
    tab = f"compare/{newest['previous']['digest']}...{newest['digest']}/commits/index.html"

    def targets(file: str) -> set[str]:
        folder = posixpath.dirname(file)
        links = html.document_fromstring(files[file]).xpath("//main//a/@href")
        return {posixpath.normpath(posixpath.join(folder, link)) for link in links}

    pages = {file for file in targets(tab) if file.startswith("commits/")}
    assert pages
    assert all(tab in targets(page) for page in pages)


def test_feeds_lead_to_pages_of_the_site(site: Path) -> None:
    """Of each series one, with the address that the site is going to have."""
    files = files_in(site)
    feed = files["feeds/develop.atom"].decode()
    assert 'href="https://example.org/cache/feeds/develop.atom"' in feed
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
