"""Indexes of build caches in layout 2, in layout 3 and in neither."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapshots.errors import SourceError
from snapshots.sources.buildcache.layouts import (
    LAYOUT_2_INDEX,
    LAYOUT_3_INDEX,
    UNVERIFIED,
    BuildCache,
    IndexPlace,
    cache_of,
    cleartext,
    fetch,
    locate,
    parse_manifest,
)
from snapshots.sources.inputs import Missing
from snapshots.sources.reports import Report
from snapshots.sources.settings import ReadSettings
from snapshots.sources.transport import Transport
from tests.snapshots.factories import a_spec, hash_of
from tests.snapshots.sources.buildcache.folders import (
    CHECKSUM,
    EMPTY_INDEX,
    blob,
    manifest,
    put,
    put_blob,
    put_layout_2,
    put_layout_3,
    signed,
    text,
)
from tests.snapshots.sources.buildcache.misbehaving_servers import Server, content, status

QUICK = ReadSettings(attempts=1, timeout=5, max_index_bytes=1000)


def load(location: str, report: Report | None = None) -> tuple[bytearray, str]:
    """Return the text and the version of the index at a location."""
    with Transport(QUICK, report or Report(), [location]) as transport:
        return fetch(locate(location, transport), transport).load(transport)


def test_layout_3_comes_first(tmp_path: Path) -> None:
    """If a cache has both layouts, the index of layout 3 is read."""
    put_layout_2(tmp_path, b"old")
    put_layout_3(tmp_path)
    assert load(str(tmp_path))[0] == EMPTY_INDEX


@pytest.mark.parametrize(
    ("location", "cache"),
    [
        ("https://h/a/build_cache/index.json", BuildCache(2, "https://h/a/")),
        ("https://h/a/build_cache/index.json?key=1", BuildCache(2, "https://h/a/?key=1")),
        ("https://h/build_cache/a/index.json", None),
        ("https://h/a/index.json", None),
        ("https://h/a/v3/manifests/index/index.manifest.json", BuildCache(3, "https://h/a")),
        ("https://h/a/v3/manifests/index/view/index.manifest.json", BuildCache(3, "https://h/a")),
        ("https://h/v3/manifests/index/index.manifest.json", BuildCache(3, "https://h/")),
        ("/srv/a/build_cache/index.json", BuildCache(2, "/srv/a/")),
        ("/srv/a/v3/manifests/index/index.manifest.json", BuildCache(3, "/srv/a")),
    ],
)
def test_cache_of_an_index(location: str, cache: BuildCache | None) -> None:
    """The path of an index determines its build cache."""
    assert cache_of(location) == cache


def test_plain_index(tmp_path: Path) -> None:
    """A file of any name, or index.json in a folder, is of no cache."""
    file = put(tmp_path / "index.json", EMPTY_INDEX)
    with Transport(ReadSettings(), Report(), []) as transport:
        assert locate(str(tmp_path), transport) == IndexPlace(str(file), None)
        other = put(tmp_path / "database", EMPTY_INDEX)
        assert locate(str(other), transport) == IndexPlace(str(other), None)
        url = "https://host/tags.json?now"
        assert locate(url, transport) == IndexPlace(url, None)


def test_version_of_a_plain_index(server: Server) -> None:
    """The version is the ETag, and no checksum is requested."""
    server["/index.json"] = content(EMPTY_INDEX, etag='"abc"')
    assert load(server.at("/index.json"))[1] == '"abc"'
    assert server.requests == ["GET /index.json"]


def test_checksum_of_layout_2(tmp_path: Path) -> None:
    """The sha256 next to the index is verified if it exists."""
    put_layout_2(tmp_path, checked=False)
    assert load(str(tmp_path))[0] == EMPTY_INDEX
    put_layout_2(tmp_path).write_bytes(EMPTY_INDEX + b" ")
    reason = r"its sha256 is [0-9a-f]{64}, but .*index.json.hash says [0-9a-f]{64}; .*try again"
    with pytest.raises(SourceError, match=reason):
        load(str(tmp_path))
    put(tmp_path / f"{LAYOUT_2_INDEX}.hash", b"<html>")
    with pytest.raises(SourceError, match="is not a sha256: '<html>'"):
        load(str(tmp_path))


def test_checksum_of_layout_3(tmp_path: Path) -> None:
    """A blob with another checksum is an error with both checksums."""
    file = put_layout_3(tmp_path)
    entry = json.loads(file.read_bytes())["data"][0]
    damaged = tmp_path / "blobs" / "sha256" / entry["checksum"][:2] / entry["checksum"]
    damaged.write_bytes(gzip.compress(EMPTY_INDEX + b" "))
    with pytest.raises(SourceError, match=f"manifest.json says {entry['checksum']}") as caught:
        load(str(tmp_path))
    assert caught.value.location == str(damaged)
    damaged.unlink()
    with pytest.raises(SourceError, match=r"names the blob .*: does not exist"):
        load(str(tmp_path))


@pytest.mark.parametrize("compression", ["gzip", "none"])
def test_all_readable_indexes(tmp_path: Path, compression: str) -> None:
    """All supported versions of a manifest are read, the newest first."""
    entries = []
    for version in (8, 9, 10):
        index = f"version {version}".encode()
        data = gzip.compress(index) if compression == "gzip" else index
        media_type = f"application/vnd.spack.db.v{version}+json"
        entries.append(put_blob(tmp_path, data, media_type, compression=compression))
    file = tmp_path / LAYOUT_3_INDEX
    put(file, text(manifest(*entries)))
    with Transport(ReadSettings(), Report(), []) as transport:
        fetched = fetch(locate(str(tmp_path), transport), transport)
        of_both = fetched.load(transport)
        assert of_both[0] == b"version 9"
        assert [index.load(transport)[0] for index in fetched.older] == [b"version 8"]
    put(file, text(manifest(entries[1])))
    of_one = load(str(tmp_path))
    assert of_one[0] == b"version 9"
    assert of_one[1] != of_both[1]
    put(file, text(manifest(entries[2])))
    with pytest.raises(SourceError, match=r"from 5 to 9 .*found: 10\); newer ones need a newer"):
        load(str(tmp_path))
    put(file, text(manifest(blob())))
    with pytest.raises(SourceError, match=r"found: none\)$"):
        load(str(tmp_path))


def test_signed_index(tmp_path: Path) -> None:
    """A signed manifest is read, with one warning that it is not verified."""
    file = put_layout_3(tmp_path)
    file.write_bytes(signed(file.read_text()))
    report = Report()
    assert load(str(tmp_path), report)[0] == load(str(tmp_path), report)[0] == EMPTY_INDEX
    assert report.warnings == [UNVERIFIED]


@pytest.mark.parametrize(
    ("location", "reason"),
    [
        ("{tmp}/none", "does not exist"),
        ("{tmp}", f"holds no build cache: none of {LAYOUT_3_INDEX}"),
        ("{tmp}/index.manifest.json", "does not lie below v3/manifests"),
        # In Python 3.14 the path does not exist.
        ("/" + "a" * 5000, "cannot be read: File name too long|does not exist"),
        ("a\0b", "."),
    ],
    ids=["missing", "empty", "out of place", "too long", "no path"],
)
def test_no_build_cache(tmp_path: Path, location: str, reason: str) -> None:
    """The error says what is missing, empty, or out of place."""
    if "manifest" in location:
        put(tmp_path / "index.manifest.json", text(manifest(blob())))
    with pytest.raises(SourceError, match=reason):
        load(location.format(tmp=tmp_path))


def test_no_build_cache_over_http(server: Server) -> None:
    """The error distinguishes a URL without a cache from a server that fails."""
    with pytest.raises(SourceError, match="holds no build cache"):
        load(server.url)
    with pytest.raises(Missing, match="HTTP 404"):
        load(server.at("/index.json"))
    server["/v3/layout.json"] = content(b"{}")
    reason = "layout 3 without an index, and HTTP lists no specs; .* s3:// .*update-index'"
    with pytest.raises(SourceError, match=reason):
        load(server.url)
    server[f"/{LAYOUT_3_INDEX}"] = status(500)
    with pytest.raises(SourceError, match="HTTP 500"):
        load(server.url)


# -- manifests: parsing, and signed documents


@pytest.mark.parametrize("is_signed", [False, True])
def test_manifest(is_signed: bool) -> None:
    """A manifest, signed or not, lists blobs by their checksums."""
    document = json.dumps(manifest(blob()), indent=0)
    parsed = parse_manifest(signed(document) if is_signed else document.encode(), "m.json")
    assert [entry.path for entry in parsed.data] == [f"blobs/sha256/ab/{CHECKSUM}"]
    assert parsed.data[0].content_length == 1234
    assert parsed.signed is is_signed


@given(st.text(st.characters(codec="ascii", exclude_characters="\r")))
def test_cleartext_is_what_was_signed(document: str) -> None:
    """The cleartext is the signed text, with dash-escaped lines restored.

    Lines may have either ending, and the Hash header may be missing.
    """
    assert cleartext(signed(document), "m.json") == document.encode()
    bare = b"-----BEGIN PGP SIGNED MESSAGE-----\n\n{}\n-----BEGIN PGP SIGNATURE-----\n"
    for end in (b"\n", b"\r\n"):
        assert cleartext(bare.replace(b"\n", end), "m.json") == b"{}"


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({"version": 2, "data": []}, "m.json, version: invalid enum value 2"),
        ({"version": 3}, "m.json, data: is missing"),
        ([], "m.json: expected `object`"),
        (manifest(blob(contentLength=-1)), r"data\[0\].contentLength: expected `int` >= 0"),
        (manifest(blob(contentLength=1 << 63)), r"data\[0\].contentLength: expected `int` <= 1"),
        (manifest(blob(), blob(checksum="../" * 20)), r"data\[1\]: '.*' is not a sha256"),
        (manifest(blob(checksum=CHECKSUM.upper())), r"data\[0\]: '.*' is not a sha256"),
        (manifest(blob(checksumAlgorithm="md5")), "checksumAlgorithm: invalid enum value 'md5'"),
        (manifest(blob(compression="zstd")), "compression: invalid enum value 'zstd'"),
    ],
)
def test_invalid_manifests(value: Any, reason: str) -> None:
    """A document of another form, or with an unreadable blob, is an error."""
    with pytest.raises(SourceError, match=reason):
        parse_manifest(text(value), "m.json")


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        (b"<html>", "is not valid JSON: JSON is malformed"),
        (
            text(manifest(blob("?"))).replace(b"?", b"\xff"),
            "is not valid JSON: .*codec can't decode",
        ),
        (b'{"more": ' + b"[" * 1_000_000, "is nested too deeply"),
        (signed("{}")[:60], "breaks off in the middle of its signed text"),
        (signed("{}")[:-80], "breaks off in the middle of its signed text"),
    ],
)
def test_malformed_manifests(document: bytes, reason: str) -> None:
    """Invalid JSON and truncated text are errors."""
    with pytest.raises(SourceError, match=reason):
        parse_manifest(document, "m.json")


# -- locations of packages and manifests


DIGEST = hash_of("a")
PLATFORM = "linux-ubuntu22.04-x86_64_v3"
WITH_GCC = (
    f"build_cache/{PLATFORM}/gcc-13.2.0/hdf5-git.main_1.0/"
    f"{PLATFORM}-gcc-13.2.0-hdf5-git.main_1.0-{DIGEST}.spack"
)
WITHOUT = (
    f"build_cache/{PLATFORM}/none-none/hdf5-1.14.5/{PLATFORM}-none-none-hdf5-1.14.5-{DIGEST}.spack"
)


@pytest.mark.parametrize(
    ("cache", "facts", "tarball"),
    [
        (BuildCache(2, "https://h/a"), {"version": "git.main=1.0"}, f"https://h/a/{WITH_GCC}"),
        (BuildCache(2, "/srv/my a"), {"version": "git.main=1.0"}, f"file:///srv/my%20a/{WITH_GCC}"),
        (BuildCache(2, "https://h/a"), {"compiler": None}, f"https://h/a/{WITHOUT}"),
        (BuildCache(2, "https://h/a?key=1"), {"compiler": None}, f"https://h/a/{WITHOUT}"),
        (BuildCache(2, "https://h/a"), {"compiler": ".."}, None),
        (BuildCache(3, "https://h/a"), {}, None),
    ],
)
def test_packages_of_layout_2(
    cache: BuildCache, facts: dict[str, Any], tarball: str | None
) -> None:
    """The URL follows from the facts of a spec, without the query of the cache."""
    assert cache.tarball(a_spec(**facts)) == tarball


MANIFEST = f"v3/manifests/spec/hdf5/hdf5-1.14.5-{DIGEST}.spec.manifest.json"


@pytest.mark.parametrize(
    ("base", "manifest"),
    [
        ("https://h/", f"https://h/{MANIFEST}"),
        ("https://h/a?key=1", f"https://h/a/{MANIFEST}?key=1"),
        ("/srv/my a", f"/srv/my a/{MANIFEST}"),
    ],
)
def test_manifests_of_layout_3(base: str, manifest: str) -> None:
    """The location follows from name, version and hash, with the query of the cache."""
    assert BuildCache(3, base).spec_manifest(a_spec()) == manifest
