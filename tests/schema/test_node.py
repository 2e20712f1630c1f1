"""Ids: every object can be fetched by its id, in every process, permanently."""

import base64
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from schema.node import Node, key_of, node_id, parse_node_id
from snapshots.catalog.catalog import Catalog
from snapshots.contents import Content, Snapshot
from snapshots.texts import short_key
from tests.schema.worlds import SOURCE, World, demo_world, opened, revision_id

IDS = """query($base: String!, $head: String!) {
  series(name: "develop") { __typename id name package(name: "lib2") { __typename id name } }
  revision(ref: $head) {
    __typename id tag { __typename id name }
    packages { nodes { __typename id name } }
    specs(first: 1000) { nodes { __typename id hash } edges { node { __typename id hash } } }
    first: specs(first: 1) { nodes { history { __typename id hash } } }
    stacks { __typename id name }
    package(name: "lib2") { __typename id name specs(first: 2) { nodes { __typename id hash } } }
  }
  package(name: "lib2") {
    __typename id name
    best { entries { nodes { __typename id revision { __typename id } } } }
  }
  compare(base: $base, head: $head) {
    __typename id
    packages { nodes { __typename id name } } stackChanges { __typename id name }
    specs(first: 1000) { nodes { __typename id hash } }
  }
}"""
FETCH = """fragment Facts on Node {
  __typename id ... on RevisionPackage { name } ... on Spec { hash } ... on Stack { name }
  ... on Tag { name } ... on PackageChange { name } ... on StackChange { name }
  ... on SpecChange { hash } ... on HashHistory { hash } ... on SeriesPackage { name }
  ... on Series { name } ... on Package { name }
} query($ids: [ID!]!) { nodes(ids: $ids) { ...Facts } }"""
OTHERS = {"Cause", "Commit", "CommitEffect", "TwinGroup"}
"""Types whose ids are tested with their fields."""

ONE = "query($id: ID!) { node(id: $id) { __typename id } }"


def objects_in(data: Any) -> list[dict[str, Any]]:
    """Return every object with an id, with its string fields only."""
    if isinstance(data, list):
        return [one for item in data for one in objects_in(item)]
    if not isinstance(data, dict):
        return []
    inner = [one for item in data.values() for one in objects_in(item)]
    plain = {name: value for name, value in data.items() if isinstance(value, str)}
    return [plain, *inner] if "id" in data else inner


def refs_of(world: World) -> dict[str, str]:
    """Return the two revisions of these queries."""
    return {"base": world.states[0].info.digest, "head": world.newest.info.digest}


def test_objects_are_fetched_by_id(world: World) -> None:
    """Objects of all these types are equal, in the requested order, so no two share an id."""
    objects = objects_in(world.data(IDS, **refs_of(world)))
    assert max(len(one["id"]) for one in objects) < 130, "several fit in the URL of a GET"
    assert {one["__typename"] for one in objects} == {*Node.types} - OTHERS
    ids = [one["id"] for one in objects[::-1]]
    assert world.data(FETCH, ids=ids)["nodes"] == objects[::-1]
    for one in objects[:: len(objects) // 9]:
        expected = {"__typename": one["__typename"], "id": one["id"]}
        assert world.data(ONE, id=one["id"])["node"] == expected


def test_ids_outlive_later_revisions(tmp_path: Path) -> None:
    """Later revisions change no id, not even with equal content under another tag."""
    world = demo_world(tmp_path)
    objects = objects_in(world.data(IDS, **refs_of(world)))
    snapshot = Snapshot(
        tag="mirror",
        content=Content.of(world.newest.specs),
        source=SOURCE,
        taken_at=datetime(2024, 1, 1, tzinfo=UTC),
    )
    (publication,) = Catalog(str(tmp_path)).publish([snapshot])
    assert (publication.is_new, publication.revision.digest) == (True, world.newest.info.digest)
    again = opened(tmp_path)
    assert objects_in(again.data(IDS, **refs_of(world))) == objects
    assert again.data(FETCH, ids=[one["id"] for one in objects])["nodes"] == objects


def test_unknown_id_is_null(world: World) -> None:
    """Well-formed ids of missing revisions or objects are null, without an error."""
    ref, unknown = key_of(world.newest.info), short_key("develop@2025-01-01.00000000")
    ids = [
        node_id("Revision", unknown),
        node_id("Revision", "develop"),
        node_id("RevisionPackage", unknown, "zlib"),
        node_id("RevisionPackage", ref, "nope"),
        node_id("Spec", ref, "a" * 32),
        node_id("Spec", ref, "short"),
        node_id("Stack", ref, "nope"),
        node_id("Comparison", ref, unknown),
        node_id("PackageChange", ref, unknown, "zlib"),
        node_id("PackageChange", ref, ref, "zlib"),
        node_id("StackChange", ref, ref, "e4s"),
        node_id("SpecChange", ref, ref, "a" * 32),
        node_id("Tag", "nope"),
        node_id("Tag"),
        node_id("RevisionPackage", ref),
        node_id("Revision", ref, "more"),
        node_id("Series", "nope"),
        node_id("Series", "develop", "develop"),
        node_id("SeriesPackage", "develop", "nope"),
        node_id("SeriesPackage", "nope", "zlib"),
        node_id("PackageHistoryEntry", "develop", "nope", "zlib"),
        node_id("Package", "nope"),
        node_id("TwinGroup", ref, "", "", "a" * 32),
        node_id("CommitEffect", ref, ref, "a" * 40, "+", ""),
        node_id("HashHistory", "7" * 32),
        node_id("HashHistory", world.newest.specs[0].hash[:12]),
    ]
    assert world.data(FETCH, ids=ids)["nodes"] == [None] * len(ids)


INVALID = {
    "empty": "",
    "plain text": "Spec:abc",
    "invalid base64": "a",
    "special characters": "ü\n",
    "invalid UTF-8": base64.b64encode(b"\xff:a").decode(),
    "another type": node_id("GrowthPoint", "develop"),
    "the interface": node_id("Node", "develop"),
}


@pytest.mark.parametrize("text", INVALID.values(), ids=INVALID)
def test_invalid_id_is_a_client_error(world: World, text: str) -> None:
    """The message quotes the text."""
    error = world.error(ONE, id=text)
    assert error["extensions"] == {"code": "BAD_USER_INPUT"}
    assert error["message"] == f"id: {text!r} is not an id of this API"
    assert error["path"] == ["node"]


@pytest.mark.parametrize("parts", [(), ("",), ("a",), ("a", "b-c_d"), ("ü", "", "z" * 99)])
def test_ids_round_trip(parts: tuple[str, ...]) -> None:
    """An id encodes its type and parts in characters that need no escaping in URLs."""
    id_ = node_id("Kind", *parts)
    assert parse_node_id(id_) == ("Kind", list(parts))
    assert id_.isascii()
    assert quote(id_, safe="") == id_


def test_form_of_ids_is_unchanged(world: World) -> None:
    """Clients may have stored ids years ago: a type, and a key of the revision's ref."""
    info = world.newest.info
    key = base64.urlsafe_b64encode(sha256(info.ref.encode()).digest()[:9]).decode()
    revision = base64.urlsafe_b64encode(f"Revision~{key}".encode()).decode().rstrip("=")
    assert revision_id(info) == revision
    assert world.data(ONE, id=revision)["node"] == {"__typename": "Revision", "id": revision}
