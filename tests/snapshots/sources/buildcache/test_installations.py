"""The database of an installation: what is installed, who asked for it, and when."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from snapshots.changes.diff import Comparison
from snapshots.contents import Content, Snapshot
from snapshots.errors import SourceError
from snapshots.frames.frame import Frame
from snapshots.models import Spec
from snapshots.sources.buildcache.reader import recognise
from snapshots.sources.reports import Report
from tests.snapshots.changes.states import fields_of
from tests.snapshots.sources.buildcache.folders import put, put_installation
from tests.snapshots.sources.buildcache.indexes import (
    GCC,
    LIBELF,
    RUNTIME,
    WRAPPER,
    installation,
    small_database,
)
from tests.snapshots.sources.buildcache.misbehaving import Server, document
from tests.snapshots.sources.buildcache.readings import QUICK, by_hash, snapshots


def read_tree(tree: Path, database: dict[str, Any]) -> Snapshot:
    """Return what is installed in a tree that has the database."""
    (found,) = snapshots(put_installation(tree, database), "mysite")
    return found


@pytest.mark.parametrize("below", ["", ".spack-db", ".spack-db/index.json"])
def test_where_an_installation_is_read(tmp_path: Path, below: str) -> None:
    """Its install tree, the folder of the database and the database itself all stand for it."""
    location = put_installation(tmp_path, installation()) / below
    assert recognise(str(location), QUICK)
    (found,) = snapshots(location, "mysite")
    assert by_hash(found).keys() == {LIBELF, WRAPPER, RUNTIME, GCC}
    assert found.source.kind == "installation"


def test_an_installation_at_a_url(server: Server) -> None:
    """One that is served over HTTP is read, too."""
    server["/tree/.spack-db/index.json"] = document(installation())
    (found,) = snapshots(server.at("/tree"), "mysite")
    assert found.source.kind == "installation"


@pytest.mark.parametrize("version", ["5", "6", "7", "8", "9"])
def test_what_is_known_of_what_is_put_installation(tmp_path: Path, version: str) -> None:
    """Whether it was asked for, and when it was installed, in whole seconds."""
    specs = by_hash(read_tree(tmp_path, installation(version=version)))
    assert {digest: spec.explicit for digest, spec in specs.items()} == {
        LIBELF: True,
        WRAPPER: False,
        RUNTIME: False,
        GCC: False,
    }
    assert {spec.installed_at for spec in specs.values()} == {"2025-03-30T12:00:00Z"}
    assert specs[LIBELF].compiler == "gcc@10.2.1"


def test_an_external_spec_is_in_the_installation(tmp_path: Path) -> None:
    """As Spack lists it, with where it lies."""
    specs = by_hash(read_tree(tmp_path, installation()))
    assert specs[GCC].external_path == "/path"


def test_what_is_not_installed_is_outside(tmp_path: Path) -> None:
    """It is known because something depends on it; so is what was deprecated."""
    gone = {"installed": False, "deprecated_for": WRAPPER}
    found = read_tree(tmp_path, installation({RUNTIME: gone}))
    assert by_hash(found).keys() == {LIBELF, WRAPPER, GCC}
    (outside,) = found.content.outside.specs
    assert (outside.hash, outside.explicit, outside.installed_at) == (RUNTIME, None, None)


def test_what_is_not_told(tmp_path: Path) -> None:
    """Old databases have no times, and a null is none."""
    database = installation({LIBELF: {"installation_time": None, "explicit": None}})
    for key in ("installation_time", "explicit"):
        del database["database"]["installs"][WRAPPER][key]
    specs = by_hash(read_tree(tmp_path, database))
    for digest in (LIBELF, WRAPPER):
        assert (specs[digest].explicit, specs[digest].installed_at) == (None, None)


def test_a_build_cache_tells_neither(tmp_path: Path) -> None:
    """An index that has such keys all the same is a build cache's."""
    database = small_database()
    for install in database["database"]["installs"].values():
        install |= {"explicit": True, "installation_time": 1.0, "installed": True}
    (found,) = snapshots(put(tmp_path / "index.json", json.dumps(database).encode()), "mysite")
    assert found.source.kind == "index"
    assert GCC not in by_hash(found)
    assert {(spec.explicit, spec.installed_at) for spec in found.content.specs()} == {(None, None)}


@pytest.mark.parametrize(
    ("record", "key", "reason"),
    [
        ({"installation_time": -1}, "installation_time", "expected `float` >= 0"),
        ({"installation_time": 1e300}, "installation_time", "expected `float` <"),
        ({"installation_time": "now"}, "installation_time", "expected `float | null`"),
        ({"explicit": 1}, "explicit", "expected `bool | null`"),
        ({"installed": "yes"}, "installed", "expected `bool | null`"),
    ],
)
def test_bad_records(tmp_path: Path, record: dict[str, Any], key: str, reason: str) -> None:
    """The error names the key; on request the entry is left out."""
    tree = put_installation(tmp_path, installation({LIBELF: record}))
    with pytest.raises(SourceError) as error:
        snapshots(tree, "mysite")
    assert error.value.key == f"installs.{LIBELF}.{key}"
    assert error.value.reason.startswith(reason)
    report = Report(skip_bad=True)
    (found,) = snapshots(tree, "mysite", report=report)
    assert LIBELF not in by_hash(found)
    assert len(report.skipped) == 1


def frame_of(*specs: Spec) -> Frame:
    """Return the frame of a content."""
    content = Content.of(specs)
    return Frame(content.table(), content.digest)


def test_what_changes_of_an_installation(tmp_path: Path) -> None:
    """That somebody asks for a spec now is a change; that it was installed again is none."""
    libelf = by_hash(read_tree(tmp_path, installation()))[LIBELF]
    again = msgspec.structs.replace(libelf, installed_at="2025-04-01T00:00:00Z")
    comparison = Comparison(frame_of(libelf), frame_of(again))
    assert len(comparison.specs) == 0
    unasked = msgspec.structs.replace(again, explicit=False)
    comparison = Comparison(frame_of(libelf), frame_of(unasked))
    (change,) = comparison.specs
    ((field,),) = fields_of(comparison)
    assert (change.hash, field.path, field.before, field.after) == (
        LIBELF,
        "explicit",
        True,
        False,
    )
    cached = msgspec.structs.replace(libelf, explicit=None, installed_at=None)
    assert len(Comparison(frame_of(libelf), frame_of(cached)).specs) == 0
