"""The pages of packages over all series: the list, one of them, and those that are gone."""

from collections.abc import Iterator

import httpx
import pytest

from tests.server.pages.catalogs import published
from tests.server.pages.page_reader import shown
from tests.snapshots.factories import a_snapshot, a_spec, day

HDF5, OLD, ZLIB = (
    a_spec("1", version="1.14.3", target="zen4"),
    a_spec("2", version="1.12.1"),
    a_spec("3", name="zlib", version="1.3"),
)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """Serve a catalog in which develop lost a package that a release has, and one that none has."""
    gone = a_spec("4", name="gone-away", version="7")
    with published(
        tmp_path_factory.mktemp("catalog"),
        a_snapshot([OLD, ZLIB, gone], "develop", day(1)),
        a_snapshot([HDF5, OLD, ZLIB], "develop", day(2)),
        a_snapshot([HDF5], "develop", day(3)),
        a_snapshot([OLD, ZLIB], "v1.0", day(1)),
    ) as client:
        yield client


def test_all_packages_are_listed(client: httpx.Client) -> None:
    """With the newest versions and where; those that are gone say so; each leads to its page."""
    page = shown(client, "/packages")
    assert page.text("#count") == "3 packages, 1 of them gone"
    rows = [it.split() for it in page.texts("tbody tr")]
    assert rows[0][:5] == ["gone-away", "7", "gone", "since", "develop"]
    assert rows[1][:3] == ["hdf5", "1.14.3", "develop"]
    assert rows[2][:3] == ["zlib", "1.3", "v1.0"]
    assert page.links("tbody th a")["zlib"].endswith("/packages/zlib")
    narrowed = shown(client, "/packages?search=LIB")
    assert narrowed.texts("tbody th") == ["zlib"]
    gone = shown(client, "/packages?gone=true")
    assert gone.texts("tbody th") == ["gone-away"]
    nothing = shown(client, "/packages?search=nope")
    assert "No package matches this" in nothing.text("main")


def test_one_package_over_all_series(client: httpx.Client) -> None:
    """Where it is, since when, where it was lost; its history in each series, and the feed."""
    page = shown(client, "/packages/zlib")
    assert "1.3 is the newest version in v1.0" in page.text(".lead")
    rows = page.texts("table:not(.matrix) tbody tr")
    assert [it.split()[0] for it in rows] == ["develop", "vX.Y.Z"]
    assert "gone in develop" in rows[0]
    assert rows[1].endswith("still there")
    history = shown(client, "/packages/zlib?series=develop")
    assert len(history.dom.cssselect("ol.log li")) == 2
    assert "/feeds/develop/zlib.atom" in history.links()["Feed"]
    matrix = shown(client, "/packages/hdf5").texts("table.matrix th")
    assert matrix == ["Target", "1.14.3", "zen4"]


def test_what_is_gone_is_never_just_not_found(client: httpx.Client) -> None:
    """The page of the package says since when; that of a revision says when it came and went."""
    page = shown(client, "/packages/gone-away")
    assert page.text(".lead").startswith("Gone: the newest revision of no series has it.")
    missing = shown(client, "/r/develop/packages/gone-away")
    assert missing.status == 404
    told = missing.text(".elsewhere")
    assert told.startswith("develop: came in develop")
    assert "gone in develop" in told
    links = missing.links()
    assert links["All about gone-away"].endswith("/packages/gone-away")
    last = next(link for text, link in links.items() if text.startswith("last in develop"))
    assert shown(client, last).status == 200
    release = shown(client, "/r/develop/packages/zlib").text(".elsewhere")
    assert "1.3 in v1.0" in release


@pytest.mark.parametrize(
    ("name", "near"), [("hdff5", "hdf5"), ("zli", "zlib"), ("away", "gone-away")]
)
def test_a_package_that_never_was(client: httpx.Client, name: str, near: str) -> None:
    """The nearest names of the whole catalog lead on."""
    page = shown(client, f"/packages/{name}")
    assert (page.status, page.text(".problem")) == (404, "There is no such package.")
    assert page.links(".nearest a")[near].endswith(f"/packages/{near}")


def test_a_series_that_never_had_it(client: httpx.Client) -> None:
    """Says so, and stays the page of the package."""
    page = shown(client, "/packages/gone-away?series=vX.Y.Z")
    assert page.status == 200
    assert "vX.Y.Z never had gone-away" in page.text("main")
