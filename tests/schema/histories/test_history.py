"""Hashes, packages and series through time: what the API tells is what a walk through all tells."""

from pathlib import Path
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from schema.node import node_id
from tests.schema.pasts import (
    HASH,
    HASHES,
    LINES,
    PACKAGE,
    PACKAGES,
    POINT,
    REVISION,
    Known,
    growth_json,
    hash_json,
    known_past,
    made_up,
    package_json,
)
from tests.schema.usual import api

HISTORY_OF_HASH = f"query($hash: String!) {{ hash(hash: $hash) {{ {HASH} }} }}"
HISTORY_OF_PACKAGE = (
    "query($series: String!, $name: String!) { series(name: $series) "
    f"{{ package(name: $name) {{ {PACKAGE} }} }} }}"
)
GROWTH = f"query($series: String!) {{ series(name: $series) {{ growth {{ {POINT} }} }} }}"
HOLDING = (
    "query($hashes: [String!]!, $series: String, $first: Int, $after: String) { "
    "revisionsHolding(hashes: $hashes, series: $series, first: $first, after: $after) "
    f"{{ totalCount nodes {REVISION} edges {{ cursor }} }} }}"
)
NODE = "query($id: ID!) { node(id: $id) { __typename id %s } }"


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Known:
    """Return a catalog of which every revision is known."""
    return known_past(tmp_path_factory.mktemp("catalog"), LINES)


@pytest.fixture(scope="module", params=range(8))
def any_known(request: Any, tmp_path_factory: pytest.TempPathFactory) -> Known:
    """Return a catalog with a made-up past."""
    return known_past(tmp_path_factory.mktemp("catalog"), made_up(Random(request.param)))


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Known:
    """Return a catalog without a revision."""
    return known_past(tmp_path_factory.mktemp("catalog"), [])


def assert_told_as_it_was(known: Known, hashes: list[str], names: list[str]) -> None:
    """Hold that all histories of a catalog are those of its past."""
    world, past = known
    for text in hashes:
        assert world.data(HISTORY_OF_HASH, hash=text)["hash"] == hash_json(past, text)
    for series in past.history.series_names:
        points = world.data(GROWTH, series=series)["series"]["growth"]
        assert points == growth_json(past, series)
        for name in names:
            told = world.data(HISTORY_OF_PACKAGE, series=series, name=name)["series"]["package"]
            assert told == package_json(past, series, name)
        for chosen in (hashes[:1], hashes[1:3], []):
            told = world.data(HOLDING, hashes=chosen, series=series)["revisionsHolding"]
            held = past.holding(chosen, series)
            assert told["nodes"] == [{"tag": it.tag, "digest": it.digest} for it in held]


def test_everything_is_told_as_it_was(known: Known) -> None:
    """Where contents come back, tags are built again, a series has one revision or nothing."""
    assert_told_as_it_was(known, HASHES, [*PACKAGES, "nope"])


def test_any_past_is_told_as_it_was(any_known: Known) -> None:
    """Whatever came and went."""
    specs = [spec for state in any_known.world.states for spec in state.specs]
    hashes = sorted({it.hash for it in specs})
    assert_told_as_it_was(any_known, hashes, sorted({it.name for it in specs}))


# -- series


def test_series_stand_in_the_order_of_the_catalog(known: Known) -> None:
    """Develop, releases, dated ones, others; each with its last revision and all of them."""
    text = "{ allSeries { id name latest { tag } revisions { totalCount nodes { tag } } } }"
    data = known.world.data(text)["allSeries"]
    shown = [(it["name"], [node["tag"] for node in it["revisions"]["nodes"]]) for it in data]
    assert shown == [
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
    """By its name, with all that can be asked of it."""
    data = known.world.data(
        "{ tags { series seriesInfo { name latest { seriesInfo { name } } } } "
        "revisions { nodes { tagInfo { series } seriesInfo { name } } } }"
    )
    for tag in data["tags"]:
        name = {"name": tag["series"]}
        assert tag["seriesInfo"] == {**name, "latest": {"seriesInfo": name}}
    assert all(
        it["seriesInfo"]["name"] == it["tagInfo"]["series"] for it in data["revisions"]["nodes"]
    )


def test_an_empty_catalog_has_no_series(empty: Known) -> None:
    """Nothing is known of any hash, and no revision holds anything."""
    data = empty.world.data(
        '{ allSeries { name } series(name: "develop") { name } '
        f'hash(hash: "{HASHES[0]}") {{ hash }} '
        f'revisionsHolding(hashes: ["{HASHES[0]}"]) {{ totalCount }} }}'
    )
    assert data == {
        "allSeries": [],
        "series": None,
        "hash": None,
        "revisionsHolding": {"totalCount": 0},
    }


def test_growth_is_cut_by_time(known: Known) -> None:
    """Both ends are included; the numbers stay those of the neighbours."""
    text = (
        'query($since: DateTime, $until: DateTime) { series(name: "develop") '
        f"{{ growth(since: $since, until: $until) {{ {POINT} }} }} }}"
    )
    every = growth_json(known.past, "develop")
    for since, until, expected in (
        ("2025-01-26", "2025-01-28", every[1:4]),
        (None, "2025-01-25", every[:1]),
        ("2025-01-28T00:00:01Z", None, every[4:]),
        ("2026-01-01", None, []),
    ):
        told = known.world.data(text, since=since, until=until)["series"]["growth"]
        assert told == expected


def test_growth_is_cut_to_the_newest(known: Known) -> None:
    """``last`` counts from the end, of what the other arguments leave."""
    text = (
        "query($until: DateTime, $last: Int) "
        f'{{ series(name: "develop") {{ growth(until: $until, last: $last) {{ {POINT} }} }} }}'
    )
    every = growth_json(known.past, "develop")
    for until, last, expected in (
        (None, 2, every[-2:]),
        (None, 0, []),
        (None, 99, every),
        (None, None, every),
        ("2025-01-28", 2, every[2:4]),
    ):
        told = known.world.data(text, until=until, last=last)["series"]["growth"]
        assert told == expected
    (error,) = known.world.ask(text, last=-1)["errors"]
    assert error["extensions"] == {"code": "BAD_USER_INPUT"}


def test_a_revision_tells_its_own_growth(any_known: Known) -> None:
    """It is the point of its series, wherever the revision is met."""
    text = f"{{ allSeries {{ name revisions(first: 9) {{ nodes {{ growth {{ {POINT} }} }} }} }} }}"
    for series in any_known.world.data(text)["allSeries"]:
        points = [it["growth"] for it in series["revisions"]["nodes"]]
        assert points[::-1] == growth_json(any_known.past, series["name"])


# -- packages


def test_a_timeline_is_read_page_by_page(known: Known) -> None:
    """As every connection: by cursors, from both ends."""
    text = (
        "query($first: Int, $after: String, $last: Int, $before: String) "
        '{ series(name: "develop") { package(name: "zlib") { entries(first: $first, after: $after, '
        "last: $last, before: $before) { nodes { kind } edges { cursor } "
        "pageInfo { hasNextPage hasPreviousPage } } } } }"
    )

    def page(**arguments: Any) -> Any:
        return known.world.data(text, **arguments)["series"]["package"]["entries"]

    every = page()["edges"]
    assert len(every) == 5
    first = page(first=2)
    assert first["edges"] == every[:2]
    assert first["pageInfo"] == {"hasNextPage": True, "hasPreviousPage": False}
    assert page(first=2, after=first["edges"][-1]["cursor"])["edges"] == every[2:4]
    assert page(last=2)["edges"] == every[-2:]
    assert page(last=2, before=every[-1]["cursor"])["edges"] == every[2:4]
    error = known.world.error(text, after="nope")
    assert error["extensions"]["code"] == "BAD_USER_INPUT"


def test_a_package_of_a_revision_leads_to_its_history(known: Known) -> None:
    """In the series of that revision."""
    for ref, series in (("v0.22.0", "vX.Y.Z"), ("develop", "develop")):
        asked = f'package(name: "zlib") {{ history {{ {PACKAGE} }} }}'
        data = known.world.data(f'{{ revision(ref: "{ref}") {{ {asked} }} }}')
        told = data["revision"]["package"]["history"]
        assert told == package_json(known.past, series, "zlib")


# -- hashes


def test_specs_lead_to_their_histories(known: Known) -> None:
    """One by one and as a list, whatever is selected below."""
    for below in (HASH, "hash name version"):
        specs = f"specs {{ nodes {{ hash history {{ {below} }} }} }}"
        nodes = known.world.data(f'{{ revision(ref: "v0.22.0") {{ {specs} }} }}')["revision"][
            "specs"
        ]["nodes"]
        assert nodes
        for node in nodes:
            expected = hash_json(known.past, node["hash"])
            assert expected is not None
            assert node["history"] == {key: expected[key] for key in node["history"]}


def test_a_prefix_is_enough(known: Known) -> None:
    """Where it is that of one hash; else the error names some, or says that it can be none."""
    text = HASHES[0]
    told = known.world.data(HISTORY_OF_HASH, hash=text[:12])["hash"]
    assert told == hash_json(known.past, text)
    assert known.world.data(HISTORY_OF_HASH, hash="7" * 32) == {"hash": None}
    assert known.world.data(HISTORY_OF_HASH, hash="7" * 12) == {"hash": None}


def test_a_prefix_of_several_hashes_leads_to_each(tmp_path: Path) -> None:
    """The error names them with what they are builds of, for somebody to choose from."""
    spec = LINES[0][2][0]
    alike = [replace(spec, hash=f"abc{letter}".ljust(32, "2")) for letter in "xyz"]
    world = known_past(tmp_path, [("develop", 0, alike)]).world
    error = world.error(HISTORY_OF_HASH, hash="abc")
    title = f"{spec.name}@{spec.version}"
    assert error["extensions"] == {
        "code": "AMBIGUOUS_HASH",
        "candidates": [{"hash": it.hash, "title": title} for it in alike],
    }


def test_what_can_be_no_hash_is_an_error(known: Known) -> None:
    """With its code; not null, which means that the catalog never saw it."""
    for text in ("", "!", "a" * 33, "a/b"):
        error = known.world.error(HISTORY_OF_HASH, hash=text)
        assert error["extensions"]["code"] == "BAD_USER_INPUT"
        assert error["path"] == ["hash"]


def test_revisions_that_hold_hashes_stand_newest_first(known: Known) -> None:
    """Of all series or one; none hold what was never there; pages go on by cursors."""
    world, past = known
    for chosen in ([HASHES[0]], HASHES[:2], HASHES, [HASHES[0], "7" * 32], [HASHES[0]] * 3):
        told = world.data(HOLDING, hashes=chosen)["revisionsHolding"]
        held = past.holding(chosen)
        assert told["nodes"] == [{"tag": it.tag, "digest": it.digest} for it in held]
        assert told["totalCount"] == len(held)
    chosen = [HASHES[0]]
    every = world.data(HOLDING, hashes=chosen)["revisionsHolding"]["nodes"]
    first = world.data(HOLDING, hashes=chosen, first=2)["revisionsHolding"]
    after = first["edges"][-1]["cursor"]
    rest = world.data(HOLDING, hashes=chosen, after=after)["revisionsHolding"]
    assert first["nodes"] + rest["nodes"] == every
    nowhere = world.data(HOLDING, hashes=chosen, series="nope")["revisionsHolding"]
    assert nowhere["totalCount"] == 0


# -- ids


def test_histories_are_found_again_by_their_ids(known: Known) -> None:
    """Series, the history of a hash, and that of a package in a series."""
    data = known.world.data(
        f'{{ allSeries {{ id name package(name: "zlib") {{ id name }} }} '
        f'hash(hash: "{HASHES[0]}") {{ id hash }} }}'
    )
    for series in data["allSeries"]:
        found = known.world.data(NODE % "... on Series { name }", id=series["id"])["node"]
        assert found == {"__typename": "Series", "id": series["id"], "name": series["name"]}
        if series["package"] is None:
            continue
        key = series["package"]["id"]
        found = known.world.data(NODE % "... on PackageHistory { name series { name } }", id=key)[
            "node"
        ]
        assert found == {
            "__typename": "PackageHistory",
            "id": key,
            "name": "zlib",
            "series": {"name": series["name"]},
        }
    key = data["hash"]["id"]
    found = known.world.data(NODE % "... on HashHistory { hash }", id=key)["node"]
    assert found == {"__typename": "HashHistory", "id": key, "hash": HASHES[0]}


@pytest.mark.parametrize(
    "key",
    [
        node_id("Series", "nope"),
        node_id("Series"),
        node_id("Series", "develop", "develop"),
        node_id("PackageHistory", "develop", "nope"),
        node_id("PackageHistory", "nope", "zlib"),
        node_id("PackageHistory", "develop"),
        node_id("HashHistory", "7" * 32),
        node_id("HashHistory", HASHES[0][:12]),
        node_id("HashHistory"),
    ],
)
def test_an_id_of_nothing_is_null(known: Known, key: str) -> None:
    """Also one that names a hash by less than all of it."""
    assert known.world.data(NODE % "", id=key) == {"node": None}


def test_a_bad_id_among_others_is_its_own_error(known: Known) -> None:
    """The others are there."""
    ids = [node_id("Series", "develop"), node_id("HashHistory", "!")]
    response = known.world.ask("query($ids: [ID!]!) { nodes(ids: $ids) { id } }", ids=ids)
    assert response["data"]["nodes"] == [{"id": ids[0]}, None]
    (error,) = response["errors"]
    assert error["path"] == ["nodes", 1]


def test_no_answer_is_permanent(known: Known) -> None:
    """All of them change as the catalog grows."""
    digest = known.world.newest.info.digest
    for text in (
        "{ allSeries { name } }",
        '{ series(name: "develop") { name } }',
        '{ series(name: "develop") { growth { numSpecs } } }',
        f'{{ hash(hash: "{HASHES[0]}") {{ hash }} }}',
        f'{{ revisionsHolding(hashes: ["{HASHES[0]}"]) {{ totalCount }} }}',
        f'{{ revision(ref: "{digest}") {{ specs {{ nodes {{ history {{ hash }} }} }} }} }}',
        f'{{ revision(ref: "{digest}") {{ packages {{ nodes {{ history {{ name }} }} }} }} }}',
    ):
        context = known.world.context()
        api.execute(text, context=context)
        assert not context.is_permanent, text
