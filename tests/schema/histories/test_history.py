"""Histories of hashes, packages and series, compared with the model."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from schema.node import node_id
from snapshots.timelines.catalog_packages import CatalogPackage, PackageInSeries
from tests.schema.model_histories import (
    ALL_PACKAGES,
    GROWTH,
    HASH,
    HASHES,
    HISTORY_OF_HASH,
    HISTORY_OF_PACKAGE,
    HOLDING,
    LINES,
    ONE_PACKAGE,
    PACKAGE,
    POINT,
    SERIES,
    History,
    growth_json,
    hash_json,
    package_json,
    published_history,
)
from tests.schema.worlds import shown


def assert_holding(history: History, hashes: list[str], series: str | None = None) -> None:
    """Assert which revisions contain all of some hashes."""
    holding = history.world.data(HOLDING, hashes=hashes, series=series)["revisionsHolding"]
    holding_ones = history.past.holding(hashes, series)
    nodes = [{"tagName": one.tag, "digest": one.digest} for one in holding_ones]
    assert holding == {"totalCount": len(nodes), "nodes": nodes}


def test_histories_of_hashes(history: History) -> None:
    """Each with its spans in all series."""
    for text in {spec.hash for state in history.world.states for spec in state.specs}:
        answer = history.world.data(HISTORY_OF_HASH, hash=text)
        assert answer["hash"] == hash_json(history.past, text)


def test_histories_of_series(history: History) -> None:
    """Their growth, each package, and the revisions that contain some hashes."""
    specs = [spec for state in history.world.states for spec in state.specs]
    hashes = sorted({spec.hash for spec in specs})
    for series in history.past.history.series_names:
        points = history.world.data(GROWTH, series=series)["series"]["growth"]
        assert points == growth_json(history.past, series)
        for name in {spec.name for spec in specs} | {"nope"}:
            answer = history.world.data(HISTORY_OF_PACKAGE, series=series, name=name)["series"]
            assert answer["package"] == package_json(history.past, series, name)
        for chosen in (hashes[:1], hashes[1:3], []):
            assert_holding(history, chosen, series)


# -- series


def test_order_of_series(history: History) -> None:
    """Develop, releases, dated ones, others; each with its latest revision and all of them."""
    tags = {}
    for series in history.world.data(SERIES)["allSeries"]:
        tags[series["name"]] = [node["tagName"] for node in series["revisions"]["nodes"]]
        assert series["id"] == node_id("Series", series["name"])
        assert series["latest"] == series["revisions"]["nodes"][0]
        assert series["revisions"]["totalCount"] == len(tags[series["name"]])
    assert [*tags.items()] == [
        ("develop", ["develop"] * 5),
        ("vX.Y.Z", ["v0.22.1", "v0.22.0", "v0.22.0"]),
        ("develop-DATE", ["develop-2025-01-12", "develop-2025-01-05"]),
        ("emptied", ["emptied"] * 3),
        ("nothing", ["nothing"]),
        ("once", ["once"]),
    ]


def test_series_of_tags_and_revisions(history: History) -> None:
    """The same for a tag and its revisions."""
    for tag in history.world.data(SERIES)["tags"]:
        latest = {"tag": {"series": tag["series"]}, "series": tag["series"]}
        assert tag == {"series": tag["series"], "latest": latest}


@pytest.mark.parametrize(
    ("arguments", "points"),
    [
        ({"since": "2025-01-26", "until": "2025-01-28"}, slice(1, 4)),
        ({"since": "2025-01-28T00:00:01Z"}, slice(4, None)),
        ({"last": 0}, slice(0)),
        ({"last": 99}, slice(None)),
        ({"until": "2025-01-28", "last": 2}, slice(2, 4)),
    ],
    ids=str,
)
def test_growth_is_limited(history: History, arguments: dict[str, Any], points: slice) -> None:
    """Both times are inclusive; ``last`` counts from the end. Points are cached as JSON."""
    answer = history.world.data(GROWTH, series="develop", **arguments)
    assert answer["series"]["growth"] == growth_json(history.past, "develop")[points]


def test_negative_number_of_points_is_refused(history: History) -> None:
    """As a client error."""
    error = history.world.error(GROWTH, series="develop", last=-1)
    assert error["extensions"] == {"code": "BAD_USER_INPUT"}


def test_growth_of_a_revision(history: History) -> None:
    """The point of its series."""
    nodes = f"nodes {{ growthPoint {{ {POINT} }} }}"
    text = f"{{ allSeries {{ name revisions(first: 9) {{ {nodes} }} }} }}"
    for series in history.world.data(text)["allSeries"]:
        points = [node["growthPoint"] for node in series["revisions"]["nodes"]]
        assert points[::-1] == growth_json(history.past, series["name"])


@pytest.mark.parametrize(("ref", "series"), [("v0.22.0", "vX.Y.Z"), ("develop", "develop")])
def test_history_of_a_package_of_a_revision(history: History, ref: str, series: str) -> None:
    """In the series of that revision."""
    package = f'package(name: "zlib") {{ seriesPackage {{ {PACKAGE} }} }}'
    data = history.world.data(f'{{ revision(ref: "{ref}") {{ {package} }} }}')
    assert data["revision"]["package"]["seriesPackage"] == package_json(
        history.past, series, "zlib"
    )


# -- hashes


@pytest.mark.parametrize("fields", [HASH, "hash name version"], ids=["all", "own"])
def test_histories_of_specs(history: History, fields: str) -> None:
    """In a list, with any selection."""
    specs = f"specs {{ nodes {{ hash history {{ {fields} }} }} }}"
    nodes = history.world.data(f'{{ revision(ref: "v0.22.0") {{ {specs} }} }}')["revision"]["specs"]
    assert nodes["nodes"]
    for node in nodes["nodes"]:
        expected = hash_json(history.past, node["hash"])
        assert expected is not None
        assert node["history"] == {key: expected[key] for key in node["history"]}


def test_hash_is_found_by_prefix(history: History) -> None:
    """If exactly one hash has the prefix; null if none has."""
    answer = history.world.data(HISTORY_OF_HASH, hash=HASHES[0][:12])
    assert answer["hash"] == hash_json(history.past, HASHES[0])
    for text in ("7" * 32, "7" * 12):
        assert history.world.data(HISTORY_OF_HASH, hash=text) == {"hash": None}


def test_prefix_of_several_hashes_is_ambiguous(tmp_path: Path) -> None:
    """The error lists them with their packages and versions."""
    spec = LINES[0][2][0]
    similar = [replace(spec, hash=f"abc{letter}".ljust(32, "2")) for letter in "xyz"]
    world = published_history(tmp_path, [("develop", 0, similar)]).world
    title = f"{spec.name}@{spec.version}"
    candidates = [{"hash": spec.hash, "title": title} for spec in similar]
    error = world.error(HISTORY_OF_HASH, hash="abc")
    assert error["extensions"] == {"code": "AMBIGUOUS_HASH", "candidates": candidates}


@pytest.mark.parametrize("text", ["", "!", "a" * 33, "a/b"])
def test_invalid_hash_is_an_error(history: History, text: str) -> None:
    """Rather than null, which means that the catalog never contained it."""
    error = history.world.error(HISTORY_OF_HASH, hash=text)
    assert (error["extensions"]["code"], error["path"]) == ("BAD_USER_INPUT", ["hash"])


def test_revisions_with_hashes_are_newest_first(history: History) -> None:
    """Those that contain all of the hashes; none contains an unknown hash."""
    for hashes in ([HASHES[0]], HASHES[:2], HASHES, [HASHES[0], "7" * 32], [HASHES[0]] * 3):
        assert_holding(history, hashes)
    assert_holding(history, HASHES[:1], "nope")


# -- packages of the catalog


def series_json(one: PackageInSeries) -> dict[str, Any]:
    """Return the expected value of IN_SERIES."""
    facts = "versions num_specs num_revisions first_seen last_seen gone_in"
    return shown(one, facts) | {"series": {"name": one.series}, "isCurrent": one.gone_in is None}


def catalog_package_json(package: CatalogPackage) -> dict[str, Any]:
    """Return the expected value of CATALOG_PACKAGE."""
    return {
        "id": node_id("Package", package.name),
        "name": package.name,
        "isGone": all(one.gone_in for one in package.in_series),
        "best": series_json(package.best),
        "inSeries": [series_json(one) for one in package.in_series],
    }


def test_all_packages(history: History) -> None:
    """By name; or those that are removed, or match a text."""
    expected = [catalog_package_json(package) for package in history.past.all_packages().values()]

    def page(**arguments: Any) -> Any:
        return history.world.data(ALL_PACKAGES, **arguments)["packages"]

    assert page()["nodes"] == expected
    for gone in (True, False):
        assert page(gone=gone)["nodes"] == [one for one in expected if one["isGone"] is gone]
    assert [node["name"] for node in page(search="LI")["nodes"]] == ["zlib"]


def test_one_package(history: History) -> None:
    """With its history in the best series, or in a given one."""

    def answered(name: str, series: str | None = None) -> Any:
        return history.world.data(ONE_PACKAGE, name=name, series=series)["package"]

    for name, package in history.past.all_packages().items():
        of_best = {"name": name, "series": {"name": package.best.series}}
        assert answered(name) == catalog_package_json(package) | {"seriesPackage": of_best}
        last = package.in_series[-1].series
        assert answered(name, last)["seriesPackage"]["series"]["name"] == last
        assert answered(name, "nope")["seriesPackage"] is None
    assert answered("nope") is answered("") is None


def test_many_packages_by_name(history: History) -> None:
    """Each as if requested alone; their number may exceed that of permitted histories."""
    packages = history.past.all_packages()
    names = [*packages, *(f"nope-{number}" for number in range(40))]
    texts = (f'p{place}: package(name: "{name}") {{ name }}' for place, name in enumerate(names))
    answers = history.world.data(f"{{ {' '.join(texts)} }}").values()
    assert [*answers] == [{"name": name} for name in packages] + [None] * 40


@pytest.mark.parametrize(
    ("query", "name"),
    [("zlib@1.3: +shared ^hdf5", "zlib"), ("nope@1", None), ("^zlib", None), ("zlib@@", None)],
)
def test_package_of_a_query(history: History, query: str, name: str | None) -> None:
    """In any revision; none if the query names no package, an error if it is invalid."""
    text = "query($q: String!) { packages(matching: $q) { nodes { name } } }"
    packages = history.world.ask(text, q=query)["data"]["packages"]
    assert (packages and packages["nodes"]) == (
        None if "@@" in query else [{"name": "zlib"}] if name else []
    )
