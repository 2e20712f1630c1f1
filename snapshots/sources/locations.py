"""Locations: the paths and URLs that can be read, their resolution, and mirrors.

Spack installs from a mirror: the folder or URL directly above ``build_cache`` (layout 2), or above
``v3`` and ``blobs`` (layout 3), or a repository of an OCI registry. Source: Spack's documentation
of build caches.
"""

import re
from collections.abc import Collection
from pathlib import Path
from urllib.parse import urljoin, urlsplit, urlunsplit
from urllib.request import url2pathname

from snapshots.errors import SourceError
from snapshots.models import source_kind
from snapshots.sources import buckets
from snapshots.sources.settings import ReadSettings

# -- locations

_URL = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]+)://(?P<authority>[^/?#]*)(?P<rest>.*)", re.S)


def is_url(location: str) -> bool:
    """Return whether the location is an http(s):// URL, or one of a bucket."""
    beginning = location[:8].lower()
    return beginning.startswith(("http://", "https://")) or buckets.is_object(beginning)


def is_registry(location: str) -> bool:
    """Return whether the location is a repository of an OCI registry."""
    return location[:11].lower().startswith(("oci://", "oci+http://"))


def resolve(location: str, settings: ReadSettings) -> str:
    """Return the path or URL of a location; the http(s) URL of an object in a public bucket.

    Raises SourceError for a URL with another scheme or a login, and for an invalid URL.
    """
    match = _URL.fullmatch(location)
    if match is None:
        return location
    scheme, authority, rest = match["scheme"].lower(), match["authority"], match["rest"]
    if scheme in ("http", "https"):
        return _web_url(scheme, authority, rest)
    if buckets.is_object(f"{scheme}://"):
        url = buckets.resolved(f"{scheme}://{authority}{rest}", settings)
        return url if buckets.is_object(url) else resolve(url, settings)
    if scheme != "file":
        forms = "a folder, a file, or an http(s)://, s3://, gs://, az:// or oci:// URL"
        raise SourceError(location, f"is not one of these: {forms}")
    if authority not in ("", "localhost"):
        raise SourceError(location, f"is on another machine, {authority}; write file:///PATH")
    return url2pathname(urlsplit(f"file://{rest}").path)


def resolve_listed(location: str, listed_in: str, settings: ReadSettings) -> str:
    """Return the path or URL of a location that the document at the resolved ``listed_in`` names.

    It can be relative to the document. A remote document cannot name a local file, and a bucket
    other than its own is read at its public URL, without credentials. Raises SourceError.
    """
    if not is_url(listed_in):
        resolved = resolve(location, settings)
        return resolved if is_url(resolved) else str(Path(listed_in).parent / resolved)
    try:
        joined = location if _URL.fullmatch(location) else _joined(listed_in, location)
    except ValueError as error:
        raise SourceError(listed_in, f"names {location!r}, which is not a URL: {error}") from None
    resolved = resolve(joined, settings)
    if buckets.is_object(resolved) and resolved.split("/")[:3] != listed_in.split("/")[:3]:
        resolved = resolve(buckets.public_url(resolved), settings)
    if not is_url(resolved):
        raise SourceError(listed_in, f"names the local file {location}")
    return resolved


def _joined(base: str, location: str) -> str:
    """Return a relative location, resolved against ``base``. Raises ValueError."""
    if not buckets.is_object(base):
        return urljoin(base, location)
    joined = urljoin(f"https{base[2:]}", location)  # urljoin knows no buckets
    return f"{base[:2]}{joined[5:]}" if urlsplit(joined).netloc == urlsplit(base).netloc else joined


def public(location: str) -> str:
    """Return the location for publication: a URL without its query, which can contain a key."""
    if not is_url(location):
        return location
    return urlunsplit(urlsplit(location)._replace(query="", fragment=""))


def path_of(location: str) -> str:
    """Return the path of a URL, or the absolute path of a file with ``/`` as the separator."""
    return urlsplit(location).path if is_url(location) else Path(location).absolute().as_posix()


def with_path(location: str, path: str) -> str:
    """Return the location with another path; a URL keeps its host and query."""
    return urlunsplit(urlsplit(location)._replace(path=path)) if is_url(location) else path


def join(base: str, path: str) -> str:
    """Return the location of a path below a folder or a URL."""
    return with_path(base, f"{path_of(base).rstrip('/')}/{path}")


def link(base: str, path: str) -> str:
    """Return the public URL of a path below a URL, or the file:// URL of one below a folder."""
    location = join(base, path)
    return public(location) if is_url(location) else Path(location).as_uri()


def _web_url(scheme: str, authority: str, rest: str) -> str:
    url = f"{scheme}://{authority}{rest}"
    if "@" in authority:  # the catalog would publish it
        shown = f"{scheme}://{authority.rpartition('@')[2]}{rest}"
        raise SourceError(shown, "the URL contains a login; only what is public can be read")
    try:
        parts = urlsplit(url.encode().decode())  # an argument that is not UTF-8 fails here
        host, _ = parts.hostname, parts.port  # both are parsed on access
    except ValueError as error:
        raise SourceError(url, f"is not a valid URL: {error}") from None
    if not host:
        raise SourceError(url, "is not a valid URL: it names no host")
    return urlunsplit(parts._replace(fragment=""))


# -- mirrors

_LAYER = re.compile(r"http(?P<s>s?)://(?P<host>[^/]+)/v2/(?P<name>.+)/blobs/sha\d+:[0-9a-f]+")
_BELOW = re.compile(r"/(build_cache|blobs|v3/manifests)/")


def of_stacks(location: str, stacks: Collection[str]) -> str:
    """Return a location, or of one of the form ``STACK=LOCATION ...``, that of some stacks."""
    named = (item.partition("=") for item in location.split(" "))
    own = [path for stack, _, path in named if path and stack in stacks]
    return own[0] if own else location


def mirror_of(kind: str, location: str, tarball: str | None) -> str | None:
    """Return the mirror to add for a spec; None if it is unknown.

    ``kind`` and ``location`` are those of a revision's source. ``tarball`` is the URL of the spec's
    binary, if known; it determines a stack's mirror if the location is a list of several. The
    mirror is unknown for an index outside a build cache, a relative folder, and other kinds of
    sources.
    """
    is_mirror = source_kind(kind).is_mirror
    if is_mirror and is_registry(location):
        return location
    if tarball and (mirror := _above(tarball)):
        return mirror
    if not is_mirror or not (is_url(location) or location.startswith("/")):
        return None
    return _above(location) or (None if location.endswith(".json") else location.rstrip("/"))


def _above(location: str) -> str | None:
    """Return the registry repository of a location, or the parent of a build cache's folders."""
    if layer := _LAYER.fullmatch(location):
        return f"{'oci' if layer['s'] else 'oci+http'}://{layer['host']}/{layer['name']}"
    match = _BELOW.search(location)
    return location[: match.start()] if match else None
