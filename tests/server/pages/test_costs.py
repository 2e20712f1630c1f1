"""Build costs on the pages that count specs."""

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
PAGES_WITH_COSTS = ("compare", "cause", "compare-commits", "commit", "package", "series-causes")


@pytest.fixture(scope="module")
def client_with_costs(
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


@pytest.mark.parametrize("name", PAGES_WITH_COSTS)
def test_build_times_are_beside_counts(
    client_with_costs: httpx.Client,
    history_client: httpx.Client,
    addresses: dict[str, str],
    name: str,
) -> None:
    """With the estimated hours, costs and number of specs; absent without costs."""
    assert BUILD_TIME.search(shown(client_with_costs, addresses[name]).text("main"))
    without = shown(history_client, addresses[name]).text("main")
    assert "EUR" not in without
    assert "estimated" not in without


def test_pages_with_costs_are_not_permanent(
    client_with_costs: httpx.Client, history_client: httpx.Client, addresses: dict[str, str]
) -> None:
    """Other costs can be imported; without costs, pages under digests are permanent."""
    permanent = shown(history_client, addresses["compare"]).links("footer a")["Permanent address"]
    path = httpx.URL(permanent).raw_path.decode()
    assert "immutable" in history_client.get(path).headers["cache-control"]
    assert "immutable" not in client_with_costs.get(path).headers["cache-control"]
    assert BUILD_TIME.search(shown(client_with_costs, path).text("main"))
    assert not history_client.get(f"{path}?hasCosts=true").text.count("EUR")
