"""Objects in buckets of S3, Google Cloud Storage and Azure, which obstore reads.

An object is at SCHEME://BUCKET/KEY, with the key as it is, without percent-encoding. Requests are
signed if the environment has credentials; they are never requested from a machine's metadata
service.
"""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import timedelta
from threading import Lock
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

import msgspec

from snapshots.errors import SourceError
from snapshots.program import importer_name
from snapshots.sources.inputs import AccessDenied, Missing
from snapshots.sources.settings import ReadSettings

if TYPE_CHECKING:
    from obstore.store import AzureStore, GCSStore, S3Store

PUBLIC_BUCKETS: Mapping[str, str] = {"spack-binaries": "https://binaries.spack.io"}
"""The public URLs of well-known buckets."""

_BUCKET = re.compile(r"[a-z0-9][a-z0-9._-]{1,61}[a-z0-9]")
_KEY = "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
_CREDENTIALS = {
    "s3": ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"),
    "gs": ("GOOGLE_SERVICE_ACCOUNT", "GOOGLE_APPLICATION_CREDENTIALS"),
    "az": ("AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_SAS", "AZURE_CLIENT", "AZURE_FEDERATED"),
}
"""The beginnings of variables with credentials, by scheme; obstore reads these variables."""

_ENDPOINT = "AWS_ENDPOINT_URL"
_YES = ("true", "1", "yes", "on")
_PIECE = 1 << 20
_LISTED_AT_ONCE = 1_000


def is_object(location: str) -> bool:
    """Return whether a location is that of a bucket or an object."""
    return location.startswith(("s3://", "gs://", "az://"))


def resolved(location: str, settings: ReadSettings) -> str:
    """Return the URL at which a location in a bucket is read: its public URL, or itself.

    Raises SourceError for an invalid name of a bucket and for unusable settings.
    """
    scheme, _, path = location.partition("://")
    bucket, slash, key = path.partition("/")
    if _BUCKET.fullmatch(bucket) is None:
        raise SourceError(location, f"{bucket!r} cannot name a bucket")
    if scheme != "s3":
        return location
    prefix = {**PUBLIC_BUCKETS, **settings.s3_prefixes}.get(bucket)
    if prefix is None:
        _check_s3(location)
        return location
    if not prefix.startswith(("http://", "https://")):
        raise SourceError(location, f"its bucket's prefix, {prefix}, is not an http(s) URL")
    return f"{prefix.rstrip('/')}{slash}{key}"


def public_url(location: str) -> str:
    """Return the http(s) URL of an object that is read without credentials. Raises SourceError."""
    scheme, _, path = location.partition("://")
    bucket, _, key = path.partition("/")
    path = f"{bucket}/{quote(key)}"
    if scheme == "gs":
        return f"https://storage.googleapis.com/{path}"
    if scheme == "az":
        raise SourceError(location, "is in Azure, and can only be read if you name it yourself")
    region = _region()
    default = f"https://s3.{region}.amazonaws.com" if region else "https://s3.amazonaws.com"
    return f"{s3_endpoint() or default}/{path}"


def s3_endpoint() -> str:
    """Return the URL of a service other than Amazon's; empty for Amazon's."""
    return os.environ.get(_ENDPOINT, "").rstrip("/")


def _region() -> str:
    return os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or ""


def _allows_http() -> bool:
    return os.environ.get("AWS_ALLOW_HTTP", "").lower() in _YES


def _is_signed(scheme: str) -> bool:
    """Return whether the environment has credentials, or some of them."""
    return any(name.startswith(_CREDENTIALS[scheme]) and text for name, text in os.environ.items())


def _check_s3(location: str) -> None:
    """Raise SourceError for variables with which obstore would crash, without revealing secrets."""
    for name in (*_CREDENTIALS["s3"], "AWS_SESSION_TOKEN"):
        text = os.environ.get(name, "")
        if not (text.isascii() and text.isprintable()):
            reason = f"{name} contains a character that no credentials have; is there a line break?"
            raise SourceError(location, reason)
    endpoint = s3_endpoint()
    if "@" in urlsplit(endpoint).netloc:
        raise SourceError(location, f"{_ENDPOINT} contains a login; set {_KEY} instead")
    schemes = ("http://", "https://") if _allows_http() else ("https://",)
    if _ENDPOINT in os.environ and not endpoint.startswith(schemes):
        reason = f"{_ENDPOINT}, {endpoint}, is not an https:// URL"
        raise SourceError(location, f"{reason}; AWS_ALLOW_HTTP=true allows http://, too")


# -- reading


class BucketObject(msgspec.Struct, frozen=True, eq=False):
    """An object that is being read.

    - etag: what changes with the content; None if the store states nothing
    - encoding: the Content-Encoding
    - size: the number of bytes
    - chunks: the bytes; raises SourceError
    """

    etag: str | None
    encoding: str
    size: int
    chunks: Iterator[bytes]


class BucketReader:
    """Reads objects according to settings; thread-safe.

    All methods raise Missing, AccessDenied and SourceError.
    """

    def __init__(self, settings: ReadSettings) -> None:
        self._settings = settings
        self._stores: dict[str, Any] = {}
        self._lock = Lock()

    def exists(self, location: str) -> bool:
        """Return whether an object exists."""
        store, key = self._store(location)
        try:
            with self._translated(location):
                store.head(key)
        except Missing:
            return False
        return True

    def get(self, location: str) -> BucketObject:
        """Begin to read an object."""
        store, key = self._store(location)
        with self._translated(location):
            return self._read(store.get(key), location)

    def get_changed(self, location: str, etag: str) -> BucketObject | None:
        """Begin to read an object; None if it still has the ETag."""
        from obstore.exceptions import NotModifiedError

        store, key = self._store(location)
        with self._translated(location), suppress(NotModifiedError):
            return self._read(store.get(key, options={"if_none_match": etag}), location)
        return None

    def _read(self, result: Any, location: str) -> BucketObject:
        return BucketObject(
            result.meta["e_tag"],
            result.attributes.get("Content-Encoding", "identity"),
            result.meta["size"],
            self._chunks(result, location),
        )

    def _chunks(self, result: Any, location: str) -> Iterator[bytes]:
        with self._translated(location):
            for chunk in result.stream(min_chunk_size=_PIECE):
                yield bytes(chunk)

    def list(self, location: str) -> Iterator[tuple[str, str | None]]:
        """Yield the location and the ETag of each object below a location."""
        store, key = self._store(location)
        root = location.removesuffix(key).rstrip("/")
        with self._translated(location):
            for page in store.list(key.rstrip("/") or None, chunk_size=_LISTED_AT_ONCE):
                for meta in page:
                    yield f"{root}/{meta['path']}", meta["e_tag"]

    def _store(self, location: str) -> tuple[Any, str]:
        """Return the store of a location's bucket, and the location's key."""
        scheme, _, path = location.partition("://")
        bucket, _, key = path.partition("/")
        with self._lock, self._translated(location):
            root = f"{scheme}://{bucket}"
            if root not in self._stores:
                self._stores[root] = self._opened(scheme, bucket)
            return self._stores[root], key

    def _opened(self, scheme: str, bucket: str) -> "S3Store | GCSStore | AzureStore":
        from obstore.store import AzureStore, GCSStore, S3Store

        settings = self._settings
        backoff = timedelta(seconds=settings.backoff)
        options: dict[str, Any] = {
            "client_options": {
                "allow_http": _allows_http(),
                "connect_timeout": timedelta(seconds=settings.timeout),
                "read_timeout": timedelta(seconds=settings.timeout),
                "timeout": timedelta(seconds=settings.deadline),
                "user_agent": importer_name().replace(" ", "/"),
            },
            "retry_config": {
                "max_retries": settings.attempts - 1,
                "retry_timeout": timedelta(seconds=settings.deadline),
                "backoff": {"init_backoff": backoff, "max_backoff": 16 * backoff, "base": 2},
            },
            "skip_signature": not _is_signed(scheme),
        }
        if scheme == "s3":
            options |= {"endpoint": endpoint} if (endpoint := s3_endpoint()) else {}
            return S3Store(bucket, region=_region() or "us-east-1", **options)
        return (GCSStore if scheme == "gs" else AzureStore)(bucket, **options)

    @contextmanager
    def _translated(self, location: str) -> Iterator[None]:
        from obstore.exceptions import BaseError

        try:
            yield
        except (BaseError, OSError, ValueError) as error:
            raise _source_error(error, location) from None


# -- errors

_STATUS = re.compile(r"status code: (\d+ [A-Za-z -]+)")
_XML_PART = re.compile(r"<(Code|Message)>(.*?)</\1>", re.DOTALL)
_TRIED = re.compile(r"after (\d+) retries")
_REFUSALS = frozenset(
    {
        "ExpiredToken",
        "InvalidAccessKeyId",
        "InvalidToken",
        "RequestTimeTooSkewed",
        "SignatureDoesNotMatch",
        "TokenRefreshRequired",
    }
)
_OTHER_REGION = re.compile("incorrectly configured region|AuthorizationHeaderMalformed|Redirect<")


def _source_error(error: Exception, location: str) -> SourceError:
    """Return obstore's error as one with advice about credentials and regions."""
    text = str(error).partition("\n\nDebug source")[0]
    parts = dict(_XML_PART.findall(text))
    name, message = parts.get("Code", ""), parts.get("Message", "")
    found = _STATUS.search(text)
    status = (f"HTTP {found[1].strip()}" if found else "") + (f" ({name})" if name else "")
    if name == "NoSuchBucket":
        reason = "there is no such bucket; check its name, and AWS_ENDPOINT_URL"
        return SourceError(location, f"{status}: {reason}")
    if "404" in status:
        return Missing(location, f"{status}: it is not there")
    if _OTHER_REGION.search(text):
        return SourceError(location, "the bucket is in another region; set AWS_REGION")
    if name in _REFUSALS:
        reason = f"the credentials are refused; check {_KEY}, and AWS_SESSION_TOKEN"
        return SourceError(location, f"{status}: {reason}: {message}")
    if "401" in status or "403" in status:
        if not location.startswith("s3:"):
            reason = "it is not there, or it is not public, or the credentials may not read it"
        elif _is_signed("s3"):
            reason = (
                "it is not there, or AWS_ACCESS_KEY_ID may not read it; a bucket that is public is "
                "read without credentials where CACHELOG_S3_PREFIXES names it"
            )
        else:
            reason = f"it is not there, or it is not public; for credentials set {_KEY}"
        return AccessDenied(location, f"{status}: {reason}")
    if isinstance(error, ValueError):
        return SourceError(location, f"is not a valid URL: {text}")
    tried = _TRIED.search(text)
    times = f" (tried {int(tried[1]) + 1} times); try again later" if tried else ""
    if not status:
        status, message = "the request failed", text.rpartition(" - ")[2]
    return SourceError(location, f"{status}{message and f': {message}'}{times}")
