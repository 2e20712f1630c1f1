"""A build cache of layout 2 or 3, or in a registry: where it has what belongs to a spec.

Source: Spack's documentation of build caches, and the layouts that Spack writes.
"""

import re

import msgspec

from snapshots.models import Spec
from snapshots.sources.buildcache.locations import join, link

OCI = "oci"
"""The layout of a build cache that is a repository of an OCI registry."""

_NO_COMPILER = "none@none"
_UNFIT = re.compile(r"[^A-Za-z0-9_+.-]")


class Cache(msgspec.Struct, frozen=True):
    """A build cache: the version of its layout or OCI, and the folder or URL that holds it all."""

    layout: int | str
    base: str

    def tarball(self, spec: Spec) -> str | None:
        """Return the URL of a spec's package if it follows from the spec.

        It does in layout 2, whose paths name the compiler and its version, ``none-none`` for a
        spec without a compiler. None for other layouts, and for a compiler without a version.
        """
        name, _, version = (spec.compiler or _NO_COMPILER).partition("@")
        if self.layout != 2 or not version:
            return None
        arch = file_name(spec.platform, spec.operating_system, spec.target)
        compiler = file_name(name, version)
        package = file_name(spec.name, spec.version)
        file = f"{file_name(arch, compiler, package, spec.hash)}.spack"
        return link(self.base, f"build_cache/{arch}/{compiler}/{package}/{file}")

    def spec_manifest(self, spec: Spec) -> str:
        """Return where layout 3 has the manifest of a spec."""
        name = file_name(spec.name, spec.version, spec.hash)
        path = f"v3/manifests/spec/{file_name(spec.name)}/{name}.spec.manifest.json"
        return join(self.base, path)


def file_name(*parts: str) -> str:
    """Join parts of a file name as Spack does: with ``-``, and ``_`` for what does not fit."""
    return _UNFIT.sub("_", "-".join(parts))
