"""Build caches of layouts 2 and 3: locations of the index, single specs and binary packages.

Source: Spack's documentation of build caches, and the layouts that Spack writes. Layout 2 (before
Spack 1.0) has ``build_cache/index.json`` with a file of its sha256. Layout 3 has a manifest that
names the index as a blob, whose path contains its checksum. Public lists name such blobs directly.
A file can also be an index.

A cache of layout 3 without an index has ``v3/manifests/spec/NAME/NAME-VERSION-HASH
.spec.manifest.json`` for each spec, which names the blobs of the spec and of its package; one of
layout 2 has ``build_cache/ARCH-COMPILER-NAME-VERSION-HASH.spec.json``, or ``.spec.json.sig`` if it
is signed. These are listed, and the specs are read one by one.
"""

import hashlib
import re
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Literal, TypeVar

import msgspec

from snapshots.errors import SourceError
from snapshots.models import SIZE_MAX, Spec
from snapshots.sources.buildcache.database import VERSIONS, IndexSpecs, SpecDocuments
from snapshots.sources.downloads import DocumentCache, StoredBody, unpacked
from snapshots.sources.file_kinds import cleartext, is_signed
from snapshots.sources.inputs import AccessDenied, Missing, decode_json, named_by
from snapshots.sources.locations import is_url, join, link, path_of, public, with_path
from snapshots.sources.reports import Report
from snapshots.sources.transport import RemoteFile, Transport
from snapshots.spack.names import checked_binary_checksum

# -- caches

OCI = "oci"
"""The layout of a build cache that is a repository of an OCI registry."""

_NO_COMPILER = "none@none"
_INVALID = re.compile(r"[^A-Za-z0-9_+.-]")


class BuildCache(msgspec.Struct, frozen=True):
    """A build cache: its layout version or ``OCI``, and the folder or URL that contains it."""

    layout: int | str
    base: str

    def tarball(self, spec: Spec) -> str | None:
        """Return the URL of a spec's package if it follows from the spec.

        This is the case in layout 2, whose paths contain the compiler and its version, or
        ``none-none`` for a spec without a compiler. None for other layouts, and for a compiler
        without a version.
        """
        name, _, version = (spec.compiler or _NO_COMPILER).partition("@")
        if self.layout != 2 or not version:
            return None
        arch = file_name(spec.platform, spec.operating_system, spec.target)
        compiler = file_name(name, version)
        package = file_name(spec.name, spec.version)
        file = f"{file_name(arch, compiler, package, spec.hash)}.spack"
        return link(self.base, f"build_cache/{arch}/{compiler}/{package}/{file}")

    def spec_manifest(self, spec: Spec) -> str:
        """Return the location of a spec's manifest in layout 3."""
        name = file_name(spec.name, spec.version, spec.hash)
        path = f"v3/manifests/spec/{file_name(spec.name)}/{name}.spec.manifest.json"
        return join(self.base, path)


def file_name(*parts: str) -> str:
    """Join parts of a file name like Spack: with ``-``, and ``_`` for invalid characters."""
    return _INVALID.sub("_", "-".join(parts))


# -- manifests

UNVERIFIED = "some manifests are signed; cachelog does not verify signatures"


class Blob(msgspec.Struct, frozen=True, rename="camel"):
    """An entry of a manifest; ``content_length`` is the size of the stored blob in bytes.

    Raises ValueError for an invalid checksum.
    """

    content_length: Annotated[int, msgspec.Meta(ge=0, le=SIZE_MAX)]
    media_type: str
    checksum: str
    checksum_algorithm: Literal["sha256", "sha384", "sha512"] = "sha256"
    compression: Literal["gzip", "none"] = "none"

    def __post_init__(self) -> None:
        digits = int(self.checksum_algorithm.removeprefix("sha")) // 4
        if re.fullmatch(rf"[0-9a-f]{{{digits}}}", self.checksum) is None:
            raise ValueError(f"{self.checksum!r} is not a {self.checksum_algorithm}")

    @property
    def path(self) -> str:
        """The path of the blob in the cache: ``blobs/ALGORITHM/XX/CHECKSUM``."""
        return f"blobs/{self.checksum_algorithm}/{self.checksum[:2]}/{self.checksum}"


class BlobManifest(msgspec.Struct, frozen=True):
    """The blobs of an index, or of a spec and its package."""

    version: Literal[3]
    data: list[Blob]
    signed: bool = False


def parse_manifest(document: bytes | bytearray, location: str) -> BlobManifest:
    """Parse a manifest, signed or not; the signature is not verified.

    Raises SourceError if it is not a manifest, or names an unreadable blob.
    """
    manifest = decode_json(cleartext(document, location), BlobManifest, location)
    return msgspec.structs.replace(manifest, signed=is_signed(document))


def warn_if_signed(report: Report, *, is_signed: bool) -> None:
    """Warn, once per import, that signatures are not verified."""
    if is_signed and UNVERIFIED not in report.warnings:
        report.warn(UNVERIFIED)


# -- location of the index

_LAYOUT_3_INDEXES = "v3/manifests/index"
_MANIFEST = "index.manifest.json"

LAYOUT_3_INDEX = f"{_LAYOUT_3_INDEXES}/{_MANIFEST}"
LAYOUT_2_INDEX = "build_cache/index.json"

INSTALLATION_INDEX = ".spack-db/index.json"
"""The path of an installation's database, below the folder of its install tree."""

_INDEX_FILES = (LAYOUT_3_INDEX, LAYOUT_2_INDEX, "index.json", _MANIFEST, INSTALLATION_INDEX)
_LAYOUT_3_MARK = "v3/layout.json"
_LAYOUT_2_SPECS = "build_cache"
_LAYOUT_3_SPECS = "v3/manifests/spec"
_VIEW_INDEX = re.compile(rf".*/{_LAYOUT_3_INDEXES}/[^/]+/{re.escape(_MANIFEST)}")
_INDEX_BLOB = re.compile(r"application/vnd\.spack\.db\.v(\d+)\+json")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_BLOB = re.compile(
    r"(?P<base>.*)/blobs/(?P<algorithm>sha256|sha384|sha512)/"
    r"(?P<start>[0-9a-f]{2})/(?P<checksum>(?P=start)[0-9a-f]+)"
)


class IndexLocation(msgspec.Struct, frozen=True):
    """The location of an index or its manifest, and the build cache that it belongs to.

    If the cache has no index, ``is_listed`` is true, and the location is the folder of the specs'
    manifests, or of their documents in layout 2.
    """

    location: str
    cache: BuildCache | None
    is_listed: bool = False


class Checksum(msgspec.Struct, frozen=True):
    """The expected checksum of an index or a document, and the location that states it."""

    algorithm: str
    value: str
    stated_by: str

    def check(self, data: bytes | bytearray, location: str) -> None:
        """Raise SourceError if the checksum of the data at a location is different."""
        self.compare(hashlib.new(self.algorithm, data).hexdigest(), location)

    def compare(self, actual: str, location: str) -> None:
        """Raise SourceError if a computed checksum is different."""
        if actual != self.value:
            reason = f"its {self.algorithm} is {actual}, but {self.stated_by} says {self.value}"
            hint = "it is damaged, or was replaced while it was read: try again"
            raise SourceError(location, f"{reason}; {hint}")


class FetchedIndex(msgspec.Struct, frozen=True, kw_only=True):
    """An index on disk, not yet decompressed and verified.

    ``older`` are the indexes of older versions in the same manifest, newest first.
    """

    body: StoredBody
    checksum: Checksum | None = None
    compression: str | None = "none"
    manifest: BlobManifest | None = None
    older: "tuple[FetchedIndex, ...]" = ()

    def load(self, transport: Transport) -> tuple[bytes | bytearray, str]:
        """Return the database's JSON text and its version: an ETag, or ``ALGORITHM:CHECKSUM``.

        The version covers the older indexes, too; their texts are loaded separately. This can be
        called only once. Raises SourceError if the checksum is different, or if the text is longer
        than the settings allow.
        """
        if self.manifest is not None:
            warn_if_signed(transport.report, is_signed=self.manifest.signed)
        stated = self.checksum
        algorithm = stated.algorithm if stated else "sha256"
        data, checksum = self.body.load(
            limit=transport.settings.max_index_bytes,
            compression=self.compression,
            algorithm=algorithm,
        )
        if stated:
            stated.compare(checksum, self.body.location)
        if self.manifest is None and self.body.etag:
            return data, self.body.etag
        if not self.older:
            return data, f"{algorithm}:{checksum}"
        checksums = [checksum, *(index.checksum.value for index in self.older if index.checksum)]
        return data, f"sha256:{hashlib.sha256(' '.join(checksums).encode()).hexdigest()}"


def looks_like_build_cache(folder: Path) -> bool:
    """Return whether a folder looks like a build cache, without opening files. Raises OSError."""
    if any((folder / file).is_file() for file in (*_INDEX_FILES, _LAYOUT_3_MARK)):
        return True
    specs = folder / _LAYOUT_2_SPECS
    return specs.is_dir() and any(_DOCUMENT.fullmatch(file.name) for file in specs.iterdir())


def locate(location: str, transport: Transport) -> IndexLocation:
    """Find the index below a folder or URL.

    A file, a URL that ends in .json, and the URL of a blob are themselves the index. Raises
    SourceError if there is no index.
    """
    if _is_document(location, transport):
        return IndexLocation(location, cache_of(location))
    for file in _INDEX_FILES:
        candidate = join(location, file)
        if transport.exists(candidate):
            return IndexLocation(candidate, cache_of(candidate))
    if transport.exists(join(location, _LAYOUT_3_MARK)):
        folder = join(location, _LAYOUT_3_SPECS)
        if transport.can_list(folder):
            return IndexLocation(folder, cache_of(join(location, LAYOUT_3_INDEX)), is_listed=True)
        reason = "is a build cache of layout 3 without an index, and HTTP lists no specs"
        advice = "read its s3:// URL or its folder, or create an index with"
        raise SourceError(location, f"{reason}; {advice} 'spack buildcache update-index'")
    if not is_url(location) and not Path(location).exists():
        raise SourceError(location, "does not exist")
    folder = join(location, _LAYOUT_2_SPECS)
    if transport.can_list(folder) and (is_url(location) or Path(folder).is_dir()):
        with suppress(SourceError):  # that there is no index is the better reason
            if any(_DOCUMENT.fullmatch(file.location) for file in transport.listing(folder)):
                cache = cache_of(join(location, LAYOUT_2_INDEX))
                return IndexLocation(folder, cache, is_listed=True)
    if transport.can_list(location) and is_url(location):
        try:
            transport.read(join(location, LAYOUT_3_INDEX))
        except AccessDenied as error:  # the HEAD requests above have no reason in their responses
            raise SourceError(location, error.reason) from None
        except Missing:
            pass
    raise SourceError(location, f"has no build cache: none of {', '.join(_INDEX_FILES)} is there")


def is_view(location: str) -> bool:
    """Return whether a location is that of a view's index, which has a part of its build cache."""
    return _VIEW_INDEX.fullmatch(path_of(location)) is not None


def cache_of(location: str) -> BuildCache | None:
    """Return the build cache of an index, manifest or blob, as determined by its path."""
    path = path_of(location)
    if blob := _BLOB.fullmatch(path):
        return BuildCache(3, with_path(location, blob["base"] or "/"))
    base, manifest, _ = path.rpartition("/v3/manifests/")
    if manifest:
        return BuildCache(3, with_path(location, base or "/"))
    if path.endswith(f"/{LAYOUT_2_INDEX}"):
        return BuildCache(2, with_path(location, path.removesuffix(LAYOUT_2_INDEX)))
    return None


def fetch(index: IndexLocation, transport: Transport) -> FetchedIndex:
    """Download an index to disk. Raises Missing or SourceError."""
    path = path_of(index.location)
    if path.endswith(".manifest.json"):
        return _fetch_blob(index, transport)
    if index.cache and (blob := _BLOB.fullmatch(path)):
        return FetchedIndex(
            # A new index has another name. It replaces the previous one under this key.
            body=transport.fetch(index.location, key=join(index.cache.base, "blobs")),
            checksum=Checksum(blob["algorithm"], blob["checksum"], "its name"),
            compression=None,
        )
    return FetchedIndex(
        body=transport.fetch(index.location),
        checksum=_hash_file(index.location, transport) if index.cache else None,
        compression=None,
    )


def is_blob(location: str) -> bool:
    """Return whether a location is that of a blob in a build cache, named by its checksum."""
    return _BLOB.fullmatch(path_of(location)) is not None


def _is_document(location: str, transport: Transport) -> bool:
    if is_url(location):
        return path_of(location).endswith((".json", ".json.gz")) or is_blob(location)
    return transport.exists(location)


def _fetch_blob(index: IndexLocation, transport: Transport) -> FetchedIndex:
    if index.cache is None:
        raise SourceError(index.location, "is a manifest that does not lie below v3/manifests")
    manifest = parse_manifest(transport.read(index.location), index.location)
    indexes: list[FetchedIndex] = []
    for version, blob in _indexes(manifest, index.location).items():
        url = join(index.cache.base, blob.path)
        key = f"{index.location}#{version}" if indexes else index.location
        with named_by(index.location, f"the blob {url}"):
            body = transport.fetch(url, key=key)
        indexes.append(
            FetchedIndex(
                body=body,
                checksum=Checksum(blob.checksum_algorithm, blob.checksum, index.location),
                compression=blob.compression,
                manifest=manifest,
            )
        )
    newest, *older = indexes
    return msgspec.structs.replace(newest, older=tuple(older))


def _indexes(manifest: BlobManifest, location: str) -> Mapping[str, Blob]:
    """Return the supported indexes by version, newest first.

    Different versions of Spack that write to one cache each write their own index, none of which
    needs to be complete. Raises SourceError if there is none.
    """
    indexes = {
        match[1]: blob
        for blob in manifest.data
        if (match := _INDEX_BLOB.fullmatch(blob.media_type))
    }
    if readable := {
        version: indexes[version] for version in reversed(VERSIONS) if version in indexes
    }:
        return readable
    reason = f"names no index of a version from {VERSIONS[0]} to {VERSIONS[-1]}"
    reason += f" (versions found: {', '.join(indexes) or 'none'})"
    if any(int(version) > int(VERSIONS[-1]) for version in indexes):
        reason += "; newer ones need a newer cachelog"
    raise SourceError(location, reason)


def _hash_file(location: str, transport: Transport) -> Checksum | None:
    """Return the sha256 in the file next to an index of layout 2, if it exists."""
    file = with_path(location, f"{path_of(location)}.hash")
    try:
        value = transport.read(file).decode("ascii", "replace").strip()
    except Missing:
        return None
    if _SHA256.fullmatch(value) is None:
        raise SourceError(file, f"is not a sha256: {value[:80]!r}")
    return Checksum("sha256", value, file)


# -- manifests of many specs


class SpecManifest(msgspec.Struct, frozen=True):
    """The location of a spec's manifest, and its key in the cache folder; None if not stored."""

    digest: str
    location: str
    key: str | None


Result = TypeVar("Result")


def read_each(
    task: str,
    manifests: Iterable[SpecManifest],
    read: Callable[[str], Result | None],
    shape: type[Result],
    use: Callable[[SpecManifest, Result], object],
    transport: Transport,
) -> None:
    """Call ``use`` with each manifest and what ``read`` returns for its location, unless None.

    ``read`` is called in several threads at a time, but not for manifests of which an earlier run
    stored the result, a ``shape``. A SourceError of either is passed to ``report.bad``; ``task`` is
    the name for progress.
    """
    settings, report = transport.settings, transport.report
    unread: list[SpecManifest] = []
    with DocumentCache(settings.cache_dir, settings.cache_bytes, report) as cache:
        for manifest in manifests:
            packed = cache.find(manifest.key) if manifest.key else None
            try:
                data = zlib.decompress(packed or b"")  # its checksum detects damage
                result = msgspec.msgpack.decode(data, type=shape)
            except (zlib.error, msgspec.DecodeError):
                unread.append(manifest)
                continue
            try:
                use(manifest, result)
            except SourceError as error:
                report.bad(error)

        def use_and_keep(manifest: SpecManifest, result: Result | None) -> None:
            if result is not None:
                use(manifest, result)
                if manifest.key:
                    cache.keep(manifest.key, zlib.compress(msgspec.msgpack.encode(result)))

        transport.each(
            task, lambda manifest: read(manifest.location), unread, len(unread), use_and_keep
        )


# -- binary packages


class BinaryPackage(msgspec.Struct, frozen=True):
    """The binary package of a spec, as the document of the spec or its manifest states it.

    - size: Its size in bytes.
    - path: Its path in the cache.
    - checksum: ALGORITHM:CHECKSUM.
    """

    size: int | None = None
    path: str | None = None
    checksum: str | None = None


def read_packages(
    specs_by_cache: Mapping[BuildCache | None, Sequence[Spec]], transport: Transport
) -> dict[str, BinaryPackage]:
    """Return the package of each spec, by hash, from the manifests in caches of layout 3.

    Results from URLs are stored in the cache folder, so that an interrupted import continues where
    it stopped. Manifests in buckets are listed, and changed ones are read again. Hashes without a
    manifest are omitted, with a warning. Raises SourceError for an unreadable manifest, unless the
    report skips bad ones.
    """
    manifests: list[SpecManifest] = []
    elsewhere = 0
    for cache, specs in specs_by_cache.items():
        if cache is not None and cache.layout == 3:
            versions = _versions_of_manifests(cache, transport)
            for spec in specs:
                location = cache.spec_manifest(spec)
                manifests.append(package_manifest(spec, location, versions.get(location)))
        elif cache is None or cache.layout != OCI:  # a registry's sizes have been read before
            elsewhere += len(specs)
    if elsewhere:
        reason = "only a build cache of layout 3 states them"
        transport.report.warn(f"{elsewhere:,} sizes stay unknown: {reason}")

    signed: set[bool] = set()

    def read(location: str) -> BinaryPackage:
        manifest = parse_manifest(transport.read(location), location)
        signed.add(manifest.signed)
        return package_of(manifest, location)

    packages = packages_at(manifests, read, transport)
    warn_if_signed(transport.report, is_signed=True in signed)
    return packages


def package_manifest(spec: Spec, location: str, version: str | None = None) -> SpecManifest:
    """Return the manifest of a spec at a location, which changes with the version if it has one.

    The package in a file is not stored: a file can be read again, and can change.
    """
    key = " ".join(filter(None, ("binary", public(location), version)))
    return SpecManifest(spec.hash, location, key if is_url(location) else None)


def _versions_of_manifests(cache: BuildCache, transport: Transport) -> Mapping[str, str | None]:
    """Return the versions of the manifests in a bucket, by location; empty for other caches."""
    folder = join(cache.base, _LAYOUT_3_SPECS)
    if not (is_url(folder) and transport.can_list(folder)):
        return {}
    with suppress(SourceError):  # a bucket may be readable without being listable
        return {file.location: file.version for file in transport.listing(folder)}
    return {}


def packages_at(
    manifests: Sequence[SpecManifest],
    read: Callable[[str], BinaryPackage],
    transport: Transport,
) -> dict[str, BinaryPackage]:
    """Return the packages that manifests name, by hash, like ``read_packages``.

    ``read`` fetches the manifest at a location and finds the package in it, in any thread. It
    raises SourceError and Missing.
    """
    packages: dict[str, BinaryPackage] = {}
    missing: dict[str, Missing] = {}

    def read_if_there(location: str) -> BinaryPackage | None:
        try:
            return read(location)
        except Missing as error:
            missing[location] = error
            return None

    def add(manifest: SpecManifest, package: BinaryPackage) -> None:
        packages[manifest.digest] = package

    read_each("reading sizes", manifests, read_if_there, BinaryPackage, add, transport)
    if missing:
        locations = (manifest.location for manifest in manifests)
        first = next(missing[location] for location in locations if location in missing)
        which = f"{len(missing):,} of {len(manifests):,} sizes stay unknown"
        reason = f"as their manifests are missing; the first: {first}"
        transport.report.warn(f"{which}, {reason}")
    return packages


def package_of(manifest: BlobManifest, location: str) -> BinaryPackage:
    """Return the package in a spec's manifest. Raises SourceError if there is none."""
    blob = _blob_of(manifest, "package", location)
    return BinaryPackage(
        blob.content_length, blob.path, f"{blob.checksum_algorithm}:{blob.checksum}"
    )


_MEDIA_TYPES = {
    "package": ("application/vnd.spack.install", re.compile(r"\.v\d+\.tar\+gzip")),
    "spec": ("application/vnd.spack.spec", re.compile(r"\.v\d+\+json")),
}


def _blob_of(manifest: BlobManifest, content: str, location: str) -> Blob:
    start, end = _MEDIA_TYPES[content]
    for blob in manifest.data:
        if blob.media_type.startswith(start) and end.fullmatch(blob.media_type, len(start)):
            return blob
    raise SourceError(location, f"names no {content}: no {start} blob")


# -- a cache without an index

_MANIFEST_NAME = re.compile(r".*-(?P<hash>[a-z2-7]{32})\.spec\.manifest\.json")
_DOCUMENT = re.compile(r".*-(?P<hash>[a-z2-7]{32})\.spec\.json(?:\.sig)?")
_SPEC_FILE = re.compile(r".*\.spec\.(?:manifest\.json|json|json\.sig)")
DOCUMENT_BYTES = 64 << 20
"""Maximum size of an uncompressed document of a spec."""


class ListedSpecs(msgspec.Struct, frozen=True):
    """The specs of a cache, their packages by hash, and a version that covers all of them."""

    specs: IndexSpecs
    packages: Mapping[str, BinaryPackage]
    version: str


class PublishedSpec(msgspec.Struct, frozen=True):
    """A spec in a cache without an index: its document and its package.

    ``checksum`` is that of the stored document, if its manifest states one.
    """

    document: bytes
    package: BinaryPackage
    checksum: str = ""
    is_signed: bool = False


def read_published(
    location: str,
    manifests: Sequence[SpecManifest],
    read: Callable[[str], PublishedSpec],
    transport: Transport,
) -> tuple[IndexSpecs, dict[str, BinaryPackage], dict[str, str]]:
    """Return the specs of the cache at a location, and their packages and checksums by hash.

    ``read`` fetches a spec by the location of its manifest, in several threads at a time. Specs
    that an earlier run stored are not fetched again. An unreadable spec is passed to
    ``report.bad``.
    """
    report = transport.report
    documents = SpecDocuments(location, report, proof=transport.settings.proof)
    packages: dict[str, BinaryPackage] = {}
    checksums: dict[str, str] = {}

    def add(manifest: SpecManifest, spec: PublishedSpec) -> None:
        documents.add(manifest.digest, spec.document, manifest.location)
        warn_if_signed(report, is_signed=spec.is_signed)
        packages[manifest.digest], checksums[manifest.digest] = spec.package, spec.checksum

    task = f"reading the specs of {location}"
    read_each(task, manifests, read, PublishedSpec, add, transport)
    return documents.specs(), packages, checksums


def read_specs(index: IndexLocation, transport: Transport) -> ListedSpecs:
    """Read the specs of a cache whose manifests are below a folder.

    The manifest of an object with the same ETag as in an earlier run is not fetched again. Raises
    SourceError if the folder cannot be listed or is empty.
    """
    assert index.cache is not None  # noqa: S101 - only the specs of a cache are listed
    base = index.cache.base

    def read_manifest(location: str) -> PublishedSpec:
        manifest = parse_manifest(transport.read(location), location)
        blob = _blob_of(manifest, "spec", location)
        url = join(base, blob.path)
        with named_by(location, f"the blob {url}"):
            data = bytes(transport.read(url))
        Checksum(blob.checksum_algorithm, blob.checksum, location).check(data, url)
        document = unpacked(data, blob.compression, DOCUMENT_BYTES, url)
        package = package_of(manifest, location)
        return PublishedSpec(bytes(document), package, blob.checksum, manifest.signed)

    def read_document(location: str) -> PublishedSpec:
        data = transport.read(location)
        document = cleartext(data, location)
        checksum = decode_json(document, _Checksummed, location).binary_cache_checksum
        package = BinaryPackage(checksum=str(checksum) if checksum else None)
        digest = hashlib.sha256(data).hexdigest()
        return PublishedSpec(bytes(document), package, digest, is_signed(data))

    is_layout_3 = index.cache.layout == 3
    manifests = [
        SpecManifest(digest, file.location, _key(file))
        for digest, file in _specs_below(
            index.location, _MANIFEST_NAME if is_layout_3 else _DOCUMENT, transport
        ).items()
    ]
    read = read_manifest if is_layout_3 else read_document
    specs, packages, checksums = read_published(base, manifests, read, transport)
    lines = sorted(f"{digest} {checksum}\n" for digest, checksum in checksums.items())
    version = hashlib.sha256("".join(lines).encode()).hexdigest()
    return ListedSpecs(specs, packages, f"sha256:{version}")


def _key(file: RemoteFile) -> str | None:
    """Return the key of a manifest in the cache folder; None for a file, as reading it is cheap."""
    return f"document {public(file.location)} {file.version}" if file.version else None


def listed_hashes(cache: BuildCache, transport: Transport) -> Set[str]:
    """Return the hashes of the specs in a cache, regardless of its index.

    The result is empty for a cache that cannot be listed, and for an index without its cache.
    """
    is_layout_3 = cache.layout == 3
    folder = join(cache.base, _LAYOUT_3_SPECS if is_layout_3 else _LAYOUT_2_SPECS)
    names = _MANIFEST_NAME if is_layout_3 else _DOCUMENT
    if not transport.can_list(folder) or not (is_url(folder) or Path(folder).is_dir()):
        return frozenset()
    try:
        files = transport.listing(folder)
    except SourceError:  # a bucket may be readable without being listable
        return frozenset()
    return {match["hash"] for file in files if (match := names.fullmatch(file.location))}


class _BinaryChecksum(msgspec.Struct):
    hash_algorithm: str
    hash: str

    def __post_init__(self) -> None:
        checked_binary_checksum(str(self))

    def __str__(self) -> str:
        return f"{self.hash_algorithm}:{self.hash}"


class _Checksummed(msgspec.Struct):
    binary_cache_checksum: _BinaryChecksum | None = None


def _specs_below(
    folder: str, names: re.Pattern[str], transport: Transport
) -> Mapping[str, RemoteFile]:
    """Return the manifests or documents of specs below a folder, by the hashes in their names.

    A signed document replaces the unsigned one of the same spec.
    """
    files: dict[str, RemoteFile] = {}
    for listed in transport.listing(folder):
        if _SPEC_FILE.fullmatch(listed.location) is None:
            continue
        match = names.fullmatch(listed.location)
        if match is None:
            transport.report.bad(SourceError(listed.location, "has no hash in its name"))
            continue
        first = files.get(match["hash"])
        if first is None or listed.location == f"{first.location}.sig":
            files[match["hash"]] = listed
        else:
            reason = f"is of the spec that {first.location} is of, too"
            transport.report.bad(SourceError(listed.location, reason))
    if not files:
        raise SourceError(folder, "contains no specs, and the build cache has no index")
    return files
