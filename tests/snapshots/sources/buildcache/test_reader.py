"""Snapshots of locations: indexes, build caches, lists of tags, and errors."""

import gzip
import os
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from snapshots.contents import Snapshot
from snapshots.errors import CachelogError, InvalidArgument, SourceError, TagNeeded
from snapshots.sources.buildcache.reader import (
    StackIndex,
    is_recognized,
    named_stack,
)
from snapshots.sources.locations import mirror_of
from snapshots.sources.reports import Report
from tests.snapshots.sources.buildcache.folders import (
    put,
    put_installation,
    put_layout_2,
    put_layout_3,
    put_specs,
    signed,
    text,
)
from tests.snapshots.sources.buildcache.indexes import (
    GCC,
    LIBELF,
    RUNTIME,
    WRAPPER,
    database,
    edge,
    entry,
    installation,
    node,
    small_database,
)
from tests.snapshots.sources.buildcache.misbehaving_servers import Server, content, document
from tests.snapshots.sources.readings import QUICK, by_hash, read_locations, snapshots, stacks_of

# -- one index, one build cache


def test_bad_index_is_not_cached(server: Server, tmp_path: Path) -> None:
    """A truncated index is fetched again by the next run, even with the same ETag."""
    settings = replace(QUICK, cache_dir=tmp_path)
    complete = text(small_database())
    server["/index.json"] = content(complete[:-3], etag='"same"')
    with pytest.raises(SourceError, match="truncated"):
        snapshots(server.at("/index.json"), "mine", settings=settings)
    server["/index.json"] = content(complete, etag='"same"')
    assert len(snapshots(server.at("/index.json"), "mine", settings=settings)) == 1


def test_tag_is_required(tmp_path: Path) -> None:
    """A single index requires exactly one tag, and no glob."""
    file = put(tmp_path / "index.json", text(small_database()))
    put_layout_3(tmp_path / "cache", b"not even read")
    for location in (file, tmp_path / "cache", "oci://127.0.0.1/a"):
        with pytest.raises(TagNeeded, match="--tag"):
            snapshots(location)
        with pytest.raises(InvalidArgument, match="name one tag"):
            snapshots(location, "one", "two")
        with pytest.raises(InvalidArgument, match="is not a tag"):
            snapshots(location, "develop-*")


def test_recognise(tmp_path: Path) -> None:
    """Indexes, build caches and lists of tags are recognized without a request."""
    put_layout_2(tmp_path / "two")
    put_layout_3(tmp_path / "three")
    put(tmp_path / "pages" / "libelf" / "specs.md", b"---\n")
    os.mkfifo(tmp_path / "pipe")
    expected = {
        str(put(tmp_path / "index.json", b' {"database": {}}')): True,
        (tmp_path / "index.json").as_uri(): True,
        str(put(tmp_path / "any.name", signed("{}"))): True,
        str(put(tmp_path / "blob", gzip.compress(b"{}"))): True,
        str(put(tmp_path / "tarball", gzip.compress(b"install"))): False,
        str(tmp_path / "two"): True,
        str(tmp_path / "three"): True,
        str(tmp_path / "pages"): False,
        str(tmp_path / "none"): False,
        str(tmp_path / "pipe"): False,
        "/" + "a" * 5000: False,
        "a\0b": False,
        "https://host/cache": True,
        "s3://bucket/cache": True,
        "https://host/pages.git/": False,
        "oci://host/image": True,
        "git@host:pages.git": False,
    }
    assert {location: is_recognized(location, QUICK) for location in expected} == expected


# -- several stacks in one revision


def together(*locations: str, tag: str | None = "develop") -> list[Snapshot]:
    """Read locations in one import."""
    tags = [tag] if tag else []
    return list(read_locations(locations, tags=tags, settings=QUICK, report=Report()))


@pytest.fixture
def small_caches(tmp_path: Path) -> dict[str, str]:
    """Write two build caches and a list of tags; return their locations."""
    put_layout_2(tmp_path / "one", text(small_database()))
    put_specs(tmp_path / "other", database(node("compiler-wrapper", WRAPPER)))
    listed = {"develop": [{"label": "e4s", "url": "one"}]}
    put(tmp_path / "list.json", text(listed))
    return {name: f"{tmp_path}/{name}" for name in ("one", "other", "list.json")}


def test_stacks_of_one_revision(server: Server, small_caches: dict[str, str]) -> None:
    """Each spec has the stacks whose caches have it, and root; keys are not published."""
    server["/a.json?key=1"] = document(small_database())
    (snapshot,) = together(f"ml={small_caches['other']}", f"e4s={server.at('/a.json?key=1')}")
    assert stacks_of(snapshot) == {
        LIBELF: ("e4s", "root"),
        RUNTIME: ("e4s", "root"),
        WRAPPER: ("e4s", "ml", "root"),
    }
    location = f"e4s={server.at('/a.json')} ml={small_caches['other']}"
    assert snapshot.source.location == location


def test_named_stacks_equal_a_list(tmp_path: Path, small_caches: dict[str, str]) -> None:
    """Content and version equal those of a list with the same stacks and root."""
    one, other = small_caches["one"], small_caches["other"]
    stacks = {"e4s": one, "ml": other, "root": one}
    listed = [{"label": label, "url": url} for label, url in stacks.items()]
    (expected,) = snapshots(put(tmp_path / "tags.json", text({"develop": listed})))
    (named,) = together(*(f"{label}={url}" for label, url in stacks.items()))
    assert named.content.digest == expected.content.digest
    assert named.source.version == expected.source.version
    (without_root,) = together(f"e4s={one}", f"ml={other}")
    assert without_root.content.digest == expected.content.digest


@pytest.mark.parametrize(
    ("location", "stack"),
    [
        ("e4s=https://host/a=b.json", ("e4s", "https://host/a=b.json")),
        ("e4s=folder", ("e4s", "folder")),
        ("a=index.json", ("a", "index.json")),
        ("a=b.json", None),
        ("a=", None),
        ("a b=folder", None),
        ("https://host/?a=b", None),
    ],
)
def test_labelled_locations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, location: str, stack: Any
) -> None:
    """The text before = has to be the name of a stack, and no such file may exist."""
    monkeypatch.chdir(tmp_path)
    put_layout_2(tmp_path / "folder")
    for name in ("a=b.json", "index.json", "a=index.json", "a="):
        put(tmp_path / name, b"{}")
    assert named_stack(location, QUICK) == (stack and StackIndex(*stack))


@pytest.mark.parametrize(
    ("locations", "error", "reason"),
    [
        (["e4s={one}"], TagNeeded, "name one with --tag"),
        (["e4s="], InvalidArgument, "e4s= names no location; write e4s=LOC"),
        ([f"s{number}={{one}}" for number in range(1001)], InvalidArgument, "than 1,000 stacks"),
        (
            ["e4s={one}", "{other}"],
            InvalidArgument,
            "other names no stack, unlike e4s=.* write each as STACK=LOCATION, or import",
        ),
        (["e4s={list.json}"], SourceError, "is a list of tags, which have stacks themselves"),
        (["e4s={one}", "ml={one}/nothing"], SourceError, "nothing: does not exist"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else None,
)
def test_bad_stacks_of_a_revision(
    small_caches: dict[str, str], locations: list[str], error: type[CachelogError], reason: str
) -> None:
    """Nothing is read if one of the stacks is bad."""
    for name, path in small_caches.items():
        locations = [location.replace(f"{{{name}}}", path) for location in locations]
    with pytest.raises(error, match=reason):
        together(*locations, tag=None if error is TagNeeded else "develop")


# -- lists of tags


def serve_tags(server: Server, tags: dict[str, dict[str, Any]]) -> str:
    """Serve an index of layout 2 for each stack of each tag; return the URL of their list."""
    listed: dict[str, list[dict[str, str]]] = {}
    for tag, stacks in tags.items():
        for label, index in stacks.items():
            path = f"/{tag}/{label}/build_cache/index.json"
            server[path] = document(index)
            listed.setdefault(tag, []).append({"label": label, "url": server.at(path)})
    server["/tags.json"] = document(listed)
    return server.at("/tags.json")


def test_tag_with_several_stacks(server: Server) -> None:
    """A spec has the stacks whose indexes have it in the cache, and the package of root."""
    borrowing = small_database()
    borrowing["database"]["installs"][WRAPPER]["in_buildcache"] = False
    alone = database(node("compiler-wrapper", WRAPPER))
    indexes = {"e4s": borrowing, "hep": alone, "root": small_database()}
    url = serve_tags(server, {"develop": indexes})
    (snapshot,) = snapshots(url)
    assert (snapshot.tag, snapshot.source.location) == ("develop", url)
    assert stacks_of(snapshot) == {
        LIBELF: ("e4s", "root"),
        RUNTIME: ("e4s", "root"),
        WRAPPER: ("hep", "root"),
    }
    assert [spec.hash for spec in snapshot.content.outside.specs] == [GCC]
    tarball = str(by_hash(snapshot)[LIBELF].tarball)
    assert tarball.startswith(f"{server.url}/develop/root/build_cache/")


@pytest.mark.parametrize(
    ("facts", "shown"),
    [
        ({"version": "9.9"}, "version is '9.9', but '0.8.13' in"),
        ({"parameters": {"pic": True}}, r"variants is \('\+pic',\), but \('build_system=generic'"),
    ],
)
def test_conflicting_facts(server: Server, facts: dict[str, Any], shown: str) -> None:
    """Different facts of a hash are an error with both locations; if skipped, they add nothing."""
    other = small_database()
    spec = other["database"]["installs"][LIBELF]["spec"]
    spec |= facts
    spec["dependencies"].append(edge("unused", "x" * 32, [], []))
    other["database"]["installs"]["x" * 32] = entry(node("unused", "x" * 32), False)
    url = serve_tags(server, {"develop": {"root": small_database(), "e4s": other}})
    with pytest.raises(SourceError, match=f"{shown}.*develop/root/build_cache") as caught:
        snapshots(url)
    assert caught.value.location == server.at("/develop/e4s/build_cache/index.json")
    assert caught.value.key == f"installs.{LIBELF}"
    report = Report(skip_bad=True)
    (snapshot,) = snapshots(url, report=report)
    assert by_hash(snapshot)[LIBELF].version == "0.8.13"
    assert [spec.hash for spec in snapshot.content.outside.specs] == [GCC]
    assert len(report.skipped) == 1


def test_unknown_tags(tmp_path: Path) -> None:
    """The error lists the tags: the first ones, the number of others, and the nearest."""
    file = put(tmp_path / "list.json", text({"develop": []}))
    with pytest.raises(InvalidArgument, match=r"v\* matches no tag of .* \(develop\)"):
        snapshots(file, "develop", "v*")
    dates = [f"develop-2026-{month:02}-{day:02}" for month in range(1, 13) for day in (1, 15)]
    put(file, text({date: [] for date in dates}))
    with pytest.raises(InvalidArgument) as caught:
        snapshots(file, "develop-2026-12-16")
    assert "-10-01, develop-2026-10-15 and 4 more; nearest: develop-2026-12-1" in str(caught.value)
    assert dates[-1] in str(caught.value)


STACK = {"label": "e4s", "url": "e4s"}


@pytest.mark.parametrize(
    ("listed", "reason"),
    [
        ([], "is a list of specs, .* not the index"),
        ({"database": []}, ", database: expected `object`, got `array`"),
        ({"spec": {"_meta": {}}, "buildinfo": {}}, "is the spec.json of one .*import the index.js"),
        (
            {"_meta": {"file-type": "spack-lockfile"}},
            "is the spack.lock of an environment, .*index",
        ),
        ({"develop": []}, ", develop: lists no stacks"),
        (
            {"develop": [STACK | {"label": f"s{number}"} for number in range(1_001)]},
            ", develop: lists 1,001 stacks, more than 1,000",
        ),
        ({"develop": [{"label": "e4s"}]}, r", develop\[0\].url: is missing"),
        ({"develop": [STACK | {"label": "a b"}]}, r", develop\[0\].label: 'a b' cannot name"),
        ({"a/b": [STACK]}, ", a/b: 'a/b' is not a tag"),
    ],
)
def test_invalid_lists(tmp_path: Path, listed: Any, reason: str) -> None:
    """The error names the tag and the key."""
    file = put(tmp_path / "tags.json", listed if isinstance(listed, bytes) else text(listed))
    with pytest.raises(SourceError, match=reason):
        snapshots(file, *(["mine"] if "database" in str(listed) else []))


# -- public lists, with indexes named by their checksums


# -- installations


def read_tree(tree: Path, database: dict[str, Any]) -> Snapshot:
    """Return the snapshot of an install tree with the database."""
    (snapshot,) = snapshots(put_installation(tree, database), "mysite")
    return snapshot


@pytest.mark.parametrize(
    "location", ["{tree}", "{tree}/.spack-db", "{tree}/.spack-db/index.json", "{url}"]
)
def test_locations_of_an_installation(server: Server, tmp_path: Path, location: str) -> None:
    """The install tree, the folder of the database, the database itself, or its URL."""
    put_installation(tmp_path, installation())
    server.serve_folder(tmp_path)
    path = location.format(tree=tmp_path, url=server.url)
    assert is_recognized(path, QUICK)
    (snapshot,) = snapshots(path, "mysite")
    assert by_hash(snapshot).keys() == {LIBELF, WRAPPER, RUNTIME, GCC}
    assert snapshot.source.kind == "installation"


@pytest.mark.parametrize("version", ["5", "6", "7", "8", "9"])
def test_facts_of_an_installation(tmp_path: Path, version: str) -> None:
    """Specs are explicit or not, with a time in whole seconds; external specs are included."""
    specs = by_hash(read_tree(tmp_path, installation(version=version)))
    assert {digest: spec.explicit for digest, spec in specs.items()} == {
        LIBELF: True,
        WRAPPER: False,
        RUNTIME: False,
        GCC: False,
    }
    assert {spec.installed_at for spec in specs.values()} == {"2025-03-30T12:00:00Z"}
    assert specs[LIBELF].compiler == "gcc@10.2.1"
    assert specs[GCC].external_path == "/path"


def test_specs_that_are_not_installed(tmp_path: Path) -> None:
    """Deprecated and other missing dependencies are outside."""
    facts = {"installed": False, "deprecated_for": WRAPPER}
    snapshot = read_tree(tmp_path, installation({RUNTIME: facts}))
    assert by_hash(snapshot).keys() == {LIBELF, WRAPPER, GCC}
    (outside,) = snapshot.content.outside.specs
    assert (outside.hash, outside.explicit, outside.installed_at) == (RUNTIME, None, None)


# -- views: smaller indexes next to the complete one


def test_view(server: Server, tmp_path: Path) -> None:
    """Its manifest is named itself; that it lacks specs of the cache is no anomaly."""
    manifest = put_layout_3(tmp_path, text(database(node("compiler-wrapper", WRAPPER))))
    put(manifest.parent / "tools" / manifest.name, manifest.read_bytes())
    put_layout_3(tmp_path, text(small_database()))
    server.serve_folder(tmp_path)
    for base in (str(tmp_path), server.url):
        location, report = f"{base}/v3/manifests/index/tools/index.manifest.json", Report()
        (snapshot,) = read_locations([location], tags=["mine"], settings=QUICK, report=report)
        assert set(by_hash(snapshot)) == {WRAPPER}
        assert snapshot.source.location == location
        assert mirror_of("index", location, None) == base
        assert report.warnings == []
