"""Comparisons: what is compared, what changed in all, and why."""

import re
from urllib.parse import parse_qsl, urlsplit

import httpx
import pytest

from tests.server.pages.demo_comparison import (
    BASE,
    HEAD,
    PAIR,
    TABS,
    figures_of,
    links,
    numbers,
    rows,
    told,
)
from tests.server.pages.page_reader import shown


@pytest.mark.parametrize("tab", TABS)
def test_a_tab_has_an_address_of_its_own(client: httpx.Client, tab: str) -> None:
    """It says what is compared, leads to its question and to the other tabs, and stays the same."""
    page = shown(client, PAIR + tab)
    assert page.status == 200
    assert BASE in page.text("h1")
    assert len(page.dom.cssselect("h1")) == 1
    assert page.texts(".tabs [aria-current=page]") == [tab[1:].capitalize() or "Why"]
    (title,) = page.dom.cssselect("title")
    assert f"{BASE} → {HEAD}" in title.text_content()
    permanent = page.links("footer a")["Permanent address"]
    assert re.search(r"/compare/[0-9a-f]{64}\.\.\.[0-9a-f]{64}" + tab + "$", permanent)
    assert shown(client, permanent).texts("#tab h2") == page.texts("#tab h2")


@pytest.mark.parametrize(
    "view",
    [
        f"{PAIR}?kinds=VERSION",
        f"{PAIR}/packages?kinds=REMOVED&search=a",
        "/r/develop?targets=x86_64_v3&order=NUM_SPECS&direction=DESC",
        "/r/develop/packages/hdf5?by=STACK&versions=1.14.5",
        "/search?q=hdf5&in=develop&targets=x86_64_v3",
    ],
)
def test_the_permanent_address_is_of_the_same_view(client: httpx.Client, view: str) -> None:
    """Filters and orders are in it, under digests; search engines are told the same address."""
    page = shown(client, view)
    permanent = page.links("footer a")["Permanent address"]
    given = parse_qsl(urlsplit(view).query)
    kept = parse_qsl(urlsplit(permanent).query)
    assert [it for it in kept if it[0] != "in"] == [it for it in given if it[0] != "in"]
    assert re.search("[0-9a-f]{64}", permanent)
    again = shown(client, permanent)
    assert again.status == 200
    assert again.texts("tbody tr") == page.texts("tbody tr")
    (canonical,) = page.dom.cssselect("link[rel=canonical]")
    assert page.dom.cssselect("footer a[href='" + canonical.get("href") + "']")


def test_totals(client: httpx.Client) -> None:
    """The head says what the summary says."""
    page, summary = shown(client, PAIR), told(client, "compare")["summary"]
    figures = figures_of(page)
    for name, counts in {
        "Specs": ("specsAdded", "specsRemoved", "specsRebuilt", "specsReplaced"),
        "Packages": ("packagesAdded", "packagesRemoved", "packagesUpgraded"),
        "Coverage": ("coverageGained", "coverageLost"),
    }.items():
        said = {int(it.replace(",", "")) for it in re.findall(r"\d[\d,]*", figures[name])}
        assert {summary[count] for count in counts if summary[count]} <= said
    assert page.dom.cssselect("meta[name=description]")[0].get("content").startswith("From ")


def test_bars_add_up(client: httpx.Client) -> None:
    """Causes, what is on other pages and what is not explained make up all that was built anew."""
    for query in ("", "?kinds=VERSION", "?kinds=UNKNOWN&kinds=RECIPE"):
        page = shown(client, PAIR + query)
        summary = told(client, "compare")["summary"]
        took = summary["specsRebuilt"] + summary["specsReplaced"]
        *parts, whole = page.texts(".causes span.specs")
        assert sum(numbers(parts)) == took == numbers([whole])[0]
        shares = [it.removesuffix(" %") for it in page.texts(".causes span.share")]
        assert shares.pop() == "100"
        assert sum(round(10 * float(it)) for it in shares if it != "<0.1") == 1_000
        widths = [float(it.get("width")) for it in page.dom.cssselect(".causes rect")]
        assert sum(widths) == pytest.approx(100, abs=0.005 * len(widths))


def test_a_cause_leads_to_its_specs(client: httpx.Client) -> None:
    """Each has a page that names the specs and the ways to it, also where nothing is a script."""
    page, causes = shown(client, PAIR), told(client, "compare")["causes"]["nodes"]
    assert page.texts(".causes summary .what") == [
        it["title"] + (f" together with {it['numTogether']} others" if it["numTogether"] else "")
        for it in causes
    ]
    largest = causes[0]
    one = shown(client, links(page, ".unfolded a")[0])
    sides = {"from": largest["before"], "to": largest["after"]}
    names = {"cause": largest["package"], "kind": largest["kind"]}
    known = told(client, "compare_cause", **names, **sides)
    assert one.text("#tab h2") == largest["title"]
    table = rows(one)
    specs = known["cause"]["specs"]["nodes"]
    assert len(table) == len(specs) == min(50, largest["numSpecs"])
    for row, spec in zip(table, specs, strict=True):
        assert row[0] == f"{spec['name']}@{spec['after']['version']}"
        pair = f"{spec['counterpart']['hash'][:7]} → {spec['hash'][:7]}"
        assert row[1].startswith(pair)
        assert row[3].startswith("its own" if len(spec["path"]) == 1 else spec["path"][0]["name"])
        assert len(spec["path"]) == 1 or largest["package"] in row[3]
    missing = shown(client, f"{PAIR}/causes/none?kind=VERSION")
    assert missing.status == 404
    assert "no such cause in this comparison" in missing.text(".problem")
    assert links(missing, ".nearest a") == [str(page.response.url)]


def test_forms_lead_to_comparisons(client: httpx.Client) -> None:
    """What somebody fills in becomes the address; without one of both the page asks for it."""
    answer = client.get("/compare", params={"base": BASE, "head": HEAD})
    assert answer.status_code == 303
    assert str(answer.url.join(answer.headers["location"])).endswith(PAIR)
    page = shown(client, "/compare?base=no-such-tag")
    assert "no-such-tag" in page.text("[role=alert]")
    assert page.dom.cssselect("input[name=base]")[0].get("value") == "no-such-tag"
    options = [it.get("value") for it in page.dom.cssselect("datalist option")]
    assert {BASE, HEAD} <= {*options}
    (swapped,) = links(shown(client, f"{PAIR}/specs"), ".pickers a")
    assert swapped.endswith(f"/compare/{HEAD}...{BASE}")
    assert shown(client, "/compare/no-such...develop").status == 404


def test_one_content_on_both_sides(client: httpx.Client) -> None:
    """It is said that nothing changed, on every tab."""
    for tab in TABS:
        page = shown(client, f"/compare/{HEAD}...{HEAD}{tab}")
        assert page.status == 200
        assert "nothing changed" in page.text(".verdict")
        assert not page.dom.cssselect("tbody tr") or tab == "/notes"
