"""``cachelog causes``: what rebuilt most over months."""

from pathlib import Path
from typing import Any

import pytest

from snapshots.catalog.catalog import Catalog
from snapshots.models import Dependency, Spec
from tests.server.commands import cachelog, succeed
from tests.snapshots.factories import a_snapshot, a_spec, day
from tests.snapshots.templates import copied


def week(version: str) -> list[Spec]:
    """Return zlib of a version, and two specs above it."""
    zlib = a_spec(f"zlib{version}", name="zlib", version=version, dependencies=())
    edges = (Dependency("zlib", zlib.hash, ("link",)),)
    above = [
        a_spec(f"{name}{version}", name=name, version="1", dependencies=edges, size=10)
        for name in ("png", "tiff")
    ]
    return [zlib, *above]


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Publish three states in a row, and one of another series."""
    folder = tmp_path_factory.mktemp("template")
    versions = ("1.2", "1.3", "1.4")
    snapshots = [
        a_snapshot(week(version), "develop", day(number)) for number, version in enumerate(versions)
    ]
    Catalog(str(folder)).publish([*snapshots, a_snapshot(week("1.2"), "other", day(0))])
    return folder


@pytest.fixture
def catalog(template: Path, tmp_path: Path) -> Path:
    """Return a catalog of these."""
    return Path(copied(template, tmp_path / "catalog").location)


def test_what_rebuilt_most(catalog: Path) -> None:
    """A line a package, with bars: the oldest revision first."""
    done = succeed("causes", catalog=catalog)
    assert done.lines == [
        "develop: 3 revisions from 2025-01-05 to 2025-01-07",
        "rebuilt  reached  revisions  through time  package",
        "      6        6          2  ·██           zlib",
    ]
    kinds = cachelog("causes", "--by", "kind,package", "--since", "2025-01-07", catalog=catalog)
    assert kinds.lines[1:] == [
        "rebuilt  reached  revisions  through time  kind, package",
        "      3        3          1  █             version, zlib",
    ]
    none = cachelog("causes", "--series", "other", catalog=catalog)
    assert none.lines[-1] == "Nothing is known to have rebuilt anything."
    commits = cachelog("causes", "--by", "commit", catalog=catalog)
    assert commits.lines[-1] == "No commit of the recipes is known to have rebuilt anything."
    first = cachelog("causes", "-n", "0", catalog=catalog)
    assert first.lines == [done.lines[0], "and 1 more"]


def document(catalog: Path, *options: str) -> dict[str, Any]:
    """Return what is printed for programs."""
    done = succeed("causes", *options, "--json", catalog=catalog)
    printed: dict[str, Any] = done.json
    return printed


def test_for_programs(catalog: Path) -> None:
    """The same with a point for each revision."""
    printed = document(catalog, "--until", "2025-01-06")
    assert (printed["format"], printed["series"], printed["by"]) == (1, "develop", ["package"])
    assert (printed["num_revisions"], printed["num_causes"]) == (2, 1)
    (cause,) = printed["causes"]
    assert (cause["package"], cause["kind"], cause["commit"]) == ("zlib", None, None)
    assert (cause["num_specs"], cause["num_revisions"], cause["size"]) == (3, 1, 20)
    (point,) = cause["points"]
    assert (point["tag"], point["num_specs"], point["num_involved"]) == ("develop", 3, 3)


def test_older_catalogs_are_filled(catalog: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where causes are of another version they are made anew, once."""
    before = document(catalog)
    monkeypatch.setattr("snapshots.changes.kept_changes.CAUSES_FORMAT", 99)
    monkeypatch.setattr("snapshots.catalog.history_tables.CAUSES_FORMAT", 99)
    monkeypatch.setattr("snapshots.timelines.causes.CAUSES_FORMAT", 99)
    opened = Catalog(str(catalog))
    opened.refresh()
    assert opened.changes.explained == frozenset()
    assert document(catalog) == before
    opened.refresh()
    assert opened.changes.explained == {*opened.history.pairs_of("develop")}


def test_with_costs(catalog: Path, tmp_path: Path) -> None:
    """What building took stands beside the numbers, in lines and in JSON."""
    before = cachelog("causes", "--json", catalog=catalog).json["causes"]
    assert [cause["build_cost"] for cause in before] == [None]
    file = tmp_path / "costs.csv"
    file.write_text("name,seconds,cost_eur\nzlib,3600,2\npng,1800,1\n")
    assert cachelog("costs", "import", file, catalog=catalog).code == 0
    assert cachelog("causes", catalog=catalog).lines[1:] == [
        "rebuilt                                    build time  reached  revisions  through time  "
        "package",
        "      6  3.0 hours, 6.00 EUR (4 estimated, 2 unknown)        6          2  ·██           "
        "zlib",
    ]
    (cause,) = cachelog("causes", "--json", catalog=catalog).json["causes"]
    assert cause["build_cost"] == {
        "seconds": 10_800.0,
        "cost": 6.0,
        "unit": "eur",
        "num_estimated": 4,
        "num_unknown": 2,
    }
