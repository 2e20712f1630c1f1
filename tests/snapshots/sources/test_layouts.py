"""Finding and checking the index of a build cache, in layout 2, layout 3 and without any."""

import gzip
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from snapshots.errors import SourceError
from snapshots.models import Spec
from snapshots.sources.layouts import (
    LAYOUT_2_INDEX,
    LAYOUT_3_INDEX,
    Cache,
    Place,
    cache_of,
    fetch,
    holds_index,
    is_document,
    locate,
)
from snapshots.sources.manifests import UNVERIFIED
from snapshots.sources.reports import Report
from snapshots.sources.transport import Missing, ReadSettings, Transport
from tests.snapshots.sources.misbehaving import content, serving, status
from tests.snapshots.sources.test_manifests import blob, manifest, signed, spec

TEXT = b'{"database": {"version": "8", "installs": {}}}'
LIMIT = 1000


def put(file: Path, data: bytes) -> Path:
    """Write a file and the folders above it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    return file


def put_layout_2(folder: Path, text: bytes = TEXT, *, checked: bool = True) -> Path:
    """Write the index of a build cache of layout 2."""
    if checked:
        checksum = hashlib.sha256(text).hexdigest()
        put(folder / f"{LAYOUT_2_INDEX}.hash", f"{checksum}\n".encode())
    return put(folder / LAYOUT_2_INDEX, text)


def put_blob(folder: Path, data: bytes, media_type: str, **more: Any) -> dict[str, Any]:
    """Write a blob of layout 3 and return its entry in a manifest."""
    checksum = hashlib.sha256(data).hexdigest()
    put(folder / "blobs" / "sha256" / checksum[:2] / checksum, data)
    return blob(media_type, checksum=checksum, contentLength=len(data), **more)


def put_layout_3(folder: Path, text: bytes = TEXT, *, version: int = 8) -> Path:
    """Write the index of a build cache of layout 3, packed."""
    media_type = f"application/vnd.spack.db.v{version}+json"
    entry = put_blob(folder, gzip.compress(text), media_type)
    put(folder / "v3" / "layout.json", b'{"signing": "gpg"}')
    return put(folder / LAYOUT_3_INDEX, json.dumps(manifest(entry)).encode())


def load(location: str, report: Report | None = None) -> tuple[bytearray, str]:
    """Return the text and the version of the index at a location."""
    report = report or Report()
    with Transport(ReadSettings(attempts=1, timeout=5), report) as transport:
        return fetch(locate(location, transport), transport).load(LIMIT, report)


@pytest.mark.parametrize("put_layout", [put_layout_2, put_layout_3])
def test_the_index_of_a_build_cache(tmp_path: Path, put_layout: Any) -> None:
    """The folder of a build cache, and the file in it, lead to the same index."""
    file = put_layout(tmp_path)
    assert load(str(tmp_path)) == load(str(file))
    assert load(str(tmp_path))[0] == TEXT


@pytest.mark.parametrize("put_layout", [put_layout_2, put_layout_3])
def test_the_index_over_http(tmp_path: Path, put_layout: Any) -> None:
    """A URL of a build cache leads to the same text as the folder that it serves."""
    put_layout(tmp_path)
    with serving() as server:
        server.serve_folder(tmp_path)
        assert load(server.url)[0] == load(f"{server.url}/")[0] == TEXT


def test_layout_3_comes_first(tmp_path: Path) -> None:
    """Of a cache in both layouts, the index of layout 3 is read."""
    put_layout_2(tmp_path, b"old")
    put_layout_3(tmp_path)
    assert load(str(tmp_path))[0] == TEXT


@pytest.mark.parametrize(
    ("location", "cache"),
    [
        ("https://h/a/build_cache/index.json", Cache(2, "https://h/a/")),
        ("https://h/a/build_cache/index.json?key=1", Cache(2, "https://h/a/?key=1")),
        ("https://h/build_cache/a/index.json", None),
        ("https://h/a/index.json", None),
        ("https://h/a/v3/manifests/index/index.manifest.json", Cache(3, "https://h/a")),
        ("https://h/a/v3/manifests/index/view/index.manifest.json", Cache(3, "https://h/a")),
        ("https://h/v3/manifests/index/index.manifest.json", Cache(3, "https://h/")),
        ("/srv/a/build_cache/index.json", Cache(2, "/srv/a/")),
        ("/srv/a/v3/manifests/index/index.manifest.json", Cache(3, "/srv/a")),
    ],
)
def test_the_cache_of_an_index(location: str, cache: Cache | None) -> None:
    """The path of an index tells the build cache that it belongs to."""
    assert cache_of(location) == cache


def test_a_plain_index(tmp_path: Path) -> None:
    """A file belongs to no cache, whatever its name; so does index.json in any folder."""
    file = put(tmp_path / "index.json", TEXT)
    with Transport(ReadSettings(), Report()) as transport:
        assert locate(str(tmp_path), transport) == Place(str(file), None)
        other = put(tmp_path / "database", TEXT)
        assert locate(str(other), transport) == Place(str(other), None)
    assert is_document("https://host/tags.json?now")
    assert not is_document("https://host/cache")


def test_versions_of_an_index(tmp_path: Path) -> None:
    """The version is the checksum that the cache states, or the ETag of a plain index."""
    checksum = hashlib.sha256(TEXT).hexdigest()
    plain = put_layout_2(tmp_path)
    assert load(str(plain))[1] == f"sha256:{checksum}"
    entry = json.loads(put_layout_3(tmp_path).read_bytes())["data"][0]
    assert load(str(tmp_path))[1] == f"sha256:{entry['checksum']}"
    with serving() as server:
        server["/index.json"] = content(TEXT, etag='"abc"')
        assert load(server.at("/index.json"))[1] == '"abc"'


def test_the_checksum_of_layout_2(tmp_path: Path) -> None:
    """The sha256 beside the index is checked where there is one."""
    put_layout_2(tmp_path, checked=False)
    assert load(str(tmp_path))[0] == TEXT
    put_layout_2(tmp_path).write_bytes(TEXT + b" ")
    reason = r"its sha256 is [0-9a-f]{64}, but .*index.json.hash says [0-9a-f]{64}; .*try again"
    with pytest.raises(SourceError, match=reason):
        load(str(tmp_path))
    put(tmp_path / f"{LAYOUT_2_INDEX}.hash", b"<html>")
    with pytest.raises(SourceError, match="is no sha256: '<html>'"):
        load(str(tmp_path))


def test_the_checksum_of_layout_3(tmp_path: Path) -> None:
    """A blob that is not what its name says is an error that names both."""
    file = put_layout_3(tmp_path)
    entry = json.loads(file.read_bytes())["data"][0]
    damaged = tmp_path / "blobs" / "sha256" / entry["checksum"][:2] / entry["checksum"]
    damaged.write_bytes(gzip.compress(TEXT + b" "))
    with pytest.raises(SourceError, match=f"manifest.json says {entry['checksum']}") as caught:
        load(str(tmp_path))
    assert caught.value.location == str(damaged)
    damaged.unlink()
    with pytest.raises(SourceError, match=r"names the blob .*: does not exist"):
        load(str(tmp_path))


def test_a_wrong_checksum_is_not_kept(tmp_path: Path) -> None:
    """A body that fails its check is fetched anew by the next run."""
    put_layout_2(tmp_path / "cache")
    with serving() as server:
        server.serve_folder(tmp_path / "cache")
        server[f"/{LAYOUT_2_INDEX}"] = content(TEXT[:-1], etag='"same"')
        settings = ReadSettings(cache_dir=tmp_path / "kept")
        with Transport(settings, Report()) as transport:
            with pytest.raises(SourceError, match="its sha256 is"):
                fetch(locate(server.url, transport), transport).load(LIMIT, Report())
            server[f"/{LAYOUT_2_INDEX}"] = content(TEXT, etag='"same"')
            text, _ = fetch(locate(server.url, transport), transport).load(LIMIT, Report())
    assert text == TEXT


@pytest.mark.parametrize("compression", ["gzip", "none"])
def test_the_newest_readable_index(tmp_path: Path, compression: str) -> None:
    """A manifest may list several versions; the highest that can be read is."""
    entries = []
    for version in (6, 8, 9):
        text = f"version {version}".encode()
        data = gzip.compress(text) if compression == "gzip" else text
        media_type = f"application/vnd.spack.db.v{version}+json"
        entries.append(put_blob(tmp_path, data, media_type, compression=compression))
    file = tmp_path / LAYOUT_3_INDEX
    put(file, json.dumps(manifest(*entries)).encode())
    assert load(str(tmp_path))[0] == b"version 8"
    put(file, json.dumps(manifest(entries[2])).encode())
    with pytest.raises(SourceError, match=r"no index of a version from 5 to 8 .*found: 9\)"):
        load(str(tmp_path))
    put(file, json.dumps(manifest(blob())).encode())
    with pytest.raises(SourceError, match=r"found: none\)"):
        load(str(tmp_path))


def test_a_signed_index(tmp_path: Path) -> None:
    """A signed manifest is read, and that its signature was not verified is said once."""
    file = put_layout_3(tmp_path)
    file.write_bytes(signed(file.read_text()))
    report = Report()
    assert load(str(tmp_path), report)[0] == load(str(tmp_path), report)[0] == TEXT
    assert report.warnings == [UNVERIFIED]


def test_no_build_cache(tmp_path: Path) -> None:
    """What is missing, empty, without an index or out of its place is said in so many words."""
    with pytest.raises(SourceError, match="does not exist"):
        load(str(tmp_path / "none"))
    with pytest.raises(SourceError, match=f"holds no build cache: none of {LAYOUT_3_INDEX}"):
        load(str(tmp_path))
    lonely = put(tmp_path / "index.manifest.json", json.dumps(manifest(blob())).encode())
    with pytest.raises(SourceError, match="does not lie below v3/manifests"):
        load(str(lonely))
    put_layout_3(tmp_path / "cache").unlink()
    with pytest.raises(SourceError, match="layout 3 without an index; 'spack buildcache update"):
        load(str(tmp_path / "cache"))


def test_no_build_cache_over_http() -> None:
    """A URL with nothing below it is told from a server that is out of order."""
    with serving() as server:
        with pytest.raises(SourceError, match="holds no build cache"):
            load(server.url)
        with pytest.raises(Missing, match="HTTP 404"):
            load(server.at("/index.json"))
        server[f"/{LAYOUT_3_INDEX}"] = status(500)
        with pytest.raises(SourceError, match="HTTP 500"):
            load(server.url)


def test_holds_index(tmp_path: Path) -> None:
    """A folder is known for a build cache by the files in it."""
    assert not holds_index(tmp_path)
    put_layout_3(tmp_path / "three")
    put_layout_2(tmp_path / "two")
    assert holds_index(tmp_path / "three")
    assert holds_index(tmp_path / "two")
    assert holds_index(tmp_path / "two" / "build_cache")


def test_tarballs() -> None:
    """In layout 2 the URL of a package follows from its spec, if that has a compiler."""
    one = spec(version="git.main=1.0")
    path = "test-debian6-m1/gcc-13.2.0/zlib-git.main_1.0"
    file = f"test-debian6-m1-gcc-13.2.0-zlib-git.main_1.0-{one.hash}.spack"
    assert Cache(2, "https://h/a").tarball(one) == f"https://h/a/build_cache/{path}/{file}"
    assert Cache(2, "/srv/a").tarball(one) == f"file:///srv/a/build_cache/{path}/{file}"
    assert Cache(3, "https://h/a").tarball(one) is None
    facts = {name: getattr(one, name) for name in Spec.__struct_fields__}
    assert Cache(2, "https://h/a").tarball(Spec(**facts | {"compiler": None})) is None
