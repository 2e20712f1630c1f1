"""Indexes written anew as a Spack of a later format has them."""

import json
from copy import deepcopy

from tests.model.real import history
from tests.snapshots.sources.buildcache.indexes import GCC, LIBELF, RUNTIME, WRAPPER, small_database
from tests.snapshots.sources.buildcache.rehashing import dag_hash, rehashed


def test_what_changes() -> None:
    """A provider tells its virtuals; it and all above it have other hashes, the rest has not."""
    database = small_database()
    before = deepcopy(database)
    after, mapping = rehashed(database)
    assert database == before
    assert after["database"]["version"] == "9"
    assert mapping.keys() == {GCC, WRAPPER, RUNTIME, LIBELF}
    assert {old for old, new in mapping.items() if old == new} == {WRAPPER}
    installs = after["database"]["installs"]
    nodes = {install["spec"]["name"]: install["spec"] for install in installs.values()}
    assert nodes["gcc"]["provided_virtuals"] == ["c", "cxx"]
    assert not any("provided_virtuals" in nodes[name] for name in ("gcc-runtime", "libelf"))
    formats = {
        name: node["annotations"]["original_specfile_version"] for name, node in nodes.items()
    }
    assert formats == {"gcc": 6, "gcc-runtime": 6, "libelf": 6, "compiler-wrapper": 5}


def test_hashes_follow_from_contents() -> None:
    """A new hash is that of the node's content, which names dependencies by their new hashes."""
    after, mapping = rehashed(small_database())
    installs = after["database"]["installs"]
    for old, digest in mapping.items():
        node = installs[digest]["spec"]
        assert node["hash"] == digest
        assert (dag_hash(node) == digest) == (old != digest)
        assert all(edge["hash"] in installs for edge in node.get("dependencies", []))


def test_order_of_keys() -> None:
    """Provided virtuals stand behind the package hash: the order of keys is part of a hash."""
    after, mapping = rehashed(small_database())
    keys = list(after["database"]["installs"][mapping[GCC]]["spec"])
    assert keys.index("provided_virtuals") == keys.index("package_hash") + 1


def test_the_hash_of_a_known_node() -> None:
    """White space and the hash itself count for nothing."""
    node = json.loads('{"name": "a", "version": "1", "hash": "x"}')
    assert dag_hash(node) == dag_hash({"name": "a", "version": "1"})
    assert dag_hash({"version": "1", "name": "a"}) != dag_hash(node)


def test_a_real_index() -> None:
    """The hashes of a real cache follow from their nodes before, and do so afterwards."""
    database = json.loads((history() / "2026-06-27/e4s/index.json").read_bytes())
    after, mapping = rehashed(database)
    for document in (database, after):
        installs = document["database"]["installs"]
        for digest, install in installs.items():
            if install["in_buildcache"]:
                assert dag_hash(install["spec"]) == digest
    assert sum(old != new for old, new in mapping.items()) > 200
