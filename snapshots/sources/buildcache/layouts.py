"""Where the index of a build cache lies: layouts 2 and 3 below a folder or URL, or a file itself.

Source: Spack's documentation of build caches. Layout 2 (before Spack 1.0) has
``build_cache/index.json`` and its sha256 beside it; layout 3 has a manifest that names the index
as a blob, which is found by its checksum. Public lists name such blobs themselves.
"""

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path

import msgspec

from snapshots.errors import InvalidArgument, SourceError
from snapshots.sources.buildcache.bodies import Body
from snapshots.sources.buildcache.caches import Cache
from snapshots.sources.buildcache.databases import VERSIONS
from snapshots.sources.buildcache.locations import is_url, join, path_of, with_path
from snapshots.sources.buildcache.manifests import Blob, Manifest, parse_manifest, warn_if_signed
from snapshots.sources.buildcache.responses import Forbidden
from snapshots.sources.buildcache.transport import Transport
from snapshots.sources.files import Missing
from snapshots.spack.names import is_name
from snapshots.wording import quoted

_LAYOUT_3_INDEXES = "v3/manifests/index"
_MANIFEST = "index.manifest.json"

LAYOUT_3_INDEX = f"{_LAYOUT_3_INDEXES}/{_MANIFEST}"
LAYOUT_2_INDEX = "build_cache/index.json"

INSTALLATION_INDEX = ".spack-db/index.json"
"""Where an installation has its database, below the folder of its install tree."""

_INDEX_FILES = (
    LAYOUT_3_INDEX,
    LAYOUT_2_INDEX,
    "index.json",
    _MANIFEST,
    INSTALLATION_INDEX,
)
_LAYOUT_3_MARK = "v3/layout.json"
_LAYOUT_3_SPECS = "v3/manifests/spec"
_VIEW_INDEX = re.compile(rf".*/{_LAYOUT_3_INDEXES}/(?P<view>[^/]+)/{re.escape(_MANIFEST)}")
_MOST_VIEWS = 20
_INDEX_BLOB = re.compile(r"application/vnd\.spack\.db\.v(\d+)\+json")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_BLOB = re.compile(
    r"(?P<base>.*)/blobs/(?P<algorithm>sha256|sha384|sha512)/"
    r"(?P<start>[0-9a-f]{2})/(?P<checksum>(?P=start)[0-9a-f]+)"
)


class Place(msgspec.Struct, frozen=True):
    """A file that should be an index or its manifest, and the build cache that it belongs to.

    Where the cache has no index, it is the folder with the manifests of its specs, ``is_listed``.
    """

    location: str
    cache: Cache | None
    is_listed: bool = False


class Checksum(msgspec.Struct, frozen=True):
    """What the checksum of an index should be, and who says so."""

    algorithm: str
    value: str
    stated_by: str


class FetchedIndex(msgspec.Struct, frozen=True, kw_only=True):
    """An index on disk, not yet unpacked and checked.

    ``older`` are those of older versions that the same manifest lists, newest first.
    """

    place: Place
    body: Body
    checksum: Checksum | None = None
    compression: str | None = "none"
    manifest: Manifest | None = None
    older: "tuple[FetchedIndex, ...]" = ()

    def load(self, transport: Transport) -> tuple[bytearray, str]:
        """Return the database's JSON text and its version: an ETag, or ``ALGORITHM:CHECKSUM``.

        The version stands for the older ones, too; their texts are loaded by themselves. This can
        be done once. Raises SourceError where the checksum is another one, or the text is
        longer than the settings allow.
        """
        if self.manifest is not None:
            warn_if_signed(self.manifest, transport.report)
        stated = self.checksum
        algorithm = stated.algorithm if stated else "sha256"
        with self.body.forgotten_if_bad():
            data, found = self.body.load(
                limit=transport.settings.max_index_bytes,
                compression=self.compression,
                algorithm=algorithm,
            )
            if stated and found != stated.value:
                reason = f"its {algorithm} is {found}, but {stated.stated_by} says {stated.value}"
                hint = "it is damaged, or was replaced while it was read: try again"
                raise SourceError(self.body.location, f"{reason}; {hint}")
        if self.manifest is None and self.body.etag:
            return data, self.body.etag
        if not self.older:
            return data, f"{algorithm}:{found}"
        checksums = [found, *(it.checksum.value for it in self.older if it.checksum)]
        return data, f"sha256:{hashlib.sha256(' '.join(checksums).encode()).hexdigest()}"


def holds_index(folder: Path) -> bool:
    """Tell whether a folder looks like a build cache; nothing is opened. Raises OSError."""
    return any((folder / file).is_file() for file in (*_INDEX_FILES, _LAYOUT_3_MARK))


def locate(location: str, transport: Transport) -> Place:
    """Find the index below a folder or URL.

    A file, a URL that ends in .json, and one of a blob are taken as an index themselves. The
    settings may name a view, the smaller index of a cache. Raises SourceError where none is there.
    """
    view = transport.settings.view
    if _is_document(location, transport):
        if view is not None:
            reason = "is a file; --view names a view of a build cache: give its folder or URL"
            raise SourceError(location, reason)
        return Place(location, cache_of(location))
    if view is not None:
        return _view(location, view, transport)
    for file in _INDEX_FILES:
        candidate = join(location, file)
        if transport.exists(candidate):
            return Place(candidate, cache_of(candidate))
    if transport.exists(join(location, _LAYOUT_3_MARK)):
        folder = join(location, _LAYOUT_3_SPECS)
        if transport.can_list(folder):
            return Place(folder, cache_of(join(location, LAYOUT_3_INDEX)), is_listed=True)
        reason = "is a build cache of layout 3 without an index, and HTTP lists no specs"
        advice = "read it at its s3:// URL or in its folder, or have an index made of it by"
        raise SourceError(location, f"{reason}; {advice} 'spack buildcache update-index'")
    if not is_url(location) and not Path(location).exists():
        raise SourceError(location, "does not exist")
    if transport.can_list(location) and is_url(location):
        try:
            transport.read(join(location, LAYOUT_3_INDEX))
        except Forbidden as error:  # HEAD, by which the files were looked for, says no reasons
            raise SourceError(location, error.reason) from None
        except Missing:
            pass
    raise SourceError(location, f"holds no build cache: none of {', '.join(_INDEX_FILES)} is there")


def view_index(view: str) -> str:
    """Return where a build cache has the index of a view. Raises InvalidArgument."""
    if not is_name(view):
        raise InvalidArgument("--view", f"{quoted(view)} cannot name a view")
    return f"{_LAYOUT_3_INDEXES}/{view}/{_MANIFEST}"


def _view(location: str, view: str, transport: Transport) -> Place:
    """Find the index of a view; where there is none, say which views there are."""
    file = join(location, view_index(view))
    if transport.exists(file):
        return Place(file, cache_of(file))
    folder = join(location, _LAYOUT_3_INDEXES)
    if not transport.can_list(folder):
        advice = f"HTTP lists none; look for folders below {_LAYOUT_3_INDEXES}"
        raise SourceError(location, f"has no view {quoted(view)}, and {advice}")
    try:
        paths = [path_of(found.location) for found in transport.listing(folder)]
    except SourceError:
        paths = []
    views = [match["view"] for path in paths if (match := _VIEW_INDEX.fullmatch(path))]
    if not views:
        reason = f"has no view {quoted(view)}, and no other; leave --view out to read the whole"
        raise SourceError(location, reason)
    known = ", ".join(views[:_MOST_VIEWS])
    raise SourceError(location, f"has no view {quoted(view)}; those there are: {known}")


def cache_of(location: str) -> Cache | None:
    """Return the build cache that an index, a manifest or a blob lies in, as its path tells."""
    path = path_of(location)
    if blob := _BLOB.fullmatch(path):
        return Cache(3, with_path(location, blob["base"] or "/"))
    base, manifest, _ = path.rpartition("/v3/manifests/")
    if manifest:
        return Cache(3, with_path(location, base or "/"))
    if path.endswith(f"/{LAYOUT_2_INDEX}"):
        return Cache(2, with_path(location, path.removesuffix(LAYOUT_2_INDEX)))
    return None


def fetch(place: Place, transport: Transport) -> FetchedIndex:
    """Download the index at a place to disk. Raises Missing or SourceError."""
    path = path_of(place.location)
    if path.endswith(".manifest.json"):
        return _fetch_blob(place, transport)
    if place.cache and (blob := _BLOB.fullmatch(path)):
        return FetchedIndex(
            place=place,
            # A new index has another name: it takes the place of the one before it.
            body=transport.fetch(place.location, key=join(place.cache.base, "blobs")),
            checksum=Checksum(blob["algorithm"], blob["checksum"], "its name"),
            compression=None,
        )
    return FetchedIndex(
        place=place,
        body=transport.fetch(place.location),
        checksum=_hash_file(place.location, transport) if place.cache else None,
    )


def is_blob(location: str) -> bool:
    """Tell whether a location is that of a blob in a build cache, named by its checksum."""
    return _BLOB.fullmatch(path_of(location)) is not None


def _is_document(location: str, transport: Transport) -> bool:
    if is_url(location):
        return path_of(location).endswith(".json") or is_blob(location)
    return transport.exists(location)


def _fetch_blob(place: Place, transport: Transport) -> FetchedIndex:
    if place.cache is None:
        raise SourceError(place.location, "is a manifest that does not lie below v3/manifests")
    manifest = parse_manifest(transport.read(place.location), place.location)
    indexes: list[FetchedIndex] = []
    for version, blob in _indexes(manifest, place.location).items():
        url = join(place.cache.base, blob.path)
        key = f"{place.location}#{version}" if indexes else place.location
        try:
            body = transport.fetch(url, key=key)
        except Missing as error:
            raise SourceError(place.location, f"names the blob {url}: {error.reason}") from None
        indexes.append(
            FetchedIndex(
                place=place,
                body=body,
                checksum=Checksum(blob.checksum_algorithm, blob.checksum, place.location),
                compression=blob.compression,
                manifest=manifest,
            )
        )
    newest, *older = indexes
    return msgspec.structs.replace(newest, older=tuple(older))


def _indexes(manifest: Manifest, location: str) -> Mapping[str, Blob]:
    """Return the indexes that can be read by their versions, the newest first.

    Spacks of several releases write to one cache, each the index of its own version: none of them
    need hold all. Raises SourceError where there is none.
    """
    indexes = {
        match[1]: blob
        for blob in manifest.data
        if (match := _INDEX_BLOB.fullmatch(blob.media_type))
    }
    if readable := {it: indexes[it] for it in reversed(VERSIONS) if it in indexes}:
        return readable
    reason = f"names no index of a version from {VERSIONS[0]} to {VERSIONS[-1]}"
    reason += f" (versions found: {', '.join(indexes) or 'none'})"
    if any(int(version) > int(VERSIONS[-1]) for version in indexes):
        reason += "; newer ones take a newer cachelog"
    raise SourceError(location, reason)


def _hash_file(location: str, transport: Transport) -> Checksum | None:
    """Return the sha256 that lies beside an index of layout 2, if one does."""
    file = with_path(location, f"{path_of(location)}.hash")
    try:
        value = transport.read(file).decode("ascii", "replace").strip()
    except Missing:
        return None
    if _SHA256.fullmatch(value) is None:
        raise SourceError(file, f"is no sha256: {value[:80]!r}")
    return Checksum("sha256", value, file)
