"""Locations: their paths or URLs, invalid ones, and paths below them."""

import pytest

from snapshots.errors import SourceError
from snapshots.models import public_location
from snapshots.sources.locations import join, link, mirror_of, resolve, resolve_listed
from snapshots.sources.settings import ReadSettings

SETTINGS = ReadSettings(s3_prefixes={"mine": "http://127.0.0.1/mine/", "disk": "/srv"})


@pytest.mark.parametrize(
    ("location", "expected"),
    [
        ("file:///some/a%20folder", "/some/a folder"),
        ("file://localhost/some", "/some"),
        ("HTTPS://Host/index.json", "https://Host/index.json"),
        ("https://host?user=a@b", "https://host?user=a@b"),
        ("https://host/a.json?key=1#part", "https://host/a.json?key=1"),
        ("https://[::1]:8080/a", "https://[::1]:8080/a"),
        ("s3://spack-binaries/develop/e4s", "https://binaries.spack.io/develop/e4s"),
        ("s3://other-bucket/a/b.json", "s3://other-bucket/a/b.json"),
        ("s3://mine/a", "http://127.0.0.1/mine/a"),
    ],
)
def test_resolve(location: str, expected: str) -> None:
    """A location is a path or an http(s) URL; a bucket is the URL that serves it."""
    assert resolve(location, SETTINGS) == expected


@pytest.mark.parametrize(
    ("location", "reason"),
    [
        ("oci://registry/image", "is not one of these: "),
        ("file://host/index.json", "is on another machine, host"),
        ("s3://-/a", "cannot name a bucket"),
        ("s3://disk/a", "prefix, /srv, is not an http"),
        ("https://me:secret@host/index.json", "^https://host/index.json: the URL contains a login"),
        ("https:///index.json", "names no host"),
        ("https://[host/index.json", "is not a valid URL: Invalid IPv6 URL"),
        ("https://host:port/index.json", "is not a valid URL: Port could not be cast"),
        ("https://host/\udcff", "is not a valid URL: 'utf-8' codec can't encode"),
    ],
)
def test_refused_locations(location: str, reason: str) -> None:
    """Other and invalid URLs are refused, without repeating a login."""
    with pytest.raises(SourceError, match=reason) as caught:
        resolve(location, SETTINGS)
    assert "secret" not in str(caught.value)


LOCAL, NET = "/srv/lists/tags.json", "https://host/lists/tags.json"


@pytest.mark.parametrize(
    ("location", "listed_in", "expected"),
    [
        ("e4s", LOCAL, "/srv/lists/e4s"),
        ("file:///other/e4s", LOCAL, "/other/e4s"),
        ("s3://mine/e4s", LOCAL, "http://127.0.0.1/mine/e4s"),
        ("e4s/index.json", NET, "https://host/lists/e4s/index.json"),
        ("/etc/passwd", NET, "https://host/etc/passwd"),
        ("//other/e4s", NET, "https://other/e4s"),
    ],
)
def test_resolve_listed(location: str, listed_in: str, expected: str) -> None:
    """Listed locations may be relative; those of a remote list are always URLs."""
    assert resolve_listed(location, listed_in, SETTINGS) == expected


@pytest.mark.parametrize(
    ("location", "reason"),
    [
        ("file:///etc/passwd", "names the local file file:///etc/passwd"),
        ("https://me:secret@host/", "contains a login"),
        ("//[host/", "which is not a URL: Invalid IPv6 URL"),
        ("javascript:alert()", "names the local file"),
    ],
)
def test_refused_listed_locations(location: str, reason: str) -> None:
    """A remote list cannot name local files, or anything but plain URLs."""
    with pytest.raises(SourceError, match=reason) as caught:
        resolve_listed(location, NET, SETTINGS)
    assert "secret" not in str(caught.value)


def test_locations_below_a_cache() -> None:
    """Paths are joined to folders and URLs; a URL keeps its query unless it is published."""
    assert join("https://host/a/", "b/c") == link("https://host/a", "b/c") == "https://host/a/b/c"
    assert join("https://host/a?key=1", "b") == "https://host/a/b?key=1"
    assert link("https://host/a?key=1", "b") == "https://host/a/b"
    assert join("/srv/my cache", "b/c") == "/srv/my cache/b/c"
    assert link("/srv/my cache", "b/c") == "file:///srv/my%20cache/b/c"


URL = "https://cache.example/develop/e4s"
LIST = "https://cache.example/tags.json"
OCI = "oci://ghcr.example/a/b"
BLOB = "https://ghcr.example/v2/a/b/blobs/sha256:0"


@pytest.mark.parametrize(
    ("kind", "location", "tarball", "mirror"),
    [
        ("index", f"{URL}/build_cache/index.json", None, URL),
        ("index", f"{URL}/v3/manifests/index/index.manifest.json", None, URL),
        ("index", "/caches/e4s", None, "/caches/e4s"),
        ("index", LIST, f"{URL}/build_cache/a/b.spack", URL),
        ("index", LIST, f"{URL}/blobs/sha256/ab/abc", URL),
        ("pages", "site/_cache", f"{URL}/build_cache/a/b.spack", URL),
        ("index", "e4s=/caches/e4s ml=/caches/ml", None, None),
        ("index", LIST, None, None),
        ("index", "caches/e4s", None, None),
        ("index", OCI, None, OCI),
        ("index", OCI, BLOB, OCI),
        (
            "index",
            "e=oci+http://h:5000/a",
            "http://h:5000/v2/a/blobs/sha512:0",
            "oci+http://h:5000/a",
        ),
    ],
)
def test_mirrors(kind: str, location: str, tarball: str | None, mirror: str | None) -> None:
    """The mirror of a revision has the folders of a build cache, or there is none."""
    assert mirror_of(kind, location, tarball) == mirror


@pytest.mark.parametrize(
    ("location", "public"),
    [
        ("/home/me/caches/e4s", "e4s"),
        ("e4s=/home/me/e4s ml=https://b.example/ml", "e4s=e4s ml=https://b.example/ml"),
        ("https://a.example/e4s", "https://a.example/e4s"),
        ("/home/me/a=b c", "a=b c"),
    ],
)
def test_public_location(location: str, public: str) -> None:
    """The folders of an operator are private, in each of several locations."""
    assert public_location(location) == public
