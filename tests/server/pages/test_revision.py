"""The page of a revision: facts, packages, filters and orders, all in the address."""

from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx

from tests.server.pages.api_answers import asked
from tests.server.pages.catalogs import served
from tests.server.pages.page_reader import shown
from tests.snapshots.factories import a_spec

PACKAGES = """query($ref: String, $filter: PackageFilter, $order: PackageOrder) {
  revision(ref: $ref) {
    tag digest numPackages numSpecs numStacks previous { digest }
    packages(filter: $filter, orderBy: $order) { totalCount nodes { name numSpecs } }
    specs { facets { stacks { value numSpecs } targets { value numSpecs } } }
  }
}"""
NAMES, SPECS = "table.packages tbody th", "table.packages tbody td:nth-child(3)"


def test_a_revision_with_its_packages(client: httpx.Client) -> None:
    """Its numbers, its packages and the counts of its filters are those of the API."""
    page, told = shown(client, "/r/develop"), asked(client, PACKAGES, ref="develop")["revision"]
    assert page.status == 200
    figures = page.facts(".figures")
    numbers = [told["numPackages"], told["numSpecs"], told["numStacks"]]
    assert [figures[it] for it in ("Packages", "Specs", "Stacks")] == [f"{it:,}" for it in numbers]
    nodes = told["packages"]["nodes"]
    assert page.texts(NAMES) == [it["name"] for it in nodes]
    assert page.texts(SPECS) == [f"{it['numSpecs']:,}" for it in nodes]
    shown_targets = page.texts(".facet[aria-labelledby=facet-targets] li")
    targets = told["specs"]["facets"]["targets"]
    assert shown_targets == [f"{it['value']} {it['numSpecs']:,}" for it in targets]
    stacks = page.texts(".facet[aria-labelledby=facet-stacks] li")
    assert not [it for it in stacks if it.startswith("root ")]
    (digest,) = page.dom.cssselect("details.facts .hash")
    assert digest.get("title") == told["digest"]
    assert "generated sample data" in page.text("details.facts")


def test_a_filter_is_a_link_and_so_is_its_end(client: httpx.Client) -> None:
    """A value that is chosen narrows packages down, stands in the address, and can go again."""
    page = shown(client, "/r/develop?order=NUM_SPECS&direction=DESC")
    name, link = next(iter(page.links(".facet[aria-labelledby=facet-stacks] a").items()))
    stack = name.split()[0]
    assert parse_qs(urlsplit(link).query) == {
        "stacks": [stack],
        "order": ["NUM_SPECS"],
        "direction": ["DESC"],
    }
    narrowed = shown(client, link)
    order = {"field": "NUM_SPECS", "direction": "DESC"}
    told = asked(client, PACKAGES, ref="develop", filter={"stacks": [stack]}, order=order)
    expected = [it["name"] for it in told["revision"]["packages"]["nodes"]]
    assert narrowed.texts(NAMES) == expected
    # Of each package it says how many specs are such; its page shows these.
    such = [int(it) for it in narrowed.texts(SPECS)]
    assert f"with {sum(such):,} spec" in narrowed.text("#count")
    assert len(expected) < 50  # or the page has but some of them
    package = shown(client, narrowed.links(NAMES + " a")[expected[0]])
    assert len(package.dom.cssselect("table.specs tbody tr")) == such[0]
    # Other values of the same kind can still be chosen, with what they would add.
    facet = ".facet[aria-labelledby=facet-stacks] li"
    assert [it.removeprefix("✓ ") for it in narrowed.texts(facet)] == page.texts(facet)
    (chip,) = narrowed.links("ul.chosen a").values()
    assert shown(client, chip).texts(NAMES) == page.texts(NAMES)


def test_names_are_searched_as_somebody_writes(client: httpx.Client) -> None:
    """The form says what the address says; what is found is counted in specs, too."""
    page = shown(client, "/r/develop?search=PY-&stacks=e4s")
    names = page.texts(NAMES)
    assert names
    assert all("py-" in it for it in names)
    told = asked(
        client,
        '{ revision(ref: "develop") { specs(filter: {search: "py-", stacks: ["e4s"]}) '
        "{ totalCount } } }",
    )
    assert f"{told['revision']['specs']['totalCount']:,} spec" in page.text("#count")
    (box,) = page.dom.cssselect("form.narrow input[name=search]")
    assert box.get("value") == "PY-"
    assert [it.get("value") for it in page.dom.cssselect("form.narrow input[name=stacks]")] == [
        "e4s"
    ]
    nothing = shown(client, "/r/develop?search=no-such-package")
    assert "No package matches this" in nothing.text(".empty")


def test_columns_order_packages_both_ways(client: httpx.Client) -> None:
    """A click on a column's head orders by it, largest first; another click turns it round."""
    page = shown(client, "/r/develop")
    falling = shown(client, page.links("thead a")["Specs"])
    (head,) = falling.dom.cssselect("th[aria-sort]")
    assert (head.get("aria-sort"), head.text_content().split()) == ("descending", ["Specs", "↓"])
    numbers = [int(it.replace(",", "")) for it in falling.texts(SPECS)]
    assert numbers == sorted(numbers, reverse=True)
    rising = shown(client, falling.links("thead a")["Specs ↓"])
    (head,) = rising.dom.cssselect("th[aria-sort]")
    assert head.get("aria-sort") == "ascending"


def test_neighbours_and_what_changed(tmp_path: Path) -> None:
    """The one before, the one after, and the way to what changed; links keep the ref as given."""
    states = [[a_spec("1")], [a_spec("1"), a_spec("2", name="zlib")]]
    with served(tmp_path, *states) as client:
        newest = shown(client, "/r/develop")
        steps = newest.links(".steps a")
        before = next(link for name, link in steps.items() if name.startswith("←"))
        first = shown(client, before)
        assert first.texts(NAMES) == ["hdf5"]
        assert "The first revision of develop" in first.text(".steps")
        assert "The newest revision of develop" in newest.text(".steps")
        compare = next(it for name, it in steps.items() if name.startswith("What changed"))
        digest = asked(client, PACKAGES, ref="develop")["revision"]["previous"]["digest"]
        assert urlsplit(compare).path == f"/compare/{digest[:12]}...develop"
        assert newest.links(NAMES + " a")["zlib"].endswith("/r/develop/packages/zlib")


def test_what_the_source_does_not_know(tmp_path: Path) -> None:
    """Sizes, stacks and compilers that nobody told are said to be unknown, never 0 or blank."""
    specs = [a_spec("1", compiler=None, stacks=())]
    with served(tmp_path, specs) as client:
        page = shown(client, "/r/develop")
        figures = page.facts(".figures")
        assert figures["Size"] == "unknown"
        (row,) = page.texts("table.packages tbody tr")
        assert row == "hdf5 1.14.5 1"
        assert "The source does not list stacks or sizes of these." in page.texts(".listed p")
        assert figures["Stacks"] == "unknown"
        assert "The source states none" in page.text(".facets")
        assert "does not list stacks" in page.text("main")
