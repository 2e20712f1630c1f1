"""Build caches of layout 3 without an index: what is listed and read, and what is refused."""

import gzip
import json
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
from tests.snapshots.sources.buildcache.readings import by_hash, snapshots, stacks_of


def test_specs_are_read_one_by_one(tmp_path: Path) -> None:
    """They say what an index of the same cache says, and their sizes besides."""
    put_specs(tmp_path / "listed", small_database())
    put_layout_3(tmp_path / "indexed", text(small_database()))
    ((one,), (other,)) = (snapshots(tmp_path / name, "mine") for name in ("listed", "indexed"))
    sizes = {digest: spec.size for digest, spec in by_hash(one).items()}
    assert sizes == {WRAPPER: 0, RUNTIME: 1, LIBELF: 2}
    bare = [replace(spec, size=None, tarball=None) for spec in one.content.specs()]
    assert bare == list(other.content.specs())
    assert one.content.outside.specs == other.content.outside.specs
    tarball = by_hash(one)[LIBELF].tarball
    assert tarball == (tmp_path / "listed" / "blobs/sha256/ab" / ("ab" * 32)).as_uri()
    assert one.source.location == str(tmp_path / "listed")


def test_the_version_is_that_of_the_specs(tmp_path: Path) -> None:
    """It stays as long as no spec comes or goes."""
    files = put_specs(tmp_path, small_database())
    versions = [snapshots(tmp_path, "mine")[0].source.version for _ in range(2)]
    assert versions[0] == versions[1]
    files[LIBELF].unlink()
    assert snapshots(tmp_path, "mine")[0].source.version != versions[0]


def test_a_stack_without_an_index(tmp_path: Path) -> None:
    """A list may name such caches beside others; sizes are asked for where they are unknown."""
    put_specs(tmp_path / "e4s", small_database())
    put_layout_3(tmp_path / "hep", text(small_database()))
    stacks = [{"label": label, "url": label} for label in ("e4s", "hep")]
    file = put(tmp_path / "list.json", text({"develop": stacks}))
    report = Report()
    (snapshot,) = snapshots(file, sizes=True, report=report)
    assert stacks_of(snapshot)[LIBELF] == ("e4s", "hep")
    assert by_hash(snapshot)[LIBELF].size == 2
    assert report.warnings == []


def test_signed_manifests(tmp_path: Path) -> None:
    """They are read, and that nobody verified them is said once."""
    for file in put_specs(tmp_path, small_database()).values():
        file.write_bytes(signed(file.read_text()))
    report = Report()
    (snapshot,) = snapshots(tmp_path, "mine", report=report)
    assert len(snapshot.content) == 3
    assert report.warnings == [UNVERIFIED]


def another_spec(folder: Path, file: Path) -> None:
    """Let a manifest name the document of another spec."""
    document = gzip.compress(text(spec_document(node("gcc", GCC))))
    found = put_blob(folder, document, "application/vnd.spack.spec.v5+json")
    file.write_bytes(text(manifest(blob(), found)))


def another_checksum(folder: Path, file: Path) -> None:
    """Damage the blob of a spec."""
    found = json.loads(file.read_bytes())["data"][1]["checksum"]
    (folder / "blobs" / "sha256" / found[:2] / found).write_bytes(gzip.compress(b"{}"))


def no_blob(folder: Path, file: Path) -> None:
    """Delete the blob of a spec."""
    found = json.loads(file.read_bytes())["data"][1]["checksum"]
    (folder / "blobs" / "sha256" / found[:2] / found).unlink()


def a_bomb(folder: Path, file: Path) -> None:
    """Let the blob of a spec unpack to more than any spec has."""
    found = put_blob(folder, gzip.compress(bytes(65 << 20)), "application/vnd.spack.spec.v5+json")
    file.write_bytes(text(manifest(blob(), found)))


def no_spec(_: Path, file: Path) -> None:
    """Let a manifest name no document."""
    file.write_bytes(text(manifest(blob())))


def no_package(_: Path, file: Path) -> None:
    """Let a manifest name no package."""
    file.write_bytes(text(manifest(json.loads(file.read_bytes())["data"][1])))


def no_manifest(_: Path, file: Path) -> None:
    """Let a manifest be cut."""
    file.write_bytes(file.read_bytes()[:-1])


def no_hash(_: Path, file: Path) -> None:
    """Name a manifest by no hash."""
    file.rename(file.with_name("libelf-0.8.13-abc.spec.manifest.json"))


def one_hash_twice(folder: Path, file: Path) -> None:
    """Have another manifest of the same hash."""
    put(folder / "v3/manifests/spec/z" / f"z-1-{LIBELF}.spec.manifest.json", file.read_bytes())
    put(file, b"")


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (another_spec, f"is '{GCC}', but the document is published as that of '{LIBELF}'"),
        (another_checksum, r"blobs/sha256/.*: its sha256 is [0-9a-f]{64}, but .*json says"),
        (no_blob, r"spec.manifest.json: names the blob .*: does not exist"),
        (a_bomb, "holds more than 67,108,864 bytes"),
        (no_spec, "names no spec: no application/vnd.spack.spec blob"),
        (no_package, "names no package"),
        (no_manifest, "is no good JSON"),
        (no_hash, "abc.spec.manifest.json: has no hash in its name"),
    ],
)
def test_bad_specs(tmp_path: Path, spoil: Any, reason: str) -> None:
    """Each is refused by its name; where it may be left out, the others are read."""
    spoil(tmp_path, put_specs(tmp_path, small_database())[LIBELF])
    with pytest.raises(SourceError, match=reason):
        snapshots(tmp_path, "mine")
    report = Report(skip_bad=True)
    (snapshot,) = snapshots(tmp_path, "mine", report=report)
    assert set(by_hash(snapshot)) == {RUNTIME, WRAPPER}
    assert len(report.skipped) == 1


def test_a_hash_with_two_manifests(tmp_path: Path) -> None:
    """Nothing says which of them counts."""
    one_hash_twice(tmp_path, put_specs(tmp_path, small_database())[LIBELF])
    with pytest.raises(SourceError, match=r"z-1-.*: is of the spec that .*libelf-.* is of, too"):
        snapshots(tmp_path, "mine")


def test_a_cache_without_anything(tmp_path: Path) -> None:
    """What has neither an index nor a spec is no empty revision, but a mistake."""
    put(tmp_path / "v3" / "layout.json", b"{}")
    with pytest.raises(SourceError, match="cannot be read: No such file"):
        snapshots(tmp_path, "mine")
    put(tmp_path / "v3/manifests/spec/readme.txt", b"")
    with pytest.raises(SourceError, match="holds no specs, and the build cache has no index"):
        snapshots(tmp_path, "mine")


def test_too_many_specs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A list that is longer than any cache's is not read to its end."""
    put_specs(tmp_path, small_database())
    monkeypatch.setattr("snapshots.sources.transport._LISTED_MAX", 2)
    with pytest.raises(SourceError, match="holds more than 2 files"):
        snapshots(tmp_path, "mine")


def test_progress_of_specs(tmp_path: Path) -> None:
    """The progress tells how many specs were read, of how many."""
    put_specs(tmp_path, small_database())
    heard: list[tuple[str, int, int | None]] = []
    snapshots(tmp_path, "mine", report=Report(progress=lambda *what: heard.append(what)))
    assert heard == [(f"reading the specs of {tmp_path}", done, 3) for done in range(4)]
