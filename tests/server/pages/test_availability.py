"""The page that says since when specs for a target, in a stack or of a version are gone."""

from collections.abc import Iterator

import httpx
import pytest

from tests.server.pages.catalogs import published
from tests.server.pages.page_reader import shown
from tests.snapshots.factories import a_snapshot, a_spec, day

ARM = a_spec("1", target="neoverse_v1", stacks=("e4s-arm", "root"))
X86, NEWER = a_spec("2"), a_spec("3", version="2.0.0")
OTHER = a_spec("4", name="zlib")


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """Serve a catalog in which develop lost what a release has, and a package that is gone."""
    with published(
        tmp_path_factory.mktemp("catalog"),
        a_snapshot([ARM, X86, OTHER], "develop", day(1)),
        a_snapshot([ARM, X86], "develop", day(2)),
        a_snapshot([NEWER], "develop", day(3)),
        a_snapshot([X86], "v1.0", day(1)),
    ) as client:
        yield client


def test_since_when_it_is_gone_and_what_is_nearest(client: httpx.Client) -> None:
    """When it was there, why it went, the comparison that says more, and the nearest spec."""
    page = shown(client, "/packages/hdf5/availability?target=neoverse_v1")
    assert page.text("h1") == "Availability of hdf5 for neoverse_v1"
    assert page.text(".lead").startswith("Gone: no newest revision has it. develop has none since")
    (row,) = page.texts("[aria-label='When it was there'] tbody tr")
    assert row.split()[:2] == ["develop", "develop"]
    assert row.endswith(": 1 stack gone")
    gone = next(link for text, link in page.links().items() if "gone in develop" in text)
    assert shown(client, gone).status == 200
    assert page.text("#nearest + p").startswith("In develop ")
    (near,) = page.texts("[aria-label='Nearest specs'] tbody tr")
    assert near.split()[1:3] == ["2.0.0", "x86_64_v3"]
    (link,) = page.links("[aria-label='Nearest specs'] th a").values()
    assert shown(client, link).status == 200


def test_it_is_still_there_elsewhere(client: httpx.Client) -> None:
    """The newest revision of each series counts, and what is nearest is just that."""
    page = shown(client, "/packages/hdf5/availability?target=x86_64_v3&version=1.14.5")
    assert page.text(".lead").startswith("Still there in vX.Y.Z since v1.0")
    rows = page.texts("[aria-label='When it was there'] tbody tr")
    assert rows[0].endswith(": 1 replaced because of hdf5 1.14.5 → 2.0.0")
    assert rows[1].endswith("still there")
    assert page.text("#nearest") == "What there is now"
    assert page.text("#nearest + p").startswith("1 of 1 spec in v1.0 ")


def test_what_never_was_and_what_is_all_gone(client: httpx.Client) -> None:
    """Each says so, and leads on; a name that no revision had leads to the nearest ones."""
    never = shown(client, "/packages/hdf5/availability?stack=nowhere")
    assert never.text(".lead") == "Never there: no revision of the catalog had it."
    assert never.text("option[selected]") == "nowhere"
    arm = never.links("[aria-label=Target] a")["neoverse_v1"]
    assert shown(client, arm).text("h1") == "Availability of hdf5 for neoverse_v1 in nowhere"
    assert never.texts("[aria-label='Nearest specs'] tbody tr")
    gone = shown(client, "/packages/zlib/availability")
    assert gone.text(".lead").startswith("Gone")
    assert "is gone from all series" in gone.text(".empty")
    missing = shown(client, "/packages/hdff5/availability?target=a")
    assert missing.status == 404
    near = missing.links(".nearest a")["hdf5"]
    assert shown(client, near).text("h1") == "Availability of hdf5 for a"


@pytest.mark.parametrize("address", ["/packages/hdf5", "/r/develop~1/packages/hdf5?by=STACK"])
def test_what_a_matrix_lacks_leads_there(client: httpx.Client, address: str) -> None:
    """Each empty cell of a matrix is a link; the page of what is gone has one."""
    page = shown(client, address)
    links = page.links("td.gap a")
    if links:
        assert shown(client, links["none"]).text("h1").startswith("Availability of ")
    missing = shown(client, "/r/develop/packages/zlib").links()["availability"]
    assert shown(client, missing).text("h1") == "Availability of zlib"
