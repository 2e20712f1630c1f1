"""Where the index of a build cache lies: layouts 2 and 3 below a folder or URL, or a file itself.

Source: Spack's documentation of build caches. Layout 2 (before Spack 1.0) has
``build_cache/index.json`` and its sha256 beside it; layout 3 has a manifest that names the index
as a blob, which is found by its checksum.
"""

import re
from pathlib import Path

import msgspec

from snapshots.errors import SourceError
from snapshots.models import Spec
from snapshots.sources.index import VERSIONS
from snapshots.sources.manifests import (
    Manifest,
    file_name,
    join,
    link,
    parse_manifest,
    path_of,
    warn_if_signed,
    with_path,
)
from snapshots.sources.reports import Report
from snapshots.sources.transport import Body, Missing, Transport, is_url

LAYOUT_3_INDEX = "v3/manifests/index/index.manifest.json"
LAYOUT_2_INDEX = "build_cache/index.json"

_INDEX_FILES = (LAYOUT_3_INDEX, LAYOUT_2_INDEX, "index.json", "index.manifest.json")
_LAYOUT_3_MARK = "v3/layout.json"
_INDEX_BLOB = re.compile(r"application/vnd\.spack\.db\.v(\d+)\+json")


class Cache(msgspec.Struct, frozen=True):
    """A build cache: the version of its layout, and the folder or URL that holds it all."""

    layout: int
    base: str

    def tarball(self, spec: Spec) -> str | None:
        """Return the URL of a spec's package if it follows from the spec.

        It does in layout 2, whose paths name the compiler; None for a spec that has none.
        """
        if self.layout != 2 or spec.compiler is None:
            return None
        arch = file_name(spec.platform, spec.operating_system, spec.target)
        compiler = file_name(*spec.compiler.split("@", 1))
        package = file_name(spec.name, spec.version)
        file = f"{file_name(arch, compiler, package, spec.hash)}.spack"
        return link(self.base, f"build_cache/{arch}/{compiler}/{package}/{file}")


class Place(msgspec.Struct, frozen=True):
    """A file that should be an index or its manifest, and the build cache that it belongs to."""

    location: str
    cache: Cache | None


class Checksum(msgspec.Struct, frozen=True):
    """What the checksum of an index should be, and who says so."""

    algorithm: str
    value: str
    stated_by: str


class FetchedIndex(msgspec.Struct, frozen=True, kw_only=True):
    """An index on disk, not yet unpacked and checked."""

    place: Place
    body: Body
    checksum: Checksum | None = None
    compression: str = "none"
    manifest: Manifest | None = None

    def load(self, limit: int, report: Report) -> tuple[bytearray, str]:
        """Return the database's JSON text and its version: an ETag, or ``ALGORITHM:CHECKSUM``.

        Raises SourceError where the checksum is another one, or the text exceeds ``limit`` bytes.
        """
        if self.manifest is not None:
            warn_if_signed(self.manifest, report)
        stated = self.checksum
        algorithm = stated.algorithm if stated else "sha256"
        with self.body.discarded_if_bad():
            data, found = self.body.load(
                limit=limit, compression=self.compression, algorithm=algorithm
            )
            if stated and found != stated.value:
                reason = f"its {algorithm} is {found}, but {stated.stated_by} says {stated.value}"
                hint = "it is damaged, or was replaced while it was read: try again"
                raise SourceError(self.body.location, f"{reason}; {hint}")
        self.body.release()
        if self.manifest is None and self.body.etag:
            return data, self.body.etag
        return data, f"{algorithm}:{found}"


def locate(location: str, transport: Transport) -> Place:
    """Find the index below a folder or URL; a file, or a URL that ends in .json, is taken as one.

    Raises SourceError where none is there.
    """
    if is_document(location):
        return Place(location, cache_of(location))
    for file in _INDEX_FILES:
        candidate = join(location, file)
        if transport.exists(candidate):
            return Place(candidate, cache_of(candidate))
    if transport.exists(join(location, _LAYOUT_3_MARK)):
        reason = "is a build cache of layout 3 without an index"
        raise SourceError(location, f"{reason}; 'spack buildcache update-index' makes one")
    if not is_url(location) and not Path(location).exists():
        raise SourceError(location, "does not exist")
    raise SourceError(location, f"holds no build cache: none of {', '.join(_INDEX_FILES)} is there")


def is_document(location: str) -> bool:
    """Tell whether the location is that of one file: a URL that ends in .json, or a local file."""
    return path_of(location).endswith(".json") if is_url(location) else Path(location).is_file()


def holds_index(folder: Path) -> bool:
    """Tell whether a folder looks like a build cache; nothing is opened."""
    return any((folder / file).is_file() for file in (*_INDEX_FILES, _LAYOUT_3_MARK))


def cache_of(location: str) -> Cache | None:
    """Return the build cache that an index or manifest lies in, as its path tells."""
    path = path_of(location)
    base, manifest, _ = path.rpartition("/v3/manifests/")
    if manifest:
        return Cache(3, with_path(location, base or "/"))
    if path.endswith(f"/{LAYOUT_2_INDEX}"):
        return Cache(2, with_path(location, path.removesuffix(LAYOUT_2_INDEX)))
    return None


def fetch(place: Place, transport: Transport) -> FetchedIndex:
    """Bring the index at a place to disk. Raises Missing or SourceError."""
    if not path_of(place.location).endswith("manifest.json"):
        return FetchedIndex(
            place=place,
            body=transport.fetch(place.location),
            checksum=_hash_file(place.location, transport),
        )
    if place.cache is None:
        raise SourceError(place.location, "is a manifest that does not lie below v3/manifests")
    manifest = parse_manifest(transport.read(place.location), place.location)
    versions = {
        int(match[1]): blob
        for blob in manifest.data
        if (match := _INDEX_BLOB.fullmatch(blob.media_type))
    }
    readable = [version for version in versions if str(version) in VERSIONS]
    if not readable:
        found = ", ".join(map(str, sorted(versions))) or "none"
        reason = f"names no index of a version from {VERSIONS[0]} to {VERSIONS[-1]}"
        raise SourceError(place.location, f"{reason} (versions found: {found})")
    blob = versions[max(readable)]
    url = join(place.cache.base, blob.path)
    try:
        body = transport.fetch(url, key=place.location)
    except Missing as error:
        raise SourceError(place.location, f"names the blob {url}: {error.reason}") from None
    return FetchedIndex(
        place=place,
        body=body,
        checksum=Checksum(blob.checksum_algorithm, blob.checksum, place.location),
        compression=blob.compression,
        manifest=manifest,
    )


def _hash_file(location: str, transport: Transport) -> Checksum | None:
    """Return the sha256 that lies beside an index of layout 2, if one does."""
    file = with_path(location, f"{path_of(location)}.hash")
    try:
        value = bytes(transport.read(file)).decode("ascii", "replace").strip()
    except Missing:
        return None
    if re.fullmatch(r"[0-9a-f]{64}", value) is None:
        raise SourceError(file, f"is no sha256: {value[:80]!r}")
    return Checksum("sha256", value, file)
