"""Versions of the database and the notations that they have."""

import json
from typing import Any

import pytest

from snapshots.models import Dependency, Spec
from snapshots.sources.buildcache.database import IndexSpecs, decode
from snapshots.sources.reports import Report
from tests.snapshots.sources.buildcache.indexes import (
    GCC,
    LIBELF,
    RUNTIME,
    database,
    edge,
    entry,
    node,
    small_database,
)


def read(value: Any) -> dict[str, Spec]:
    """Return the specs of an index that is given as a JSON value."""
    return dict(decode(json.dumps(value).encode(), "index.json", Report(), proof=False).in_cache)


def only(spec: dict[str, Any], version: str) -> Spec:
    """Return the one spec of an index of a version."""
    return read(database(spec, version=version))[LIBELF]


@pytest.mark.parametrize("version", ["5", "6", "7", "8", "9"])
def test_versions(version: str) -> None:
    """Versions 5 to 9 are read."""
    compiler = {"name": "gcc", "version": "9.4.0"} if version < "8" else None
    spec = only(node("libelf", LIBELF, compiler=compiler), version)
    assert (spec.version, spec.compiler) == ("1.0", "gcc@9.4.0" if compiler else None)


def test_older_notations() -> None:
    """A target that is a text, and edges with their types alone, mean what the newer ones do."""
    arch = {"platform": "test", "platform_os": "debian6", "target": "m1"}
    edges = [{"name": "gcc-runtime", "hash": RUNTIME, "type": ["link", "build"]}]
    spec = only(node("libelf", LIBELF, arch=arch, dependencies=edges), "7")
    assert spec.target == "m1"
    assert spec.dependencies == (Dependency("gcc-runtime", RUNTIME, ("build", "link")),)


def test_the_oldest_notation_is_refused() -> None:
    """An entry of before Spack 0.17, with its name around the object, is named as unreadable."""
    facts = {key: value for key, value in node("libelf", LIBELF).items() if key != "name"}
    value = database(node("gcc-runtime", RUNTIME), version="5")
    value["database"]["installs"][LIBELF] = entry({"libelf": facts})
    report = Report(skip_bad=True)
    assert list(decode(json.dumps(value).encode(), "index.json", report, proof=False).in_cache) == [
        RUNTIME
    ]
    (skipped,) = report.skipped
    assert (skipped.key, skipped.reason) == (f"installs.{LIBELF}.spec.name", "is missing")


def joined(newer: Any, older: Any, report: Report | None = None) -> IndexSpecs:
    """Return what two indexes of one build cache say together."""
    texts = [json.dumps(it).encode() for it in (newer, older)]
    return decode(texts[0], "index.json", report or Report(), older=texts[1:], proof=False)


def test_two_databases_are_joined_by_hash() -> None:
    """What either holds is there; the compiler that only one of them states is found, too."""
    edges = [edge("gcc", GCC, ["build"], ["c"])]
    newer = database(node("libelf", LIBELF, dependencies=edges), version="9")
    older = database(node("gcc", GCC, "10.2.1"), node("gcc-runtime", RUNTIME))
    report = Report()
    found = joined(newer, older, report)
    assert (set(found.in_cache), set(found.outside)) == ({LIBELF, RUNTIME}, {GCC})
    assert found.in_cache[LIBELF].compiler == "gcc@10.2.1"
    assert report.warnings == []


@pytest.mark.parametrize(
    ("newer", "older", "version"),
    [
        ({"version": "2"}, {"version": "1"}, "2"),
        ({"version": "2", "package_hash": None}, {"version": "1"}, "1"),
        ({"version": "2", "annotations": None}, {"version": "1"}, "1"),
        ({"version": "2", "provided_virtuals": ["elf"]}, {"version": "1"}, "2"),
        ({"version": "2"}, {"version": "1", "patches": ["b231fcc"]}, "1"),
    ],
)
def test_the_richer_record_wins(newer: dict[str, Any], older: dict[str, Any], version: str) -> None:
    """Of two records of a hash the one that tells more counts, and else the newer database's."""
    found = joined(
        database(node("libelf", LIBELF, **newer), version="9"),
        database(node("libelf", LIBELF, **older)),
    )
    assert found.in_cache[LIBELF].version == version


def test_what_one_of_two_databases_has_in_the_cache_is_there() -> None:
    """Also a record of the other one that tells more, and says that it is not."""
    newer = database(node("libelf", LIBELF), version="9")
    older = database(node("libelf", LIBELF, package_hash=None))
    for first, second in ((newer, older), (older, newer)):
        first["database"]["installs"][LIBELF]["in_buildcache"] = False
        second["database"]["installs"][LIBELF]["in_buildcache"] = True
        spec = joined(newer, older).in_cache[LIBELF]
        assert spec.package_hash is not None


def test_unknown_keys_are_ignored() -> None:
    """Keys that cachelog does not know change nothing."""
    value = small_database()
    value["more"] = value["database"]["more"] = {"deep": [1, {}]}
    for install in value["database"]["installs"].values():
        install["more"] = install["spec"]["more"] = install["spec"]["arch"]["more"] = None
    assert read(value) == read(small_database())
