"""Build caches of layouts 2 and 3: their indexes, single specs and packages."""

import gzip
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from snapshots.errors import SourceError
from snapshots.models import Spec
from snapshots.sources.buildcache.layouts import (
    LAYOUT_2_INDEX,
    LAYOUT_3_INDEX,
    UNVERIFIED,
    BinaryPackage,
    BuildCache,
    cache_of,
    fetch,
    locate,
    parse_manifest,
    read_packages,
)
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
    put_documents,
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
    documents_of,
    node,
    small_database,
    spec_document,
)
from tests.snapshots.sources.buildcache.misbehaving_servers import (
    Reply,
    Server,
    document,
)
from tests.snapshots.sources.readings import by_hash, snapshots

QUICK = ReadSettings(attempts=1, timeout=5, max_index_bytes=1000)


def load(location: str, report: Report | None = None) -> tuple[bytes | bytearray, str]:
    """Return the text and the version of the index at a location."""
    with Transport(QUICK, report or Report(), [location]) as transport:
        return fetch(locate(location, transport), transport).load(transport)


@pytest.mark.parametrize(
    ("location", "cache"),
    [
        ("https://h/a/build_cache/index.json", BuildCache(2, "https://h/a/")),
        ("https://h/build_cache/a/index.json", None),
        ("https://h/a/index.json", None),
        ("https://h/a/v3/manifests/index/index.manifest.json", BuildCache(3, "https://h/a")),
        ("https://h/a/v3/manifests/index/view/index.manifest.json", BuildCache(3, "https://h/a")),
        ("https://h/v3/manifests/index/index.manifest.json", BuildCache(3, "https://h/")),
        ("/srv/a/v3/manifests/index/index.manifest.json", BuildCache(3, "/srv/a")),
    ],
)
def test_cache_of_an_index(location: str, cache: BuildCache | None) -> None:
    """The path of an index determines its build cache."""
    assert cache_of(location) == cache


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


def test_signed_index(tmp_path: Path) -> None:
    """A signed manifest is read, not an index of layout 2; one warning says it is not verified."""
    put_layout_2(tmp_path, b"old")
    file = put_layout_3(tmp_path)
    file.write_bytes(signed(file.read_text()))
    report = Report()
    assert load(str(tmp_path), report)[0] == load(str(tmp_path), report)[0] == EMPTY_INDEX
    assert report.warnings == [UNVERIFIED]


@pytest.mark.parametrize(
    ("location", "reason"),
    [
        ("{tmp}/none", "does not exist"),
        ("{tmp}", f"has no build cache: none of {LAYOUT_3_INDEX}"),
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


# -- manifests: parsing, and signed documents


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({"version": 2, "data": []}, "m.json, version: invalid enum value 2"),
        (manifest(blob(contentLength=-1)), r"data\[0\].contentLength: expected `int` >= 0"),
        (manifest(blob(contentLength=1 << 63)), r"data\[0\].contentLength: expected `int` <= 1"),
        (manifest(blob(), blob(checksum="../" * 20)), r"data\[1\]: '.*' is not a sha256"),
        (manifest(blob(checksumAlgorithm="md5")), "checksumAlgorithm: invalid enum value 'md5'"),
        (signed("{}")[:60], "breaks off in the middle of its signed text"),
        (signed("{}")[:-80], "breaks off in the middle of its signed text"),
    ],
)
def test_invalid_manifests(value: Any, reason: str) -> None:
    """A document of another form, truncated, or with an unreadable blob is an error."""
    with pytest.raises(SourceError, match=reason):
        parse_manifest(value if isinstance(value, bytes) else text(value), "m.json")


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


# -- a cache without an index


def test_specs_are_read_one_by_one(tmp_path: Path) -> None:
    """They have sizes and packages; the version changes with the specs, not with the signature."""
    files = put_specs(tmp_path, small_database())
    report = Report()
    (listed,) = snapshots(tmp_path, "mine", report=report)
    assert report.warnings == []
    files[LIBELF].write_bytes(signed(files[LIBELF].read_text()))
    (again,) = snapshots(tmp_path, "mine", report=report)
    assert report.warnings == [UNVERIFIED]
    sizes = {digest: spec.size for digest, spec in by_hash(listed).items()}
    assert sizes == {WRAPPER: 0, RUNTIME: 1, LIBELF: 2}
    checksums = {spec.checksum for spec in listed.content.specs()}
    assert checksums == {f"sha256:{'ab' * 32}"}
    tarball = by_hash(listed)[LIBELF].tarball
    assert tarball == (tmp_path / "blobs/sha256/ab" / ("ab" * 32)).as_uri()
    assert listed.source == again.source
    assert listed.source.location == str(tmp_path)
    files[LIBELF].unlink()
    (fewer,) = snapshots(tmp_path, "mine")
    assert fewer.source.version != listed.source.version


SPEC = "application/vnd.spack.spec.v5+json"


def spec_blob(data: bytes) -> dict[str, Any]:
    """Return the manifest entry of a document with its checksum."""
    return blob(SPEC, checksum=hashlib.sha256(data).hexdigest())


NAME = f"libelf-0.8.13-{LIBELF}.spec.manifest.json"
OTHER, BAD, BOMB = (
    gzip.compress(data)
    for data in (
        text(spec_document(node("gcc", GCC))),
        text(spec_document(node("libelf", LIBELF, version=""))),
        bytes(100_000),
    )
)


@pytest.mark.parametrize(
    ("data", "name", "reason"),
    [
        (manifest(blob(), spec_blob(OTHER)), NAME, f"is '{GCC}', but .* as that of '{LIBELF}'"),
        (manifest(blob(), blob(SPEC, checksum="d" * 64)), NAME, r"blobs/.*: its sha256 is .* says"),
        (manifest(blob(), blob(SPEC)), NAME, r"manifest.json: names the blob .*: does not exist"),
        (manifest(blob(), spec_blob(BOMB)), NAME, "contains more than 99,999 bytes"),
        (manifest(blob(), spec_blob(BAD)), NAME, r"json, spec.nodes\[0\].version: is empty"),
        (manifest(blob()), NAME, "names no spec: no application/vnd.spack.spec blob"),
        (manifest(spec_blob(OTHER)), NAME, "names no package"),
        (manifest(), "libelf-abc.spec.manifest.json", "has no hash in its name"),
        (manifest(), f"z-1-{WRAPPER}.spec.manifest.json", r"is of the spec that .* is of, too"),
    ],
)
def test_bad_specs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: Any, name: str, reason: str
) -> None:
    """Each is an error that names it, or is skipped."""
    monkeypatch.setattr("snapshots.sources.buildcache.layouts.DOCUMENT_BYTES", 99_999)
    file = put_specs(tmp_path, small_database())[LIBELF]
    file.unlink()
    put(file.with_name(name), text(data))
    for stored in (OTHER, BAD, BOMB):
        put_blob(tmp_path, stored, SPEC)
    put(tmp_path / "blobs" / "sha256" / "dd" / ("d" * 64), OTHER)
    with pytest.raises(SourceError, match=reason):
        snapshots(tmp_path, "mine")
    report = Report(skip_bad=True)
    (snapshot,) = snapshots(tmp_path, "mine", report=report)
    assert set(by_hash(snapshot)) == {RUNTIME, WRAPPER}
    assert len(report.skipped) == 1


# -- sizes of packages


PACKAGE = BinaryPackage(1234, f"blobs/sha256/ab/{CHECKSUM}", f"sha256:{CHECKSUM}")


def packages(
    base: str | Path, specs: list[Spec], folder: Path | None = None, report: Report | None = None
) -> dict[str, BinaryPackage]:
    """Read the packages of specs in a cache of layout 3."""
    settings = ReadSettings(cache_dir=folder, attempts=2, backoff=0.001, timeout=5)
    with Transport(settings, report or Report(), [str(base)]) as transport:
        return read_packages({BuildCache(3, str(base)): specs}, transport)


def serve(server: Server, spec: Spec, reply: Reply | None = None) -> None:
    """Serve the manifest of a spec."""
    path = BuildCache(3, "http://host").spec_manifest(spec).removeprefix("http://host")
    server[path] = reply or document(manifest(blob()))


def some_specs(labels: str) -> list[Spec]:
    """Return a spec per letter."""
    return [a_spec(label) for label in labels]


def test_missing_manifests(server: Server) -> None:
    """Sizes stay unknown, with one warning that counts them and names the first."""
    steps: list[tuple[str, int, int | None]] = []
    report = Report(progress=lambda *step: steps.append(step))
    specs = some_specs("abc")
    serve(server, specs[1])
    assert packages(server.url, specs, report=report) == {specs[1].hash: PACKAGE}
    first = BuildCache(3, server.url).spec_manifest(specs[0])
    (warning,) = report.warnings
    count = "2 of 3 sizes stay unknown, as their manifests are missing"
    assert warning.startswith(f"{count}; the first: {first}: HTTP 404")
    assert steps == [("reading sizes", done, 3) for done in range(4)]


@pytest.mark.parametrize("is_signed", [False, True])
def test_documents_of_layout_2(tmp_path: Path, is_signed: bool) -> None:
    """Specs are read from their documents, signed or not, with the checksums of their binaries."""
    put_documents(tmp_path, small_database(), is_signed=is_signed)
    report = Report()
    (listed,) = snapshots(tmp_path, "mine", report=report)
    assert report.warnings == ([UNVERIFIED] if is_signed else [])
    specs = by_hash(listed)
    assert set(specs) == {WRAPPER, RUNTIME, LIBELF}
    assert [spec.name for spec in listed.content.outside.specs] == ["gcc"]
    document = documents_of(small_database())[LIBELF]
    assert specs[LIBELF].checksum == f"sha256:{hashlib.sha256(text(document)).hexdigest()}"
    assert (specs[LIBELF].tarball or "").endswith(f"libelf-0.8.13-{LIBELF}.spack")
    put_layout_2(tmp_path, text(small_database()))
    (indexed,) = snapshots(tmp_path, "mine")
    assert {digest: replace(spec, checksum=None) for digest, spec in specs.items()} == by_hash(
        indexed
    )
