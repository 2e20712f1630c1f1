"""Build caches in OCI registries: ``oci://HOST/NAME``, over plain HTTP ``oci+http://HOST/NAME``.

Every spec is an image with a tag ``NAME-VERSION-HASH.spack``: its config contains the spec, and
its last layer is the binary. If there is an image ``index.spack``, its layer is the index.

Sources: the distribution specification of the Open Container Initiative, Spack's documentation of
build caches in registries, RFC 9110, 11 (challenges), RFC 7617 (Basic), and the token specification
of the CNCF's distribution project (Bearer).
"""

import base64
import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from threading import Lock
from typing import Annotated, TypeVar
from urllib.parse import SplitResult, parse_qsl, urlencode, urlsplit, urlunsplit
from urllib.request import parse_http_list

import msgspec

from snapshots.errors import SourceError
from snapshots.models import SIZE_MAX, Spec
from snapshots.sources.buildcache import layouts
from snapshots.sources.inputs import AccessDenied, Missing, decode_json, named_by
from snapshots.sources.locations import resolve
from snapshots.sources.settings import Login, ReadSettings
from snapshots.sources.transport import ReceivedDocument, Transport, Unauthorized
from snapshots.texts import quoted

# -- registries

INDEX_TAG = "index.spack"
SUFFIX = ".spack"

_HOST = re.compile(r"[a-z0-9._-]+(?::\d+)?|\[[0-9a-f:.]+\](?::\d+)?")
_PART = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_NAME = re.compile(rf"{_PART}(?:/{_PART})*")
_DIGEST = r"\A(?:sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128})\Z"
_HASH_LENGTH = 32
_SPEC_TAG = re.compile(rf".*-[a-z2-7]{{{_HASH_LENGTH}}}{re.escape(SUFFIX)}")

_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
_INDEX = "application/vnd.oci.image.index.v1+json"
_DOCKER_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
_DOCKER_LIST = "application/vnd.docker.distribution.manifest.list.v2+json"
_ACCEPT = ", ".join([_MANIFEST, _INDEX, _DOCKER_MANIFEST, _DOCKER_LIST])

TAGS_A_PAGE = 1_000
"""Tags that a registry is asked for at once."""

_MAX_TAGS = 1_000_000
_MAX_EMPTY_PAGES = 20


class OciRepository(msgspec.Struct, frozen=True):
    """A repository of a registry; ``scheme`` is https or http."""

    scheme: str
    host: str
    name: str

    @property
    def location(self) -> str:
        """The location as a user writes it."""
        return f"{'oci' if self.scheme == 'https' else 'oci+http'}://{self.host}/{self.name}"

    @property
    def url(self) -> str:
        """The base URL of the repository's API."""
        return f"{self.scheme}://{self.host}/v2/{self.name}"


def repository_at(location: str, settings: ReadSettings) -> OciRepository:
    """Return the repository at a location, in lower case as in Spack.

    Raises SourceError for a location without a repository or with a login.
    """
    scheme, _, rest = location.lower().partition("://")
    host, _, name = rest.partition("/")
    name = name.strip("/")
    if "@" in host:
        shown = f"{scheme}://{host.rpartition('@')[2]}/{name}"
        raise SourceError(shown, f"the URL contains a login; set {VARIABLES} instead")
    if _HOST.fullmatch(host) is None:
        raise SourceError(location, f"names no registry: write {scheme}://HOST/NAME")
    if _NAME.fullmatch(name) is None:
        reason = f"{quoted(name)} names no repository: write {scheme}://HOST/NAME, without a tag"
        raise SourceError(location, reason)
    repository = OciRepository("https" if scheme == "oci" else "http", host, name)
    resolve(repository.url, settings)
    return repository


def tag_of(name: str, version: str, digest: str) -> str:
    """Return the tag of a spec's image, truncated and with replaced characters as in Spack."""
    tag = re.sub(r"[^A-Za-z0-9_.-]", "_", f"{name}-{version}-{digest}{SUFFIX}")
    return tag if len(tag) <= 128 else tag[:64] + tag[-64:]


class Descriptor(msgspec.Struct, frozen=True):
    """A blob or manifest in a manifest; ``size`` is in bytes."""

    digest: Annotated[str, msgspec.Meta(pattern=_DIGEST)]
    size: Annotated[int, msgspec.Meta(ge=0, le=SIZE_MAX)]

    @property
    def checksum(self) -> tuple[str, str]:
        """The algorithm, and the checksum."""
        algorithm, _, value = self.digest.partition(":")
        return algorithm, value


class Image(msgspec.Struct, frozen=True):
    """A manifest: an image's config and layers or, for an image index, other manifests."""

    config: Descriptor | None = None
    layers: list[Descriptor] = []
    manifests: list[Descriptor] = []


class _TagList(msgspec.Struct):
    tags: list[str] | None


class Registry:
    """Reads one repository; thread-safe."""

    def __init__(self, repository: OciRepository, transport: Transport) -> None:
        self.index_location = layouts.IndexLocation(
            repository.location, layouts.BuildCache(layouts.OCI, repository.url)
        )
        self._repository = repository
        self._transport = transport
        self._authorization = Authorization(
            repository.location, repository.url, f"repository:{repository.name}:pull", transport
        )

    def index(self) -> layouts.FetchedIndex | None:
        """Download the index to disk; None if the repository has none. Raises SourceError."""
        location = self._manifest_url(INDEX_TAG)
        try:
            image = self._image(location)
        except Missing:
            return None
        if not image.layers:
            raise SourceError(location, "names no layer with the index", key="layers")
        blob = image.layers[0]
        url = self._blob_url(blob)
        with named_by(location, f"the blob {url}"):
            body = self._authorization.authorized(
                lambda headers: self._transport.fetch(url, key=location, headers=headers)
            )
        return layouts.FetchedIndex(
            body=msgspec.structs.replace(body, etag=None),  # the version is its digest
            checksum=layouts.Checksum(*blob.checksum, location),
        )

    def published(self) -> layouts.ListedSpecs:
        """Read the image of every spec. Raises SourceError, also if there is none.

        Results are stored in the cache folder, so that a later run fetches only new images: an
        image is named after the hash of its spec.
        """
        location = self._repository.location
        tags = sorted(tag for tag in self._all_tags() if _SPEC_TAG.fullmatch(tag))
        if not tags:
            reason = f"has no build cache: neither {INDEX_TAG} nor a tag of a spec"
            raise SourceError(location, reason)
        manifests = []
        for tag in tags:
            url = self._manifest_url(tag)
            manifests.append(layouts.SpecManifest(_hash_in(tag), url, f"document {url}"))
        specs, packages, _ = layouts.read_published(
            location, manifests, self._spec_image, self._transport
        )
        names = hashlib.sha256("\n".join(tags).encode())
        return layouts.ListedSpecs(specs, packages, f"sha256:{names.hexdigest()}")

    def listed_hashes(self) -> Set[str]:
        """Return the hashes of the specs with a tag, regardless of the index.

        The result is empty for a registry that lists no tags.
        """
        try:
            tags = self._all_tags()
        except SourceError:
            return frozenset()
        return {_hash_in(tag) for tag in tags if _SPEC_TAG.fullmatch(tag)}

    def packages(self, specs: Iterable[Spec]) -> dict[str, layouts.BinaryPackage]:
        """Return the package of each spec, by hash, from the manifests of their images.

        Results are stored in the cache folder. Hashes without an image are omitted, with a warning.
        Raises SourceError for an unreadable manifest, unless the report skips bad ones.
        """
        manifests = []
        for spec in specs:
            url = self._manifest_url(tag_of(spec.name, spec.version, spec.hash))
            manifests.append(layouts.package_manifest(spec, url))
        return layouts.packages_at(
            manifests, lambda url: _package(self._image(url), url), self._transport
        )

    def _spec_image(self, url: str) -> layouts.PublishedSpec:
        image = self._image(url)
        if image.config is None:
            raise SourceError(url, "names no config with the spec", key="config")
        return layouts.PublishedSpec(bytes(self._blob(image.config, url)), _package(image, url))

    def _all_tags(self) -> set[str]:
        """Return all tags.

        Raises SourceError if a page links to another host, or if the pages do not end.
        """
        tags: set[str] = set()
        next_page: str | None = f"{self._repository.url}/tags/list?n={TAGS_A_PAGE}"
        num_pages = num_empty = 0
        while next_page is not None:
            url, before = next_page, len(tags)
            try:
                document = self._document(url)
            except Missing:
                reason = f"{self._repository.host} has no repository {self._repository.name}"
                raise SourceError(self._repository.location, reason) from None
            tags.update(decode_json(document.data, _TagList, url).tags or ())
            self._transport.progress(f"listing {self._repository.location}", len(tags), None)
            next_page = document.next_page
            num_pages += 1
            num_empty = num_empty + 1 if len(tags) == before else 0
            if len(tags) > _MAX_TAGS or num_empty > _MAX_EMPTY_PAGES:
                reason = f"does not stop paging: {len(tags):,} tags on {num_pages:,} pages"
                raise SourceError(url, f"{reason}; the registry is at fault")
            current, following = urlsplit(url), urlsplit(next_page or url)
            if (following.scheme, following.netloc) != (current.scheme, current.netloc):
                raise SourceError(url, f"leads to another host for more tags: {next_page}")
        return tags

    def _image(self, location: str) -> Image:
        """Return the manifest at a URL, or the only manifest in the image index at the URL."""
        image = decode_json(self._document(location).data, Image, location)
        if not image.manifests:
            return image
        if len(image.manifests) > 1:
            reason = f"is an image index of {len(image.manifests)} images, not the image of one"
            raise SourceError(location, f"{reason}; cachelog does not choose among them")
        (only,) = image.manifests
        inner = self._manifest_url(only.digest)
        with named_by(location, f"the manifest {inner}"):
            data = self._document(inner).data
        layouts.Checksum(*only.checksum, location).check(data, inner)
        image = decode_json(data, Image, inner)
        if image.manifests:
            raise SourceError(inner, f"is an image index in an image index, {location}")
        return image

    def _document(self, url: str) -> ReceivedDocument:
        """Return a manifest or a page of tags. Raises Missing and SourceError."""
        try:
            return self._authorization.authorized(
                lambda headers: self._transport.receive(url, {**headers, "Accept": _ACCEPT})
            )
        except AccessDenied:
            raise self._authorization.refused() from None

    def _blob(self, blob: Descriptor, location: str) -> bytes | bytearray:
        """Return a small blob that the document at ``location`` names.

        Raises SourceError if it is missing or has another checksum.
        """
        url = self._blob_url(blob)
        with named_by(location, f"the blob {url}"):
            document = self._authorization.authorized(
                lambda headers: self._transport.receive(url, headers)
            )
        layouts.Checksum(*blob.checksum, location).check(document.data, url)
        return document.data

    def _manifest_url(self, reference: str) -> str:
        return f"{self._repository.url}/manifests/{reference}"

    def _blob_url(self, blob: Descriptor) -> str:
        return f"{self._repository.url}/blobs/{blob.digest}"


def _hash_in(tag: str) -> str:
    return tag.removesuffix(SUFFIX)[-_HASH_LENGTH:]


def _package(image: Image, location: str) -> layouts.BinaryPackage:
    """Return the binary of a spec, which is the last layer of its image. Raises SourceError."""
    if not image.layers:
        raise SourceError(location, "names no layer with the binary", key="layers")
    binary = image.layers[-1]
    return layouts.BinaryPackage(binary.size, f"blobs/{binary.digest}", binary.digest)


# -- authorization

VARIABLES = "CACHELOG_OCI_USER and CACHELOG_OCI_PASSWORD"
"""The variables that define a login."""

_RENEWALS = 2
_TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"  # noqa: S105 - RFC 9110 names it so
_CHALLENGE_PART = re.compile(
    rf"(?:(?P<scheme>{_TOKEN})(?: +|$))?(?:(?P<key>{_TOKEN})[ \t]*=[ \t]*(?P<value>.*))?", re.S
)
_BEARER_TOKEN = re.compile(r"[\x21-\x7e]{1,32768}")

Result = TypeVar("Result")


def challenges(headers: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return the authentication schemes in WWW-Authenticate headers.

    The result has parameters by scheme, both with keys in lower case. The first challenge of a
    scheme counts; anything that is not a challenge is ignored.
    """
    offered: dict[str, dict[str, str]] = {}
    parameters: dict[str, str] = {}
    for item in parse_http_list(",".join(headers)):
        match = _CHALLENGE_PART.fullmatch(item)
        if match is None:
            continue
        if match["scheme"]:
            parameters = {}
            offered.setdefault(match["scheme"].lower(), parameters)
        if match["key"]:
            value = match["value"].strip()
            if value[:1] == value[-1:] == '"' and len(value) > 1:
                value = value[1:-1]
            parameters.setdefault(match["key"].lower(), value)
    return offered


class Authorization:
    """The Authorization header that a registry accepts; thread-safe.

    ``location`` is the user's location, ``url`` the https or http URL of its repository, ``scope``
    the scope of a token if the registry does not state one. No login is sent before the registry
    requests it. Then, it is sent only to the registry or to the realm that it names: over https, or
    over http to the same host if the registry itself is read over http.
    """

    def __init__(self, location: str, url: str, scope: str, transport: Transport) -> None:
        self._location = location
        self._url = urlsplit(url)
        self._scope = scope
        self._transport = transport
        self._login = transport.settings.oci_login
        self._header: str | None = None
        self._lock = Lock()

    def authorized(self, ask: Callable[[Mapping[str, str]], Result]) -> Result:
        """Return the result of ``ask`` with the headers that the registry requires.

        An expired token is renewed. Raises SourceError if the registry denies access, and other
        errors of ``ask``.
        """
        for attempt in range(1 + _RENEWALS):
            header = self._header
            headers = {} if header is None else {"Authorization": header}
            try:
                return ask(headers)
            except Unauthorized as refusal:
                if attempt < _RENEWALS:
                    self._renew(header, refusal)
        raise self.refused()

    def refused(self) -> SourceError:
        """Return the error for a registry that denies access."""
        host = self._url.netloc
        if self._login is not None:
            reason = f"{host} does not accept the login of {VARIABLES}"
            return SourceError(self._location, f"{reason}, or does not let it read this repository")
        reason = f"{host} has no such repository, or it is not public"
        return SourceError(self._location, f"{reason}: set {VARIABLES}")

    def _renew(self, sent: str | None, refusal: Unauthorized) -> None:
        """Replace the header that was ``sent``. Raises SourceError if this is impossible."""
        with self._lock:
            if sent != self._header:
                return  # another thread has already renewed it
            offered = challenges(refusal.challenges)
            if "bearer" in offered:
                self._header = f"Bearer {self._token(offered['bearer'])}"
            elif "basic" not in offered:
                schemes = ", ".join(offered) or "none"
                reason = f"{self._url.netloc} asks for a login in a way that cachelog does not know"
                raise SourceError(self._location, f"{reason}: {quoted(schemes)}")
            elif self._login is None or self._header is not None:
                raise self.refused()
            else:
                self._header = _basic(self._login)

    def _token(self, parameters: Mapping[str, str]) -> str:
        realm = self._checked_realm(parameters.get("realm", ""))
        named = {name: parameters[name] for name in ("service", "scope") if parameters.get(name)}
        query = dict(parse_qsl(realm.query)) | {"scope": self._scope} | named
        url = urlunsplit(realm._replace(query=urlencode(query), fragment=""))
        headers = {"Authorization": _basic(self._login)} if self._login else {}
        try:
            document = self._transport.receive(url, headers)
        except (Unauthorized, AccessDenied):
            raise self.refused() from None
        except Missing as error:  # the token service is missing, not the registry's repository
            raise SourceError(url, error.reason) from None
        answer = decode_json(document.data, _TokenAnswer, url)
        token = answer.token or answer.access_token or ""
        if _BEARER_TOKEN.fullmatch(token) is None:
            raise SourceError(url, "issued no token that can be sent in a header")
        return token

    def _checked_realm(self, realm: str) -> SplitResult:
        try:
            url = urlsplit(resolve(realm, self._transport.settings))
        except SourceError as error:
            reason = f"{self._url.netloc} names a realm for tokens that cannot be used"
            raise SourceError(self._location, f"{reason}: {error}") from None
        same_host = url.scheme == self._url.scheme == "http" and url.hostname == self._url.hostname
        if url.scheme != "https" and not same_host:
            reason = f"{self._url.netloc} names a realm for tokens that is not read over https"
            raise SourceError(self._location, f"{reason}: {quoted(realm)}")
        return url


class _TokenAnswer(msgspec.Struct):
    token: str | None = None
    access_token: str | None = None


def _basic(login: Login) -> str:
    # Python represents bytes of the environment that are not UTF-8 as surrogates.
    text = f"{login.user}:{login.password}".encode(errors="surrogateescape")
    return f"Basic {base64.b64encode(text).decode()}"
