"""Where a build cache has what belongs to a spec."""

from typing import Any

import pytest

from snapshots.sources.buildcache.layouts import BuildCache
from tests.snapshots.factories import a_spec, hash_of

DIGEST = hash_of("a")
PLATFORM = "linux-ubuntu22.04-x86_64_v3"
WITH_GCC = (
    f"build_cache/{PLATFORM}/gcc-13.2.0/hdf5-git.main_1.0/"
    f"{PLATFORM}-gcc-13.2.0-hdf5-git.main_1.0-{DIGEST}.spack"
)
WITHOUT = (
    f"build_cache/{PLATFORM}/none-none/hdf5-1.14.5/{PLATFORM}-none-none-hdf5-1.14.5-{DIGEST}.spack"
)


@pytest.mark.parametrize(
    ("cache", "facts", "tarball"),
    [
        (BuildCache(2, "https://h/a"), {"version": "git.main=1.0"}, f"https://h/a/{WITH_GCC}"),
        (BuildCache(2, "/srv/my a"), {"version": "git.main=1.0"}, f"file:///srv/my%20a/{WITH_GCC}"),
        (BuildCache(2, "https://h/a"), {"compiler": None}, f"https://h/a/{WITHOUT}"),
        (BuildCache(2, "https://h/a?key=1"), {"compiler": None}, f"https://h/a/{WITHOUT}"),
        (BuildCache(2, "https://h/a"), {"compiler": ".."}, None),
        (BuildCache(3, "https://h/a"), {}, None),
    ],
)
def test_packages_of_layout_2(
    cache: BuildCache, facts: dict[str, Any], tarball: str | None
) -> None:
    """The URL follows from the facts of a spec; the query of the cache, a key say, is left out."""
    assert cache.tarball(a_spec(**facts)) == tarball


MANIFEST = f"v3/manifests/spec/hdf5/hdf5-1.14.5-{DIGEST}.spec.manifest.json"


@pytest.mark.parametrize(
    ("base", "manifest"),
    [
        ("https://h/", f"https://h/{MANIFEST}"),
        ("https://h/a?key=1", f"https://h/a/{MANIFEST}?key=1"),
        ("/srv/my a", f"/srv/my a/{MANIFEST}"),
    ],
)
def test_manifests_of_layout_3(base: str, manifest: str) -> None:
    """The location follows from name, version and hash; the query of the cache is kept."""
    assert BuildCache(3, base).spec_manifest(a_spec()) == manifest
