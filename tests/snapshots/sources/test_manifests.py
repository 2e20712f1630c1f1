"""Manifests: parsing, signed documents, and the sizes of packages."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapshots.errors import SourceError
from snapshots.models import Spec
from snapshots.sources.manifests import (
    UNVERIFIED,
    Package,
    cleartext,
    file_name,
    join,
    link,
    parse_manifest,
    read_packages,
    spec_manifest,
)
from snapshots.sources.reports import Report
from snapshots.sources.transport import ReadSettings, Transport
from tests.snapshots.sources.misbehaving import Server, content, document, late, serving, status

CHECKSUM = "ab" * 32
PACKAGE = "application/vnd.spack.install.v2.tar+gzip"


@pytest.fixture
def server() -> Iterator[Server]:
    """Return a server that replies 404 until told otherwise."""
    with serving() as running:
        yield running


def blob(media_type: str = PACKAGE, **more: Any) -> dict[str, Any]:
    """Return an entry of a manifest."""
    return {
        "contentLength": 1234,
        "mediaType": media_type,
        "compression": "gzip",
        "checksumAlgorithm": "sha256",
        "checksum": CHECKSUM,
    } | more


def manifest(*blobs: dict[str, Any]) -> dict[str, Any]:
    """Return a manifest as a JSON value."""
    return {"version": 3, "data": list(blobs)}


def signed(text: str) -> bytes:
    """Return the text as a clear-signed document."""
    escaped = "\n".join(f"- {line}" if line.startswith("-") else line for line in text.split("\n"))
    return (
        f"-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA512\n\n{escaped}\n"
        f"-----BEGIN PGP SIGNATURE-----\n\niQGzBAEBCgAdFiEE\n-----END PGP SIGNATURE-----\n"
    ).encode()


def spec(digit: str = "a", version: str = "1.0") -> Spec:
    """Return a spec whose hash is one letter over and over."""
    return Spec(
        hash=digit * 32,
        name="zlib",
        version=version,
        compiler="gcc@13.2.0",
        operating_system="debian6",
        platform="test",
        target="m1",
        variants=(),
        stacks=(),
    )


def packages(
    base: str, specs: list[Spec], folder: Path | None = None, report: Report | None = None
) -> dict[str, Package]:
    """Read the packages of specs in one cache."""
    settings = ReadSettings(cache_dir=folder, attempts=2, backoff=0.001, timeout=5)
    report = report or Report()
    with Transport(settings, report) as transport:
        return read_packages({base: specs}, transport, report)


def test_a_manifest() -> None:
    """A manifest lists blobs, which lie below the cache by their checksum."""
    parsed = parse_manifest(json.dumps(manifest(blob())).encode(), "m.json")
    assert [entry.path for entry in parsed.data] == [f"blobs/sha256/ab/{CHECKSUM}"]
    assert parsed.data[0].content_length == 1234
    assert not parsed.signed


def test_a_signed_manifest() -> None:
    """A clear-signed manifest is read as the JSON that was signed."""
    parsed = parse_manifest(signed(json.dumps(manifest(blob()), indent=0)), "m.json")
    assert parsed.signed
    assert len(parsed.data) == 1


@given(st.text(st.characters(codec="ascii", exclude_characters="\r")))
def test_cleartext_is_what_was_signed(text: str) -> None:
    """Signing and reading gives back the text, lines that begin with a dash too."""
    assert cleartext(signed(text), "m.json") == text.encode()


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_cleartext_with_either_line_end(end: str) -> None:
    """The lines of a signed document may end in either way, and it may have no Hash header."""
    text = "-----BEGIN PGP SIGNED MESSAGE-----\n\n{}\n-----BEGIN PGP SIGNATURE-----\n"
    assert cleartext(text.replace("\n", end).encode(), "m.json") == b"{}"


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({"version": 2, "data": []}, "m.json, version: 2 is not 3"),
        ({"version": 3}, "is no manifest: Object missing required field `data`"),
        ([], "is no manifest: Expected `object`"),
        (manifest(blob(contentLength=-1)), "is no manifest: Expected `int` >= 0"),
        (manifest(blob(), blob(checksum="../" * 20)), r"data\[1\].checksum: .* is no sha256"),
        (manifest(blob(checksum=CHECKSUM.upper())), r"data\[0\].checksum: .* is no sha256"),
        (manifest(blob(checksumAlgorithm="md5")), r"checksumAlgorithm: 'md5' is none of sha256"),
        (manifest(blob(compression="zstd")), r"compression: 'zstd' is none of gzip, none"),
    ],
)
def test_bad_manifests(value: Any, reason: str) -> None:
    """What is no manifest, or names a blob that cannot be read or lies elsewhere, is an error."""
    with pytest.raises(SourceError, match=reason):
        parse_manifest(json.dumps(value).encode(), "m.json")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"<html>", "is no manifest: JSON is malformed"),
        (b'{"version": 3, "data": "\xff"}', "is no manifest"),
        (signed("{}")[:60], "breaks off in the middle of its signed text"),
        (signed("{}")[:-80], "breaks off in the middle of its signed text"),
    ],
)
def test_documents_that_are_no_manifests(text: bytes, reason: str) -> None:
    """Text that is no JSON, or that was cut, is an error."""
    with pytest.raises(SourceError, match=reason):
        parse_manifest(text, "m.json")


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        (("py-torch", "2.5.1", "abc"), "py-torch-2.5.1-abc"),
        (("gtk+", "git.release/1=2.0"), "gtk+-git.release_1_2.0"),
    ],
)
def test_file_name(parts: tuple[str, ...], expected: str) -> None:
    """File names are joined by dashes, and what does not fit in one becomes an underscore."""
    assert file_name(*parts) == expected


def test_locations_below_a_cache() -> None:
    """Paths are put below folders and URLs; a URL keeps its query, a folder gives a file URL."""
    assert join("https://host/a/", "b/c") == link("https://host/a", "b/c") == "https://host/a/b/c"
    assert join("https://host/a?key=1", "b") == "https://host/a/b?key=1"
    assert join("/srv/my cache", "b/c") == "/srv/my cache/b/c"
    assert link("/srv/my cache", "b/c") == "file:///srv/my%20cache/b/c"
    assert spec_manifest("https://host", spec()) == (
        f"https://host/v3/manifests/spec/zlib/zlib-1.0-{'a' * 32}.spec.manifest.json"
    )


def test_sizes_in_a_folder(tmp_path: Path) -> None:
    """The package is the blob of its media type, among others."""
    other = blob("application/vnd.spack.spec.v5+json", contentLength=1)
    file = Path(spec_manifest(str(tmp_path), spec()))
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(manifest(other, blob())))
    assert packages(str(tmp_path), [spec()]) == {
        spec().hash: Package(1234, f"blobs/sha256/ab/{CHECKSUM}")
    }


def test_sizes_are_read_once(server: Server, tmp_path: Path) -> None:
    """What one run read, later runs know; signatures are warned of once a run."""
    specs = [spec(letter) for letter in "abcdef"]
    for one in specs:
        path = spec_manifest(server.url, one).removeprefix(server.url)
        server[path] = content(signed(json.dumps(manifest(blob()))))
    report = Report()
    first = packages(server.url, specs, tmp_path, report)
    assert report.warnings == [UNVERIFIED]
    assert server.downloads() == len(first) == 6
    assert packages(server.url, [*specs, spec("g")], tmp_path, Report()) == first
    assert server.downloads() == 7


def test_a_manifest_that_is_not_there(server: Server) -> None:
    """The spec keeps an unknown size, with a warning that names the manifest."""
    report = Report()
    assert packages(server.url, [spec()], report=report) == {}
    (warning,) = report.warnings
    assert warning.startswith(spec_manifest(server.url, spec()))
    assert "HTTP 404" in warning


def test_an_interrupted_reading_goes_on(server: Server, tmp_path: Path) -> None:
    """What was read before a failure need not be read again."""
    specs = [spec(letter) for letter in "abcd"]
    paths = [spec_manifest(server.url, one).removeprefix(server.url) for one in specs]
    for path in paths[:3]:
        server[path] = document(manifest(blob()))
    server[paths[3]] = late(server, status(500))
    with pytest.raises(SourceError, match="HTTP 500"):
        packages(server.url, specs, tmp_path)
    server[paths[3]] = document(manifest(blob()))
    server.asked.clear()
    assert len(packages(server.url, specs, tmp_path)) == 4
    assert server.downloads() == 1
    with closing(sqlite3.connect(tmp_path / "packages.sqlite3")) as known:
        assert known.execute("SELECT count(*) FROM packages").fetchone() == (4,)


def test_bad_manifests_can_be_skipped(server: Server) -> None:
    """A manifest that names no package is an error, or listed where bad places are skipped."""
    path = spec_manifest(server.url, spec()).removeprefix(server.url)
    server[path] = document(manifest(blob("application/vnd.spack.spec.v5+json")))
    with pytest.raises(SourceError, match="names no package"):
        packages(server.url, [spec()])
    report = Report(skip_bad=True)
    assert packages(server.url, [spec()], report=report) == {}
    assert len(report.skipped) == 1


def test_a_damaged_cache_of_sizes(server: Server, tmp_path: Path) -> None:
    """Sizes are read without the cache, with a warning that names the file."""
    file = tmp_path / "packages.sqlite3"
    file.write_bytes(b"no database" * 1000)
    path = spec_manifest(server.url, spec()).removeprefix(server.url)
    server[path] = document(manifest(blob()))
    report = Report()
    assert len(packages(server.url, [spec()], tmp_path, report)) == 1
    assert str(file) in report.warnings[0]


def test_progress_of_sizes(tmp_path: Path) -> None:
    """The report hears how many manifests were read, of how many."""
    heard: list[tuple[str, int, int | None]] = []
    report = Report(progress=lambda *what: heard.append(what))
    packages(str(tmp_path), [spec("a"), spec("b")], report=report)
    assert heard == [("reading sizes", 1, 2), ("reading sizes", 2, 2)]
