"""Comparisons: the sides, the totals and the causes."""

import re
from urllib.parse import parse_qsl, urlsplit

import httpx
import pytest

from tests.server.pages.demo_comparison import (
    BASE,
    HEAD,
    PAIR,
    TABS,
    comparison_data,
    figures_of,
    links,
    numbers,
    rows,
)
from tests.server.pages.page_reader import shown


@pytest.mark.parametrize("tab", TABS)
def test_tabs_have_addresses(client: httpx.Client, tab: str) -> None:
    """Each names the sides, and is marked among the tabs."""
    page = shown(client, PAIR + tab)
    assert page.status == 200
    assert BASE in page.text("h1")
    assert len(page.dom.cssselect("h1")) == 1
    assert page.texts(".tabs [aria-current=page]") == [tab[1:].capitalize() or "Why"]
    (title,) = page.dom.cssselect("title")
    assert f"{BASE} → {HEAD}" in title.text_content()


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
def test_permanent_address_shows_the_same(client: httpx.Client, view: str) -> None:
    """With filters and orders, under digests; it is the canonical address."""
    page = shown(client, view)
    permanent = page.links("footer a")["Permanent address"]
    before, after = (
        [pair for pair in parse_qsl(urlsplit(address).query) if pair[0] != "in"]
        for address in (view, permanent)
    )
    assert after == before
    assert re.search("[0-9a-f]{64}", permanent)
    again = shown(client, permanent)
    assert again.status == 200
    assert again.texts("tbody tr") == page.texts("tbody tr")
    (canonical,) = page.values("link[rel=canonical]", "href")
    assert canonical in page.values("footer a", "href")


def test_totals(client: httpx.Client) -> None:
    """They are those of the summary."""
    page, summary = shown(client, PAIR), comparison_data(client, "compare")["summary"]
    figures = figures_of(page)
    for name, counts in {
        "Specs": ("specsAdded", "specsRemoved", "specsRebuilt", "specsReplaced"),
        "Packages": ("packagesAdded", "packagesRemoved", "packagesUpgraded"),
        "Coverage": ("coverageGained", "coverageLost"),
    }.items():
        texts = re.findall(r"\d[\d,]*", figures[name])
        expected = {summary[count] for count in counts if summary[count]}
        assert expected <= {int(text.replace(",", "")) for text in texts}
    assert page.dom.cssselect("meta[name=description]")[0].get("content").startswith("From ")


def test_bars_add_up(client: httpx.Client) -> None:
    """Causes, those on other pages and unexplained ones add up to all rebuilt specs."""
    for query in ("", "?kinds=VERSION", "?kinds=UNKNOWN&kinds=RECIPE"):
        page = shown(client, PAIR + query)
        summary = comparison_data(client, "compare")["summary"]
        num_rebuilt = summary["specsRebuilt"] + summary["specsReplaced"]
        *parts, whole = page.texts(".causes span.specs")
        assert sum(numbers(parts)) == num_rebuilt == numbers([whole])[0]
        shares = [text.removesuffix(" %") for text in page.texts(".causes span.share")]
        assert shares.pop() == "100"
        assert sum(round(10 * float(share)) for share in shares if share != "<0.1") == 1_000
        widths = [float(bar.get("width")) for bar in page.dom.cssselect(".causes rect")]
        assert sum(widths) == pytest.approx(100, abs=0.005 * len(widths))


def test_page_of_a_cause(client: httpx.Client) -> None:
    """It lists the specs and their paths, without scripts."""
    page, causes = shown(client, PAIR), comparison_data(client, "compare")["causes"]["nodes"]
    for text, cause in zip(page.texts(".causes summary .what"), causes, strict=True):
        others = f" together with {cause['numTogether']} others" if cause["numTogether"] else ""
        assert text == cause["title"] + others
    largest = causes[0]
    one = shown(client, links(page, ".unfolded a")[0])
    sides = {"from": largest["before"], "to": largest["after"]}
    names = {"cause": largest["package"], "kind": largest["kind"]}
    answer = comparison_data(client, "compare_cause", **names, **sides)
    assert one.text("#tab h2") == largest["title"]
    table = rows(one)
    specs = answer["cause"]["specs"]["nodes"]
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
    """The form redirects to the address; without one of the sides, the page asks for it."""
    answer = client.get("/compare", params={"base": BASE, "head": HEAD})
    assert answer.status_code == 303
    assert str(answer.url.join(answer.headers["location"])).endswith(PAIR)
    page = shown(client, "/compare?base=no-such-tag")
    assert "no-such-tag" in page.text("[role=alert]")
    assert page.values("input[name=base]") == ["no-such-tag"]
    assert {BASE, HEAD} <= {*page.values("datalist option")}
    (swapped,) = links(shown(client, f"{PAIR}/specs"), ".pickers a")
    assert swapped.endswith(f"/compare/{HEAD}...{BASE}")
    assert shown(client, "/compare/no-such...develop").status == 404


def test_equal_sides(client: httpx.Client) -> None:
    """Every tab states that nothing changed."""
    for tab in TABS:
        page = shown(client, f"/compare/{HEAD}...{HEAD}{tab}")
        assert page.status == 200
        assert "nothing changed" in page.text(".verdict")
        assert not page.dom.cssselect("tbody tr") or tab == "/notes"
