"""Pages of a catalog whose names, versions, stacks and locations are all markup.

The effects of scripts are tested in a real browser. Text that a page does not escape becomes an
element or attribute whose name begins with ``evil``.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import httpx
import orjson
import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from starlette.routing import compile_path

from server.pages.renderer import POLICY
from server.pages.routes import PAGES
from server.settings import Settings
from snapshots.catalog.catalog import Catalog
from snapshots.contents import Content, Snapshot
from snapshots.models import Dependency, Source, Spec
from snapshots.recipes.commits import SpackChange
from tests.expensive import IS_QUICK
from tests.server.browsers import wait_for
from tests.server.pages.page_reader import Shown, shown
from tests.server.pages.recipes import import_recipes
from tests.server.pages.tour import tour
from tests.server.servers import application
from tests.snapshots.factories import a_spec, day, hash_of
from tests.snapshots.sources.lockfiles.locks import as_bytes, lock_file, locked

BREAKS = (
    "<evil-1 evil=1>",
    '"><evil-2 evil=1>',
    "'><evil-3>",
    '" evil4="1" x="',
    "</script><evil-5>",
    "</title></textarea></option></svg><evil-6>",
    "{{ evil }}{% evil %}",
    "javascript:evil()",
    "../..//evil.example/",
    "a/b?c=d&e#f",
    "\u202egnp.evil\u2066\u200f",
    "--><!--<evil-7>",
    "=cmd|' /C evil'!A0",
    "%3Cevil-8%3E\\",
)
LONG = "x<evil-9>" * 1_100
TAG = "develop"
"""Tags cannot contain such characters."""
SOURCE = Source(kind="<evil-10>", location='"><evil-11>', importer="<evil-12>")
UNSEEN = "\u202e\u2066\u200f"

_ATTRIBUTES = ("on", "evil")
_LINKS = ("href", "src", "action", "formaction", "hx-get", "hx-post", "data", "poster")


def specs(state: int) -> Iterator[Spec]:
    """Yield specs of packages with these names, which depend on the first of its state."""
    needed = hash_of(f"needed {state}")
    names = (*BREAKS, LONG)
    yield a_spec(f"needed {state}", name=names[0], version=f'{state}"><evil-13>', dependencies=())
    for number, name in enumerate(names):
        if number == len(names) - 2 and state:  # one is removed
            continue
        # The first ones change only in their dependency.
        changes = state if number > 6 else 0
        yield a_spec(
            f"{number} {state}",
            name=name,
            version=f"1.{changes}<evil-14>",
            compiler=f"<evil-15>@{number}",
            operating_system='"><evil-16>',
            platform="<evil-17>",
            target=f"'><evil-18>{number % 3}",
            variants=('+a"><evil-19>', f"b={name[:200]}"),
            stacks=tuple(sorted({name[:300], "e4s", 'st"><evil-20>'})),
            size=None if number % 2 else 10**9,
            tarball='javascript:"><evil-21>',
            namespace="<evil-22>",
            package_hash="<evil-23>",
            dependencies=(Dependency(names[0], needed, ("<evil-24>", "link"), ("<evil-25>",)),),
        )


def faults(page: Shown) -> Iterator[str]:
    """Yield the parts of a page that a browser interprets as markup of the catalog."""
    if page.response.headers["content-security-policy"].encode() != POLICY:
        yield "the policy differs"
    for mark in UNSEEN:
        if mark in page.response.text:
            yield f"an invisible character: {mark!r}"
    for element in page.dom.iter():
        if not isinstance(element.tag, str):
            if "evil" in str(element.text):
                yield "a comment with a text of the catalog"
            continue
        if element.tag.startswith("evil"):
            yield f"an element of the catalog: {element.tag}"
        yield from _faulty_attributes(element)
        if element.tag == "style" or (element.tag == "script" and not element.get("src")):
            yield from _faulty_script(element)
    yield from _faulty_ids(page)


def _faulty_attributes(element: Any) -> Iterator[str]:
    for name, value in element.attrib.items():
        if name.startswith(_ATTRIBUTES) or name == "style" or name.startswith("hx-on"):
            yield f"an attribute of the catalog: {name} of {element.tag}"
        if name in _LINKS and not is_relative(value):
            yield f"an external link: {name}={value!r}"


def _faulty_script(element: Any) -> Iterator[str]:
    if element.tag == "style" or element.get("type") != "application/json":
        yield f"an inline {element.tag}"
    elif "<" in (element.text or ""):
        yield "data that could end its script"
    else:
        orjson.loads(element.text)


def _faulty_ids(page: Shown) -> Iterator[str]:
    ids = Counter(element.get("id") for element in page.dom.cssselect("[id]"))
    yield from (f"a duplicate id: {name}" for name, count in ids.items() if count > 1)
    for attribute in ("for", "aria-labelledby", "aria-describedby", "aria-controls", "list"):
        for element in page.dom.cssselect(f"[{attribute}]"):
            for name in element.get(attribute).split():
                if name not in ids:
                    yield f"{attribute} refers to no element: {name}"


def is_relative(link: str) -> bool:
    """Return whether a link leads to the same server, below the root of the page."""
    scheme, colon, _ = link.partition(":")
    has_scheme = colon and not set(scheme) & set("/?#")
    return not has_scheme and not link.startswith(("/", "\\"))


_MAX_PAGES = 240
"""Maximum number of pages: all kinds, and a few of each."""

_A_KIND = 2 if IS_QUICK else 9
_BEGINNINGS = ("/", "/search?q=evil", "/specs", "/check", "/compare", f"/r/{quote(TAG)}", "/nope")
_STATUS = (200, 303)
_REFUSED = (400, 404, 414)
"""Statuses of pages of a name of ten thousand characters, which exceeds the limit of texts."""


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """Serve two contents of a tag, with a cause of changes between them."""
    catalog = Catalog(str(tmp_path_factory.mktemp("hostile")))
    snapshots = [
        Snapshot(tag=TAG, content=Content.of(specs(state)), source=SOURCE, taken_at=day(state))
        for state in (0, 1)
    ]
    catalog.publish(snapshots)
    subject = f"{{}}: {''.join(BREAKS[:5])}{UNSEEN}\u05d0 (#{{}})"
    spack = SpackChange('"><evil-27>', "\u202ejavascript:evil()")
    import_recipes(catalog, BREAKS[:2], subject, repository='"><evil-26>', spack=spack)
    with application(Settings(catalog=catalog.location)) as client:
        yield client


def test_no_text_becomes_markup(client: httpx.Client) -> None:
    """On any kind of page, reached by links: all links work and none is external."""
    kinds = {page.path: compile_path(page.path)[0] for page in PAGES} | {"/check": None}
    waiting, seen, counts_by_kind = [*_BEGINNINGS], set[str](), dict.fromkeys(kinds, 0)
    all_faults = []
    while waiting and len(seen) < _MAX_PAGES:
        address = waiting.pop(0)
        path = address.partition("?")[0]
        kind = next((name for name, route in kinds.items() if route and route.match(path)), path)
        if address in seen or counts_by_kind.get(kind, 0) >= _A_KIND:
            continue
        seen.add(address)
        page = shown(client, address)
        is_long = len(address) > 2_000
        if page.status not in (*_STATUS, *(_REFUSED if is_long or path == "/nope" else ())):
            all_faults.append(f"{address[:200]}: {page.status} {page.texts('.problem')}")
        if page.status == 200:
            counts_by_kind[kind] = counts_by_kind.get(kind, 0) + 1
        if page.response.headers["content-type"].startswith("text/html"):
            all_faults += [f"{address[:200]}: {fault[:300]}" for fault in faults(page)]
        waiting += [link for link in _links_to_pages(page) if link not in seen]
    assert all_faults == []
    assert [kind for kind, count in counts_by_kind.items() if not count] == []


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
def test_no_input_becomes_markup(
    client: httpx.Client, path: str, content: object, ref: str
) -> None:
    """Invalid input is in the form again with an error; other input has a result."""
    sent = content.encode() if isinstance(content, str) else as_bytes(content)
    files = {"file": (f"{_TEXT}.lock", sent)}
    page = Shown(client.post(path, data={"ref": ref, "stack": _TEXT}, files=files))
    assert page.status in (200, 400)
    assert [*faults(page)] == []


def _links_to_pages(page: Shown) -> list[str]:
    """Return the addresses of further pages that a page links to."""
    links = [link.get("href") for link in page.dom.cssselect("main a[href], nav a[href]")]
    base = page.response.url
    urls = [base.join(link) for link in links if is_relative(link)]
    paths = [url.raw_path.decode() for url in urls]
    beyond = ("/graphql", "/feeds/", "/static/", "/schema.graphql")
    return [path for path in paths if not path.startswith(beyond) and "as=" not in path]


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
"""Pages with parts that scripts load, unfold, filter or copy."""


def test_scripts_create_no_markup(browser: webdriver.Chrome, client: httpx.Client) -> None:
    """When they load parts, add buttons, and filter lists while the user types."""
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
