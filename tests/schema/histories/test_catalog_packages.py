"""All packages of a catalog: where each is, or when it went, as a walk through all tells."""

from pathlib import Path
from random import Random
from typing import Any

import pytest

from schema.context import Context
from snapshots.catalog.history_answers import HistoryAnswers
from snapshots.models import RevisionInfo
from snapshots.timelines.catalog_packages import CatalogPackage, PackageInSeries
from tests.schema.pasts import LINES, Known, known_past, made_up
from tests.schema.usual import api
from tests.schema.worlds import opened, plain
from tests.snapshots.catalog.pasts import TABLES, forget

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


@pytest.fixture(scope="module", params=range(4))
def known(request: Any, tmp_path_factory: pytest.TempPathFactory) -> Known:
    """Return a catalog of which every revision is known, or one with a made-up past."""
    lines = made_up(Random(request.param)) if request.param else LINES
    return known_past(tmp_path_factory.mktemp("catalog"), lines)


def named(info: RevisionInfo | None) -> dict[str, str] | None:
    """Return what is asked of a revision."""
    return None if info is None else {"digest": info.digest, "tag": info.tag}


def series_json(one: PackageInSeries) -> dict[str, Any]:
    """Return what IN_SERIES is to show."""
    return {
        "series": {"name": one.series},
        "versions": list(one.versions),
        "numSpecs": one.num_specs,
        "numRevisions": one.num_revisions,
        "isCurrent": one.gone_in is None,
        "firstSeen": named(one.first_seen),
        "lastSeen": named(one.last_seen),
        "goneIn": named(one.gone_in),
    }


def package_json(package: CatalogPackage) -> dict[str, Any]:
    """Return what PACKAGE is to show."""
    return {
        "name": package.name,
        "isGone": all(one.gone_in for one in package.in_series),
        "best": series_json(package.best),
        "inSeries": [series_json(one) for one in package.in_series],
    }


def test_all_packages(known: Known) -> None:
    """Every package that any revision has, by name, page by page; gone ones are told apart."""
    expected = [package_json(it) for it in known.past.all_packages().values()]
    assert known.world.data(PACKAGES)["packages"]["nodes"] == expected
    page = known.world.data(PACKAGES, first=1)["packages"]
    assert page["totalCount"] == len(expected)
    after = page["pageInfo"]["endCursor"]
    assert page["nodes"] == expected[:1]
    assert known.world.data(PACKAGES, after=after)["packages"]["nodes"] == expected[1:]
    for gone in (True, False):
        told = known.world.data(PACKAGES, gone=gone)["packages"]["nodes"]
        assert told == [it for it in expected if it["isGone"] is gone]


def test_packages_are_searched_by_name(known: Known) -> None:
    """By any part of it, whatever its case."""
    told = known.world.data(PACKAGES, search="LI")["packages"]["nodes"]
    names = [it for it in known.past.all_packages() if "li" in it.lower()]
    assert [it["name"] for it in told] == names


def test_one_package(known: Known) -> None:
    """With its history where it is best looked at, or in the series that is named."""
    for name, package in known.past.all_packages().items():
        told = known.world.data(ONE, name=name)["package"]
        assert told.pop("history") == {"name": name, "series": {"name": package.best.series}}
        assert told == package_json(package)
        other = package.in_series[-1].series
        told = known.world.data(ONE, name=name, series=other)["package"]
        assert told["history"]["series"]["name"] == other
        assert known.world.data(ONE, name=name, series="nope")["package"]["history"] is None
    assert known.world.data(ONE, name="nope")["package"] is None
    assert known.world.data(ONE, name="")["package"] is None


def test_the_main_series(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Develop, else the one with most revisions; an empty catalog has none, and no packages."""
    folder = tmp_path_factory.mktemp
    specs = LINES[0][2]
    lines = [("v1.0", 1, specs), ("weekly", 2, specs), ("weekly", 3, LINES[1][2])]
    for more, name in (([], "weekly"), ([("develop", 4, specs)], "develop")):
        told = known_past(folder("catalog"), [*lines, *more]).world.data(ONE, name="zlib")
        assert told["mainSeries"]["name"] == name
        assert told["package"]["best"]["series"]["name"] == name
    empty = known_past(folder("catalog"), []).world
    assert empty.data("{ mainSeries { name } packages { totalCount } }") == {
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
        ("+mpi", None),
        ("zlib@@", None),
        ("", None),
    ],
)
def test_the_package_that_a_query_names(
    tmp_path_factory: pytest.TempPathFactory, query: str, name: str | None
) -> None:
    """Whatever the newest revisions have; none where it names none, or cannot be read."""
    world = known_past(tmp_path_factory.mktemp("catalog"), LINES).world
    told = world.data("query($q: String!) { packageOf(query: $q) { name } }", q=query)["packageOf"]
    assert told == (name and {"name": name})


def test_what_is_incomplete_nulls_nothing_else(tmp_path: Path) -> None:
    """Where changes of the history are missing, the rest of the request is answered."""
    world = known_past(tmp_path, LINES).world
    forget(world.catalog, *TABLES)
    fresh = opened(tmp_path)
    answers = HistoryAnswers(fresh.catalog, fresh.library, fill_seconds=-1)
    context = Context(fresh.catalog, fresh.library, answers=answers)
    query = '{ packages { totalCount } packageOf(query: "zlib") { name } tags { name } }'
    told = plain(api.execute(query, context=context))
    assert {error["extensions"]["code"] for error in told["errors"]} == {"HISTORY_INCOMPLETE"}
    assert told["data"]["tags"]
    assert (told["data"]["packages"], told["data"]["packageOf"]) == (None, None)
