"""The pages of packages, in a revision and over all series; their availability and badges."""

import httpx
import pytest
from lxml import etree
from msgspec.structs import replace

from server.pages.documents import document
from server.pages.filters import MINUS
from snapshots.models import Dependency
from tests.server.pages.page_reader import Serve, data_of, shown
from tests.snapshots.factories import a_spec, hash_of

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


def test_history_of_a_package(serve: Serve) -> None:
    """Since when it exists, and each revision that changed it, with its main cause."""
    states = [SPECS[1:2], SPECS[1:2], SPECS[:3]]
    link = ("link",)
    zlibs = [
        [
            a_spec(zlib, name="zlib", version=version, dependencies=()),
            a_spec(png, name="png", dependencies=(Dependency("zlib", hash_of(zlib), link),)),
        ]
        for zlib, png, version in (("z1", "p1", "1.2"), ("z2", "p2", "1.3"))
    ]
    client = serve(*states, zlibs=zlibs)
    page = shown(client, "/r/develop/packages/hdf5")
    newest, first = page.texts("table.history tbody tr")
    assert "versions changed" in newest or "upgraded" in newest
    assert "+1.10" in newest
    assert "+2" in newest
    assert "added" in first
    assert "and still available" in page.text("#history + p")
    (why,) = page.links("table.history a[aria-label]").values()
    assert "/specs?packages=hdf5" in why
    (feed,) = page.values("link[type='application/atom+xml']", "href")
    assert client.get(page.response.url.join(feed or "")).status_code == 200
    for address in ("/packages/png", "/r/zlibs/packages/png"):
        newest, first = shown(client, address).texts("table.history tbody tr")
        assert f"other builds +1 {MINUS}1 zlib 1.2 → 1.3 why" in newest
        assert "why" not in first
    before = shown(client, "/r/zlibs~1/packages/zlib")
    outcome = before.text("#impact + p + p")
    assert outcome.startswith("The next change was in zlibs ")
    assert outcome.endswith(": zlib 1.2 → 1.3. It accounts for 2 replacements.")
    (pair,) = before.links("#impact + p + p a").values()
    assert client.get(before.response.url.join(pair)).status_code == 200
    assert not shown(client, "/r/zlibs/packages/zlib").texts("#impact + p + p")


SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize(
    ("name", "message"),
    [("hdf5", "{newest} in develop"), ("nope", "not in develop"), ('"><script>', "not in develop")],
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
    assert client.get(f"/badge/develp/{name}.svg").status_code == 404


# -- over all series


@pytest.fixture(scope="module")
def lost(serve: Serve) -> httpx.Client:
    """Serve a catalog in which develop lost specs that a release has, and others that none has."""
    arm, x86 = a_spec("1", target="neoverse_v1", stacks=("e4s-arm", "root")), a_spec("2")
    zlib, gone = a_spec("4", name="zlib", version="1.3"), a_spec("5", name="gone-away", version="7")
    states = [[arm, x86, zlib, gone], [arm, x86, zlib], [a_spec("3", version="2.0.0")]]
    return serve(*states, **{"v1.0": [[x86, zlib]]})


def test_all_packages_are_listed(lost: httpx.Client) -> None:
    """With the newest versions and their series; removed packages are marked."""
    page = shown(lost, "/packages")
    assert page.text("#count") == "3 packages, 1 of them removed"
    rows = [text.split() for text in page.texts("tbody tr")]
    assert rows[0][:5] == ["gone-away", "7", "removed", "since", "develop"]
    assert rows[1][:3] == ["hdf5", "2.0.0", "develop"]
    assert rows[2][:3] == ["zlib", "1.3", "v1.0"]
    assert page.links("tbody th a")["zlib"].endswith("/packages/zlib")
    narrowed = shown(lost, "/packages?search=LIB")
    assert narrowed.texts("tbody th") == ["zlib"]
    gone = shown(lost, "/packages?gone=true")
    assert gone.texts("tbody th") == ["gone-away"]
    nothing = shown(lost, "/packages?search=nope")
    assert "No package matches this" in nothing.text("main")


def test_one_package_over_all_series(lost: httpx.Client) -> None:
    """The series with it, since when, its removal, its history in each series, and the feed."""
    page = shown(lost, "/packages/zlib")
    assert "1.3 is the newest version in v1.0" in page.text(".lead")
    rows = page.texts("[aria-label=Series] tbody tr")
    assert [row.split()[0] for row in rows] == ["develop", "vX.Y.Z"]
    assert "removed in develop" in rows[0]
    assert rows[1].endswith("still available")
    history = shown(lost, "/packages/zlib?series=develop")
    assert len(history.dom.cssselect("table.history tbody tr")) == 2
    feed, badge = history.values("details pre[data-copy]", "data-copy")[-2:]
    assert "/feeds/develop/zlib.atom" in (feed or "")
    assert "/badge/develop/zlib.svg" in (badge or "")


def test_newest_version_of_a_package_for_each_target(serve: Serve) -> None:
    """In each series, with its variants, how to install it, and what needs it."""
    hdf5 = [
        a_spec("h1", name="hdf5", version="1.12", variants=("+mpi", "~cxx")),
        a_spec("h2", name="hdf5", version="1.14", target="m1", variants=("+mpi", "+cxx")),
        a_spec("h3", name="hdf5", version="1.10", target="m1", variants=("+mpi", "+cxx")),
    ]
    png = a_spec("p", name="png", dependencies=(Dependency("hdf5", hash_of("h1"), ("link",)),))
    known = [replace(spec, dependencies=()) for spec in hdf5]
    page = shown(serve([*known, png], **{"v1.0": [known[1:2]]}), "/packages/hdf5")
    head = page.texts("[aria-label=Series] thead th")
    assert head == ["Series", "m1", "x86_64_v3", "Specs", "Since", "Until"]
    rows = page.rows("[aria-label=Series] table")
    assert [row[:4] for row in rows] == [
        ["develop", "1.14", "1.12", "3"],
        ["vX.Y.Z", "1.14", "none", "1"],
    ]
    assert page.text(".common") == "All 3 listed here: +mpi"
    assert f"spack install --cache-only /{hash_of('h2')}" in page.text("main")
    assert "Needed by png." in page.text("main")
