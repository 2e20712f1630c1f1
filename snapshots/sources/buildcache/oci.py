"""Build caches in OCI registries: ``oci://HOST/NAME``, over plain HTTP ``oci+http://HOST/NAME``.

Source: the distribution specification of the Open Container Initiative, and Spack's documentation
of build caches in registries. Every spec is an image with a tag ``NAME-VERSION-HASH.spack``: its
config has the spec, its last layer is the binary. The image ``index.spack`` has the index as its
layer, where there is one.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Annotated, Self
from urllib.parse import urlsplit

import msgspec
import zstandard

from snapshots.errors import InvalidArgument, SourceError
from snapshots.models import SIZE_MAX, Spec
from snapshots.sources.buildcache.authorization import VARIABLES, Authorization
from snapshots.sources.buildcache.caches import OCI, Cache
from snapshots.sources.buildcache.decoding import decode_json
from snapshots.sources.buildcache.kept_rows import KeptDocuments
from snapshots.sources.buildcache.layouts import Checksum, FetchedIndex, Place
from snapshots.sources.buildcache.listings import ListedSpecs
from snapshots.sources.buildcache.locations import resolve
from snapshots.sources.buildcache.packages import Package, packages_at
from snapshots.sources.buildcache.responses import Document, Forbidden
from snapshots.sources.buildcache.spec_documents import SpecDocuments
from snapshots.sources.buildcache.transport import Transport
from snapshots.sources.files import Missing
from snapshots.sources.settings import ReadSettings
from snapshots.wording import quoted

INDEX_TAG = "index.spack"
SUFFIX = ".spack"

_HOST = re.compile(r"[a-z0-9._-]+(?::\d+)?|\[[0-9a-f:.]+\](?::\d+)?")
_PART = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_NAME = re.compile(rf"{_PART}(?:/{_PART})*")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128}")
_HASH_OF_TAG = re.compile(r"-([a-z2-7]{32})\.spack\Z")

_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
_INDEX = "application/vnd.oci.image.index.v1+json"
_DOCKER_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
_DOCKER_LIST = "application/vnd.docker.distribution.manifest.list.v2+json"
_ACCEPT = ", ".join([_MANIFEST, _INDEX, _DOCKER_MANIFEST, _DOCKER_LIST])

_TAGS_A_PAGE = 1_000
_MAX_TAGS = 1_000_000
_MAX_PAGES_OF_NOTHING = 20


class Repository(msgspec.Struct, frozen=True):
    """A repository of a registry; ``scheme`` is https or http."""

    scheme: str
    host: str
    name: str

    @property
    def location(self) -> str:
        """What a user calls it."""
        return f"{'oci' if self.scheme == 'https' else 'oci+http'}://{self.host}/{self.name}"

    @property
    def url(self) -> str:
        """What all that it holds lies below."""
        return f"{self.scheme}://{self.host}/v2/{self.name}"


def repository_at(location: str, settings: ReadSettings) -> Repository:
    """Return the repository that a location names; as Spack has it, in lower case.

    Raises SourceError for a location that names none, or holds a login, and InvalidArgument where
    the settings name a view.
    """
    scheme, _, rest = location.lower().partition("://")
    host, _, name = rest.partition("/")
    name = name.strip("/")
    if "@" in host:
        shown = f"{scheme}://{host.rpartition('@')[2]}/{name}"
        raise SourceError(shown, f"the URL holds a login; set {VARIABLES} instead")
    if _HOST.fullmatch(host) is None:
        raise SourceError(location, f"names no registry: write {scheme}://HOST/NAME")
    if _NAME.fullmatch(name) is None:
        reason = f"{quoted(name)} names no repository: write {scheme}://HOST/NAME, without a tag"
        raise SourceError(location, reason)
    if settings.view is not None:
        raise InvalidArgument("--view", f"{location} is a registry, where no index has views")
    repository = Repository("https" if scheme == "oci" else "http", host, name)
    resolve(repository.url, settings)
    return repository


def tag_of(name: str, version: str, digest: str) -> str:
    """Return the tag of a spec's image, cut and with other characters replaced as Spack does."""
    tag = re.sub(r"[^A-Za-z0-9_.-]", "_", f"{name}-{version}-{digest}{SUFFIX}")
    return tag if len(tag) <= 128 else tag[:64] + tag[-64:]


class Descriptor(msgspec.Struct, frozen=True):
    """A blob or manifest that a manifest names; ``size`` is in bytes."""

    digest: str
    size: Annotated[int, msgspec.Meta(ge=0, le=SIZE_MAX)]

    def __post_init__(self) -> None:
        if _DIGEST.fullmatch(self.digest) is None:
            raise ValueError(f"{quoted(self.digest)} is no digest, sha256:... or sha512:...")

    @property
    def checksum(self) -> tuple[str, str]:
        """The algorithm, and what it gives."""
        algorithm, _, value = self.digest.partition(":")
        return algorithm, value


class Image(msgspec.Struct, frozen=True):
    """A manifest: the config and the layers of an image or, in an image index, other manifests."""

    config: Descriptor | None = None
    layers: list[Descriptor] = []
    manifests: list[Descriptor] = []


class SpecImage(msgspec.Struct, frozen=True):
    """The image of a spec: its config, which holds the spec, and its package."""

    config: bytes
    package: Package

    def packed(self) -> bytes:
        """Return it as it is kept."""
        return zstandard.compress(msgspec.msgpack.encode(self))

    @classmethod
    def unpacked(cls, data: bytes) -> Self:
        """Return what was packed. Raises ZstdError and DecodeError for anything else."""
        return msgspec.msgpack.decode(zstandard.decompress(data), type=cls)


class _TagList(msgspec.Struct):
    tags: list[str] | None


class Registry:
    """Reads one repository; safe to share between threads."""

    def __init__(self, repository: Repository, transport: Transport) -> None:
        self.place = Place(repository.location, Cache(OCI, repository.url))
        self._repository = repository
        self._transport = transport
        self._authorization = Authorization(
            repository.location, repository.url, f"repository:{repository.name}:pull", transport
        )

    def index(self) -> FetchedIndex | None:
        """Download the index to disk; None where the repository has none. Raises SourceError."""
        location = self._manifest_url(INDEX_TAG)
        try:
            image = self._image(location)
        except Missing:
            return None
        if not image.layers:
            raise SourceError(location, "names no layer that holds the index", key="layers")
        blob = image.layers[0]
        url = self._blob_url(blob)
        try:
            body = self._authorization.authorized(
                lambda headers: self._transport.fetch(url, key=location, headers=headers)
            )
        except Missing as error:
            raise SourceError(location, f"names the blob {url}: {error.reason}") from None
        return FetchedIndex(
            place=self.place,
            body=msgspec.structs.replace(body, etag=None),  # its digest tells the version
            checksum=Checksum(*blob.checksum, location),
        )

    def tags(self) -> list[str]:
        """Return the tags of specs' images. Raises SourceError where there are none.

        So it does for a registry whose pages lead elsewhere, in a circle, or on and on.
        """
        found: dict[str, None] = {}
        for page in self._pages(f"{self._repository.url}/tags/list?n={_TAGS_A_PAGE}", found):
            found.update(dict.fromkeys(page))
        specs = [tag for tag in found if _HASH_OF_TAG.search(tag)]
        if not specs:
            reason = f"holds no build cache: neither {INDEX_TAG} nor a tag of a spec"
            raise SourceError(self._repository.location, reason)
        return sorted(specs)

    def published(self) -> ListedSpecs:
        """Read the image of every spec, several at a time. Raises SourceError.

        What was read is kept in the cache folder, so that a later run fetches only what is new: an
        image is named after the hash of its spec. One that cannot be read goes to ``report.bad``.
        """
        transport, location = self._transport, self._repository.location
        tags = self.tags()
        documents = SpecDocuments(location, transport.report, proof=transport.settings.proof)
        packages: dict[str, Package] = {}
        settings = transport.settings
        with KeptDocuments(settings.cache_dir, settings.cache_bytes, transport.report) as kept:

            def items() -> Iterator[tuple[str, bytes | None]]:
                for tag in tags:
                    url = self._manifest_url(tag)
                    yield url, kept.find(url)

            found = transport.ahead(lambda item: self._spec_image(*item), items())
            for done, ((url, _), result) in enumerate(found):
                transport.progress(f"reading {location}", done, len(tags))
                try:
                    image, is_new = result.result()
                    digest = _hash_in(url)
                    documents.add(digest, image.config, url)
                except SourceError as error:
                    transport.report.bad(error)
                    continue
                packages[digest] = image.package
                if is_new:
                    kept.keep(url, image.packed())
        transport.progress(f"reading {location}", len(tags), len(tags))
        names = hashlib.sha256("\n".join(tags).encode())
        return ListedSpecs(documents.specs(), packages, f"sha256:{names.hexdigest()}")

    def packages(self, specs: Iterable[Spec]) -> dict[str, Package]:
        """Return the package of each spec, by hash, from the manifests of their images.

        What was read is kept in the cache folder. Hashes without an image are left out and warned
        of. Raises SourceError for a manifest that cannot be read, unless the report skips what is
        bad.
        """
        hash_by_manifest = {
            self._manifest_url(tag_of(it.name, it.version, it.hash)): it.hash for it in specs
        }
        return packages_at(hash_by_manifest, self._image, _package, self._transport)

    def _spec_image(self, url: str, known: bytes | None) -> tuple[SpecImage, bool]:
        """Return the image of a spec, and whether it was fetched.

        It is not where what is ``known`` of it is undamaged.
        """
        if known is not None:
            with suppress(zstandard.ZstdError, msgspec.DecodeError):
                return SpecImage.unpacked(known), False
        image = self._image(url)
        if image.config is None:
            raise SourceError(url, "names no config that holds the spec", key="config")
        config = bytes(self._blob(image.config, url))
        return SpecImage(config=config, package=_package(image, url)), True

    def _pages(self, url: str, found: dict[str, None]) -> Iterator[list[str]]:
        seen = {url}
        next_page: str | None = url
        of_nothing = 0
        while next_page is not None:
            url, before = next_page, len(found)
            try:
                document = self._document(url)
            except Missing:
                reason = f"{self._repository.host} has no repository {self._repository.name}"
                raise SourceError(self._repository.location, reason) from None
            yield decode_json(document.data, _TagList, url).tags or []
            self._transport.progress(f"listing {self._repository.location}", len(found), None)
            next_page = document.next_page
            of_nothing = of_nothing + 1 if len(found) == before else 0
            if next_page is not None:
                self._check_next(url, next_page, seen)
                seen.add(next_page)
            if len(found) > _MAX_TAGS or of_nothing > _MAX_PAGES_OF_NOTHING:
                reason = f"pages on and on: {len(found):,} tags on {len(seen):,} pages"
                raise SourceError(url, f"{reason}; the registry is at fault")

    def _check_next(self, url: str, next_page: str, seen: set[str]) -> None:
        if next_page in seen:
            raise SourceError(url, f"leads to {next_page} again; the registry is at fault")
        here, there = urlsplit(self._repository.url), urlsplit(next_page)
        if (there.scheme, there.netloc) != (here.scheme, here.netloc):
            raise SourceError(url, f"leads to another host for more tags: {next_page}")

    def _image(self, location: str) -> Image:
        """Return the manifest at a URL; of an image index the one manifest that it names."""
        image = self._decoded(self._document(location).data, location)
        if not image.manifests:
            return image
        if len(image.manifests) > 1:
            reason = f"is an image index of {len(image.manifests)} images, not the image of one"
            raise SourceError(location, f"{reason}; cachelog does not choose among them")
        (only,) = image.manifests
        inner = self._manifest_url(only.digest)
        try:
            data = self._document(inner).data
        except Missing as error:
            raise SourceError(location, f"names the manifest {inner}: {error.reason}") from None
        self._check(data, only, inner, location)
        image = self._decoded(data, inner)
        if image.manifests:
            raise SourceError(inner, f"is an image index in an image index, {location}")
        return image

    def _decoded(self, data: bytearray, location: str) -> Image:
        return decode_json(data, Image, location)

    def _document(self, url: str) -> Document:
        """Return a manifest or a page of tags. Raises Missing and SourceError."""
        try:
            return self._authorization.authorized(
                lambda headers: self._transport.receive(url, {**headers, "Accept": _ACCEPT})
            )
        except Forbidden:
            raise self._authorization.refused() from None

    def _blob(self, blob: Descriptor, named_by: str) -> bytearray:
        """Return a small blob. Raises SourceError where it is missing or has another checksum."""
        url = self._blob_url(blob)
        try:
            document = self._authorization.authorized(
                lambda headers: self._transport.receive(url, headers)
            )
        except Missing as error:
            raise SourceError(named_by, f"names the blob {url}: {error.reason}") from None
        self._check(document.data, blob, url, named_by)
        return document.data

    def _check(self, data: bytearray, blob: Descriptor, url: str, named_by: str) -> None:
        algorithm, value = blob.checksum
        found = hashlib.new(algorithm, data).hexdigest()
        if found != value:
            raise SourceError(url, f"its {algorithm} is {found}, but {named_by} says {value}")

    def _manifest_url(self, reference: str) -> str:
        return f"{self._repository.url}/manifests/{reference}"

    def _blob_url(self, blob: Descriptor) -> str:
        return f"{self._repository.url}/blobs/{blob.digest}"


def _hash_in(url: str) -> str:
    """Return the hash of the spec that a manifest's URL names."""
    match = _HASH_OF_TAG.search(url)
    return match[1] if match else ""


def _package(image: Image, location: str) -> Package:
    """Return the binary of a spec, which is the last layer of its image. Raises SourceError."""
    if not image.layers:
        raise SourceError(location, "names no layer that holds the binary", key="layers")
    binary = image.layers[-1]
    return Package(binary.size, f"blobs/{binary.digest}")
