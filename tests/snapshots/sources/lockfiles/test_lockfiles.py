"""Requested specs: lock files of several versions, and specs as Spack prints them."""

from typing import Any

import pytest

from snapshots.errors import SourceError
from snapshots.models import ConcreteSpec
from snapshots.sources import lock_files
from snapshots.sources.lock_files import (
    MAX_DOCUMENTS,
    LockFile,
    OmissionReason,
    OmittedSpec,
    RootGroup,
    Writer,
)
from tests.snapshots.factories import hash_of
from tests.snapshots.sources.buildcache.indexes import edge, node
from tests.snapshots.sources.buildcache.indexes import spec_document as printed
from tests.snapshots.sources.lockfiles.locks import (
    GCC,
    GLIBC,
    HDF5,
    ZLIB,
    as_bytes,
    environment,
    lock_file,
    small_lock_file,
)


def parse(value: Any) -> LockFile:
    """Parse a document from a JSON value."""
    return lock_files.parse(as_bytes(value), "spack.lock")


def roots_of(lock: LockFile) -> dict[str, bool]:
    """Return the requested hashes, each with whether it is a root."""
    return {spec.hash: spec.is_root for spec in lock.specs}


@pytest.mark.parametrize("version", [4, 5, 6, 7, 8])
def test_versions(version: int) -> None:
    """Each version has the facts of each spec, its compiler, and which specs are roots."""
    hdf5, zlib = parse(small_lock_file(version)).specs
    assert hdf5 == ConcreteSpec(
        hash=HDF5,
        name="hdf5",
        version="1.14.5",
        compiler="gcc@13.2.0",
        platform="test",
        operating_system="debian6",
        target="m1",
        variants=("build_system=generic",),
        namespace="builtin.mock",
        package_hash="ejr32l7tkp6uhdrlunqv4adkuxqwyac7====",
        is_root=True,
    )
    assert (zlib.hash, zlib.is_root, zlib.compiler) == (ZLIB, False, "gcc@13.2.0")


@pytest.mark.parametrize("kind", ["hash", "full_hash", "build_hash"])
@pytest.mark.parametrize("version", [1, 2, 3])
def test_nodes_below_their_names(version: int, kind: str) -> None:
    """Up to version 3, the key is the hash, and edges name it as hash, full or build hash."""
    expected = small_lock_file(4)
    value = lock_file([], [HDF5], version)
    for digest, spec in expected["concrete_specs"].items():
        edges = {
            edge["name"]: {kind: edge["hash"], "type": edge["type"]}
            for edge in spec.get("dependencies", [])
        }
        nested = {**spec, "hash": "a" * 32, "full_hash": "b" * 32, "dependencies": edges}
        value["concrete_specs"][digest] = {nested.pop("name"): nested}
    lock = parse(value)
    assert lock.specs == parse(expected).specs
    assert lock.content.digest == parse(expected).content.digest


def test_external_and_development_specs_are_left_out() -> None:
    """No build cache has them; they are listed separately, roots too."""
    developed = node("mine", HDF5, parameters={"dev_path": "/home/me", "mpi": True})
    specs = [developed, node("old", ZLIB, dev_path="/home/me"), node("gcc", GCC, external={})]
    lock = parse(lock_file([*specs, node("glibc", GLIBC, external=None)], [HDF5, GLIBC]))
    assert roots_of(lock) == {GLIBC: True}
    assert lock.left_out == tuple(
        OmittedSpec(hash=digest, name=name, version="1.0", why=why, is_root=is_root)
        for digest, name, why, is_root in (
            (HDF5, "mine", OmissionReason.DEVELOPMENT, True),
            (ZLIB, "old", OmissionReason.DEVELOPMENT, False),
            (GCC, "gcc", OmissionReason.EXTERNAL, False),
        )
    )


def test_included_environments() -> None:
    """Specs of nested environments are requested too; a root anywhere is a root, once."""
    inner = environment([node("zlib", ZLIB)], [ZLIB])
    outer = environment([node("glibc", GLIBC)], [GLIBC], include_concrete={"/inner": inner})
    lock = small_lock_file(include_concrete={"/outer": outer})
    assert roots_of(parse(lock)) == {HDF5: True, ZLIB: True, GLIBC: True}


def test_groups_of_roots() -> None:
    """The environment's own groups have their roots; a root may be in several."""
    inner = environment([node("glibc", GLIBC)], [])
    inner["roots"] = [{"hash": GLIBC, "spec": "any", "group": "inner"}]
    lock = small_lock_file(8, include_concrete={"/inner": inner})
    lock["roots"] = [
        {"hash": digest, "spec": "any", "group": group}
        for digest, group in ((HDF5, "apps"), (ZLIB, "libs\n"), (HDF5, "libs\n"))
    ]
    found = parse(lock)
    assert roots_of(found) == {HDF5: True, ZLIB: True, GLIBC: True}
    assert found.groups == (
        RootGroup(name="apps", roots=(HDF5,)),
        RootGroup(name="libs\\x0a", roots=(HDF5, ZLIB)),
    )
    assert parse(small_lock_file(8)).groups == ()


@pytest.mark.parametrize(
    ("section", "writer", "text"),
    [
        ({"version": "1.1.0"}, Writer("1.1.0"), "Spack 1.1.0"),
        (
            {"version": "1.3.0.dev0", "type": "git", "commit": "c7c444853d00"},
            Writer("1.3.0.dev0", "git", "c7c444853d00"),
            "Spack 1.3.0.dev0 (git, c7c444853d)",
        ),
        ({"version": "1\x1b", "more": 1}, Writer("1\\x1b"), "Spack 1\\x1b"),
    ],
)
def test_writer(section: dict[str, Any], writer: Writer, text: str) -> None:
    """The version of Spack that wrote a lock file is available; the first of several counts."""
    first, second = (
        as_bytes(small_lock_file(spack=spack)) for spack in (section, {"version": "9"})
    )
    lock = lock_files.parse(first + second, "-").writer
    assert (lock, str(lock)) == (writer, text)
    assert parse([]).writer is None
    old = {key: value for key, value in small_lock_file().items() if key != "spack"}
    assert parse(old).writer is None


HDF5_OVER_ZLIB = node("hdf5", HDF5, dependencies=[edge("zlib", ZLIB, ["link"], [])])
PRINTED = [
    printed(HDF5_OVER_ZLIB, node("zlib", ZLIB)),
    printed(node("glibc", GLIBC), version=4),
]
OF_BOTH = {HDF5: True, ZLIB: False, GLIBC: True}


@pytest.mark.parametrize(
    ("data", "roots"),
    [
        (as_bytes(PRINTED[0]), {HDF5: True, ZLIB: False}),
        (as_bytes(PRINTED), OF_BOTH),
        *(
            (b"\n" + between.join(map(as_bytes, PRINTED)) + b"\n", OF_BOTH)
            for between in (b"", b"\n", b" \r\n\t")
        ),
        (as_bytes([node("zlib", ZLIB), HDF5_OVER_ZLIB, node("glibc", GLIBC)]), OF_BOTH),
        (as_bytes([]), {}),
    ],
    ids=["spec", "specs", "joined", "lines", "blanks", "find", "nothing"],
)
def test_specs_as_spack_prints_them(data: bytes, roots: dict[str, bool]) -> None:
    """The first spec of a document is the root; in a list, those without dependents are."""
    assert roots_of(lock_files.parse(data, "-")) == roots


@pytest.mark.parametrize(
    ("value", "error"),
    [
        (small_lock_file() | {"_meta": {"lockfile-version": True}}, "'True' is not a version"),
        (small_lock_file() | {"_meta": {"lockfile-version": 6.0}}, "'6.0' is not a version"),
        (
            lock_file([], [], 3, concrete_specs={HDF5: {"a": {}, "b": {}}}),
            rf"concrete_specs.{HDF5}.name: is missing",
        ),
        ({"spec": {"_meta": {"version": 5.0}, "nodes": []}}, "'5.0' is not a version"),
        (small_lock_file() | {"_meta": {"lockfile-version": "6"}}, "_meta.lockfile-version"),
        (
            small_lock_file() | {"_meta": {"lockfile-version": 99}},
            "read: 1, 2, 3, 4, 5, 6, 7, 8; a newer",
        ),
        (
            small_lock_file(8) | {"_meta": {"lockfile-version": 8, "specfile-version": 7}},
            "_meta.specfile-version: '7' is not .*: 3, 4, 5, 6; a newer cachelog may read it",
        ),
        (
            printed(node("zlib", ZLIB), version=7),
            "spec._meta.version: '7' .*; a newer cachelog",
        ),
        ({"concrete_specs": {}}, "_meta: is missing"),
        ({"database": {}}, "'cachelog import' reads it"),
        ({}, "neither a lock file nor"),
        (printed(node("zlib", ZLIB, hash=None) | {}), r"spec.nodes\[0\].hash: is missing"),
        ([node("zlib", "UPPER")], r"\[0\].hash: 'UPPER' is not a hash"),
        (lock_file([node("zlib", ZLIB)], [HDF5]), r"roots\[0\].hash: .* is not among"),
        (
            lock_file([node("zlib", ZLIB, version="")], [ZLIB]),
            rf"concrete_specs.{ZLIB}.version: is empty",
        ),
        (
            lock_file([], [], concrete_specs={HDF5: node("zlib", ZLIB)}),
            rf"concrete_specs.{HDF5}.hash: '{ZLIB}' is not the entry's own hash",
        ),
        (
            small_lock_file(include_concrete={"/a b": environment([], [HDF5])}),
            r"include_concrete.'/a b'.roots\[0\].hash",
        ),
    ],
)
def test_invalid_values(value: Any, error: str) -> None:
    """The error has the file, the key and the reason."""
    with pytest.raises(SourceError, match=f"^spack.lock.*{error}"):
        parse(value)


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b" \n", "is empty"),
        (b"[]\n\n{", "line 3: is not valid JSON"),
        (b'{"a": 1}\n\xff', "line 2: is not UTF-8"),
        (b"[" * 100_000, "nested too deeply"),
        (b"[] " + b"9" * 5_000, "too long a number"),
        (as_bytes([node("zlib", ZLIB)]) + b'{"spec": {}}', "document 2.spec._meta: is missing"),
        (b"[]" * (MAX_DOCUMENTS + 1), "more than 10,000 documents"),
        (b"[%s1]" % (b"1," * 20_000), "more values than a lock file of 40,003 bytes"),
        (
            b'{"_meta": {"lockfile-version": 6}, "roots": [], "concrete_specs": {"1": 1, "2": 1}}',
            "concrete_specs: expected `str` of length >= 32",
        ),
    ],
)
def test_invalid_documents(data: bytes, error: str) -> None:
    """The error has the line; values are counted before they are created."""
    with pytest.raises(SourceError, match=error):
        lock_files.parse(data, "-")


SPECS = [node("zlib", hash_of(f"{number}")) for number in range(4)]


@pytest.mark.parametrize(
    "value",
    [
        lock_file(SPECS, []),
        lock_file(SPECS[:2], [], include_concrete={"a": environment(SPECS[2:], [])}),
        lock_file([], []) | {"concrete_specs": {hash_of(f"{number}"): {} for number in range(4)}},
        {"spec": {"_meta": {"version": 4}, "nodes": [{}] * 4}},
        [{}] * 4,
    ],
)
def test_number_of_specs_is_limited(value: Any) -> None:
    """They are counted before they are decoded: here most of them are invalid."""
    with pytest.raises(SourceError, match="contains more than 3 concrete specs"):
        lock_files.parse(as_bytes(value), "-", 3)
