"""Build caches of layout 3 without an index: their specs, and errors."""

import gzip
import hashlib
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from snapshots.errors import SourceError
from snapshots.sources.buildcache.layouts import UNVERIFIED
from snapshots.sources.reports import Report
from tests.snapshots.sources.buildcache.folders import (
    blob,
    manifest,
    put,
    put_blob,
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
    node,
    small_database,
    spec_document,
)
from tests.snapshots.sources.buildcache.readings import by_hash, snapshots


def test_specs_are_read_one_by_one(tmp_path: Path) -> None:
    """They equal those of an index, and have sizes; the version changes with the specs."""
    files = put_specs(tmp_path / "listed", small_database())
    put_layout_3(tmp_path / "indexed", text(small_database()))
    listed, again, indexed = (
        snapshots(tmp_path / name, "mine")[0] for name in ("listed", "listed", "indexed")
    )
    sizes = {digest: spec.size for digest, spec in by_hash(listed).items()}
    assert sizes == {WRAPPER: 0, RUNTIME: 1, LIBELF: 2}
    bare = [replace(spec, size=None, tarball=None) for spec in listed.content.specs()]
    assert bare == list(indexed.content.specs())
    assert listed.content.outside.specs == indexed.content.outside.specs
    tarball = by_hash(listed)[LIBELF].tarball
    assert tarball == (tmp_path / "listed" / "blobs/sha256/ab" / ("ab" * 32)).as_uri()
    assert listed.source == again.source
    assert listed.source.location == str(tmp_path / "listed")
    files[LIBELF].unlink()
    (fewer,) = snapshots(tmp_path / "listed", "mine")
    assert fewer.source.version != listed.source.version


def test_signed_manifests(tmp_path: Path) -> None:
    """They are read with one warning that they are not verified; each is a step of progress."""
    for file in put_specs(tmp_path, small_database()).values():
        file.write_bytes(signed(file.read_text()))
    steps: list[tuple[str, int, int | None]] = []
    report = Report(progress=lambda *step: steps.append(step))
    (snapshot,) = snapshots(tmp_path, "mine", report=report)
    assert len(snapshot.content) == 3
    assert report.warnings == [UNVERIFIED]
    assert steps == [(f"reading the specs of {tmp_path}", done, 3) for done in range(4)]


SPEC = "application/vnd.spack.spec.v5+json"


def document(data: bytes) -> dict[str, Any]:
    """Return the manifest entry of a document with its checksum."""
    return blob(SPEC, checksum=hashlib.sha256(data).hexdigest())


NAME = f"libelf-0.8.13-{LIBELF}.spec.manifest.json"
OTHER, BOMB = (
    gzip.compress(data) for data in (text(spec_document(node("gcc", GCC))), bytes(100_000))
)


@pytest.mark.parametrize(
    ("data", "name", "reason"),
    [
        (manifest(blob(), document(OTHER)), NAME, f"is '{GCC}', but .* as that of '{LIBELF}'"),
        (
            manifest(blob(), blob(SPEC, checksum="d" * 64)),
            NAME,
            r"blobs/sha256/.*: its sha256 is [0-9a-f]{64}, but .*json says",
        ),
        (
            manifest(blob(), blob(SPEC)),
            NAME,
            r"spec.manifest.json: names the blob .*: does not exist",
        ),
        (manifest(blob(), document(BOMB)), NAME, "holds more than 99,999 bytes"),
        (manifest(blob()), NAME, "names no spec: no application/vnd.spack.spec blob"),
        (manifest(document(OTHER)), NAME, "names no package"),
        ([], NAME, "expected `object`"),
        (manifest(), "libelf-abc.spec.manifest.json", "has no hash in its name"),
        (
            manifest(),
            f"z-1-{WRAPPER}.spec.manifest.json",
            r"libelf/z-1-.*: is of the spec that .*compiler-wrapper-.* is of, too",
        ),
    ],
)
def test_bad_specs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: Any, name: str, reason: str
) -> None:
    """Each is an error that names it, or is skipped."""
    monkeypatch.setattr("snapshots.sources.buildcache.layouts._DOCUMENT_BYTES", 99_999)
    file = put_specs(tmp_path, small_database())[LIBELF]
    file.unlink()
    put(file.with_name(name), text(data))
    for stored in (OTHER, BOMB):
        put_blob(tmp_path, stored, SPEC)
    put(tmp_path / "blobs" / "sha256" / "dd" / ("d" * 64), OTHER)
    with pytest.raises(SourceError, match=reason):
        snapshots(tmp_path, "mine")
    report = Report(skip_bad=True)
    (snapshot,) = snapshots(tmp_path, "mine", report=report)
    assert set(by_hash(snapshot)) == {RUNTIME, WRAPPER}
    assert len(report.skipped) == 1


def test_empty_cache(tmp_path: Path) -> None:
    """A cache with neither an index nor specs is an error, not an empty revision."""
    put(tmp_path / "v3" / "layout.json", b"{}")
    with pytest.raises(SourceError, match="cannot be read: No such file"):
        snapshots(tmp_path, "mine")
    put(tmp_path / "v3/manifests/spec/readme.txt", b"")
    with pytest.raises(SourceError, match="holds no specs, and the build cache has no index"):
        snapshots(tmp_path, "mine")
