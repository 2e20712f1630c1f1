"""The pages of packages over all series: the list, a package, and its availability."""

from collections.abc import Iterator

import httpx
import pytest

from tests.server.pages.catalogs import published
from tests.server.pages.page_reader import shown
from tests.snapshots.factories import a_snapshot, a_spec, day

ARM = a_spec("1", target="neoverse_v1", stacks=("e4s-arm", "root"))
X86, NEWER = a_spec("2"), a_spec("3", version="2.0.0")
ZLIB, GONE = a_spec("4", name="zlib", version="1.3"), a_spec("5", name="gone-away", version="7")


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """Serve a catalog in which develop lost specs that a release has, and others that none has."""
    with published(
        tmp_path_factory.mktemp("catalog"),
        a_snapshot([ARM, X86, ZLIB, GONE], "develop", day(1)),
        a_snapshot([ARM, X86, ZLIB], "develop", day(2)),
        a_snapshot([NEWER], "develop", day(3)),
        a_snapshot([X86, ZLIB], "v1.0", day(1)),
    ) as client:
        yield client


def test_all_packages_are_listed(client: httpx.Client) -> None:
    """With the newest versions and their series; removed packages are marked."""
    page = shown(client, "/packages")
    assert page.text("#count") == "3 packages, 1 of them removed"
    rows = [text.split() for text in page.texts("tbody tr")]
    assert rows[0][:5] == ["gone-away", "7", "removed", "since", "develop"]
    assert rows[1][:3] == ["hdf5", "2.0.0", "develop"]
    assert rows[2][:3] == ["zlib", "1.3", "v1.0"]
    assert page.links("tbody th a")["zlib"].endswith("/packages/zlib")
    narrowed = shown(client, "/packages?search=LIB")
    assert narrowed.texts("tbody th") == ["zlib"]
    gone = shown(client, "/packages?gone=true")
    assert gone.texts("tbody th") == ["gone-away"]
    nothing = shown(client, "/packages?search=nope")
    assert "No package matches this" in nothing.text("main")


def test_one_package_over_all_series(client: httpx.Client) -> None:
    """The series with it, since when, its removal, its history in each series, and the feed."""
    page = shown(client, "/packages/zlib")
    assert "1.3 is the newest version in v1.0" in page.text(".lead")
    rows = page.texts("table:not(.matrix) tbody tr")
    assert [row.split()[0] for row in rows] == ["develop", "vX.Y.Z"]
    assert "removed in develop" in rows[0]
    assert rows[1].endswith("still available")
    history = shown(client, "/packages/zlib?series=develop")
    assert len(history.dom.cssselect("ol.log li")) == 2
    assert "/feeds/develop/zlib.atom" in history.links()["Feed"]
    matrix = shown(client, "/packages/hdf5").texts("table.matrix th")
    assert matrix == ["Target", "2.0.0", "x86_64_v3"]


def test_removed_package(client: httpx.Client) -> None:
    """The page of the package states when it was removed, that of a revision its spans."""
    page = shown(client, "/packages/gone-away")
    assert page.text(".lead").startswith("Removed: no newest revision has it.")
    missing = shown(client, "/r/develop/packages/gone-away")
    assert missing.status == 404
    elsewhere = missing.text(".elsewhere")
    assert elsewhere.startswith("develop: added in develop")
    assert "removed in develop" in elsewhere
    links = missing.links()
    assert links["All about gone-away"].endswith("/packages/gone-away")
    assert shown(client, links["availability"]).text("h1") == "Availability of gone-away"
    last = next(link for text, link in links.items() if text.startswith("last in develop"))
    assert shown(client, last).status == 200
    release = shown(client, "/r/develop/packages/zlib").text(".elsewhere")
    assert "1.3 in v1.0" in release


def test_series_without_the_package(client: httpx.Client) -> None:
    """The page says so, and remains that of the package."""
    page = shown(client, "/packages/gone-away?series=vX.Y.Z")
    assert page.status == 200
    assert "vX.Y.Z never had gone-away" in page.text("main")


def test_availability_of_removed_specs(client: httpx.Client) -> None:
    """Spans, the reason of the removal, its comparison, and the nearest spec."""
    page = shown(client, "/packages/hdf5/availability?target=neoverse_v1")
    assert page.text("h1") == "Availability of hdf5 for neoverse_v1"
    assert page.text(".lead").startswith(
        "Removed: no newest revision has it. develop has none since"
    )
    (row,) = page.texts("[aria-label='When it was available'] tbody tr")
    assert row.split()[:2] == ["develop", "develop"]
    assert row.endswith(": 1 stack gone")
    assert page.text("#nearest + p").startswith("In develop ")
    (near,) = page.texts("[aria-label='Nearest specs'] tbody tr")
    assert near.split()[1:3] == ["2.0.0", "x86_64_v3"]


def test_availability_in_another_series(client: httpx.Client) -> None:
    """The newest revision of each series counts."""
    page = shown(client, "/packages/hdf5/availability?target=x86_64_v3&version=1.14.5")
    assert page.text(".lead").startswith("Still available in vX.Y.Z since v1.0")
    rows = page.texts("[aria-label='When it was available'] tbody tr")
    assert rows[0].endswith(": 1 replaced because of hdf5 1.14.5 → 2.0.0")
    assert rows[1].endswith("still available")
    assert page.text("#nearest") == "Available specs"
    assert page.text("#nearest + p").startswith("1 of 1 spec in v1.0 ")


def test_availability_without_matches(client: httpx.Client) -> None:
    """Never present, or removed from all series; an unknown package leads to the nearest."""
    never = shown(client, "/packages/hdf5/availability?stack=nowhere")
    assert never.text(".lead") == "Never available: no revision of the catalog had it."
    assert never.text("option[selected]") == "nowhere"
    arm = never.links("[aria-label=Target] a")["neoverse_v1"]
    assert shown(client, arm).text("h1") == "Availability of hdf5 for neoverse_v1 in nowhere"
    assert never.texts("[aria-label='Nearest specs'] tbody tr")
    gone = shown(client, "/packages/gone-away/availability")
    assert gone.text(".lead").startswith("Removed")
    assert "was removed from all series" in gone.text(".empty")
    missing = shown(client, "/packages/hdff5/availability?target=a")
    assert (missing.status, missing.text(".problem")) == (404, "There is no such package.")
    near = missing.links(".nearest a")["hdf5"]
    assert shown(client, near).text("h1") == "Availability of hdf5 for a"
