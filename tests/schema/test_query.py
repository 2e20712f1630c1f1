"""The fields of a query, compared with values computed from the records."""

from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from graphql import FieldNode, TypeInfo, TypeInfoVisitor, Visitor, is_object_type, parse, visit

from schema import api
from schema.limits import Limits
from server.pages.documents import document
from snapshots.program import cachelog_version
from tests.model import listings
from tests.schema import questions
from tests.schema.worlds import SOURCE, State, World, revision_id

TAKEN = (
    "2025-01-05T00:00:00Z",
    "2025-01-08T06:00:00Z",
    "2025-01-12T00:00:00Z",
    "2025-01-15T12:30:00Z",
    "2025-01-19T23:59:59Z",
    "2025-01-20T00:00:00.125000Z",
)
PREVIOUS = (None, None, 0, 1, None, 4)
NEXT = (2, 3, None, None, 5, None)


QUERIES = Path(__file__).parents[2] / "server/pages/queries"
EVERY_STATE = pytest.mark.parametrize("number", [0, 3, 5])


def revision_json(state: State, number: int) -> dict[str, Any]:
    """Return a revision with every field that is a value."""
    return {
        "id": revision_id(state.info),
        "tagName": state.info.tag,
        "tag": {"name": state.info.tag},
        "digest": state.info.digest,
        "takenAt": TAKEN[number],
        "confirmedAt": TAKEN[number],
        "publishedAt": state.info.published_at.isoformat().replace("+00:00", "Z"),
        "numPackages": len(listings.names(state.specs)),
        "numSpecs": len(state.specs),
        "numStacks": listings.num_stacks(state.specs),
        "totalSize": listings.total_size(state.specs),
        "source": {
            **{name: getattr(SOURCE, name) for name in ("version", "importer")},
            "isSynthetic": SOURCE.synthetic,
            "kind": SOURCE.kind.upper(),
            "location": "pages",  # only the last part of a local path
        },
        "numProven": None,
        "unproven": None,
    }


def test_queries_select_every_field() -> None:
    """Of every type; those of the pages count."""
    schema = api.graphql_schema
    types = TypeInfo(schema)
    selected: set[tuple[str, str]] = set()

    class Collector(Visitor):
        def enter_field(self, node: FieldNode, *_: object) -> None:
            parent = types.get_parent_type()
            assert parent is not None
            selected.add((parent.name, node.name.value))

    pages = [document(path.stem).text for path in QUERIES.glob("*.graphql")]
    for text in (*questions.DOCUMENTS, *pages):
        visit(parse(text), TypeInfoVisitor(types, Collector()))
    every = {
        (kind.name, name)
        for kind in schema.type_map.values()
        if is_object_type(kind) and not kind.name.startswith("__")
        for name in kind.fields
    }
    assert every <= selected


# -- tags and revisions


def test_program_and_limits_are_stated(world: World) -> None:
    """The version as an import records it, without a commit for a release; the limits by name."""
    data = world.data("{ build { version commit } limits }")
    version, commit = data["build"]["version"], data["build"]["commit"]
    assert version == cachelog_version()
    assert version.endswith(f"g{commit}") if commit else "g" not in version
    assert data["limits"]["maxCost"] == 500_000
    assert len(data["limits"]) == len(fields(Limits))


def test_tags_are_in_natural_order(world: World) -> None:
    """Develop first, then releases, then dated snapshots, newest first; each with its series."""
    data = world.data(questions.REVISIONS)
    shown = [
        (tag["name"], tag["series"]["name"], tag["revisions"]["totalCount"]) for tag in data["tags"]
    ]
    assert shown == [
        ("develop", "develop", 2),
        ("v0.22.1", "vX.Y.Z", 1),
        ("v0.22.0", "vX.Y.Z", 1),
        ("develop-2025-01-12", "develop-DATE", 1),
        ("develop-2025-01-05", "develop-DATE", 1),
    ]
    for tag, number in zip(data["tags"], (5, 3, 1, 2, 0), strict=True):
        assert tag["latest"] == revision_json(world.states[number], number)
    digests = [node["digest"] for node in data["tags"][0]["revisions"]["nodes"]]
    assert digests == [world.states[5].info.digest, world.states[4].info.digest]
    assert data["tag"] == {"name": "develop", "series": {"name": "develop"}}
    assert world.data('{ tag(name: "nope") { name } }') == {"tag": None}


@pytest.mark.parametrize(
    ("tag", "numbers"),
    [(None, (5, 4, 3, 2, 1, 0)), ("develop", (5, 4)), ("v0.22.0", (1,)), ("nope", ()), ("", ())],
)
def test_revisions_are_newest_first(
    world: World, tag: str | None, numbers: tuple[int, ...]
) -> None:
    """All of them, or those of a tag, with the neighbours in their series."""
    revisions = world.data(questions.REVISIONS, tag=tag)["revisions"]
    ids = [revision_id(state.info) for state in world.states]

    def shown(number: int | None) -> dict[str, str] | None:
        return None if number is None else {"id": ids[number]}

    assert revisions["nodes"] == [
        revision_json(world.states[number], number)
        | {"previous": shown(PREVIOUS[number]), "next": shown(NEXT[number])}
        for number in numbers
    ]
    assert [edge["node"] for edge in revisions["edges"]] == [shown(number) for number in numbers]
    cursors = [edge["cursor"] for edge in revisions["edges"]]
    assert len(set(cursors)) == revisions["totalCount"] == len(numbers)
    assert revisions["pageInfo"] == {
        "hasNextPage": False,
        "hasPreviousPage": False,
        "startIndex": 0,
        "startCursor": cursors[0] if cursors else None,
        "endCursor": cursors[-1] if cursors else None,
    }


CHOICES: dict[str, tuple[dict[str, str], tuple[int, ...]]] = {
    "a series": ({"series": "vX.Y.Z"}, (3, 1)),
    "a series of dated tags": ({"series": "develop-DATE"}, (2, 0)),
    "two moments": ({"since": TAKEN[1], "until": TAKEN[3]}, (3, 2, 1)),
    "all of them": ({"tag": "develop", "series": "develop", "since": TAKEN[5]}, (5,)),
    "a tag of another series": ({"tag": "develop", "series": "vX.Y.Z"}, ()),
}


@pytest.mark.parametrize(("arguments", "numbers"), CHOICES.values(), ids=CHOICES)
def test_revisions_are_filtered_by_series_and_time(
    world: World, arguments: dict[str, str], numbers: tuple[int, ...]
) -> None:
    """Both times are inclusive; all conditions must be met."""
    question = """query($tag: String, $series: String, $since: DateTime, $until: DateTime) {
      revisions(tag: $tag, series: $series, since: $since, until: $until) { nodes { digest } }
    }"""
    nodes = world.data(question, **arguments)["revisions"]["nodes"]
    digests = [world.states[number].info.digest for number in numbers]
    assert [node["digest"] for node in nodes] == digests


def test_refs(world: World) -> None:
    """Steps back from a tag or a time, a prefix of a digest in any case; by default, the newest."""
    prefix = world.states[3].info.digest[:6]
    refs = {"develop~1": 4, "develop@2025-01-20~1": 4, prefix: 3, prefix.upper(): 3, None: 5}
    for ref, number in refs.items():
        data = world.data("query($ref: String) { revision(ref: $ref) { digest } }", ref=ref)
        assert data["revision"]["digest"] == world.states[number].info.digest
    assert world.data("{ revision { digest } }")["revision"]["digest"] == world.newest.info.digest


# -- packages and stacks


@EVERY_STATE
def test_packages_are_by_name_with_all_facts(world: World, number: int) -> None:
    """Each package sums up its specs; an unknown one is null."""
    state = world.states[number]
    expected = [listings.package_json(name, state.specs) for name in listings.names(state.specs)]
    for name, facts in zip(listings.names(state.specs), expected, strict=True):
        variables = {"ref": state.info.digest, "name": name}
        revision = world.data(questions.PACKAGES, **variables)["revision"]
        hashes = [spec.hash for spec in listings.own_order(state.specs) if spec.name == name]
        assert revision["package"] == facts | {
            "revision": {"digest": state.info.digest},
            "specs": {"nodes": [{"hash": hash_} for hash_ in hashes]},
        }
    edges = revision["packages"].pop("edges")
    assert [edge["node"] for edge in edges] == [{"name": facts["name"]} for facts in expected]
    assert len({edge["cursor"] for edge in edges}) == len(expected)
    assert revision["packages"] == {
        "totalCount": len(expected),
        "pageInfo": {"hasNextPage": False},
        "nodes": expected,
    }
    nothing = world.data(questions.PACKAGES, ref=state.info.digest, name="nope")
    assert nothing["revision"]["package"] is None


@EVERY_STATE
def test_stacks_are_by_name_with_all_facts(world: World, number: int) -> None:
    """Each stack sums up its specs, including root; an unknown one is null."""
    state = world.states[number]
    names = sorted({stack for spec in state.specs for stack in spec.stacks})
    for name in names:
        variables = {"ref": state.info.digest, "name": name}
        revision = world.data(questions.STACKS, **variables)["revision"]
        mine = listings.own_order(listings.in_stack(state.specs, name))
        del revision["stack"]["id"]
        assert revision["stack"] == listings.stack_json(name, state.specs) | {
            "revision": {"digest": state.info.digest},
            "packages": {"nodes": [{"name": package} for package in listings.names(mine)]},
            "specs": {"nodes": [{"hash": spec.hash} for spec in mine]},
        }
    assert revision["stacks"] == [listings.stack_json(name, state.specs) for name in names]
    nothing = world.data(questions.STACKS, ref=state.info.digest, name="nope")
    assert nothing["revision"]["stack"] is None


# -- specs


@EVERY_STATE
def test_specs_have_all_facts(world: World, number: int) -> None:
    """Every spec, by package, newest version first; with facets of all."""
    state = world.states[number]
    specs = listings.own_order(state.specs)
    sizes = dict(listings.counts(specs, "packages"))
    data = world.data(questions.SPECS, ref=state.info.digest, hash=specs[0].hash)["revision"]
    edges = data["specs"].pop("edges")
    assert [edge["node"] for edge in edges] == [{"hash": spec.hash} for spec in specs]
    assert len({edge["cursor"] for edge in edges}) == len(specs)
    assert data["specs"] == {
        "totalCount": len(specs),
        "pageInfo": {"hasNextPage": False},
        "nodes": [
            listings.spec_json(spec)
            | {
                "stackNames": list(spec.stacks),
                "stacks": listings.stack_nodes(spec.stacks),
                "package": {"name": spec.name, "numSpecs": sizes[spec.name]},
            }
            for spec in specs
        ],
        **listings.facets_json(specs),
        "unknownNames": [],
        "nearMisses": [],
    }
    del data["spec"]["id"]
    assert data["spec"] == listings.spec_json(specs[0]) | {
        "package": {"name": specs[0].name},
        "revision": {"digest": state.info.digest},
    }
    nothing = world.data(questions.SPECS, ref=state.info.digest, hash="a" * 32)
    assert nothing["revision"]["spec"] is None


ONE = """query($hash: String!, $ref: String) {
  spec(hash: $hash, ref: $ref) { hash revision { digest } }
}"""


@EVERY_STATE
def test_spec_of_the_catalog(world: World, number: int) -> None:
    """By its hash or a prefix, in the revision of a ref or the newest that contains it."""
    state, newest = world.states[number], world.newest
    for spec in state.specs[:5]:
        expected = {"hash": spec.hash, "revision": {"digest": state.info.digest}}
        for text in (spec.hash, f"/{spec.hash[:20].upper()}"):
            assert world.data(ONE, hash=text, ref=state.info.digest)["spec"] == expected
    for spec in newest.specs[:5]:
        states = [one for one in world.states if spec.hash in {own.hash for own in one.specs}]
        last = max(states, key=lambda state: state.info.taken_at)
        expected = {"hash": spec.hash, "revision": {"digest": last.info.digest}}
        assert world.data(ONE, hash=spec.hash[:20])["spec"] == expected
    assert world.data(ONE, hash="a" * 32) == {"spec": None}
    assert world.data(ONE, hash="a" * 32, ref="develop") == {"spec": None}


def test_errors_of_a_spec_of_the_catalog(world: World) -> None:
    """Those of a hash, and of a ref."""
    for ref in (None, "develop"):
        error = world.error(ONE, hash="", ref=ref)
        assert error["extensions"]["code"] in ("AMBIGUOUS_HASH", "BAD_USER_INPUT")
    error = world.error(ONE, hash="a", ref="nope")
    assert error["extensions"]["code"] == "REVISION_NOT_FOUND"
