"""The list of a public cache as it is published: of indexes named by their checksums."""

import gzip
import hashlib
from pathlib import Path

import msgspec
import pytest

from snapshots.errors import SourceError
from snapshots.sources.buildcache.reader import recognise
from snapshots.sources.reports import Report
from snapshots.sources.settings import ReadSettings
from tests.snapshots.sources.buildcache.fetching import kept
from tests.snapshots.sources.buildcache.folders import (
    blob,
    manifest,
    put,
    put_blob_index,
    put_layout_2,
    text,
)
from tests.snapshots.sources.buildcache.indexes import (
    LIBELF,
    RUNTIME,
    WRAPPER,
    database,
    node,
    small_database,
)
from tests.snapshots.sources.buildcache.misbehaving import Server, content, document
from tests.snapshots.sources.buildcache.readings import QUICK, by_hash, snapshots, stacks_of

TAGS = ("develop", "develop-2026-06-27", "v1.1.0")


def in_bucket(server: Server) -> ReadSettings:
    """Return settings by which the server is the bucket ``public``."""
    return msgspec.structs.replace(QUICK, s3_prefixes={"public": server.url})


def listed(server: Server, folder: Path, **stacks: str) -> None:
    """Serve a folder and a list of one tag, whose stacks have indexes at these paths."""
    urls = [{"label": label, "url": f"s3://public/{path}"} for label, path in stacks.items()]
    server.serve_folder(folder)
    server["/list.json"] = document({"develop": urls})


@pytest.mark.parametrize("packed", [True, False])
def test_indexes_that_are_blobs(server: Server, tmp_path: Path, packed: bool) -> None:
    """They are read packed or not, beside entries of old; each stack has a cache of its own."""
    alone = database(node("compiler-wrapper", WRAPPER))
    tags: dict[str, list[dict[str, str]]] = {}
    for tag in TAGS:
        indexes = {"e4s": small_database(), "hep": alone}
        paths = {
            label: f"{tag}/{label}/" + put_blob_index(tmp_path / tag / label, index, packed=packed)
            for label, index in indexes.items()
        }
        put_layout_2(tmp_path / tag / "old", text(alone))
        paths["old"] = f"{tag}/old/build_cache/index.json"
        tags[tag] = [{"label": it, "url": f"s3://public/{path}"} for it, path in paths.items()]
    server.serve_folder(tmp_path)
    server["/list.json"] = document(tags)
    found = snapshots("s3://public/list.json", settings=in_bucket(server))
    assert tuple(snapshot.tag for snapshot in found) == TAGS
    for snapshot in found:
        assert stacks_of(snapshot) == {
            LIBELF: ("e4s",),
            RUNTIME: ("e4s",),
            WRAPPER: ("e4s", "hep", "old"),
        }


def test_sizes_of_a_list_of_blobs(server: Server, tmp_path: Path) -> None:
    """The manifests lie in the stack's own cache, before /blobs/, and so do the tarballs."""
    index = database(node("libelf", LIBELF, "0.8.13"))
    path = put_blob_index(tmp_path / "develop" / "e4s", index)
    listed(server, tmp_path, e4s=f"develop/e4s/{path}")
    name = f"/develop/e4s/v3/manifests/spec/libelf/libelf-0.8.13-{LIBELF}.spec.manifest.json"
    server[name] = document(manifest(blob()))
    (snapshot,) = snapshots("s3://public/list.json", sizes=True, settings=in_bucket(server))
    spec = by_hash(snapshot)[LIBELF]
    assert spec.size == 1234
    assert spec.tarball is not None
    assert spec.tarball.startswith(f"{server.url}/develop/e4s/blobs/sha256/ab/abab")


def test_a_blob_with_another_checksum(server: Server, tmp_path: Path) -> None:
    """It is refused by name, kept for no later run, and skipped where that is allowed."""
    path = put_blob_index(tmp_path / "e4s", small_database())
    good = put_blob_index(tmp_path / "hep", small_database())
    data = gzip.compress(text(small_database()) + b" ", mtime=0)
    put(tmp_path / "e4s" / path, data)
    listed(server, tmp_path, e4s=f"e4s/{path}", hep=f"hep/{good}")
    settings = msgspec.structs.replace(in_bucket(server), cache_dir=tmp_path / "kept")
    actual, stated = hashlib.sha256(data).hexdigest(), path.rpartition("/")[2]
    reason = f"its sha256 is {actual}, but its name says {stated}; .* try again"
    with pytest.raises(SourceError, match=reason) as caught:
        snapshots("s3://public/list.json", settings=settings)
    assert caught.value.location == f"{server.url}/e4s/{path}"
    report = Report(skip_bad=True)
    (snapshot,) = snapshots("s3://public/list.json", settings=settings, report=report)
    assert snapshot.content.stacks == {"hep"}
    assert len(report.skipped) == 1
    server[f"/e4s/{path}"] = content(gzip.compress(text(small_database()), mtime=0))
    (snapshot,) = snapshots("s3://public/list.json", settings=settings)
    assert snapshot.content.stacks == {"e4s", "hep"}


def test_a_new_index_takes_the_place_of_the_old_one(server: Server, tmp_path: Path) -> None:
    """An unchanged blob is not fetched again; what a stack had before fills no disk."""
    settings = msgspec.structs.replace(in_bucket(server), cache_dir=tmp_path / "kept")
    sizes = []
    for index in (small_database(), small_database(), database(node("libelf", LIBELF))):
        path = put_blob_index(tmp_path / "served" / "e4s", index)
        listed(server, tmp_path / "served", e4s=f"e4s/{path}")
        server.asked.clear()
        server.headers.clear()
        (snapshot,) = snapshots("s3://public/list.json", settings=settings)
        conditional = sum("If-None-Match" in headers for headers in server.headers)
        sizes.append((len(snapshot.content), conditional, len(kept(tmp_path / "kept"))))
    assert sizes == [(3, 0, 2), (3, 2, 2), (1, 1, 2)]


def test_a_blob_alone(server: Server, tmp_path: Path) -> None:
    """A blob is a location like any index: it wants a tag, and knows its cache."""
    path = put_blob_index(tmp_path, small_database())
    server.serve_folder(tmp_path)
    for location in (str(tmp_path / path), server.at(f"/{path}")):
        assert recognise(location, QUICK)
        (snapshot,) = snapshots(location, "mine")
        assert set(by_hash(snapshot)) == {LIBELF, RUNTIME, WRAPPER}
    assert not recognise(str(put(tmp_path / "blob", gzip.compress(b"{}"))), QUICK)


def test_an_index_that_is_listed_twice(tmp_path: Path) -> None:
    """One stack cannot have the same index twice; nothing of the tag is read then."""
    stack = {"label": "e4s", "url": "e4s"}
    file = put(tmp_path / "list.json", text({"develop": [stack, stack | {"label": "hep"}, stack]}))
    with pytest.raises(SourceError, match=r"names the index that develop\[0\] names") as caught:
        snapshots(file)
    assert caught.value.key == "develop[2].url"
