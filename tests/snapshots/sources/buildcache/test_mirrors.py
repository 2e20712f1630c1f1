"""The mirror to install from, by what a revision was read from."""

import pytest

from snapshots.sources.locations import mirror_of

URL = "https://cache.example/develop/e4s"


@pytest.mark.parametrize(
    ("kind", "location", "tarball", "mirror"),
    [
        ("index", URL, None, URL),
        ("index", f"{URL}/", None, URL),
        ("index", f"{URL}/build_cache/index.json", None, URL),
        ("index", f"{URL}/v3/manifests/index/index.manifest.json", None, URL),
        ("index", "/caches/e4s", None, "/caches/e4s"),
        ("index", "https://cache.example/tags.json", f"{URL}/build_cache/a/b.spack", URL),
        ("index", "https://cache.example/tags.json", f"{URL}/blobs/sha256/ab/abc", URL),
        ("pages", "site/_cache", f"{URL}/build_cache/a/b.spack", URL),
        ("index", "s3://bucket/e4s/", None, "s3://bucket/e4s"),
        (
            "index",
            "s3://bucket/tags.json",
            "s3://bucket/e4s/blobs/sha256/ab/abc",
            "s3://bucket/e4s",
        ),
        ("index", "e4s=/caches/e4s ml=/caches/ml", None, None),
        ("index", "https://cache.example/tags.json", None, None),
        ("index", "caches/e4s", None, None),
        ("pages", "https://site.example/_cache", None, None),
        ("git", "https://site.example/cache.git", None, None),
        ("demo", "demo: 40 packages", None, None),
        ("index", "oci://ghcr.example/a/b", None, "oci://ghcr.example/a/b"),
        (
            "index",
            "oci://ghcr.example/a/b",
            "https://ghcr.example/v2/a/b/blobs/sha256:0",
            "oci://ghcr.example/a/b",
        ),
        (
            "index",
            "e4s=oci://ghcr.example/a/b ml=/caches/ml",
            "https://ghcr.example/v2/a/b/blobs/sha256:0",
            "oci://ghcr.example/a/b",
        ),
        (
            "index",
            "e4s=oci+http://127.0.0.1:5000/a",
            "http://127.0.0.1:5000/v2/a/blobs/sha512:0",
            "oci+http://127.0.0.1:5000/a",
        ),
        ("index", "/caches/e4s", "https://elsewhere.example/b.spack", "/caches/e4s"),
    ],
)
def test_a_mirror_is_told_or_unknown(
    kind: str, location: str, tarball: str | None, mirror: str | None
) -> None:
    """It is what has the folders of a build cache directly below it; nothing is guessed."""
    assert mirror_of(kind, location, tarball) == mirror
