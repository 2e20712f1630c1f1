"""Hashes, packages and series through time, against the model's walk through all revisions."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from schema.node import node_id
from tests.schema.pasts import (
    HASH,
    HASHES,
    LINES,
    PACKAGE,
    POINT,
    REVISION,
    Known,
    growth_json,
    hash_json,
    known_past,
    package_json,
)

HISTORY_OF_HASH = f"query($hash: String!) {{ hash(hash: $hash) {{ {HASH} }} }}"
HISTORY_OF_PACKAGE = (
    "query($series: String!, $name: String!) { series(name: $series) "
    f"{{ package(name: $name) {{ {PACKAGE} }} }} }}"
)
GROWTH = (
    "query($series: String!, $since: DateTime, $until: DateTime, $last: Int) "
    "{ series(name: $series) { growth(since: $since, until: $until, last: $last) "
    f"{{ {POINT} }} }} }}"
)
HOLDING = (
    "query($hashes: [String!]!, $series: String, $first: Int, $after: String) { "
    "revisionsHolding(hashes: $hashes, series: $series, first: $first, after: $after) "
    f"{{ totalCount nodes {REVISION} edges {{ cursor }} }} }}"
)


def assert_holding(known: Known, hashes: list[str], series: str | None = None) -> None:
    """Assert which revisions hold all of some hashes."""
    holding = known.world.data(HOLDING, hashes=hashes, series=series)["revisionsHolding"]
    expected = known.past.holding(hashes, series)
    assert holding["nodes"] == [{"tag": it.tag, "digest": it.digest} for it in expected]
    assert holding["totalCount"] == len(expected)


def test_hashes_have_the_history_of_the_model(known: Known) -> None:
    """Each with its spans in all series."""
    for text in {spec.hash for state in known.world.states for spec in state.specs}:
        answer = known.world.data(HISTORY_OF_HASH, hash=text)
        assert answer["hash"] == hash_json(known.past, text)


def test_series_have_the_history_of_the_model(known: Known) -> None:
    """Their growth, each package, and which revisions hold some hashes."""
    specs = [spec for state in known.world.states for spec in state.specs]
    hashes = sorted({spec.hash for spec in specs})
    for series in known.past.history.series_names:
        points = known.world.data(GROWTH, series=series)["series"]["growth"]
        assert points == growth_json(known.past, series)
        for name in {spec.name for spec in specs} | {"nope"}:
            answer = known.world.data(HISTORY_OF_PACKAGE, series=series, name=name)["series"]
            assert answer["package"] == package_json(known.past, series, name)
        for chosen in (hashes[:1], hashes[1:3], []):
            assert_holding(known, chosen, series)


# -- series


def test_series_stand_in_the_order_of_the_catalog(known: Known) -> None:
    """Develop, releases, dated ones, others; each with its last revision and all of them."""
    text = "{ allSeries { name latest { tag } revisions { totalCount nodes { tag } } } }"
    data = known.world.data(text)["allSeries"]
    assert [(it["name"], [node["tag"] for node in it["revisions"]["nodes"]]) for it in data] == [
        ("develop", ["develop"] * 5),
        ("vX.Y.Z", ["v0.22.1", "v0.22.0", "v0.22.0"]),
        ("develop-DATE", ["develop-2025-01-12", "develop-2025-01-05"]),
        ("emptied", ["emptied"] * 3),
        ("nothing", ["nothing"]),
        ("once", ["once"]),
    ]
    assert all(it["latest"]["tag"] == it["revisions"]["nodes"][0]["tag"] for it in data)
    assert all(it["revisions"]["totalCount"] == len(it["revisions"]["nodes"]) for it in data)


def test_tags_and_revisions_lead_to_their_series(known: Known) -> None:
    """By its name, with all of its fields."""
    data = known.world.data(
        "{ tags { series seriesInfo { name latest { seriesInfo { name } } } } "
        "revisions { nodes { tagInfo { series } seriesInfo { name } } } }"
    )
    for tag in data["tags"]:
        name = {"name": tag["series"]}
        assert tag["seriesInfo"] == {**name, "latest": {"seriesInfo": name}}
    for node in data["revisions"]["nodes"]:
        assert node["seriesInfo"]["name"] == node["tagInfo"]["series"]


def test_an_empty_catalog_has_no_series(tmp_path: Path) -> None:
    """No hash has a history, and no revision holds anything."""
    world = known_past(tmp_path, []).world
    assert world.data(
        '{ allSeries { name } series(name: "develop") { name } '
        f'hash(hash: "{HASHES[0]}") {{ hash }} '
        f'revisionsHolding(hashes: ["{HASHES[0]}"]) {{ totalCount }} }}'
    ) == {"allSeries": [], "series": None, "hash": None, "revisionsHolding": {"totalCount": 0}}


@pytest.mark.parametrize(
    ("arguments", "points"),
    [
        ({"since": "2025-01-26", "until": "2025-01-28"}, slice(1, 4)),
        ({"until": "2025-01-25"}, slice(1)),
        ({"since": "2025-01-28T00:00:01Z"}, slice(4, None)),
        ({"since": "2026-01-01"}, slice(0)),
        ({"last": 2}, slice(-2, None)),
        ({"last": 0}, slice(0)),
        ({"last": 99}, slice(None)),
        ({"until": "2025-01-28", "last": 2}, slice(2, 4)),
    ],
    ids=str,
)
def test_growth_is_narrowed(known: Known, arguments: dict[str, Any], points: slice) -> None:
    """Both moments are included; ``last`` counts from the end of what they leave."""
    answer = known.world.data(GROWTH, series="develop", **arguments)
    assert answer["series"]["growth"] == growth_json(known.past, "develop")[points]


def test_a_negative_number_of_points_is_refused(known: Known) -> None:
    """With the code of a client's fault."""
    error = known.world.error(GROWTH, series="develop", last=-1)
    assert error["extensions"] == {"code": "BAD_USER_INPUT"}


def test_points_that_are_kept_are_those_of_their_series(known: Known) -> None:
    """Texts of points are kept: whichever part of whichever series is asked for has its own."""
    text = (
        "query($series: String!, $last: Int) "
        "{ series(name: $series) { growth(last: $last) { takenAt numSpecs specsAdded } } }"
    )
    for last in (2, 2, 2, 1, 99, 3):
        for series in known.past.history.series_names:
            points = [
                {name: point[name] for name in ("takenAt", "numSpecs", "specsAdded")}
                for point in growth_json(known.past, series)
            ]
            data = known.world.data(text, series=series, last=last)
            assert data["series"]["growth"] == points[-last:]


def test_a_revision_has_its_own_growth(known: Known) -> None:
    """The point of its series."""
    text = f"{{ allSeries {{ name revisions(first: 9) {{ nodes {{ growth {{ {POINT} }} }} }} }} }}"
    for series in known.world.data(text)["allSeries"]:
        points = [it["growth"] for it in series["revisions"]["nodes"]]
        assert points[::-1] == growth_json(known.past, series["name"])


# -- packages


@pytest.mark.parametrize(("ref", "series"), [("v0.22.0", "vX.Y.Z"), ("develop", "develop")])
def test_a_package_of_a_revision_leads_to_its_history(known: Known, ref: str, series: str) -> None:
    """In the series of that revision."""
    package = f'package(name: "zlib") {{ history {{ {PACKAGE} }} }}'
    data = known.world.data(f'{{ revision(ref: "{ref}") {{ {package} }} }}')
    assert data["revision"]["package"]["history"] == package_json(known.past, series, "zlib")


# -- hashes


@pytest.mark.parametrize("fields", [HASH, "hash name version"], ids=["all", "own"])
def test_specs_lead_to_their_histories(known: Known, fields: str) -> None:
    """As a list, whatever is selected below."""
    specs = f"specs {{ nodes {{ hash history {{ {fields} }} }} }}"
    nodes = known.world.data(f'{{ revision(ref: "v0.22.0") {{ {specs} }} }}')["revision"]["specs"]
    assert nodes["nodes"]
    for node in nodes["nodes"]:
        expected = hash_json(known.past, node["hash"])
        assert expected is not None
        assert node["history"] == {key: expected[key] for key in node["history"]}


def test_a_prefix_is_enough(known: Known) -> None:
    """Where one hash begins so; null where none does."""
    answer = known.world.data(HISTORY_OF_HASH, hash=HASHES[0][:12])
    assert answer["hash"] == hash_json(known.past, HASHES[0])
    for text in ("7" * 32, "7" * 12):
        assert known.world.data(HISTORY_OF_HASH, hash=text) == {"hash": None}


def test_a_prefix_of_several_hashes_is_ambiguous(tmp_path: Path) -> None:
    """The error names them with what they are builds of."""
    spec = LINES[0][2][0]
    alike = [replace(spec, hash=f"abc{letter}".ljust(32, "2")) for letter in "xyz"]
    world = known_past(tmp_path, [("develop", 0, alike)]).world
    title = f"{spec.name}@{spec.version}"
    assert world.error(HISTORY_OF_HASH, hash="abc")["extensions"] == {
        "code": "AMBIGUOUS_HASH",
        "candidates": [{"hash": it.hash, "title": title} for it in alike],
    }


@pytest.mark.parametrize("text", ["", "!", "a" * 33, "a/b"])
def test_a_text_that_is_no_hash_is_an_error(known: Known, text: str) -> None:
    """Not null, which means that the catalog never had it."""
    error = known.world.error(HISTORY_OF_HASH, hash=text)
    assert (error["extensions"]["code"], error["path"]) == ("BAD_USER_INPUT", ["hash"])


def test_revisions_that_hold_hashes_stand_newest_first(known: Known) -> None:
    """None hold what was never there; pages go on by cursors."""
    for hashes in ([HASHES[0]], HASHES[:2], HASHES, [HASHES[0], "7" * 32], [HASHES[0]] * 3):
        assert_holding(known, hashes)

    def page(**arguments: Any) -> Any:
        return known.world.data(HOLDING, hashes=[HASHES[0]], **arguments)["revisionsHolding"]

    first = page(first=2)
    rest = page(after=first["edges"][-1]["cursor"])
    assert first["nodes"] + rest["nodes"] == page()["nodes"]
    assert page(series="nope")["totalCount"] == 0


# -- ids


def test_a_bad_id_among_others_is_its_own_error(known: Known) -> None:
    """The others are answered."""
    ids = [node_id("Series", "develop"), node_id("HashHistory", "!")]
    response = known.world.ask("query($ids: [ID!]!) { nodes(ids: $ids) { id } }", ids=ids)
    assert response["data"]["nodes"] == [{"id": ids[0]}, None]
    assert [error["path"] for error in response["errors"]] == [["nodes", 1]]
