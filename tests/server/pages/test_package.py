"""The page of a package: coverage, specs, dependents and history; and its badges."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from lxml import etree

from server.pages.documents import document
from server.pages.filters import MINUS
from snapshots.models import Dependency
from tests.server.pages.api_answers import data_of
from tests.server.pages.catalogs import served
from tests.server.pages.page_reader import shown
from tests.snapshots.factories import a_spec, day, hash_of

PACKAGE = """query($name: String!) { revision(ref: "develop") { package(name: $name) {
  versions
  byTarget: coverage(by: [VERSION, TARGET]) { values numSpecs }
  byStack: coverage(by: [VERSION, STACK]) { values numSpecs }
} } }"""

SPECS = [
    a_spec("1", version="1.10", target="zen4", dependencies=()),
    a_spec("2", version="1.9", target="m1", variants=("+mpi", "+hl"), dependencies=()),
    a_spec("3", version="1.9", target="zen4", dependencies=()),
    a_spec(
        "4", name="app", dependencies=(Dependency("hdf5", hash_of("3"), ("link",)),), size=2**20
    ),
]


@pytest.mark.parametrize(("by", "field"), [("TARGET", "byTarget"), ("STACK", "byStack")])
def test_coverage_is_a_matrix_whose_cells_are_filters(
    history_client: httpx.Client, addresses: dict[str, str], by: str, field: str
) -> None:
    """Each number is that of the API, and links to these specs."""
    address = addresses["package"]
    name = address.rpartition("/")[2]
    package = data_of(history_client, PACKAGE, name=name)["revision"]["package"]
    page = shown(history_client, f"{address}?by={by}")
    versions = page.texts("table.matrix thead th")[1:]
    assert versions == package["versions"]
    cells = {tuple(cell["values"]): f"{cell['numSpecs']:,}" for cell in package[field]}
    for row in page.dom.cssselect("table.matrix tbody tr"):
        value, *numbers = [cell.text_content().strip() for cell in row]
        assert numbers == [cells.pop((version, value), "none") for version in versions]
    assert not cells
    (number, link), *_ = page.links("table.matrix tbody td a").items()
    narrowed = shown(history_client, link)
    assert len(narrowed.texts("table.specs tbody tr")) == int(number)
    assert narrowed.dom.cssselect("table.matrix a[aria-current]")


@pytest.fixture(scope="module")
def of_specs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """Return a client of a server of these specs."""
    with served(tmp_path_factory.mktemp("specs"), SPECS) as client:
        yield client


def test_versions_gaps_and_dependents(of_specs: httpx.Client) -> None:
    """Versions are in Spack's order, gaps are marked, and dependents are listed."""
    page = shown(of_specs, "/r/develop/packages/hdf5")
    cells = page.texts("table.matrix th, table.matrix td")
    assert cells == ["Target", "1.10", "1.9", "m1", "none", "1", "zen4", "1", "1"]
    gap = shown(of_specs, page.links("td.gap a")["none"])
    assert gap.text("h1").startswith("Availability of hdf5")
    assert page.texts("#dependents + ul li") == ["app 1 spec"]
    assert page.links("#dependents + ul a")["app"].endswith("/r/develop/packages/app")
    without_dependents = shown(of_specs, "/r/develop/packages/app")
    assert "No spec of this revision depends on app itself" in without_dependents.text("main")


def test_common_variants_are_stated_once(of_specs: httpx.Client) -> None:
    """Each row has the variants that distinguish it; complete hashes are on hover, and link on."""
    page = shown(of_specs, "/r/develop/packages/hdf5?order=HASH")
    assert page.text(".common code") == "+mpi"
    hashes = sorted(map(hash_of, "123"))
    assert page.values("table.specs .hash", "title") == hashes
    own = dict(zip(hashes, page.texts("table.specs td.variants"), strict=True))
    assert own[hash_of("2")] == "+hl"
    assert own[hash_of("1")] == "~cxx"
    assert "Size" not in page.texts("table.specs th")
    assert "The source does not list sizes of these." in page.texts(".listed p")
    links = page.links("table.specs td:first-child a").values()
    assert [link.rpartition("/r/")[2] for link in links] == [
        f"develop/specs/{digest}" for digest in hashes
    ]
    narrowed = shown(of_specs, "/r/develop/packages/hdf5?versions=1.9&targets=zen4&by=STACK")
    assert len(narrowed.texts("table.specs tbody tr")) == 1
    assert len(narrowed.texts("ul.chosen a")) == 3  # and one for all
    nothing = shown(of_specs, "/r/develop/packages/hdf5?versions=1.10&targets=m1")
    assert "No spec of hdf5 matches" in nothing.text(".empty")


def test_history_of_a_package(tmp_path: Path) -> None:
    """Since when it exists, and each revision that changed it, with a link to the causes."""
    states = [SPECS[1:2], SPECS[1:2], SPECS[:3]]
    with served(tmp_path, *states) as client:
        page = shown(client, "/r/develop/packages/hdf5")
        newest, first = page.texts("ol.log li")
        assert "versions changed" in newest or "upgraded" in newest
        assert "+1.10" in newest
        assert "+2" in newest
        assert "added" in first
        assert "and still available" in page.text("#history + p")
        (why,) = page.links("ol.log a[aria-label]").values()
        assert "/specs?packages=hdf5" in why
        (feed,) = page.values("link[type='application/atom+xml']", "href")
        assert client.get(page.response.url.join(feed or "")).status_code == 200


def test_titles_distinguish_revisions(tmp_path: Path) -> None:
    """A revision that is not the newest of its tag is identified by its date."""
    with served(tmp_path, [a_spec("1")], [a_spec("2")]) as client:
        digest = data_of(client, '{ revision(ref: "develop~1") { digest } }')["revision"]["digest"]
        for path in ("packages/hdf5", f"specs/{hash_of('1')}"):
            for ref in (digest, "develop~1"):
                page = shown(client, f"/r/{ref}/{path}")
                (title,) = page.texts("title")
                assert f" · develop of {day(0):%Y-%m-%d} · " in title
                assert page.texts(".crumbs li")[1] == f"develop of {day(0):%Y-%m-%d}"
        (title,) = shown(client, "/r/develop/packages/hdf5").texts("title")
        assert title == "hdf5 · develop · cachelog"


def test_history_names_causes(tmp_path: Path) -> None:
    """The main cause of each rebuild, on the page of a revision and of all series."""
    states = [
        [
            a_spec(zlib, name="zlib", version=version, dependencies=()),
            a_spec(png, name="png", dependencies=(Dependency("zlib", hash_of(zlib), ("link",)),)),
        ]
        for zlib, png, version in (("z1", "p1", "1.2"), ("z2", "p2", "1.3"))
    ]
    with served(tmp_path, *states) as client:
        for address in ("/packages/png", "/r/develop/packages/png"):
            newest, first = shown(client, address).texts("ol.log li")
            assert f"rebuilt +1 {MINUS}1 specs zlib 1.2 → 1.3 why" in newest
            assert "why" not in first


SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("hdf5", "{newest} in develop"),
        ("nope", "not in develop"),
        ('"><script>', "not in develop"),
    ],
)
def test_badges_agree(name: str, message: str, client: httpx.Client) -> None:
    """The newest version, or that there is none."""
    hdf5 = data_of(client, document("badge").text, ref="develop", name="hdf5")["revision"][
        "package"
    ]
    message = message.format(newest=hdf5["versions"][0])
    shields = client.get(f"/badge/develop/{name}.json")
    assert shields.headers["content-type"] == "application/json"
    assert shields.json() | {"color": ""} == {
        "schemaVersion": 1,
        "label": name,
        "message": message,
        "color": "",
    }
    picture = client.get(f"/badge/develop/{name}.svg")
    assert picture.headers["content-type"] == "image/svg+xml"
    svg = etree.fromstring(picture.content)
    assert svg.get("aria-label") == f"{name}: {message}"
    assert [text.text for text in svg.iter(f"{SVG}text")] == [name, message]
    assert shields.json()["color"] in picture.text


def test_badge_of_an_unknown_revision(client: httpx.Client) -> None:
    """Not found."""
    assert client.get("/badge/develp/hdf5.svg").status_code == 404
