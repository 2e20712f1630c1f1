"""What building specs takes, on the pages that count them."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from server.settings import Settings
from snapshots.catalog.catalog import Catalog
from tests.server.pages.page_reader import shown
from tests.server.servers import application
from tests.snapshots.costs import rows

BUILD_TIME = re.compile(r"[\d.,]+ (?:hours?|minutes), [\d.,]+ EUR \([\d,]+ estimated")
COUNTING = ("compare", "cause", "compare-commits", "commit", "package", "series-causes")


@pytest.fixture(scope="module")
def counting(
    history_catalog: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[httpx.Client]:
    """Return a client of a server of the same catalog with costs."""
    folder = tmp_path_factory.mktemp("costs")
    shutil.copytree(history_catalog, folder / "catalog")
    catalog = Catalog(str(folder / "catalog"))
    catalog.refresh()
    names = sorted(catalog.package_names())
    costs = rows(*((None, name, 3_600.0, 2.0) for name in names), unit="eur")
    catalog.costs.replace(costs)
    with application(Settings(catalog=catalog.location)) as client:
        yield client


@pytest.mark.parametrize("name", COUNTING)
def test_build_times_stand_beside_counts(
    counting: httpx.Client, history_client: httpx.Client, addresses: dict[str, str], name: str
) -> None:
    """So many hours, what they cost, and of how many specs that is an estimate; else nothing."""
    assert BUILD_TIME.search(shown(counting, addresses[name]).text("main"))
    without = shown(history_client, addresses[name]).text("main")
    assert "EUR" not in without
    assert "estimated" not in without


def test_nothing_with_costs_is_permanent(
    counting: httpx.Client, history_client: httpx.Client, addresses: dict[str, str]
) -> None:
    """Other costs can be imported; what has none stays the same under digests."""
    permanent = shown(history_client, addresses["compare"]).links("footer a")["Permanent address"]
    path = httpx.URL(permanent).raw_path.decode()
    assert "immutable" in history_client.get(path).headers["cache-control"]
    assert "immutable" not in counting.get(path).headers["cache-control"]
    assert BUILD_TIME.search(shown(counting, path).text("main"))
    assert not history_client.get(f"{path}?hasCosts=true").text.count("EUR")


def test_a_cause_has_the_same_everywhere(counting: httpx.Client, addresses: dict[str, str]) -> None:
    """On the page of a comparison as on its own."""
    (listed, *_) = shown(counting, addresses["compare"]).texts(".causes details summary")
    (build_time,) = BUILD_TIME.findall(listed)
    assert build_time in shown(counting, addresses["cause"]).text("#cause")
