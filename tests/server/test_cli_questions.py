"""``cachelog holes``, ``twins``, ``impact`` and ``causes``: analyses of revisions."""

from pathlib import Path

import pytest

from tests.model.real import history
from tests.server.commands import cachelog, fail, succeed
from tests.server.known_catalogs import a_linked_spec
from tests.snapshots.factories import a_snapshot, a_spec, day, hash_of
from tests.snapshots.templates import catalog_of, copied

ZLIB = a_linked_spec("zlib", size=10)
PNG = a_linked_spec("libpng", "zlib", stacks=("e4s", "root"), size=20)
VTK = a_linked_spec("vtk", "libpng", "mesa", stacks=("hep", "root"), size=None)


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a catalog of revisions without mesa, without zlib, and with unknown dependencies."""
    return catalog_of(
        tmp_path_factory.mktemp("catalog"),
        a_snapshot([ZLIB, PNG, VTK], "develop", day(0)),
        a_snapshot([PNG, VTK], "develop", day(1)),
        a_snapshot([a_spec("old", name="old")], "pages", day(0)),
        a_snapshot([PNG, a_spec("old", name="old")], "some", day(0)),
        a_snapshot([ZLIB], "other", day(0)),
    )


def test_holes_are_listed_by_dependents(catalog: Path) -> None:
    """The missing specs, most dependents first, and the revisions that removed them."""
    result = succeed("holes", "develop", catalog=catalog)
    title, counts, _, *holes = result.lines
    assert title.startswith("develop@2025-01-06.")
    assert counts == "0 of 2 specs are whole, 2 holes"
    assert [line.split()[:4] for line in holes] == [
        ["2", "zlib", hash_of("zlib")[:7], "removed"],
        ["1", "mesa", hash_of("mesa")[:7], "never"],
    ]
    assert "removed in develop@2025-01-06." in holes[0]
    first = cachelog("holes", "develop", "-n", 1, catalog=catalog)
    assert first.lines == [*result.lines[:4], "and 1 hole more"]
    report = cachelog("holes", "develop", "--json", "-n", 1, catalog=catalog).json["revision"]
    zlib = {"hash": hash_of("zlib"), "name": "zlib", "version": None, "numAffected": 2}
    assert report["holes"]["nodes"] == [zlib | {"goneIn": {"ref": report["ref"]}}]
    assert (report["holes"]["numAffected"], report["holes"]["totalCount"]) == (2, 2)
    result = cachelog("holes", "some", catalog=catalog)
    assert result.lines[1:3] == [
        "0 of 2 specs are whole, 1 hole",
        "unknown for 1 spec: its source does not list dependencies",
    ]
    assert "in other@2025-01-05." in result.lines[-1]


@pytest.fixture(scope="module")
def ml(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a catalog of a real stack with two builds of Python."""
    folder = tmp_path_factory.mktemp("ml") / "catalog"
    index = history() / "2026-06-20/ml-linux-aarch64-cpu/index.json"
    cachelog("import", f"ml={index}", "--tag", "develop", catalog=folder)
    return folder


def test_twins_are_listed_with_causes(ml: Path) -> None:
    """Each cause once, then the groups and what joining saves; also of some stacks and packages."""
    result = succeed("twins", "-n", 2, catalog=ml)
    assert result.lines[1:5] == [
        "65 of 281 specs are duplicate builds",
        "specs  reached  cause",
        "   65       65  python 3.13.13 / 3.14.5",
        "not listed, as no spec's main cause: 4 causes",
    ]
    assert result.lines[5].startswith("python-venv@1.0 ")
    assert result.lines[5].endswith(": python 3.13.13 / 3.14.5; joined, they save 1 spec")
    assert result.lines[7:] == ["and 63 groups more"]
    first = cachelog("twins", "-n", 1, "--json", catalog=ml).json["revision"]["twins"]
    assert (first["totalCount"], len(first["nodes"])) == (65, 1)
    whole = cachelog("twins", "--json", catalog=ml).json["revision"]["twins"]
    assert (whole["nodes"][:1], len(whole["nodes"])) == (first["nodes"], 65)
    assert len(cachelog("twins", catalog=ml).lines) == 5 + 20 + 1
    command = ("twins", "--stack", "ml", "--stack", "root", "--package", "py-pip")
    both = cachelog(*command, catalog=ml)
    assert both.lines[0].startswith("ml and root of develop@")
    assert both.lines[1] == "1 of 2 specs are duplicate builds"
    assert "take one --stack" in fail(*command, "--json", code=2, catalog=ml)
    result = cachelog("twins", "--stack", "ml", catalog=ml)
    assert result.lines[0].startswith("ml of develop@")
    none = cachelog("twins", "--package", "python", catalog=ml)
    assert none.lines[1:] == ["0 of 2 specs are duplicate builds"]


def test_impact_counts_specs_by_stack_and_target(catalog: Path) -> None:
    """Specs in all, of each stack and target, or of one stack; ``--top`` lists packages."""
    result = succeed("impact", "libpng", "--in", "develop~1", catalog=catalog)
    assert result.lines[1:] == [
        "2 of 3 specs, of 2 packages, would be rebuilt if libpng changed: 20 B",
        "specs  stack",
        "    1  e4s",
        "    1  hep",
        "specs  target",
        "    2  x86_64_v3",
    ]
    options = ("--in", "develop~1", "--stack", "e4s", "--json")
    report = cachelog("impact", "zlib", *options, catalog=catalog).json["revision"]["impact"]
    counts = report["numSpecs"], report["stackCounts"], report["outcome"]
    assert counts == (2, [{"value": "e4s", "numSpecs": 2}], None)
    with_absent = cachelog("impact", "mesa", "zlib", "mesa", "--in", "develop", catalog=catalog)
    assert with_absent.lines[1].endswith("2 packages, would be rebuilt if mesa, zlib changed: 20 B")
    command = ("impact", "--top", 2, "--in", "develop")
    result = cachelog(*command, catalog=catalog)
    assert result.lines[1:] == ["specs  if changed", "    2  libpng", "    2  zlib"]
    (libpng, _) = cachelog(*command, "--json", catalog=catalog).json["top"]
    assert libpng == {"package": "libpng", "numSpecs": 2}


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a catalog of three revisions with zlib below two specs, and one of another series."""
    snapshots = []
    for tag, number in (("develop", 0), ("develop", 1), ("develop", 2), ("other", 0)):
        zlib = a_linked_spec(f"zlib:{number}", version=f"1.{number + 2}")
        above = [
            a_linked_spec(f"{name}:{number}", f"zlib:{number}", size=10) for name in ("png", "tiff")
        ]
        snapshots.append(a_snapshot([zlib, *above], tag, day(number)))
    return catalog_of(tmp_path_factory.mktemp("template"), *snapshots)


@pytest.fixture
def rebuilds(template: Path, tmp_path: Path) -> Path:
    """Return a copy of the template."""
    return Path(copied(template, tmp_path / "catalog").location)


def test_causes_are_grouped_by_keys(rebuilds: Path) -> None:
    """One line per package or other keys, with a point for each revision in JSON."""
    by_kind = cachelog(
        "causes", "--by", "kind", "--by", "package", "--since", "2025-01-07", catalog=rebuilds
    )
    assert by_kind.lines[1:] == [
        "specs  reached  revisions  kind, package",
        "    3        3          1  version, zlib",
    ]
    none = cachelog("causes", "--series", "other", catalog=rebuilds)
    assert none.lines[-1] == "Nothing is known to have caused a replacement."
    commits = cachelog("causes", "--by", "commit", catalog=rebuilds)
    assert commits.lines[-1] == "No commit of the recipes is known to have caused a replacement."
    first = cachelog("causes", "-n", "0", catalog=rebuilds)
    assert first.lines == ["develop: 3 revisions from 2025-01-05 to 2025-01-07", "and 1 more"]
    report = succeed("causes", "--until", "2025-01-06", "--json", catalog=rebuilds).json
    (cause,) = report["series"]["causes"]["nodes"]
    assert (cause["packageName"], cause["causeKind"], cause["numSpecs"]) == ("zlib", None, 3)
    (point,) = cause["points"]
    assert (point["numSpecs"], point["numInvolved"]) == (3, 3)
