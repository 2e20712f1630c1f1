"""The pages of packages, in a revision and over all series; their availability and badges."""

import httpx
import pytest
from lxml import etree

from server.pages.documents import document
from server.pages.filters import MINUS
from snapshots.models import Dependency
from tests.server.pages.page_reader import Serve, data_of, shown
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
def of_specs(serve: Serve) -> httpx.Client:
    """Return a client of a server of these specs."""
    return serve(SPECS)


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
    for address in ("/packages/png", "/r/zlibs/packages/png"):
        newest, first = shown(client, address).texts("ol.log li")
        assert f"other builds +1 {MINUS}1 specs zlib 1.2 → 1.3 why" in newest
        assert "why" not in first


def test_titles_distinguish_revisions(serve: Serve) -> None:
    """A revision that is not the newest of its tag is identified by its date."""
    client = serve([a_spec("1")], [a_spec("2")])
    exact = data_of(client, '{ revision(ref: "develop~1") { ref } }')["revision"]["ref"]
    for path in ("packages/hdf5", f"specs/{hash_of('1')}"):
        for ref in (exact, "develop~1"):
            page = shown(client, f"/r/{ref}/{path}")
            (title,) = page.texts("title")
            assert f" · develop of {day(0):%Y-%m-%d} · " in title
            assert page.texts(".crumbs li")[1] == f"develop of {day(0):%Y-%m-%d}"
    (title,) = shown(client, "/r/develop/packages/hdf5").texts("title")
    assert title == "hdf5 · develop · cachelog"


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
    rows = page.texts("table:not(.matrix) tbody tr")
    assert [row.split()[0] for row in rows] == ["develop", "vX.Y.Z"]
    assert "removed in develop" in rows[0]
    assert rows[1].endswith("still available")
    history = shown(lost, "/packages/zlib?series=develop")
    assert len(history.dom.cssselect("ol.log li")) == 2
    assert "/feeds/develop/zlib.atom" in history.links()["Feed"]
    matrix = shown(lost, "/packages/hdf5").texts("table.matrix th")
    assert matrix == ["Target", "2.0.0", "x86_64_v3"]


def test_removed_package(lost: httpx.Client) -> None:
    """The page of the package states when it was removed, that of a revision its spans."""
    page = shown(lost, "/packages/gone-away")
    assert page.text(".lead").startswith("Removed: no newest revision has it.")
    never = shown(lost, "/packages/gone-away?series=vX.Y.Z")
    assert "vX.Y.Z never had gone-away" in never.text("main")
    missing = shown(lost, "/r/develop/packages/gone-away")
    assert missing.status == 404
    elsewhere = missing.text(".elsewhere")
    assert elsewhere.startswith("develop: added in develop")
    assert "removed in develop" in elsewhere
    links = missing.links()
    assert links["All about gone-away"].endswith("/packages/gone-away")
    assert shown(lost, links["availability"]).text("h1") == "Availability of gone-away"
    last = next(link for text, link in links.items() if text.startswith("last in develop"))
    assert shown(lost, last).status == 200
    release = shown(lost, "/r/develop/packages/zlib").text(".elsewhere")
    assert "1.3 in v1.0" in release


def test_availability_in_another_series(lost: httpx.Client) -> None:
    """The newest revision of each series counts."""
    page = shown(lost, "/packages/hdf5/availability?target=x86_64_v3&version=1.14.5")
    assert page.text(".lead").startswith("Still available in vX.Y.Z since v1.0")
    rows = page.texts("[aria-label='When it was available'] tbody tr")
    assert rows[0].endswith(": 1 replaced because of hdf5 1.14.5 → 2.0.0")
    assert rows[1].endswith("still available")
    assert page.text("#nearest") == "Available specs"
    assert page.text("#nearest + p").startswith("1 of 1 spec in v1.0 ")


def test_availability_without_matches(lost: httpx.Client) -> None:
    """Never present, or removed from all series; an unknown package leads to the nearest."""
    family = shown(lost, "/packages/hdf5/availability?target=aarch64").text(".lead")
    assert family.startswith("Not for exactly aarch64: of its family, hdf5 was built for neoverse")
    never = shown(lost, "/packages/hdf5/availability?stack=nowhere")
    assert never.text(".lead") == "Never available: no revision of the catalog had it."
    assert never.text("option[selected]") == "nowhere"
    arm = never.links("[aria-label=Target] a")["neoverse_v1"]
    assert shown(lost, arm).text("h1") == "Availability of hdf5 for neoverse_v1 in nowhere"
    assert never.texts("[aria-label='Nearest specs'] tbody tr")
    gone = shown(lost, "/packages/gone-away/availability")
    assert gone.text(".lead").startswith("Removed")
    assert "was removed from all series" in gone.text(".empty")
    missing = shown(lost, "/packages/hdff5/availability?target=a")
    assert (missing.status, missing.text(".problem")) == (404, "There is no such package.")
    near = missing.links(".nearest a")["hdf5"]
    assert shown(lost, near).text("h1") == "Availability of hdf5 for a"
