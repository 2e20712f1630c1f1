"""A site: its contents equal the responses of a server, and its search works on local files."""

import posixpath
import re
from hashlib import sha256
from pathlib import Path
from urllib.parse import unquote, urlsplit

import httpx
import orjson
import pytest
from lxml import html
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from starlette.routing import compile_path

from server.pages.routes import PAGES
from server.site.entries import entries
from server.site.folder import MAX_HEADER_RULES, rules
from server.site.queries import choose
from snapshots.catalog.catalog import Catalog
from snapshots.catalog.library import Library
from tests.server.browsers import wait_for
from tests.server.pages.browser import settle
from tests.server.site.sites import export, files_in, index_of
from tests.snapshots.factories import a_snapshot, a_spec, day

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
    """Return the path of the page that a server has at a URL."""
    path = unquote(address.partition("?")[0])
    return next(page.path for page in PAGES if compile_path(page.path)[0].match(path))


@pytest.fixture(scope="module")
def site(history_catalog: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the site of the newest revisions of a series with commits; tests only read it."""
    folder = tmp_path_factory.mktemp("exported") / "site"
    result = export(history_catalog, folder, "--last", 2, "--limit", 2, *BASE)
    assert (result.code, result.out) == (0, ""), result.err
    assert re.match(r"\d+ files written, 0 as before in ", result.err)
    return folder


def test_answers_equal_those_of_a_server(site: Path, history_client: httpx.Client) -> None:
    """Byte for byte, with headers; programs compute their paths without the index."""
    index, headers = index_of(site), orjson.loads((site / "headers.json").read_bytes())
    answers = {file: entry for file, entry in index["files"].items() if "document" in entry}
    texts = {
        sha256(path.read_bytes()).hexdigest(): path.read_text("utf-8")
        for path in DOCUMENTS.glob("*.graphql")
    }
    assert (
        {answer["document"] for answer in answers.values()}
        == texts.keys()
        == index["documents"].keys()
    )
    for file, answer in answers.items():
        variables = answer.get("variables", {})
        sent = orjson.dumps(variables, option=orjson.OPT_SORT_KEYS)
        assert file == f"graphql/{answer['document']}/{sha256(sent).hexdigest()}.json"
        body = {"query": texts[answer["document"]], "variables": variables}
        response = history_client.post("/graphql", json=body)
        assert "errors" not in response.json()
        assert (site / file).read_bytes() == response.content
        for name in ("content-type", "cache-control", "x-content-type-options"):
            assert headers[file][name] == response.headers[name]
        assert answer.get("permanent", False) is ("immutable" in response.headers["cache-control"])
    permanent = {
        index["documents"][answer["document"]]
        for answer in answers.values()
        if "permanent" in answer
    }
    assert permanent == {"Revision", "Comparison", "ChangedPackages"}


def test_pages_equal_those_of_a_server(site: Path, history_client: httpx.Client) -> None:
    """Except for interactive parts; notes in Markdown are equal byte for byte."""
    entries = index_of(site)["files"]
    files = [file for file in entries if file.endswith(".html")]
    pages = {kind_of(entries[file]["address"]): file for file in files}
    assert {page.path for page in PAGES} - pages.keys() == ONLY_OF_A_SERVER
    for file in pages.values():
        exported = html.document_fromstring((site / file).read_bytes())
        served = html.document_fromstring(history_client.get(entries[file]["address"]).content)
        live = "form:not(.choosing), .choosing button, .choosing abbr, details.narrowing"
        requesting = '.examples, .exports, .live, .unfolded a, a[href*="compare?head="]'
        for part in [*served.cssselect(f"{live}, {requesting}"), *exported.cssselect("form")]:
            part.drop_tree()
        texts = [dom.cssselect("main")[0].text_content().split() for dom in (exported, served)]
        assert texts[0] == texts[1], file
    (notes, *_) = (entry for entry in entries if entry.endswith("/notes.md"))
    assert (site / notes).read_bytes() == history_client.get(f"/{notes}").content


def target(file: str, link: str) -> str:
    """Return the file that a relative link in a file leads to."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(file), link))


def test_links_lead_to_files(site: Path) -> None:
    """Links that need a server are removed; no page requests more than files."""
    files, links = files_in(site), set()
    for file in (file for file in files if file.endswith(".html")):
        dom = html.document_fromstring(files[file])
        for attribute in ("href", "src", "data-copy-from"):
            for url in dom.xpath(f"//@{attribute}"):
                assert url, (file, attribute)
                parts = urlsplit(url)
                if not parts.netloc and parts.path:
                    links.add(target(file, parts.path))
                    assert "?" not in url.replace("?v=", "")
        assert not dom.xpath("//form[not(@data-index)] | //*[@*[starts-with(name(), 'hx-')]]")
        for box in dom.cssselect("form"):
            links.add(target(file, box.get("data-index", "")))
        (canonical,) = dom.cssselect("link[rel=canonical]") or [None]
        if canonical is not None:
            path = canonical.get("href").removeprefix("https://example.org/cache/")
            assert f"{path}index.html" in files or path in files
    assert links <= files.keys()
    assert {file for file in files if file.startswith("compare/")} <= links


def test_feeds_link_to_pages_of_the_site(site: Path) -> None:
    """There is one per series, with the URL of the site."""
    files = files_in(site)
    feed = files["feeds/develop.atom"].decode()
    assert 'href="https://example.org/cache/feeds/develop.atom"' in feed
    links = re.findall(r'href="\.\./(compare/[^"]*)"', feed)
    assert f"{links[0]}/index.html" in files


def test_one_rule_of_headers_matches_each_file(site: Path) -> None:
    """Exactly one rule matches each file, and none caches a file that may change."""
    headers = orjson.loads((site / "headers.json").read_bytes())
    assert headers.keys() == index_of(site)["files"].keys()
    assert not any(
        name in header for header in headers.values() for name in ("etag", "date", "vary")
    )
    rules_of_host: dict[str, list[str]] = {}
    for line in (site / "_headers").read_text().splitlines():
        if line.startswith("/"):
            lines = rules_of_host[line] = []
        else:
            lines.append(line.strip())
    for file, expected in headers.items():
        path = "/" if file == "index.html" else f"/{file}"
        patterns = {rule: re.escape(rule).replace(r"\*", ".*") for rule in rules_of_host}
        (rule,) = (rule for rule, pattern in patterns.items() if re.fullmatch(pattern, path))
        fields = dict(line.split(": ", 1) for line in rules_of_host[rule])
        assert fields["cache-control"] in (expected["cache-control"], "no-cache")
        del fields["cache-control"]
        assert expected.items() >= fields.items()


PERMANENT, REVALIDATED = (
    {"cache-control": "immutable", "a": "1"},
    {"cache-control": "no-cache", "a": "1"},
)


def test_rules_have_the_common_headers() -> None:
    """If some files may change, all are revalidated; each of not too many documents has its own."""
    files = {
        "graphql/x/1.json": PERMANENT,
        "graphql/x/2.json": PERMANENT,
        "graphql/y/1.json": PERMANENT,
        "graphql/y/2.json": REVALIDATED | {"b": "2"},
        "index.html": REVALIDATED,
    }
    assert rules(files) == (
        "/graphql/x/*\n  a: 1\n  cache-control: immutable\n"
        "/graphql/y/*\n  a: 1\n  cache-control: no-cache\n"
        "/\n  a: 1\n  cache-control: no-cache\n"
    )
    many = {f"graphql/{number}/1.json": PERMANENT for number in range(MAX_HEADER_RULES + 1)}
    assert rules(many) == "/graphql/*\n  a: 1\n  cache-control: immutable\n"


STACKS = ("e4s", "root", "..", "a/b", "x" * 300)
REMOVED = a_spec("a", name="pa")


@pytest.fixture(scope="module")
def odd_catalog(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a catalog with a removed package, and stacks whose names are no valid file names."""
    folder = tmp_path_factory.mktemp("catalog")
    remaining = [a_spec(text, name=f"p{text}", stacks=tuple(sorted(STACKS))) for text in "bc"]
    Catalog(str(folder)).publish(
        [
            a_snapshot([REMOVED, *remaining], "develop", day(1)),
            a_snapshot(remaining, "develop", day(2)),
        ]
    )
    return folder


@pytest.fixture(scope="module")
def odd_site(odd_catalog: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the complete site of that catalog; tests only read it."""
    folder = tmp_path_factory.mktemp("exported") / "site"
    result = export(odd_catalog, folder)
    assert result.code == 0, result.err
    return folder


def test_search_index_has_all_entries(odd_site: Path) -> None:
    """Series, revisions, packages, stacks and hashes, including removed ones, have a page."""
    text = (odd_site / "search-index.js").read_text().removeprefix("globalThis.searchIndex = ")
    rows = orjson.loads(text.removesuffix(";\n"))  # kind, value, detail, file
    assert {file for *_, file in rows} <= files_in(odd_site).keys()
    kinds = [kind for kind, *_ in rows]
    assert {kind: kinds.count(kind) for kind in kinds} == {
        "series": 1,
        "revision": 1,
        "package": 3,
        "stack": 2,
        "hash": 3,
    }
    details = {value: detail for _, value, detail, _ in rows}
    assert details["pa"] == "removed, last in develop"
    assert details["pb"] == "1.14.5 in develop"
    assert details[REMOVED.hash] == "pa@1.14.5 for x86_64_v3"


def test_limit_applies_to_each_kind(odd_catalog: Path) -> None:
    """It applies to each kind; with 0, series and revisions remain."""
    catalog = Catalog(str(odd_catalog))
    chosen, library = choose(catalog.require_history()), Library(catalog)
    one, none = (entries(library, chosen, limit) for limit in (1, 0))
    addresses = [address for entry in one for address in entry.addresses]
    for part, maximum in {"/packages/p": 3, "/specs/": 1, "/stacks/": 0, "/hash/": 2}.items():
        assert len([address for address in addresses if part in address]) == maximum, part
    assert {entry.kind for entry in none} == {"series", "revision"}


def suggestions(browser: webdriver.Chrome, page: Path, text: str, number: int) -> list[str]:
    """Type into the search of a page; return the suggestions once there are ``number`` of them."""
    browser.get(page.as_uri())
    settle(browser)
    browser.find_element(By.CSS_SELECTOR, "[role=search] input").send_keys(text)
    options = (By.CSS_SELECTOR, ".suggestions [role=option]")
    wait_for(browser, lambda: len(browser.find_elements(*options)) == number)
    return [option.text for option in browser.find_elements(*options)]


def test_search_opens_pages(browser: webdriver.Chrome, odd_site: Path) -> None:
    """By part of a name or the start of a hash; Enter opens the first suggestion.

    Exact matches come first; there is no suggestion for names that the site lacks.
    """
    for text, title in (("pa", "pa"), (f"/{REMOVED.hash[:9]}", "pa@1.14.5")):
        (suggestion,) = suggestions(browser, odd_site / "series/develop/index.html", text, 1)
        assert "pa" in suggestion
        browser.find_element(By.CSS_SELECTOR, "[role=search] input").send_keys(Keys.ENTER)
        wait_for(browser, lambda: "/series/" not in browser.current_url)
        assert browser.find_element(By.CSS_SELECTOR, "h1").text == title
    first, *_ = suggestions(browser, odd_site / "index.html", "develop", 2)
    assert first.startswith("develop\nseries")
    assert suggestions(browser, odd_site / "index.html", "nothing-like-it", 0) == []
