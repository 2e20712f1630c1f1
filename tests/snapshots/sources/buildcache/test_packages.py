"""Sizes of packages: read from manifests, cached, and unknown without a manifest."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from snapshots.errors import SourceError
from snapshots.models import Spec
from snapshots.sources.buildcache.layouts import (
    UNVERIFIED,
    BinaryPackage,
    BuildCache,
    read_packages,
)
from snapshots.sources.reports import Report
from snapshots.sources.settings import ReadSettings
from snapshots.sources.transport import Transport
from tests.snapshots.factories import a_spec
from tests.snapshots.sources.buildcache.folders import CHECKSUM, blob, manifest, put, signed
from tests.snapshots.sources.buildcache.misbehaving_servers import (
    Reply,
    Server,
    content,
    document,
    late,
    status,
)

PACKAGE = BinaryPackage(1234, f"blobs/sha256/ab/{CHECKSUM}")


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


def test_sizes_are_read_once(server: Server, tmp_path: Path) -> None:
    """Later runs use cached sizes, for any key in the URL; signatures are a warning."""
    specs = some_specs("abcdef")
    for spec in specs:
        serve(server, spec, content(signed(json.dumps(manifest(blob())))))
    report = Report()
    first = packages(server.url, specs, tmp_path, report)
    assert report.warnings == [UNVERIFIED]
    assert server.downloads() == len(first) == 6
    assert packages(f"{server.url}?key=1", [*specs, a_spec("g")], tmp_path) == first
    assert server.downloads() == 7


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


def test_caches_without_sizes(tmp_path: Path) -> None:
    """One warning says that only caches of layout 3 state sizes."""
    report = Report()
    with Transport(ReadSettings(), report, []) as transport:
        specs_by_cache = {None: some_specs("a"), BuildCache(2, str(tmp_path)): some_specs("bc")}
        assert read_packages(specs_by_cache, transport) == {}
    assert report.warnings == ["3 sizes stay unknown: only a build cache of layout 3 states them"]


def test_interrupted_run(server: Server, tmp_path: Path) -> None:
    """Documents that were read before a failure are not read again."""
    specs = some_specs("abcd")
    for spec in specs[:3]:
        serve(server, spec)
    serve(server, specs[3], late(server, status(500)))
    with pytest.raises(SourceError, match="HTTP 500"):
        packages(server.url, specs, tmp_path)
    serve(server, specs[3])
    server.requests.clear()
    assert len(packages(server.url, specs, tmp_path)) == 4
    assert server.downloads() == 1
    with closing(sqlite3.connect(tmp_path / "documents.sqlite3")) as documents:
        assert documents.execute("SELECT count(*) FROM documents").fetchone() == (4,)


def test_skipped_bad_manifest(server: Server) -> None:
    """A manifest without a package is an error, or is skipped."""
    serve(server, a_spec(), document(manifest(blob("application/vnd.spack.spec.v5+json"))))
    with pytest.raises(SourceError, match="names no package"):
        packages(server.url, [a_spec()])
    report = Report(skip_bad=True)
    assert packages(server.url, [a_spec()], report=report) == {}
    assert len(report.skipped) == 1


@pytest.mark.parametrize("damage", ["no database", "another table", "a folder", "a file above"])
def test_unusable_cache(server: Server, tmp_path: Path, damage: str) -> None:
    """Sizes are read without the cache, with one warning that names the file."""
    folder = tmp_path / "cache"
    file = folder / "documents.sqlite3"
    match damage:
        case "no database":
            put(file, b"no database" * 1000)
        case "another table":
            folder.mkdir()
            with closing(sqlite3.connect(file)) as database:
                database.execute("CREATE TABLE documents (id INTEGER)")
        case "a folder":
            file.mkdir(parents=True)
        case "a file above":
            put(folder, b"in the way")
    serve(server, a_spec())
    report = Report()
    assert packages(server.url, [a_spec()], folder, report) == {a_spec().hash: PACKAGE}
    (warning,) = report.warnings
    assert warning.startswith(f"{file}: cannot store documents; delete it if it is damaged: ")
