"""From a location to snapshots: one index, one build cache, and what is neither."""

import json
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from snapshots.errors import InvalidArgument, SourceError, TagNeeded
from snapshots.program import importer_name
from snapshots.sources.buildcache.layouts import UNVERIFIED, BuildCache
from snapshots.sources.buildcache.reader import recognise
from snapshots.sources.reports import Report
from tests.snapshots.sources.buildcache.folders import (
    blob,
    manifest,
    put,
    put_indexes,
    put_layout_2,
    put_layout_3,
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
    node,
    small_database,
)
from tests.snapshots.sources.buildcache.misbehaving import (
    Server,
    content,
    document,
    unmeasured,
)
from tests.snapshots.sources.buildcache.readings import (
    QUICK,
    by_hash,
    snapshots,
    stacks_of,
)


def test_one_index(tmp_path: Path) -> None:
    """An index is a snapshot under the tag that was given; its specs have no stacks."""
    file = put(tmp_path / "index.json", text(small_database()))
    (snapshot,) = snapshots(file, "mine")
    assert snapshot.tag == "mine"
    assert stacks_of(snapshot) == {LIBELF: (), RUNTIME: (), WRAPPER: ()}
    assert all(spec.tarball is None for spec in snapshot.content.specs())
    source = snapshot.source
    assert (source.kind, source.location) == ("index", str(file))
    assert source.importer == importer_name()
    assert source.version is not None
    assert source.version.startswith("sha256:")


@pytest.mark.parametrize("put_layout", [put_layout_2, put_layout_3])
def test_one_build_cache(tmp_path: Path, put_layout: Any) -> None:
    """A build cache gives what its index alone gives, in either layout."""
    file = put(tmp_path / "index.json", text(small_database()))
    put_layout(tmp_path / "cache", text(small_database()))
    (alone,), (cached,) = snapshots(file, "mine"), snapshots(tmp_path / "cache", "mine")
    found = [msgspec.structs.replace(spec, tarball=None) for spec in cached.content.specs()]
    assert found == list(alone.content.specs())


def test_a_tag_is_needed(tmp_path: Path) -> None:
    """One index says no tag of its own: exactly one has to be given, and one that can be used."""
    file = put(tmp_path / "index.json", text(small_database()))
    put_layout_3(tmp_path / "cache", b"not even read")
    for location in (file, tmp_path / "cache"):
        with pytest.raises(TagNeeded, match="--tag"):
            snapshots(location)
        with pytest.raises(InvalidArgument, match="name one tag"):
            snapshots(location, "one", "two")
        with pytest.raises(InvalidArgument, match="is no tag"):
            snapshots(location, "develop-*")


def test_tarballs_of_layout_2(server: Server, tmp_path: Path) -> None:
    """In layout 2 the URLs of the packages are known without a request for each."""
    put_layout_2(tmp_path, text(small_database()))
    server.serve_folder(tmp_path)
    (snapshot,) = snapshots(server.url, "mine")
    specs = by_hash(snapshot)
    directory = f"{server.url}/build_cache/test-debian6-m1/gcc-10.2.1/libelf-0.8.13"
    file = f"test-debian6-m1-gcc-10.2.1-libelf-0.8.13-{LIBELF}.spack"
    assert specs[LIBELF].tarball == f"{directory}/{file}"
    assert "/none-none/compiler-wrapper-1.0/" in str(specs[WRAPPER].tarball)
    assert server.downloads() == 2


def test_a_key_in_the_url_is_not_published(server: Server) -> None:
    """A query, which can hold a key, is sent with each request and stands nowhere afterwards."""
    server["/build_cache/index.json?key=secret"] = document(small_database())
    (snapshot,) = snapshots(server.at("/build_cache/index.json?key=secret"), "mine")
    assert server.downloads("/build_cache/index.json.hash?key=secret") == 1
    assert snapshot.source.location == server.at("/build_cache/index.json")
    assert "secret" not in str(list(snapshot.content.specs()))


def test_sizes_of_layout_3(tmp_path: Path) -> None:
    """The manifests of specs tell the size and URL of the packages, if they are asked for."""
    put_layout_3(tmp_path, text(small_database()))
    (plain,) = snapshots(tmp_path, "mine")
    assert all((spec.size, spec.tarball) == (None, None) for spec in plain.content.specs())
    for digest, spec in by_hash(plain).items():
        if digest != WRAPPER:
            file = Path(BuildCache(3, str(tmp_path)).spec_manifest(spec))
            put(file, signed(json.dumps(manifest(blob(contentLength=len(spec.name))))))
    report = Report()
    (snapshot,) = snapshots(tmp_path, "mine", sizes=True, report=report)
    specs = by_hash(snapshot)
    assert {digest: spec.size for digest, spec in specs.items()} == {
        LIBELF: 6,
        RUNTIME: 11,
        WRAPPER: None,
    }
    package = tmp_path / "blobs" / "sha256" / "ab" / ("ab" * 32)
    assert specs[LIBELF].tarball == package.as_uri()
    assert specs[WRAPPER].tarball is None
    assert sorted(warning == UNVERIFIED for warning in report.warnings) == [False, True]


def test_nothing_that_could_be_read(tmp_path: Path) -> None:
    """An index whose entries are all bad makes no empty revision; one without entries does."""
    bad = small_database()
    for entry in bad["database"]["installs"].values():
        entry["spec"]["version"] = ""
    file = put(tmp_path / "index.json", text(bad))
    report = Report(skip_bad=True)
    assert snapshots(file, "mine", report=report) == []
    assert len(report.skipped) == 3
    put(file, text(database()))
    (snapshot,) = snapshots(file, "mine")
    assert len(snapshot.content) == 0


def test_a_bad_index_is_not_kept(server: Server, tmp_path: Path) -> None:
    """An index that breaks off is fetched anew by the next run, although its ETag is the same."""
    settings = msgspec.structs.replace(QUICK, cache_dir=tmp_path)
    whole = text(small_database())
    server["/index.json"] = content(whole[:-3], etag='"same"')
    with pytest.raises(SourceError, match=r"is neither .*truncated"):
        snapshots(server.at("/index.json"), "mine", settings=settings)
    server["/index.json"] = content(whole, etag='"same"')
    assert len(snapshots(server.at("/index.json"), "mine", settings=settings)) == 1


def test_recognise(tmp_path: Path) -> None:
    """What looks like an index, a build cache or a list of tags is told by a glance."""
    put_layout_2(tmp_path / "two")
    put(tmp_path / "pages" / "libelf" / "specs.md", b"---\n")
    os.mkfifo(tmp_path / "pipe")
    known = {
        str(put(tmp_path / "index.json", b' {"database": {}}')): True,
        (tmp_path / "index.json").as_uri(): True,
        str(put(tmp_path / "any.name", signed("{}"))): True,
        str(put(tmp_path / "specs.md", b"---\n")): False,
        str(tmp_path / "two"): True,
        str(tmp_path / "pages"): False,
        str(tmp_path / "none"): False,
        str(tmp_path / "pipe"): False,
        "/" + "a" * 5000: False,
        "a\0b": False,
        "https://host/cache": True,
        "https://[host/cache": True,
        "https://me:secret@host/cache": True,
        "s3://bucket/cache": True,
        "S3://bucket/cache": True,
        "https://host/pages.git": False,
        "https://host/pages.git/": False,
        "oci://host/image": True,
        "file://host/index.json": False,
        "git@host:pages.git": False,
    }
    assert {location: recognise(location, QUICK) for location in known} == known


@pytest.mark.parametrize("location", ["https://[host/cache", "a\0b", "/" + "a" * 5000, ""])
def test_locations_that_nothing_lies_at(location: str) -> None:
    """What is no good path or URL is an error, and no crash."""
    with pytest.raises(SourceError):
        snapshots(location, "mine")


def test_what_is_no_index_at_a_url(server: Server) -> None:
    """A web page where an index should be is an error, and no crash."""
    server["/index.json"] = unmeasured(b"<html>Sign in</html>")
    with pytest.raises(SourceError, match="is neither an index"):
        snapshots(server.at("/index.json"), "mine")


def test_a_cache_of_two_indexes(tmp_path: Path) -> None:
    """Where a manifest lists an index of each of two versions, what either holds is read."""
    edges = [edge("gcc", GCC, ["build"], ["c"])]
    newer = database(
        node("libelf", LIBELF, provided_virtuals=["elf"], dependencies=edges), version="9"
    )
    older = database(node("gcc", GCC, "10.2.1"), node("gcc-runtime", RUNTIME))
    put_indexes(tmp_path, {8: text(older), 9: text(newer)})
    (both,) = snapshots(tmp_path, "develop")
    assert set(by_hash(both)) == {LIBELF, RUNTIME}
    assert by_hash(both)[LIBELF].provided_virtuals == ("elf",)
    assert [spec.hash for spec in both.content.outside.specs] == [GCC]
    put_indexes(tmp_path, {9: text(newer)})
    (one,) = snapshots(tmp_path, "develop")
    assert one.source.version != both.source.version


@pytest.mark.parametrize("damaged", [8, 9])
def test_one_of_two_indexes_is_damaged(tmp_path: Path, damaged: int) -> None:
    """Nothing is read, and the error names the manifest."""
    indexes = {8: text(small_database()), 9: text(small_database())}
    file = put_indexes(tmp_path, indexes | {damaged: b'{"database": {}}'})
    with pytest.raises(SourceError, match="is missing") as caught:
        snapshots(tmp_path, "develop")
    assert caught.value.location == str(file)
