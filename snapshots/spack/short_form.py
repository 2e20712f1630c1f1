"""The short form of a spec: one line that Spack 1.x, and ``parse``, read back as a query for it.

    hdf5@1.14.5+mpi~cxx build_type=Release arch=linux-ubuntu24.04-x86_64_v3 %gcc@13.2.0

The spec's own facts come first, because what stands behind ``%`` describes the compiler.
"""

from collections.abc import Sequence

from snapshots.spack.quoting import quote, recorded_value


def short_form(
    name: str, version: str, variants: Sequence[str], architecture: str, compiler: str | None
) -> str:
    """Return the short form of what is recorded in canonical spelling.

    ``architecture`` is PLATFORM-OS-TARGET, ``compiler`` NAME@VERSION or None.
    """
    switches = "".join(it for it in variants if it.startswith(("+", "~")))
    values = [_value(it) for it in variants if it and not it.startswith(("+", "~"))]
    parts = [f"{name}@{version}{switches}", *values, f"arch={architecture}"]
    if compiler is not None:
        parts.append(f"%{compiler}")
    return " ".join(parts)


def _value(variant: str) -> str:
    name, equals, value = variant.partition("=")
    if value.startswith("="):  # a value that was propagated
        equals, value = "==", value[1:]
    return f"{name}{equals}{quote(recorded_value(value))}"
