"""Real indexes have the same contents through every kind of location."""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from snapshots.contents import Snapshot
from snapshots.models import Spec
from snapshots.sources.reports import Report
from snapshots.sources.settings import ReadSettings
from tests import real_data
from tests.snapshots.sources.buildcache.folders import (
    put,
    put_blob_index,
    put_documents,
    put_installation,
    put_layout_2,
    put_layout_3,
    put_specs,
    text,
)
from tests.snapshots.sources.buildcache.indexes import documents_of, installation
from tests.snapshots.sources.buildcache.misbehaving_servers import Server
from tests.snapshots.sources.buildcache.registries import index_image, serve, spec_image
from tests.snapshots.sources.buildcache.rehashing import rehashed
from tests.snapshots.sources.readings import by_hash, read_locations

READ = (
    ("index/database-v7.json", 7),
    ("index/database-v8.json", 8),
    ("spack-history/2026-06-27/developer-tools/index.json", 9),
)
"""Real indexes, and the versions of the database that they are read in."""

SETTINGS = ReadSettings(cache_dir=None, workers=2)
"""Server and client share a process, whose threads wait for each other: few do more."""

Index = dict[str, Any]
Way = Callable[[Index, Path, Server], str]


@cache
def index_of(name: str, version: int) -> Index:
    """Return a real index in a version of the database."""
    index: Index = json.loads((real_data.folder() / name).read_bytes())
    return rehashed(index)[0] if version == 9 else index


def as_layout_2(index: Index, folder: Path, _: Server) -> str:
    """Write a build cache of layout 2."""
    put_layout_2(folder, text(index))
    return str(folder)


def as_layout_3(index: Index, folder: Path, _: Server) -> str:
    """Write a build cache of layout 3."""
    put_layout_3(folder, text(index), version=int(index["database"]["version"]))
    return str(folder)


def as_cache_over_http(index: Index, folder: Path, server: Server) -> str:
    """Serve a build cache of layout 3."""
    as_layout_3(index, folder, server)
    server.serve_folder(folder)
    return server.url


def without_index(index: Index, folder: Path, _: Server) -> str:
    """Write a build cache of layout 3 that has no index."""
    put_specs(folder, index)
    return str(folder)


def as_documents(index: Index, folder: Path, _: Server) -> str:
    """Write a build cache of layout 2 that has no index."""
    put_documents(folder, index)
    return str(folder)


def as_list(index: Index, folder: Path, server: Server) -> str:
    """Serve a public list of one tag with one stack, whose index is a blob."""
    stack = {"label": "e4s", "url": f"e4s/{put_blob_index(folder / 'e4s', index)}"}
    put(folder / "list.json", text({"develop": [stack]}))
    server.serve_folder(folder)
    return server.at("/list.json")


def as_stack(index: Index, folder: Path, server: Server) -> str:
    """Write a build cache and name it as a stack."""
    return f"e4s={as_layout_3(index, folder, server)}"


def in_registry(index: Index, _: Path, server: Server) -> str:
    """Serve a repository of a registry with an index."""
    return serve(server, "site/cache", [index_image(index)])


def in_registry_by_tags(index: Index, _: Path, server: Server) -> str:
    """Serve a repository of a registry with an image per spec."""
    return serve(server, "site/cache", map(spec_image, documents_of(index).values()))


def as_installation(index: Index, folder: Path, _: Server) -> str:
    """Write the install tree of a Spack that has installed the cached specs."""
    installs = index["database"]["installs"]
    facts = {
        digest: {"installed": install["in_buildcache"]} for digest, install in installs.items()
    }
    return str(put_installation(folder, installation(facts, index["database"]["version"], index)))


WAYS = (
    as_layout_2,
    as_layout_3,
    as_cache_over_http,
    as_list,
    as_stack,
    as_installation,
    in_registry,
    in_registry_by_tags,
    without_index,
    as_documents,
)


def read_one(location: str) -> Snapshot:
    """Return the only snapshot at a location, with proven hashes."""
    report = Report()
    (snapshot,) = read_locations([location], tags=["develop"], settings=SETTINGS, report=report)
    assert report.warnings == []
    return snapshot


def common_facts(snapshot: Snapshot) -> dict[str, Spec]:
    """Return all specs with the facts of every kind of location, by their hashes."""
    names = ("tarball", "size", "checksum", "explicit", "installed_at")
    optional = dict.fromkeys(names)
    specs = by_hash(snapshot) | {spec.hash: spec for spec in snapshot.content.outside.specs}
    return {digest: replace(spec, stacks=(), **optional) for digest, spec in specs.items()}


@pytest.fixture(scope="module")
def read_file(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, int], Snapshot]:
    """Return a function that reads a real index in a version of the database from its file."""
    folder = tmp_path_factory.mktemp("files")

    @cache
    def read_once(name: str, version: int) -> Snapshot:
        return read_one(str(put(folder / f"{name}-{version}", text(index_of(name, version)))))

    return read_once


@pytest.mark.parametrize(("name", "version"), READ)
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_every_kind_of_location(
    way: Way,
    name: str,
    version: int,
    read_file: Callable[[str, int], Snapshot],
    tmp_path: Path,
    server: Server,
) -> None:
    """All facts of all specs, outside of the cache too, and the proof are those of the file."""
    expected = read_file(name, version)
    snapshot = read_one(way(index_of(name, version), tmp_path, server))
    assert common_facts(snapshot) == common_facts(expected)
    assert set(by_hash(snapshot)) == set(by_hash(expected))
    assert snapshot.proof == expected.proof
    assert expected.proof is not None
    assert expected.proof.num_proven > 0
