"""Decoded indexes: entries that are specs, their facts, and errors."""

import json
from typing import Any

import pytest
from msgspec.structs import replace

from snapshots.errors import SourceError
from snapshots.models import Dependency, Spec
from snapshots.sources.buildcache.database import IndexSpecs, decode
from snapshots.sources.reports import Report
from tests.snapshots.sources.buildcache.indexes import (
    GCC,
    LIBELF,
    RUNTIME,
    WRAPPER,
    database,
    edge,
    node,
    small_database,
)

GLIBC = "g" * 32


def _decoded(value: Any, report: Report | None = None) -> IndexSpecs:
    """Decode an index whose hashes are made up."""
    return decode(json.dumps(value).encode(), "index.json", report or Report(), proof=False)


def read(value: Any, report: Report | None = None) -> dict[str, Spec]:
    """Decode an index from a JSON value."""
    return dict(_decoded(value, report).in_cache)


def only(spec: dict[str, Any], version: str = "8", report: Report | None = None) -> Spec:
    """Return a spec of an index with two compilers."""
    compilers = node("gcc", GCC, "10.2.1"), node("llvm", RUNTIME, "19.1")
    value = database(*compilers, spec, version=version)
    return read(value, report)[spec["hash"]]


def test_small_index() -> None:
    """Entries in the cache are specs with all of their facts; others are not."""
    specs = read(small_database())
    assert set(specs) == {LIBELF, WRAPPER, RUNTIME}
    assert replace(specs[LIBELF], spelling=None) == Spec(
        hash=LIBELF,
        name="libelf",
        version="0.8.13",
        compiler="gcc@10.2.1",
        operating_system="debian6",
        platform="test",
        target="m1",
        variants=("build_system=generic",),
        stacks=(),
        namespace="builtin.mock",
        package_hash="ejr32l7tkp6uhdrlunqv4adkuxqwyac7====",
        dependencies=(
            Dependency("compiler-wrapper", WRAPPER, ("build",)),
            Dependency("gcc", GCC, ("build",), ("c", "cxx")),
            Dependency("gcc-runtime", RUNTIME, ("link",)),
        ),
        patches=(),
        spec_format=5,
    )


def test_specs_outside_the_cache() -> None:
    """Direct and transitive dependencies outside the cache are read with all facts."""
    value = database(
        node("gcc", GCC, "10.2.1", dependencies=[edge("glibc", GLIBC, ["link"], ["libc"])]),
        node("glibc", GLIBC, "2.36", dependencies=[edge("linux", RUNTIME, ["build"], [])]),
        node("unused", WRAPPER),
        node("libelf", LIBELF, dependencies=[edge("gcc", GCC, ["build"], ["c"])]),
    )
    for digest in (GLIBC, WRAPPER):
        value["database"]["installs"][digest]["in_buildcache"] = False
    specs = _decoded(value)
    assert set(specs.in_cache) == {LIBELF}
    assert set(specs.outside) == {GCC, GLIBC}
    gcc = specs.outside[GCC]
    assert (gcc.version, gcc.target, gcc.variants) == ("10.2.1", "m1", ("build_system=generic",))
    assert gcc.dependencies == (Dependency("glibc", GLIBC, ("link",), ("libc",)),)


FORMAT_6 = {"annotations": {"original_specfile_version": 6}}
SUMS = ["b231fcc" + "0" * 57, "26090f4" + "1" * 57]
OLD_ARCH = {"platform": "test", "platform_os": "debian6", "target": "m1"}
OLD_EDGES = [{"name": "gcc-runtime", "hash": RUNTIME, "type": ["link", "build"]}]


@pytest.mark.parametrize(
    ("more", "facts"),
    [
        ({}, {"provided_virtuals": None, "spec_format": 5, "build_spec": None}),
        ({"annotations": None}, {"provided_virtuals": None, "spec_format": None}),
        (FORMAT_6, {"provided_virtuals": (), "spec_format": 6}),
        (
            {"provided_virtuals": ["zlib-api", "libgfortran@5", "mpi@:3.1,=4"]},
            {"provided_virtuals": ("libgfortran@5", "mpi@:3.1,=4", "zlib-api")},
        ),
        (
            {"external": {"path": "/opt/my gcc", "module": "gcc/13.2"}},
            {"external_path": "/opt/my gcc", "external_modules": ("gcc/13.2",)},
        ),
        ({"external": None}, {"external_path": None, "external_modules": None}),
        ({"patches": SUMS}, {"patches": tuple(SUMS)}),
        ({"build_spec": {"name": "libelf", "hash": RUNTIME}}, {"build_spec": f"libelf/{RUNTIME}"}),
        ({"namespace": "", "package_hash": ""}, {"namespace": None, "package_hash": None}),
        (
            {"dependencies": [edge("gcc", GCC, [], [])]},
            {"dependencies": (Dependency("gcc", GCC, ()),)},
        ),
        ({"arch": OLD_ARCH}, {"target": "m1"}),
        (
            {"dependencies": OLD_EDGES},
            {"dependencies": (Dependency("gcc-runtime", RUNTIME, ("build", "link")),)},
        ),
    ],
)
def test_facts_of_a_node(more: dict[str, Any], facts: dict[str, Any]) -> None:
    """Each key is a fact, in the notation of each version; absent and empty keys are none."""
    spec = only(node("libelf", LIBELF, **more), "9")
    assert {name: getattr(spec, name) for name in facts} == facts


def test_skipped_bad_entries() -> None:
    """Each bad entry is listed, in the cache or outside, and the others are read."""
    value = small_database()
    installs = value["database"]["installs"]
    installs[GCC]["spec"]["version"] = ""
    with pytest.raises(SourceError) as caught:
        read(value)
    assert caught.value.key == f"installs.{GCC}.spec.version"
    del installs[WRAPPER]["spec"]["version"]
    installs[RUNTIME]["spec"]["arch"]["target"] = 3
    report = Report(skip_bad=True)
    specs = _decoded(value, report)
    assert (set(specs.in_cache), specs.outside) == ({LIBELF}, {})
    assert {error.key for error in report.skipped} == {
        f"installs.{GCC}.spec.version",
        f"installs.{WRAPPER}.spec.version",
        f"installs.{RUNTIME}.spec.arch.target",
    }


LLVM = edge("llvm", RUNTIME, ["build"], ["cxx"])


@pytest.mark.parametrize(
    ("more", "compiler"),
    [
        ({"compiler": {"name": "gcc", "version": "9.4.0"}}, "gcc@9.4.0"),
        ({"annotations": {"compiler": "clang@=15.0.0"}}, "clang@15.0.0"),
        ({"annotations": {"original_specfile_version": 4}}, None),
        ({"dependencies": [edge("gcc", GCC, ["build"], ["c"])]}, "gcc@10.2.1"),
        ({"dependencies": [edge("gcc", GCC, ["build", "link"], ["fortran"])]}, "gcc@10.2.1"),
        ({"dependencies": [edge("gcc", GCC, ["link"], ["c"])]}, None),
        ({"dependencies": [edge("gcc", GCC, ["build"], ["mpi"])]}, None),
        ({"dependencies": [LLVM, edge("gcc", GCC, ["build"], ["c"])]}, "gcc@10.2.1"),
        ({"dependencies": [LLVM, edge("gcc", GCC, ["build"], ["fortran"])]}, "llvm@19.1"),
    ],
)
def test_compilers(more: dict[str, Any], compiler: str | None) -> None:
    """The compiler is stated, annotated, or provides c, else cxx, else fortran for the build."""
    assert only(node("libelf", LIBELF, **more)).compiler == compiler


def test_cycle_of_dependencies() -> None:
    """A cycle is an error that names its specs, or they are skipped."""
    one, two, three = ("a" * 32, "b" * 32, "c" * 32)
    value = database(
        node("one", one, dependencies=[edge("two", two, ["link"], [])]),
        node("two", two, dependencies=[edge("one", one, ["link"], [])]),
        node("three", three, dependencies=[edge("two", two, ["link"], [])]),
    )
    with pytest.raises(SourceError, match=r"depends on itself, .*: (one|two)/\w{7} -> .* -> "):
        read(value)
    report = Report(skip_bad=True)
    assert read(value, report).keys() == {three}
    assert len(report.skipped) == 1


def test_missing_compiler() -> None:
    """Specs have no compiler then; one warning names it and counts them."""
    report = Report()
    edges = [edge("gcc", RUNTIME, ["build"], ["c"])]
    value = database(*(node("libelf", digest, dependencies=edges) for digest in (LIBELF, WRAPPER)))
    assert {spec.compiler for spec in read(value, report).values()} == {None}
    assert report.warnings == [
        f"index.json: the compiler gcc/{RUNTIME} of 2 specs is not in the index, "
        "so they are read without one"
    ]


TWO_EDGES = [edge("gcc", GCC, [], []), edge("gcc", "GCC", [], [])]
UNREADABLE = "7 is not a format of specs that can be read: 1 to 6; a newer cachelog may read it"


@pytest.mark.parametrize(
    ("path", "value", "below", "reason"),
    [
        ("database.version", "10", "", "'10' is not a version that can be read: 5, 6, 7, 8, 9"),
        ("database.installs", ..., "", "is missing"),
        ("in_buildcache", 1, "", "expected"),
        ("installation_time", -1, "", "expected `float` >= 0"),
        ("spec", {"libelf": {}}, ".name", "is missing"),  # as before Spack 0.17
        ("spec.name", "a b", "", "'a b' is not a name"),
        ("spec.version", "", "", "is empty"),
        ("spec.hash", RUNTIME, "", "is not the entry's own hash"),
        ("spec.arch.platform", ..., "", "is missing"),
        ("spec.arch.target", {}, ".name", "is missing"),
        ("spec.arch.target", 3, "", "expected `str | object`, got `int`"),
        ("spec.annotations.original_specfile_version", 7, "", UNREADABLE),
        ("spec.provided_virtuals", ["a b"], "", "is not a virtual package"),
        ("spec.external", {"path": "/\n"}, ".path", "invisible characters"),
        ("spec.external", {"module": [""]}, ".module", "has 0 characters"),
        ("spec.build_spec", {"name": "a", "hash": "b"}, "", "NAME/HASH"),
        ("spec.parameters.mpi", {}, "", "is not one of true, false"),
        ("spec.dependencies", [{}], "[0].name", "is missing"),
        ("spec.dependencies", [edge("", GCC, [], [])], "[0].name", "'' is not a name"),
        ("spec.dependencies", TWO_EDGES, "[1].hash", "'GCC' is not a hash"),
        ("spec.dependencies", [{"name": "gcc", "hash": GCC}], "[0].parameters", "and so is type"),
    ],
)
def test_invalid_values(path: str, value: Any, below: str, reason: str) -> None:
    """A missing or mistyped key is an error with the location, the key and the reason."""
    index = small_database()
    *parents, last = path.split(".")
    value_of = index if parents[:1] == ["database"] else index["database"]["installs"][LIBELF]
    for step in parents:
        value_of = value_of[step]
    if value is ...:
        del value_of[last]
    else:
        value_of[last] = value
    with pytest.raises(SourceError) as caught:
        read(index)
    key = path if parents[:1] == ["database"] else f"installs.{LIBELF}.{path}"
    assert (caught.value.location, caught.value.key) == ("index.json", key + below)
    assert reason in caught.value.reason


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"", "is not valid JSON: Input data was truncated"),
        (b'{"more": ' + b"[" * 1_000_000, "is nested too deeply"),
        (b'{"database": {"version": "\xff", "installs": {}}}', "is not valid JSON: "),
        (b"{}", "is missing"),
    ],
)
def test_invalid_index(text: bytes, reason: str) -> None:
    """Text that is not JSON, or JSON of another form, is an error."""
    with pytest.raises(SourceError) as caught:
        decode(text, "index.json", Report(), proof=False)
    assert reason in caught.value.reason


def test_many_dependencies() -> None:
    """A spec has a limited number of dependencies: a million would take minutes and gigabytes."""
    many = [edge("gcc", GCC, ["build"], [])] * 1_001
    with pytest.raises(SourceError, match="there are 1,001 of them, more than 1,000") as caught:
        read(database(node("libelf", LIBELF, dependencies=many)))
    assert caught.value.key == f"installs.{LIBELF}.spec.dependencies"
    assert set(read(database(node("libelf", LIBELF, dependencies=many[1:])))) == {LIBELF}


# -- two versions of the database


# -- documents of single specs
