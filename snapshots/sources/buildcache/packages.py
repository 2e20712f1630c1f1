"""The sizes of binary packages, from the manifests of a build cache of layout 3."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from snapshots.errors import SourceError
from snapshots.models import Spec
from snapshots.sources.buildcache.caches import OCI, Cache
from snapshots.sources.buildcache.kept_rows import KeptRows
from snapshots.sources.buildcache.locations import is_url, public
from snapshots.sources.buildcache.manifests import Manifest, parse_manifest, warn_if_signed
from snapshots.sources.buildcache.transport import Transport
from snapshots.sources.files import Missing
from snapshots.sources.reports import Report

_PACKAGE = re.compile(r"application/vnd\.spack\.install\.v\d+\.tar\+gzip")
_BATCH = 500

Document = TypeVar("Document")


class Package(msgspec.Struct, frozen=True):
    """The binary of a spec: its size in bytes, and where it lies below the cache."""

    size: int
    path: str


def read_packages(
    specs_by_cache: Mapping[Cache | None, Sequence[Spec]], transport: Transport
) -> dict[str, Package]:
    """Return the package of each spec, by hash, from the manifests in caches of layout 3.

    What was read from a URL is kept in the cache folder for ever, since the manifest of a hash
    never changes; so an interrupted reading goes on where it stopped. Hashes without a manifest are
    left out and warned of. Raises SourceError for a manifest that cannot be read, unless the report
    skips what is bad.
    """
    hash_by_manifest: dict[str, str] = {}
    elsewhere = 0
    for cache, specs in specs_by_cache.items():
        if cache is not None and cache.layout == 3:
            hash_by_manifest |= {cache.spec_manifest(spec): spec.hash for spec in specs}
        elif cache is None or cache.layout != OCI:  # a registry was asked already
            elsewhere += len(specs)
    if elsewhere:
        reason = "only a build cache of layout 3 states them"
        transport.report.warn(f"{elsewhere:,} sizes stay unknown: {reason}")

    def use(manifest: Manifest, location: str) -> Package:
        warn_if_signed(manifest, transport.report)
        return package_of(manifest, location)

    def read(location: str) -> Manifest:
        return parse_manifest(transport.read(location), location)

    return packages_at(hash_by_manifest, read, use, transport)


def packages_at(
    hash_by_manifest: dict[str, str],
    read: Callable[[str], Document],
    use: Callable[[Document, str], Package],
    transport: Transport,
) -> dict[str, Package]:
    """Return the packages that manifests name, by hash, as ``read_packages`` does.

    ``read`` fetches a manifest, in any thread; ``use`` finds the package in it. Both raise
    SourceError, ``read`` also Missing.
    """
    packages: dict[str, Package] = {}
    with KnownPackages(transport.settings.cache_dir, transport.report) as known:
        for location in list(hash_by_manifest):
            package = known.find(location)
            if package is not None:
                packages[hash_by_manifest.pop(location)] = package
        found = _read_all(hash_by_manifest, read, use, transport)
        for location, package in known.keeping(found):
            packages[hash_by_manifest[location]] = package
    return packages


def _read_all(
    locations: Mapping[str, object],
    read: Callable[[str], Document],
    use: Callable[[Document, str], Package],
    transport: Transport,
) -> Iterator[tuple[str, Package]]:
    missing: list[Missing] = []
    for done, (location, result) in enumerate(transport.ahead(read, locations)):
        transport.progress("reading sizes", done, len(locations))
        try:
            yield location, use(result.result(), location)
        except Missing as error:
            missing.append(error)
        except SourceError as error:
            transport.report.bad(error)
    if locations:
        transport.progress("reading sizes", len(locations), len(locations))
    if missing:
        count = f"{len(missing):,} of {len(locations):,} sizes stay unknown"
        transport.report.warn(f"{count}, as their manifests are missing; the first: {missing[0]}")


def package_of(manifest: Manifest, location: str) -> Package:
    """Return the package that a spec's manifest names. Raises SourceError where it names none."""
    for blob in manifest.data:
        if _PACKAGE.fullmatch(blob.media_type):
            return Package(blob.content_length, blob.path)
    raise SourceError(location, "names no package: no application/vnd.spack.install blob")


class KnownPackages(KeptRows):
    """The packages that earlier runs read, by the URL of their manifest."""

    def __init__(self, folder: Path | None, report: Report) -> None:
        super().__init__(
            folder and folder / "packages.sqlite3",
            report,
            what="sizes",
            schema="CREATE TABLE IF NOT EXISTS packages (manifest TEXT PRIMARY KEY, "
            "size INTEGER NOT NULL, path TEXT NOT NULL) WITHOUT ROWID",
        )

    def find(self, manifest: str) -> Package | None:
        """Return what is known of a manifest's package."""
        row = self.row("SELECT size, path FROM packages WHERE manifest = ?", public(manifest))
        return Package(*row) if row else None

    def keeping(self, found: Iterable[tuple[str, Package]]) -> Iterator[tuple[str, Package]]:
        """Yield what was found, and keep it, now and then while it comes in."""
        rows: list[tuple[str, int, str]] = []
        try:
            for manifest, package in found:
                if is_url(manifest):  # a file can be read again, and can change
                    rows.append((public(manifest), package.size, package.path))
                if len(rows) == _BATCH:
                    self._keep(rows)
                yield manifest, package
        finally:
            self._keep(rows)

    def _keep(self, rows: list[tuple[str, int, str]]) -> None:
        statement = "INSERT OR REPLACE INTO packages VALUES (?, ?, ?)"
        self.attempt(lambda database: database.executemany(statement, rows))
        rows.clear()
