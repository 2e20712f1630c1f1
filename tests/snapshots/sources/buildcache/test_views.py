"""Views: the smaller indexes of a build cache, next to the complete one."""

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from snapshots.contents import Snapshot
from snapshots.errors import InvalidArgument, SourceError
from snapshots.sources.locations import mirror_of
from snapshots.sources.reports import Report
from tests.snapshots.sources.buildcache.folders import put, put_layout_3, text
from tests.snapshots.sources.buildcache.indexes import WRAPPER, database, node, small_database
from tests.snapshots.sources.buildcache.misbehaving_servers import Server
from tests.snapshots.sources.buildcache.readings import QUICK, by_hash
from tests.snapshots.sources.readings import read_locations


def put_view(folder: Path, view: str) -> None:
    """Write a build cache whose view has one of its specs."""
    manifest = put_layout_3(folder, text(database(node("compiler-wrapper", WRAPPER))))
    put(manifest.parent / view / manifest.name, manifest.read_bytes())
    put_layout_3(folder, text(small_database()))


def of_view(view: str, *locations: Any) -> list[Snapshot]:
    """Read a view of build caches."""
    settings = replace(QUICK, view=view)
    texts = [*map(str, locations)]
    return list(read_locations(texts, tags=["mine"], settings=settings, report=Report()))


def test_view(server: Server, tmp_path: Path) -> None:
    """The view is read instead of the complete index; the revision's source names it."""
    put_view(tmp_path, "tools")
    server.serve_folder(tmp_path)
    for location in (str(tmp_path), server.url, f"{server.url}/"):
        (snapshot,) = of_view("tools", location)
        assert set(by_hash(snapshot)) == {WRAPPER}
        base = location.rstrip("/")
        assert snapshot.source.location == f"{base}/v3/manifests/index/tools/index.manifest.json"
        assert mirror_of("index", snapshot.source.location, None) == base


def test_missing_view(server: Server, tmp_path: Path) -> None:
    """The error lists the views, or says where to look if HTTP lists none."""
    put_view(tmp_path / "cache", "tools")
    with pytest.raises(SourceError, match=r"cache: has no view 'tool'; those there are: tools$"):
        of_view("tool", tmp_path / "cache")
    put_layout_3(tmp_path / "whole")
    with pytest.raises(SourceError, match="has no view 'tool', and no other; leave --view out"):
        of_view("tool", tmp_path / "whole")
    put(tmp_path / "listed/v3/layout.json", json.dumps({}).encode())
    with pytest.raises(SourceError, match="has no view 'tool', and no other; leave --view out"):
        of_view("tool", tmp_path / "listed")
    reason = "has no view 'tool', and HTTP lists none; look for folders below v3/manifests/index"
    with pytest.raises(SourceError, match=reason):
        of_view("tool", server.url)


def test_locations_without_views(tmp_path: Path) -> None:
    """Files, pages and registries have no views, and names of views are validated."""
    file = put(tmp_path / "index.json", text(small_database()))
    with pytest.raises(SourceError, match="is a file; --view names a view of a build cache"):
        of_view("tools", file)
    with pytest.raises(InvalidArgument, match=r"--view: .* is not a build cache"):
        of_view("tools", tmp_path / "pages")
    put_layout_3(tmp_path / "cache")
    for registry in ("oci://127.0.0.1/a", f"e4s={tmp_path / 'cache'} ml=oci://127.0.0.1/a"):
        with pytest.raises(InvalidArgument, match=r"--view: oci://127\.0\.0\.1/a is a registry"):
            of_view("tools", *registry.split())
    with pytest.raises(InvalidArgument, match=r"'\.\./a' cannot name a view"):
        of_view("../a", tmp_path / "cache")
