"""Real indexes say the same through every way in, and in both versions of the database."""

import json
from collections import defaultdict
from collections.abc import Callable, Mapping
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
    put_indexes,
    put_installation,
    put_layout_2,
    put_layout_3,
    put_specs,
    text,
)
from tests.snapshots.sources.buildcache.indexes import documents_of
from tests.snapshots.sources.buildcache.misbehaving_servers import Server
from tests.snapshots.sources.buildcache.readings import QUICK, by_hash, snapshots
from tests.snapshots.sources.buildcache.registries import index_image, serve, spec_image
from tests.snapshots.sources.buildcache.rehashing import rehashed
from tests.snapshots.sources.readings import read_locations

HISTORY = sorted(
    file.relative_to(real_data.folder()).as_posix()
    for file in real_data.folder().glob("spack-history/*/*/index.json")
)
PROVEN = ["index/database-v8.json", *HISTORY]
"""Real indexes of version 8."""

READ = [("index/database-v7.json", 7), (PROVEN[0], 8), (PROVEN[-1], 9)]
"""Real indexes, and the versions of the database that they are read in."""

PROVING = ReadSettings(cache_dir=None, workers=2)
"""Server and client share a process, whose threads wait for each other: few do more."""

Index = dict[str, Any]
Way = Callable[[Index, Path, Server], str]


@cache
def real_index(name: str) -> Index:
    """Return a real index."""
    index: Index = json.loads((real_data.folder() / name).read_bytes())
    return index


@cache
def in_version_9(name: str) -> tuple[Index, Mapping[str, str]]:
    """Return what a newer Spack makes of an index, and its hashes by those of before."""
    return rehashed(real_index(name))


def index_of(name: str, version: int) -> Index:
    """Return a real index in a version of the database."""
    return in_version_9(name)[0] if version == 9 else real_index(name)


def all_specs(snapshot: Snapshot) -> dict[str, Spec]:
    """Return the specs of a snapshot and those outside the cache, by their hashes."""
    outside = snapshot.content.outside.specs
    return by_hash(snapshot) | {spec.hash: spec for spec in outside}


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
    """Serve a repository of a registry that has an index."""
    return serve(server, "site/cache", [index_image(index)])


def in_registry_by_tags(index: Index, _: Path, server: Server) -> str:
    """Serve a repository of a registry that has an image a spec."""
    return serve(server, "site/cache", map(spec_image, documents_of(index).values()))


def as_installation(index: Index, folder: Path, _: Server) -> str:
    """Write the install tree of a Spack that has installed what is in the cache."""
    installs = {
        digest: {
            "spec": install["spec"],
            "path": f"/opt/{digest}",
            "installed": install["in_buildcache"],
            "explicit": True,
            "installation_time": 1_780_000_000.5,
        }
        for digest, install in index["database"]["installs"].items()
    }
    database = index["database"] | {"installs": installs}
    return str(put_installation(folder, {"database": database}))


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
)


def read_one(location: str) -> Snapshot:
    """Return the one snapshot at a location, its hashes computed anew."""
    report = Report()
    (snapshot,) = read_locations([location], tags=["develop"], settings=PROVING, report=report)
    assert report.warnings == []
    return snapshot


def of_every_way(snapshot: Snapshot) -> dict[str, Spec]:
    """Return all specs with the facts that every way in tells, by their hashes."""
    told_by_some = {"tarball": None, "size": None, "explicit": None, "installed_at": None}
    specs = all_specs(snapshot)
    return {digest: replace(it, stacks=(), **told_by_some) for digest, it in specs.items()}


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
def test_every_way_in_says_the_same(
    way: Way,
    name: str,
    version: int,
    read_file: Callable[[str, int], Snapshot],
    tmp_path: Path,
    server: Server,
) -> None:
    """All facts of all specs are those of the file, outside of the cache too, and so is proof."""
    expected = read_file(name, version)
    snapshot = read_one(way(index_of(name, version), tmp_path, server))
    assert of_every_way(snapshot) == of_every_way(expected)
    assert set(by_hash(snapshot)) == set(by_hash(expected))
    assert snapshot.proof == expected.proof
    assert expected.proof is not None
    assert expected.proof.num_proven > 0


def renamed(spec: Spec, hashes: Mapping[str, str]) -> Spec:
    """Return a spec with other hashes, its own and those of its dependencies."""
    edges = [replace(edge, hash=hashes[edge.hash]) for edge in spec.dependencies or ()]
    return replace(spec, hash=hashes[spec.hash], dependencies=tuple(sorted(edges)))


def provided(specs: Mapping[str, Spec]) -> dict[str, tuple[str, ...]]:
    """Return the virtual packages that each spec provides to others."""
    virtuals: defaultdict[str, set[str]] = defaultdict(set)
    for spec in specs.values():
        for edge in spec.dependencies or ():
            virtuals[edge.hash].update(edge.virtuals)
    return {digest: tuple(sorted(names)) for digest, names in virtuals.items()}


@pytest.mark.parametrize("name", PROVEN)
def test_both_versions_of_one_cache(name: str, tmp_path: Path) -> None:
    """They differ in hashes and what format 6 alone tells; a cache with both has all specs."""
    new, hashes = in_version_9(name)
    texts = {8: text(real_index(name)), 9: text(new)}
    files = [put(tmp_path / f"{version}.json", data) for version, data in texts.items()]
    ((of_version_8,), (of_version_9,)) = (snapshots(file, "develop") for file in files)
    before, after = all_specs(of_version_8), all_specs(of_version_9)
    # Copies that differ in nothing but made-up hashes are one.
    assert set(after) == {hashes[digest] for digest in before}
    virtuals = provided(before)
    for digest, spec in before.items():
        expected = renamed(spec, hashes)
        if expected.hash != digest:
            expected = replace(expected, provided_virtuals=virtuals.get(digest, ()), spec_format=6)
        assert after[expected.hash] == expected
    in_format_6 = [spec for spec in after.values() if spec.provided_virtuals is not None]
    assert in_format_6
    assert all(spec.spec_format == 6 for spec in in_format_6)
    put_indexes(tmp_path / "both", texts)
    (both,) = snapshots(tmp_path / "both", "develop", settings=QUICK)
    assert all_specs(both) == {
        digest: replace(spec, tarball=all_specs(both)[digest].tarball)
        for digest, spec in (before | after).items()
    }
