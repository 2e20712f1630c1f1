"""Documents of Spack's that are easily taken for an index: one spec, one environment.

Source: the files that ``spack spec --json``, ``spack buildcache push`` and ``spack concretize``
write.
"""

from collections.abc import Mapping

from msgspec import Raw

_INSTEAD = (
    "import the index.json that describes the whole build cache, or the build cache itself "
    "(its folder or URL)"
)


def explain(document: Mapping[str, Raw]) -> str | None:
    """Return what a document is instead of an index or a list of tags; None where it may be one.

    A spec is an object below ``spec`` or, before Spack 0.17, a list; that of a tag named ``spec``
    has labels. A lockfile states itself what it is.
    """
    spec = bytes(document.get("spec", b"")).lstrip()
    if spec.startswith(b"{") or (spec.startswith(b"[") and b'"label"' not in spec):
        return f"is the spec.json of one spec, not the index of a build cache; {_INSTEAD}"
    if b'"spack-lockfile"' in bytes(document.get("_meta", b"")):
        return f"is the spack.lock of an environment, not the index of a build cache; {_INSTEAD}"
    return None
