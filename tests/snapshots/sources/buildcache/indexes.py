"""Indexes as JSON values, in the form that Spack writes."""

from typing import Any

from snapshots.sources.buildcache.database import SPEC_FORMATS

LIBELF = "jr3yipyxyjulcdvckwwwjrrumis7glpa"
GCC = "vd7v4ssgnoqdplgxyig3orum67n4vmhq"
WRAPPER = "qeehcxyvluwnihsc2qxstmpomtxo3lrc"
RUNTIME = "izgzpzeljwairalfjm3k6fntbb64nt6n"

FLAGS: dict[str, Any] = {
    flag: [] for flag in ("cflags", "cppflags", "cxxflags", "fflags", "ldflags", "ldlibs")
}


def node(name: str, digest: str, version: str = "1.0", **more: Any) -> dict[str, Any]:
    """Return a spec in version 8 of the database; None leaves a key out."""
    target = {"name": "m1", "vendor": "Apple", "features": ["neon"], "generation": 0}
    keys = {
        "name": name,
        "version": version,
        "arch": {"platform": "test", "platform_os": "debian6", "target": target},
        "namespace": "builtin.mock",
        "parameters": {"build_system": "generic", **FLAGS},
        "package_hash": "ejr32l7tkp6uhdrlunqv4adkuxqwyac7====",
        "annotations": {"original_specfile_version": 5},
        "hash": digest,
    }
    return {key: value for key, value in (keys | more).items() if value is not None}


def edge(name: str, digest: str, types: list[str], virtuals: list[str]) -> dict[str, Any]:
    """Return an edge in version 8 of the database."""
    return {"name": name, "hash": digest, "parameters": {"deptypes": types, "virtuals": virtuals}}


def entry(spec: dict[str, Any], in_buildcache: bool = True) -> dict[str, Any]:
    """Return an entry of the database."""
    return {"spec": spec, "ref_count": 1, "in_buildcache": in_buildcache}


def database(*specs: dict[str, Any], version: str = "8") -> dict[str, Any]:
    """Return a database whose specs are all in the cache except gcc, which is external."""
    installs = {spec["hash"]: entry(spec, spec["name"] != "gcc") for spec in specs}
    return {"database": {"version": version, "installs": installs}}


def small_database() -> dict[str, Any]:
    """Return an index with libelf, whose compiler is not in the cache."""
    edges = [
        edge("gcc-runtime", RUNTIME, ["link"], []),
        edge("gcc", GCC, ["build"], ["cxx", "c"]),
        edge("compiler-wrapper", WRAPPER, ["build"], []),
    ]
    runtime_edges = [edge("gcc", GCC, ["build"], [])]
    return database(
        node("gcc", GCC, "10.2.1", external={"path": "/path"}),
        node("compiler-wrapper", WRAPPER),
        node("gcc-runtime", RUNTIME, "10.2.1", dependencies=runtime_edges),
        node("libelf", LIBELF, "0.8.13", dependencies=edges),
    )


def installation(
    records: dict[str, dict[str, Any]] | None = None,
    version: str = "8",
    index: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the database of an installation; ``records`` are changed facts by hash."""
    installs = {}
    for digest, install in (index or small_database())["database"]["installs"].items():
        is_external = digest == GCC
        installs[digest] = {
            "spec": install["spec"],
            "path": None if is_external else f"/opt/spack/linux/{digest}",
            "installed": True,
            "ref_count": 1,
            "explicit": digest == LIBELF,
            "installation_time": 1_743_336_000.987,
            **(records or {}).get(digest, {}),
        }
    return {"database": {"version": version, "installs": installs}}


def spec_document(*nodes: dict[str, Any], version: int = 5) -> dict[str, Any]:
    """Return the document of the first node, with its dependencies."""
    return {"spec": {"_meta": {"version": version}, "nodes": list(nodes)}}


def documents_of(index: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the document of each spec that an index has in the cache, by hash."""
    installs = index["database"]["installs"]
    version = SPEC_FORMATS.get(index["database"]["version"], 4)
    documents = {}
    for digest, install in installs.items():
        if install["in_buildcache"]:
            below, pending = {digest: install["spec"]}, [install["spec"]]
            while pending:
                for dependency in pending.pop().get("dependencies", []):
                    other = dependency["hash"]
                    if other not in below and other in installs:
                        below[other] = installs[other]["spec"]
                        pending.append(below[other])
            documents[digest] = spec_document(*below.values(), version=version)
    return documents
