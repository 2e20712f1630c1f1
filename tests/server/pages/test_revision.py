"""The pages of a revision and of a stack: packages, filters, orders, holes and twins."""

import httpx
import pytest

from tests.server.pages.page_reader import Serve, data_of, numbers, shown
from tests.snapshots.changes.graphs import edge, node
from tests.snapshots.factories import a_spec, hash_of

PACKAGES = """query($ref: String, $filter: SpecFilter, $order: PackageOrder) {
  revision(ref: $ref) {
    ref digest numPackages numSpecs numStacks previous { ref }
    packages(filter: $filter, orderBy: $order) { nodes { name numSpecs } }
    specs { facet(by: TARGET) { value numSpecs } }
    stack(name: "e4s") {
      numPackages numSpecs packages { nodes { name } }
      specs { facet(by: TARGET) { value numSpecs } }
    }
  }
}"""
NAMES, SPECS = "table.packages tbody th", "table.packages tbody td:nth-child(3)"


@pytest.mark.parametrize("stack", ["", "/stacks/e4s"])
def test_page_of_a_revision_or_a_stack(client: httpx.Client, stack: str) -> None:
    """Its numbers, packages, digest and counts of filters are those of the API."""
    revision = data_of(client, PACKAGES, ref="develop")["revision"]
    subject = revision["stack"] if stack else revision
    page = shown(client, f"/r/develop{stack}")
    figures = page.facts(".figures")
    for name in ("Packages", "Specs"):
        assert figures[name] == f"{subject[f'num{name}']:,}"
    nodes = subject["packages"]["nodes"]
    assert page.texts(NAMES) == [node["name"] for node in nodes]
    counts = numbers(page.texts(SPECS))
    if stack:
        assert sum(counts) == subject["numSpecs"]
    else:
        assert counts == [node["numSpecs"] for node in nodes]
    targets = subject["specs"]["facet"]
    listed = page.texts(".facet[aria-labelledby=facet-targets] li")
    members = [target for target in targets if target["value"] not in ("aarch64", "x86_64")]
    assert {f"{target['value']} {target['numSpecs']:,}" for target in members} <= {*listed}
    first = shown(client, page.links(NAMES + " a")[nodes[0]["name"]])
    assert len(first.texts("table.specs tbody tr")) == counts[0]
    if not stack:
        assert figures["Stacks"] == f"{revision['numStacks']:,}"
        stacks = page.texts(".facet[aria-labelledby=facet-stacks] li")
        assert not [text for text in stacks if text.startswith("root ")], "it is no stack"
        assert page.values("details.facts .hash", "data-copy") == [
            revision["ref"],
            revision["digest"],
        ]
        assert "generated sample data" in page.text("details.facts")


def test_filters_are_links(client: httpx.Client) -> None:
    """A selected value filters packages, is in the address, and can be removed."""
    page = shown(client, "/r/develop?order=NUM_SPECS&direction=DESC")
    name, link = next(iter(page.links(".facet[aria-labelledby=facet-stacks] a").items()))
    stack = name.split()[0]
    narrowed = shown(client, link)
    order = {"field": "NUM_SPECS", "direction": "DESC"}
    asked = {"stacks": stack, "order": order["field"], "direction": order["direction"]}
    assert dict(narrowed.response.url.params) == asked
    answer = data_of(client, PACKAGES, ref="develop", filter={"stacks": [stack]}, order=order)
    expected = [node["name"] for node in answer["revision"]["packages"]["nodes"]]
    assert narrowed.texts(NAMES) == expected
    # Each package has a count of matching specs, which its page lists.
    counts = [int(text) for text in narrowed.texts(SPECS)]
    assert f"with {sum(counts):,} spec" in narrowed.text("#count")
    assert len(expected) < 50  # otherwise the page lists only some
    package = shown(client, narrowed.links(NAMES + " a")[expected[0]])
    assert len(package.dom.cssselect("table.specs tbody tr")) == counts[0]
    # Other values of the same kind can still be selected, with their counts.
    facet = ".facet[aria-labelledby=facet-stacks] li"
    assert [text.removeprefix("✓ ") for text in narrowed.texts(facet)] == page.texts(facet)
    (chip,) = narrowed.links("ul.chosen a").values()
    assert shown(client, chip).texts(NAMES) == page.texts(NAMES)


LINK = ("build", "link")

COMPLETE = [
    node("zlib", stacks=("e4s",)),
    node("zlib:2", version="2", stacks=("hep",)),
    *(
        node(f"{name}:{n}", edge(zlib, LINK), stacks=(stack,))
        for name in ("hdf5", "png")
        for n, (zlib, stack) in enumerate((("zlib", "e4s"), ("zlib:2", "hep")))
    ),
    node("lone", stacks=("hep",)),
]
LACKING = COMPLETE[1:]
"""Without the zlib that hdf5:0 and png:0 need."""


@pytest.fixture(scope="module")
def server(serve: Serve) -> httpx.Client:
    """Return a client of revisions with twins, with a hole, and with unknown dependencies."""
    silent = [*COMPLETE, node("silent", dependencies=None), node("above", edge("silent", LINK))]
    return serve(COMPLETE, LACKING, partly=[silent], pages=[[a_spec()]])


def test_holes(server: httpx.Client) -> None:
    """Each with its dependents and history; or none, as far as dependencies are listed."""
    page = shown(server, "/r/develop/holes")
    numbers = {"Whole": "4", "Affected by holes": "2", "Unknown dependencies": "0", "Holes": "1"}
    assert page.facts(".figures") == {"Specs": "6"} | numbers
    ((missing, affected, among, history),) = page.rows()
    assert missing.startswith(f"zlib {hash_of('zlib')[:7]}")
    assert (affected, among) == ("2", "hdf5@1, png@1")
    assert history.startswith("removed in develop")
    assert shown(server, page.links("tbody th a")[hash_of("zlib")[:7]]).status == 200
    assert shown(server, "/r/develop/holes?as=csv").response.text.count("\r\n") == 2
    assert shown(server, "/r/develop~1/holes").text(".empty") == "No spec is missing."
    partly = shown(server, "/r/partly/holes")
    assert partly.facts(".figures")["Whole"] == "7"
    assert partly.text(".empty") == "No spec is missing, as far as is known."
    assert "Of 1 spec the source does not list dependencies" in partly.text(".notice")
    assert "unknown" in shown(server, "/r/pages/holes").text(".notice")


def test_twins(server: httpx.Client) -> None:
    """Their causes add up to the extra builds; each group has its hashes and causes."""
    # The two versions of zlib are not twins, but their dependents are.
    page = shown(server, "/r/develop~1/twins")
    figures = page.facts(".figures")
    assert figures["Duplicate builds"] == figures["Groups of twins"] == "2"
    assert page.rows("table.slim") == [["zlib 1 / 2", "2", "zlib 1: hdf5, pngzlib 2: hdf5, png"]]
    groups = [row.text_content() for row in page.dom.cssselect("table.changes tbody tr")]
    assert ["hdf5@1" in groups[0], "png@1" in groups[1]] == [True, True]
    assert all("zlib 1 / 2" in group for group in groups)
    narrowed = shown(server, "/r/develop~1/twins?package=png")
    assert narrowed.facts(".figures")["Duplicate builds"] == "1"
    assert shown(server, "/r/develop~1/twins?stack=e4s").text(".empty")
    refused = shown(server, "/r/develop~1/twins?stack=e4z")
    assert refused.status == 400
    assert "nearest: e4s" in refused.text("main")


def test_impact(server: httpx.Client) -> None:
    """The page of a package states what its change would rebuild."""
    page = shown(server, "/r/develop~1/packages/zlib")
    query = """{ revision(ref: "develop~1") { package(name: "zlib") { impact {
      numSpecs numPackages sizeLabel } } } }"""
    impact = data_of(server, query)["revision"]["package"]["impact"]
    text = page.text("#impact + p")
    assert numbers([text.partition("hashes of ")[2].partition(" spec")[0]]) == [impact["numSpecs"]]
    assert f"of {impact['numPackages']} packages" in text
    assert impact["sizeLabel"] in text
    assert "is unknown" in shown(server, f"/r/pages/packages/{a_spec().name}").text("#impact + p")
