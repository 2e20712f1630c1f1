"""S3 buckets: URLs of their objects, signed requests, and object listings.

Source: Amazon's documentation of Signature Version 4 and of the operation ListObjectsV2, which
other services implement as well.
"""

import hashlib
import hmac
import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote, urlencode, urlsplit
from xml.etree import ElementTree

import msgspec

from snapshots.errors import SourceError
from snapshots.sources.inputs import AccessDenied, Missing
from snapshots.sources.settings import ReadSettings, S3Access

if TYPE_CHECKING:
    from httpx import Response


PUBLIC_BUCKETS: Mapping[str, str] = {"spack-binaries": "https://binaries.spack.io"}
"""The public URLs of well-known buckets."""

_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_AMAZON = re.compile(r"(?:(?P<bucket>[a-z0-9.-]+)\.)?s3(?:[.-][a-z0-9-]+)?\.amazonaws\.com")
_SCHEME = "s3://"
_UNRESERVED = "-_.~"
_NO_BODY = hashlib.sha256().hexdigest()
_ERROR_BYTES = 1 << 16
_KEY = "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
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
_OTHER_REGION = frozenset({"AuthorizationHeaderMalformed", "PermanentRedirect"})


def is_signed(bucket: str, settings: ReadSettings) -> bool:
    """Return whether requests for a bucket are signed; those for public prefixes are not."""
    return settings.s3.is_signed and bucket not in _prefixes(settings)


def bucket_url(location: str, bucket: str, settings: ReadSettings) -> str:
    """Return the base URL of a bucket's objects, without a trailing slash.

    Raises SourceError, with ``location`` as its location, for an invalid bucket name and for
    unusable settings.
    """
    if _BUCKET.fullmatch(bucket) is None:
        raise SourceError(location, f"{bucket!r} cannot name an S3 bucket")
    prefix = _prefixes(settings).get(bucket)
    if prefix is not None:
        if not prefix.startswith(("http://", "https://")):
            raise SourceError(location, f"its bucket's prefix, {prefix}, is not an http(s) URL")
        return prefix.rstrip("/")
    access = settings.s3
    _check(access, location)
    if access.endpoint:
        return f"{access.endpoint}/{bucket}"
    host = f"s3.{access.region}.amazonaws.com" if access.region else "s3.amazonaws.com"
    # Amazon's certificates do not match bucket names that contain a dot.
    return f"https://{host}/{bucket}" if "." in bucket else f"https://{bucket}.{host}"


def object_url(location: str, settings: ReadSettings) -> str:
    """Return the http(s) URL of an s3:// location, percent-encoded as required for signatures."""
    parts = urlsplit(location)
    url = f"{bucket_url(location, parts.netloc, settings)}{quote(parts.path, '/' + _UNRESERVED)}"
    return f"{url}?{parts.query}" if parts.query else url


def signed_headers(method: str, url: str, access: S3Access, moment: datetime) -> Mapping[str, str]:
    """Return the headers that sign a request without a body, sent at a time in UTC.

    ``url`` must be encoded as by ``object_url``, with its query sorted.
    """
    parts = urlsplit(url)
    time, day = f"{moment:%Y%m%dT%H%M%SZ}", f"{moment:%Y%m%d}"
    headers = {"x-amz-content-sha256": _NO_BODY, "x-amz-date": time}
    if access.token:
        headers["x-amz-security-token"] = access.token
    named = {"host": parts.netloc} | headers
    names = ";".join(named)
    lines = [f"{name}:{value}" for name, value in named.items()]
    request = "\n".join([method, parts.path or "/", parts.query, *lines, "", names, _NO_BODY])
    region = access.region or "us-east-1"
    scope = f"{day}/{region}/s3/aws4_request"
    text = f"AWS4-HMAC-SHA256\n{time}\n{scope}\n{hashlib.sha256(request.encode()).hexdigest()}"
    key = f"AWS4{access.secret}".encode()
    for part in (day, region, "s3", "aws4_request", text):
        key = hmac.digest(key, part.encode(), "sha256")
    credential = f"Credential={access.key_id}/{scope}"
    signature = f"{credential}, SignedHeaders={names}, Signature={key.hex()}"
    return headers | {"Authorization": f"AWS4-HMAC-SHA256 {signature}"}


class InBucket(msgspec.Struct, frozen=True):
    """A location in a bucket: the location of the bucket, ``root``, and the ``key``."""

    root: str
    key: str


def in_bucket(location: str, settings: ReadSettings) -> InBucket | None:
    """Return the root and key of a location in a bucket, either an s3:// or an http(s):// URL.

    None if it is not in a bucket, judging by the settings and the names of Amazon's hosts.
    """
    parts = urlsplit(location)
    path = parts.path.removeprefix("/")
    if location.startswith(_SCHEME):
        return InBucket(f"{_SCHEME}{parts.netloc}", path)
    origin = f"{parts.scheme}://{parts.netloc}"
    for root in _roots(settings):
        if location.startswith(f"{root}/"):
            return InBucket(root, unquote(f"{origin}/{path}"[len(root) + 1 :]))
    match = _AMAZON.fullmatch(parts.netloc)
    if match and match["bucket"]:
        return InBucket(origin, unquote(path))
    endpoint = origin if match else settings.s3.endpoint
    if endpoint and location.startswith(f"{endpoint}/"):
        bucket, _, key = f"{origin}/{path}"[len(endpoint) + 1 :].partition("/")
        return InBucket(f"{endpoint}/{bucket}", unquote(key))
    return None


def location_of(root: str, key: str) -> str:
    """Return the location of an object in the bucket at ``root``."""
    path = key if root.startswith(_SCHEME) else quote(key, "/" + _UNRESERVED)
    return f"{root}/{path}"


def is_s3(location: str, settings: ReadSettings) -> bool:
    """Return whether a location is served by S3 itself, not by a public prefix of a bucket."""
    place = in_bucket(location, settings)
    return place is not None and place.root not in _roots(settings)


def refusal(response: "Response", location: str, status: str) -> SourceError:
    """Return the error for an unsuccessful response of a bucket.

    ``status`` is the status for display. The error is a Missing, AccessDenied or other SourceError,
    with advice about credentials and regions.
    """
    code = response.status_code
    name, message, region = _error_of(response)
    if name:
        status = f"{status} ({name})"
    if name == "NoSuchBucket":
        reason = "there is no such bucket; check its name, and AWS_ENDPOINT_URL"
        return SourceError(location, f"{status}: {reason}")
    if code == 404:
        return Missing(location, f"{status}: it is not there")
    if 300 <= code < 400 or name in _OTHER_REGION:
        reason = f"the bucket is in another region; set AWS_REGION={region or '...'}"
        return SourceError(location, f"{status}: {reason}")
    if name in _REFUSALS:
        reason = f"the credentials are refused; check {_KEY}, and AWS_SESSION_TOKEN"
        return SourceError(location, f"{status}: {reason}: {message}")
    if code in (401, 403):
        if location.startswith(_SCHEME):
            reason = (
                "it is not there, or AWS_ACCESS_KEY_ID may not read it; a bucket that is public is "
                "read without credentials where CACHELOG_S3_PREFIXES names it"
            )
        else:
            reason = f"it is not there, or it is not public; for credentials set {_KEY}"
        return AccessDenied(location, f"{status}: {reason}")
    hint = f": {message}" if message else f"; check {_KEY} if it wants credentials"
    return SourceError(location, f"{status}{hint}")


class ObjectList(msgspec.Struct, frozen=True):
    """A page of a listing: keys with the ETags of their objects, and the token of the next page."""

    objects: list[tuple[str, str | None]]
    next_token: str | None


def list_location(place: InBucket, token: str | None) -> str:
    """Return the location of a page of the listing of all objects whose keys begin with a key."""
    values = {"list-type": "2", "prefix": place.key}
    if token is not None:
        values = {"continuation-token": token} | values  # sorted, as required for signatures
    return f"{place.root}/?{urlencode(values, quote_via=quote, safe=_UNRESERVED)}"


def parse_list(data: bytes | bytearray, location: str) -> ObjectList:
    """Parse a page of a listing. Raises SourceError."""
    root = _xml(data)
    if root is None or not root.tag.endswith("ListBucketResult"):
        raise SourceError(location, "the answer is not a list of objects (ListBucketResult)")
    objects = [
        (entry.findtext("{*}Key", ""), entry.findtext("{*}ETag"))
        for entry in root.iterfind("{*}Contents")
    ]
    if root.findtext("{*}IsTruncated") != "true":
        return ObjectList(objects, None)
    token = root.findtext("{*}NextContinuationToken")
    if not token:
        raise SourceError(location, "the list breaks off: it names no next page")
    return ObjectList(objects, token)


def _prefixes(settings: ReadSettings) -> Mapping[str, str]:
    return {**PUBLIC_BUCKETS, **settings.s3_prefixes}


def _roots(settings: ReadSettings) -> list[str]:
    return [prefix.rstrip("/") for prefix in _prefixes(settings).values()]


def _check(access: S3Access, location: str) -> None:
    """Raise SourceError for unusable settings, without revealing secrets."""
    credentials = {
        "AWS_ACCESS_KEY_ID": access.key_id,
        "AWS_SECRET_ACCESS_KEY": access.secret,
        "AWS_SESSION_TOKEN": access.token,
    }
    for name, text in credentials.items():
        if not (text.isascii() and text.isprintable()):  # an HTTP library would quote the secret
            reason = f"{name} contains a character that no credentials have; is there a line break?"
            raise SourceError(location, reason)
    if "@" in urlsplit(access.endpoint).netloc:
        raise SourceError(location, f"AWS_ENDPOINT_URL contains a login; set {_KEY} instead")
    if bool(access.key_id) != bool(access.secret):
        names = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
        present, absent = names if access.key_id else names[::-1]
        raise SourceError(location, f"{present} is set, and {absent} is not; set both or none")
    if access.endpoint.startswith("http://") and not access.allows_http:
        reason = f"AWS_ENDPOINT_URL, {access.endpoint}, is http://; AWS_ALLOW_HTTP=true allows it"
        raise SourceError(location, reason)
    if access.endpoint and not access.endpoint.startswith(("http://", "https://")):
        raise SourceError(location, f"AWS_ENDPOINT_URL, {access.endpoint}, is not an http(s) URL")


def _error_of(response: "Response") -> tuple[str, str, str]:
    """Return the code and message of an error, and the region that it names."""
    import httpx

    data = bytearray()
    with suppress(httpx.DecodingError):
        for chunk in response.iter_bytes(_ERROR_BYTES):
            data += chunk
            if len(data) > _ERROR_BYTES:
                break
    root = _xml(data)
    name = message = region = ""
    if root is not None and root.tag.endswith("Error"):
        name, message, region = (
            root.findtext(f"{{*}}{key}") or "" for key in ("Code", "Message", "Region")
        )
    return name, message, response.headers.get("x-amz-bucket-region", region)


def _xml(data: bytes | bytearray) -> ElementTree.Element | None:
    if b"<!" in data:  # S3 sends no comments or declarations; entities could expand indefinitely
        return None
    parser = ElementTree.XMLParser(encoding="utf-8")  # noqa: S314 - without any entities
    try:
        return ElementTree.fromstring(bytes(data), parser)  # noqa: S314
    except ElementTree.ParseError:
        return None
