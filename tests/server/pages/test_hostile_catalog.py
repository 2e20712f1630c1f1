"""Pages of a catalog whose names, versions, stacks, tags and places are all markup.

What scripts make of them is looked at in a real browser.
"""

from collections.abc import Iterator
from urllib.parse import quote

import httpx
import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from starlette.routing import compile_path

from server.pages.routes import PAGES
from server.settings import Settings
from tests.expensive import IS_QUICK
from tests.server.browsers import wait_for
from tests.server.pages.hostile import BREAKS, TAG, faults, is_relative, published
from tests.server.pages.page_reader import Shown, shown
from tests.server.pages.test_check import locked
from tests.server.pages.tour import tour
from tests.server.servers import application
from tests.snapshots.factories import hash_of
from tests.snapshots.sources.lockfiles.locks import as_bytes, lock_file

_MOST = 240
"""How many pages are looked at: all kinds, and a few of each."""

_A_KIND = 2 if IS_QUICK else 9
_BEGINNINGS = ("/", "/search?q=evil", "/hash", "/check", "/compare", f"/r/{quote(TAG)}", "/nope")
_STATUS = (200, 303)
_REFUSED = (400, 404, 414)
"""What a name of ten thousand characters is answered with, which is longer than a text may be."""


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """Return a client of a server of that catalog."""
    catalog = published(tmp_path_factory.mktemp("hostile"))
    with application(Settings(catalog=catalog)) as client:
        yield client


def test_no_page_takes_a_text_for_markup(client: httpx.Client) -> None:
    """Every kind of page, reached by the links of others: all links hold and none leads away."""
    kinds = {page.path: compile_path(page.path)[0] for page in PAGES} | {"/check": None}
    waiting, seen, looked_at = [*_BEGINNINGS], set[str](), dict.fromkeys(kinds, 0)
    found = []
    while waiting and len(seen) < _MOST:
        address = waiting.pop(0)
        path = address.partition("?")[0]
        kind = next((it for it, route in kinds.items() if route and route.match(path)), path)
        if address in seen or looked_at.get(kind, 0) >= _A_KIND:
            continue
        seen.add(address)
        page = shown(client, address)
        is_long = len(address) > 2_000
        if page.status not in (*_STATUS, *(_REFUSED if is_long or path == "/nope" else ())):
            found.append(f"{address[:200]}: {page.status} {page.texts('.problem')}")
        if page.status == 200:
            looked_at[kind] = looked_at.get(kind, 0) + 1
        if page.response.headers["content-type"].startswith("text/html"):
            found += [f"{address[:200]}: {it[:300]}" for it in faults(page)]
        waiting += [it for it in _leading_on(page) if it not in seen]
    assert found == []
    assert [kind for kind, count in looked_at.items() if not count] == []


_TEXT = f"{''.join(BREAKS)}\u202e"
_LOCK = lock_file(
    [
        locked("hostile", "hdf5", f"1.0{_TEXT}", parameters={"cflags": [_TEXT]}),
        locked("gcc", "gcc", _TEXT, external={"path": _TEXT, "module": None}),
    ],
    [hash_of("hostile")],
)


@pytest.mark.parametrize("path", ["/check", "/check/plan"])
@pytest.mark.parametrize(
    "content", [_LOCK, {_TEXT: _TEXT}, _TEXT], ids=["lock file", "other JSON", "text"]
)
@pytest.mark.parametrize("ref", [TAG, _TEXT], ids=["tag", "no tag"])
def test_what_is_sent_is_no_markup_either(
    client: httpx.Client, path: str, content: object, ref: str
) -> None:
    """What cannot be read stands in the form again, with what is wrong; the rest is a result."""
    sent = content.encode() if isinstance(content, str) else as_bytes(content)
    files = {"file": (f"{_TEXT}.lock", sent)}
    page = Shown(client.post(path, data={"ref": ref, "stack": _TEXT}, files=files))
    assert page.status in (200, 400)
    assert [*faults(page)] == []


def _leading_on(page: Shown) -> list[str]:
    """Return the addresses of further pages that a page leads to."""
    links = [it.get("href") for it in page.dom.cssselect("main a[href], nav a[href]")]
    base = page.response.url
    urls = [base.join(link) for link in links if is_relative(link)]
    paths = [it.raw_path.decode() for it in urls]
    beyond = ("/graphql", "/feeds/", "/static/", "/schema.graphql")
    return [it for it in paths if not it.startswith(beyond) and "as=" not in it]


_FAULTS = """
return [...document.querySelectorAll('*')].flatMap((it) => [
  ...(it.localName.startsWith('evil') ? [it.localName] : []),
  ...[...it.attributes].map((one) => one.name).filter((name) => /^(on|evil|hx-on)/.test(name)),
])
"""
_FOREIGN = """
return performance.getEntriesByType('resource').map((it) => it.name)
  .filter((it) => !it.startsWith(location.origin))
"""
_UNFOLDED = """
const all = [...document.querySelectorAll('details')].slice(0, 4);
all.forEach((it) => { it.open = true; });
"""
_HAS_LOADED = "return !document.querySelector('.htmx-request')"
_SCRIPTED = ("series", "spec", "compare", "compare-specs", "compare-notes", "cause")
"""Pages whose parts scripts load, unfold, narrow down or copy."""


def test_scripts_make_no_markup_of_texts(browser: webdriver.Chrome, client: httpx.Client) -> None:
    """Where parts are loaded, buttons are added, and lists follow what somebody writes."""
    addresses = tour(client)
    search = str(httpx.URL("/search", params={"q": BREAKS[1]}))
    for address in (*(addresses[name] for name in _SCRIPTED), search):
        browser.get(str(client.base_url.join(address)))
        browser.execute_script(_UNFOLDED)
        for box in browser.find_elements(By.CSS_SELECTOR, "form.narrow input[type=search]"):
            box.send_keys("<evil-1")
        wait_for(browser, lambda: browser.execute_script(_HAS_LOADED))
        assert browser.execute_script(_FAULTS) == [], address
        assert browser.execute_script(_FOREIGN) == [], address
