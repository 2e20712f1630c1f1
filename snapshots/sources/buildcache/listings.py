"""A build cache of layout 3 without an index: its manifests are listed, its specs read one by one.

Source: the layout that Spack 1.0 and later write, ``v3/manifests/spec/NAME/
NAME-VERSION-HASH.spec.manifest.json`` each, which names the blobs of the spec and its package.
"""

import hashlib
import re
from collections.abc import Mapping
from typing import NamedTuple

from snapshots.errors import SourceError
from snapshots.sources.buildcache.bodies import collected, unpacked
from snapshots.sources.buildcache.caches import Cache
from snapshots.sources.buildcache.kept_rows import KeptDocuments
from snapshots.sources.buildcache.locations import is_url, join, public
from snapshots.sources.buildcache.manifests import Blob, Manifest, parse_manifest, warn_if_signed
from snapshots.sources.buildcache.packages import Package, package_of
from snapshots.sources.buildcache.spec_documents import SpecDocuments
from snapshots.sources.buildcache.specs import IndexSpecs
from snapshots.sources.buildcache.transport import Listed, Transport
from snapshots.sources.files import Missing

_ENDING = ".spec.manifest.json"
_HASH = re.compile(rf".*-(?P<hash>[a-z2-7]{{32}}){re.escape(_ENDING)}")
_SPEC = re.compile(r"application/vnd\.spack\.spec\.v\d+\+json")
_DOCUMENT_BYTES = 64 << 20


class ListedSpecs(NamedTuple):
    """The specs of a cache, their packages by hash, and a version that stands for them all."""

    specs: IndexSpecs
    packages: Mapping[str, Package]
    version: str


class _Entry(NamedTuple):
    """A spec in the list, with its manifest and document as far as an earlier run kept them."""

    digest: str
    listed: Listed
    manifest: bytes | bytearray | None = None
    document: bytes | bytearray | None = None


def read_specs(cache: Cache, folder: str, transport: Transport) -> ListedSpecs:
    """Read the specs whose manifests lie below ``folder``, several at a time.

    What is kept of an earlier run is not fetched again: the manifest of an object that has the same
    ETag, and blobs, which never change. Raises SourceError where nothing can be listed or nothing
    is there; a spec that cannot be read goes to ``report.bad``.
    """
    settings, report = transport.settings, transport.report
    together = SpecDocuments(cache.base, report, proof=settings.proof)
    packages: dict[str, Package] = {}
    versions: list[str] = []
    task = f"reading the specs of {cache.base}"

    def complete(entry: _Entry) -> tuple[Manifest, _Entry]:
        location = entry.listed.location
        text = entry.manifest or transport.read(location)
        manifest = parse_manifest(text, location)
        blob = _spec_blob(manifest, location)
        document = entry.document or _read_blob(blob, cache, location, transport)
        return manifest, entry._replace(manifest=text, document=document)

    listed = _manifests(folder, transport)
    keeps = settings.cache_dir if is_url(folder) else None  # a file is as near as what is kept
    with KeptDocuments(keeps, settings.cache_bytes, report) as kept:
        entries = (_with_kept(digest, found, kept) for digest, found in listed.items())
        for done, (known, result) in enumerate(transport.ahead(complete, entries)):
            transport.progress(task, done, len(listed))
            location = known.listed.location
            try:
                manifest, entry = result.result()
                blob, package = _spec_blob(manifest, location), package_of(manifest, location)
                document = _unpacked(entry, blob, cache)
                together.add(entry.digest, document, join(cache.base, blob.path))
            except SourceError as error:
                report.bad(error)
                continue
            warn_if_signed(manifest, report)
            if known.manifest is None and entry.manifest and known.listed.version:
                kept.keep(_manifest_key(known.listed), entry.manifest)
            if known.document is None and entry.document:
                kept.keep(_blob_key(blob), entry.document)
            packages[entry.digest] = package
            versions.append(f"{entry.digest} {blob.checksum}\n")
    transport.progress(task, len(listed), len(listed))
    version = hashlib.sha256("".join(sorted(versions)).encode()).hexdigest()
    return ListedSpecs(together.specs(), packages, f"sha256:{version}")


def _manifests(folder: str, transport: Transport) -> Mapping[str, Listed]:
    """Return the manifests of specs below a folder by the hashes in their names."""
    manifests: dict[str, Listed] = {}
    for listed in transport.listing(folder):
        if not listed.location.endswith(_ENDING):
            continue
        match = _HASH.fullmatch(listed.location)
        if match is None:
            transport.report.bad(SourceError(listed.location, "has no hash in its name"))
        elif first := manifests.get(match["hash"]):
            reason = f"is of the spec that {first.location} is of, too"
            transport.report.bad(SourceError(listed.location, reason))
        else:
            manifests[match["hash"]] = listed
    if not manifests:
        raise SourceError(folder, "holds no specs, and the build cache has no index")
    return manifests


def _with_kept(digest: str, listed: Listed, kept: KeptDocuments) -> _Entry:
    """Return a spec in the list with what is kept of it, undamaged."""
    manifest = kept.find(_manifest_key(listed)) if listed.version else None
    if manifest is None:
        return _Entry(digest, listed)
    try:
        blob = _spec_blob(parse_manifest(manifest, listed.location), listed.location)
    except SourceError:
        return _Entry(digest, listed)
    document = kept.find(_blob_key(blob))
    is_whole = document is not None and _checksum(blob, document) == blob.checksum
    return _Entry(digest, listed, manifest, document if is_whole else None)


def _spec_blob(manifest: Manifest, location: str) -> Blob:
    for blob in manifest.data:
        if _SPEC.fullmatch(blob.media_type):
            return blob
    raise SourceError(location, "names no spec: no application/vnd.spack.spec blob")


def _read_blob(blob: Blob, cache: Cache, location: str, transport: Transport) -> bytearray:
    url = join(cache.base, blob.path)
    try:
        return transport.read(url)
    except Missing as error:
        raise SourceError(location, f"names the blob {url}: {error.reason}") from None


def _unpacked(entry: _Entry, blob: Blob, cache: Cache) -> bytearray:
    """Return the document in a blob. Raises SourceError where its checksum is another one."""
    location, data = join(cache.base, blob.path), bytes(entry.document or b"")
    actual = _checksum(blob, data)
    if actual != blob.checksum:
        reason = f"its {blob.checksum_algorithm} is {actual}, but {entry.listed.location} says"
        raise SourceError(location, f"{reason} {blob.checksum}; it is damaged")
    return collected(unpacked([data], blob.compression, location), _DOCUMENT_BYTES, location)


def _checksum(blob: Blob, data: bytes) -> str:
    return hashlib.new(blob.checksum_algorithm, data).hexdigest()


def _manifest_key(listed: Listed) -> str:
    return f"{public(listed.location)} {listed.version}"


def _blob_key(blob: Blob) -> str:
    return f"{blob.checksum_algorithm}:{blob.checksum}"
