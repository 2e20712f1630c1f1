"""Versions of the database and the notations that they have."""

import json
from typing import Any

import pytest

from snapshots.models import Dependency, Spec
from snapshots.sources.buildcache.specs import decode
from snapshots.sources.reports import Report
from tests.snapshots.sources.buildcache.indexes import (
    LIBELF,
    RUNTIME,
    database,
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


@pytest.mark.parametrize("version", ["5", "6", "7", "8"])
def test_versions(version: str) -> None:
    """Versions 5 to 8 are read."""
    compiler = {"name": "gcc", "version": "9.4.0"} if version != "8" else None
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


def test_unknown_keys_are_ignored() -> None:
    """Keys that cachelog does not know change nothing."""
    value = small_database()
    value["more"] = value["database"]["more"] = {"deep": [1, {}]}
    for install in value["database"]["installs"].values():
        install["more"] = install["spec"]["more"] = install["spec"]["arch"]["more"] = None
    assert read(value) == read(small_database())
