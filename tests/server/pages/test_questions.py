"""The pages of holes and twins, and the impact of a change of a package."""

from collections.abc import Iterator

import httpx
import pytest

from tests.server.pages.api_answers import data_of
from tests.server.pages.catalogs import published
from tests.server.pages.demo_comparison import numbers, rows
from tests.server.pages.page_reader import shown
from tests.snapshots.changes.graphs import edge, node
from tests.snapshots.factories import a_snapshot, a_spec, day, hash_of

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
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """Return a client of revisions with twins, with a hole, and with unknown dependencies."""
    silent = [*COMPLETE, node("silent", dependencies=None), node("above", edge("silent", LINK))]
    with published(
        tmp_path_factory.mktemp("catalog"),
        a_snapshot(COMPLETE, "develop", day(0)),
        a_snapshot(LACKING, "develop", day(1)),
        a_snapshot(silent, "partly", day(2)),
        a_snapshot([a_spec()], "pages", day(3)),
    ) as client:
        yield client


def test_holes(server: httpx.Client) -> None:
    """The number of complete specs, and each hole with its dependents and history."""
    page = shown(server, "/r/develop/holes")
    numbers = {"Whole": "4", "Affected by holes": "2", "Unknown dependencies": "0", "Holes": "1"}
    assert page.facts(".figures") == {"Specs": "6"} | numbers
    ((missing, affected, among, history),) = rows(page)
    assert missing.startswith(f"zlib {hash_of('zlib')[:7]}")
    assert (affected, among) == ("2", "hdf5@1, png@1")
    assert history.startswith("gone in develop")
    assert shown(server, page.links("tbody th a")[hash_of("zlib")[:7]]).status == 200
    assert shown(server, "/r/develop/holes?as=csv").response.text.count("\r\n") == 2


def test_no_holes(server: httpx.Client) -> None:
    """None, or none as far as dependencies are listed."""
    assert shown(server, "/r/develop~1/holes").text(".empty") == "Nothing is missing."
    partly = shown(server, "/r/partly/holes")
    assert partly.facts(".figures")["Whole"] == "7"
    assert partly.text(".empty") == "Nothing is missing as far as it is known."
    assert "Of 1 spec the source does not list dependencies" in partly.text(".notice")
    assert "unknown" in shown(server, "/r/pages/holes").text(".notice")


def test_twins(server: httpx.Client) -> None:
    """Their causes add up to the extra builds; each group has its hashes and causes."""
    # The two versions of zlib are not twins, but their dependents are.
    page = shown(server, "/r/develop~1/twins")
    assert page.facts(".figures")["Built again"] == page.facts(".figures")["Groups of twins"] == "2"
    assert rows(page, "table.slim") == [["zlib 1 / 2", "2"]]
    groups = [row.text_content() for row in page.dom.cssselect("table.changes tbody tr")]
    assert ["hdf5@1" in groups[0], "png@1" in groups[1]] == [True, True]
    assert all("zlib 1 / 2" in group for group in groups)
    narrowed = shown(server, "/r/develop~1/twins?package=png")
    assert narrowed.facts(".figures")["Built again"] == "1"
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
    assert numbers([text.partition("hash to ")[2].partition(" spec")[0]]) == [impact["numSpecs"]]
    assert f"of {impact['numPackages']} packages" in text
    assert impact["sizeLabel"] in text
    assert "is unknown" in shown(server, f"/r/pages/packages/{a_spec().name}").text("#impact + p")
