"""Where a build cache has what belongs to a spec."""

import pytest

from snapshots.sources.buildcache.layouts import BuildCache, file_name
from tests.snapshots.factories import a_spec, hash_of


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        (("py-torch", "2.5.1", "abc"), "py-torch-2.5.1-abc"),
        (("gtk+", "git.release/1=2.0"), "gtk+-git.release_1_2.0"),
    ],
)
def test_file_name(parts: tuple[str, ...], expected: str) -> None:
    """File names are joined by dashes, and what does not fit in one becomes an underscore."""
    assert file_name(*parts) == expected


def test_packages_of_layout_2() -> None:
    """The URL of a package follows from its spec, unless its compiler has no version."""
    spec = a_spec(version="git.main=1.0")
    directory = "build_cache/linux-ubuntu22.04-x86_64_v3/gcc-13.2.0/hdf5-git.main_1.0"
    file = f"linux-ubuntu22.04-x86_64_v3-gcc-13.2.0-hdf5-git.main_1.0-{spec.hash}.spack"
    assert BuildCache(2, "https://h/a").tarball(spec) == f"https://h/a/{directory}/{file}"
    assert BuildCache(2, "/srv/my a").tarball(spec) == f"file:///srv/my%20a/{directory}/{file}"
    assert BuildCache(3, "https://h/a").tarball(spec) is None
    assert BuildCache(2, "https://h/a").tarball(a_spec(compiler="..")) is None


def test_packages_of_layout_2_without_compiler() -> None:
    """Where paths have the compiler, Spack writes none-none for a spec without one."""
    spec = a_spec(compiler=None)
    directory = "build_cache/linux-ubuntu22.04-x86_64_v3/none-none/hdf5-1.14.5"
    file = f"linux-ubuntu22.04-x86_64_v3-none-none-hdf5-1.14.5-{spec.hash}.spack"
    assert BuildCache(2, "https://h/a").tarball(spec) == f"https://h/a/{directory}/{file}"
    assert BuildCache(3, "https://h/a").tarball(spec) is None


def test_a_key_in_the_url_is_not_published() -> None:
    """What stands behind the path of a URL, a key perhaps, is no part of a package's URL."""
    tarball = BuildCache(2, "https://h/a?key=secret").tarball(a_spec())
    assert tarball is not None
    assert tarball.startswith("https://h/a/build_cache/")
    assert tarball.endswith(".spack")


def test_manifests_of_layout_3() -> None:
    """The manifest of a spec is found by its name, version and hash; a key goes along."""
    manifest = f"v3/manifests/spec/hdf5/hdf5-1.14.5-{hash_of('a')}.spec.manifest.json"
    assert BuildCache(3, "https://h/").spec_manifest(a_spec()) == f"https://h/{manifest}"
    assert (
        BuildCache(3, "https://h/a?key=1").spec_manifest(a_spec())
        == f"https://h/a/{manifest}?key=1"
    )
    assert BuildCache(3, "/srv/my a").spec_manifest(a_spec()) == f"/srv/my a/{manifest}"
