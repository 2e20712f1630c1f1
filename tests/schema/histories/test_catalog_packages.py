"""All packages of a catalog: the series with each, or when it was removed, against the model."""

from pathlib import Path
from typing import Any

import pytest

from snapshots.timelines.catalog_packages import CatalogPackage, PackageInSeries
from tests.schema.pasts import History, published_history
from tests.schema.worlds import shown

IN_SERIES = (
    "series { name } versions numSpecs numRevisions isCurrent firstSeen { digest tag } "
    "lastSeen { digest tag } goneIn { digest tag }"
)
PACKAGE = f"name isGone best {{ {IN_SERIES} }} inSeries {{ {IN_SERIES} }}"
PACKAGES = (
    "query($search: String, $gone: Boolean, $first: Int, $after: String) "
    "{ packages(search: $search, gone: $gone, first: $first, after: $after) { totalCount "
    f"pageInfo {{ hasNextPage endCursor }} nodes {{ {PACKAGE} }} }} }}"
)
ONE = (
    "query($name: String!, $series: String) { mainSeries { name } package(name: $name) "
    f"{{ {PACKAGE} history(series: $series) {{ name series {{ name }} }} }} }}"
)


def series_json(one: PackageInSeries) -> dict[str, Any]:
    """Return the expected value of IN_SERIES."""
    facts = "versions num_specs num_revisions first_seen last_seen gone_in"
    return shown(one, facts) | {"series": {"name": one.series}, "isCurrent": one.gone_in is None}


def package_json(package: CatalogPackage) -> dict[str, Any]:
    """Return the expected value of PACKAGE."""
    return {
        "name": package.name,
        "isGone": all(one.gone_in for one in package.in_series),
        "best": series_json(package.best),
        "inSeries": [series_json(one) for one in package.in_series],
    }


def test_all_packages(history: History) -> None:
    """By name, page by page; or those that are removed, or match a text."""
    expected = [package_json(package) for package in history.past.all_packages().values()]

    def page(**arguments: Any) -> Any:
        return history.world.data(PACKAGES, **arguments)["packages"]

    assert page()["nodes"] == expected
    first = page(first=1)
    assert (first["totalCount"], first["nodes"]) == (len(expected), expected[:1])
    assert page(after=first["pageInfo"]["endCursor"])["nodes"] == expected[1:]
    for gone in (True, False):
        assert page(gone=gone)["nodes"] == [
            package for package in expected if package["isGone"] is gone
        ]
    assert [node["name"] for node in page(search="LI")["nodes"]] == ["zlib"]


def test_one_package(history: History) -> None:
    """With its history in the best series, or in a given one."""
    for name, package in history.past.all_packages().items():
        answer = history.world.data(ONE, name=name)["package"]
        assert answer.pop("history") == {"name": name, "series": {"name": package.best.series}}
        assert answer == package_json(package)
        last = package.in_series[-1].series
        in_last = history.world.data(ONE, name=name, series=last)["package"]["history"]
        assert in_last["series"]["name"] == last
        assert history.world.data(ONE, name=name, series="nope")["package"]["history"] is None
    for name in ("nope", ""):
        assert history.world.data(ONE, name=name)["package"] is None


def test_many_packages_by_name(history: History) -> None:
    """Each as if requested alone; their number may exceed that of permitted histories."""
    packages = history.past.all_packages()
    names = [*packages, *(f"nope-{number}" for number in range(40))]
    texts = (f'p{place}: package(name: "{name}") {{ name }}' for place, name in enumerate(names))
    answers = history.world.data(f"{{ {' '.join(texts)} }}").values()
    assert [*answers] == [{"name": name} for name in packages] + [None] * 40


def test_empty_catalog_has_no_main_series(tmp_path: Path) -> None:
    """And no packages."""
    assert published_history(tmp_path, []).world.data(
        "{ mainSeries { name } packages { totalCount } }"
    ) == {
        "mainSeries": None,
        "packages": {"totalCount": 0},
    }


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("zlib", "zlib"),
        ("zlib@1.3: +shared ^hdf5", "zlib"),
        ("nope@1", None),
        ("^zlib", None),
        ("zlib@@", None),
        ("", None),
    ],
)
def test_package_of_a_query(history: History, query: str, name: str | None) -> None:
    """In any revision; null if the query names no package or is invalid."""
    answer = history.world.data("query($q: String!) { packageOf(query: $q) { name } }", q=query)
    assert answer["packageOf"] == (name and {"name": name})
