"""``cachelog costs`` and ``causes``: the causes of the most rebuilds, and what these cost."""

import re
from pathlib import Path

import pytest

from snapshots.catalog.catalog import Catalog
from tests.server.commands import cachelog, fail, succeed
from tests.server.known_catalogs import a_linked_spec
from tests.snapshots.factories import a_snapshot, day
from tests.snapshots.templates import catalog_of, copied

RANGE = "develop-2026-06-20..develop-2026-06-27"
BUILD_TIME = re.compile("build(ing the|ing them| time)", re.I)


@pytest.fixture(scope="module")
def with_costs(e4s_week: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the catalog with costs of all packages but expat."""
    folder = tmp_path_factory.mktemp("week")
    catalog = Path(copied(e4s_week, folder / "catalog").location)
    packages = cachelog("packages", "--json", catalog=catalog).json["packages"]
    names = {package["name"] for package in packages} - {"expat"}
    file = folder / "costs.csv"
    rows = "".join(f"{name},3600,0.5\n" for name in names)
    file.write_text(f"name,seconds,cost_usd\n{rows}")
    imported = succeed("costs", "import", file, catalog=catalog)
    assert imported.lines == [f"costs of 0 specs and {len(names)} packages kept, in USD"]
    return catalog


@pytest.mark.parametrize(
    "command",
    [f"why {RANGE}", f"notes {RANGE}", f"notes {RANGE} --format html", "impact --top 2"],
)
def test_outputs_include_costs(e4s_week: Path, with_costs: Path, command: str) -> None:
    """Each output includes costs, unless none are imported."""
    without = cachelog(*command.split(), catalog=e4s_week)
    assert (without.code, BUILD_TIME.search(without.out)) == (0, None)
    assert BUILD_TIME.search(cachelog(*command.split(), catalog=with_costs).out)


def test_invalid_file_changes_nothing(with_costs: Path, tmp_path: Path) -> None:
    """The error states its position and reason, and the costs are unchanged."""
    impact = ("impact", "gettext", "--in", "develop-2026-06-20")
    before = cachelog(*impact, catalog=with_costs)
    assert before.lines[1].endswith("; building them takes 112.0 hours, 56.00 USD (112 estimated)")
    report = cachelog(*impact, "--json", catalog=with_costs).json
    assert report["build_cost"] == report["by_target"][0]["build_cost"]
    file = tmp_path / "costs.csv"
    file.write_text("name,seconds\nzlib,fast\n")
    error = fail("costs", "import", file, catalog=with_costs)
    assert "costs.csv, line 2, seconds: 'fast' is not a number" in error
    assert cachelog(*impact, catalog=with_costs) == before


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
def catalog(template: Path, tmp_path: Path) -> Path:
    """Return a copy of the template."""
    return Path(copied(template, tmp_path / "catalog").location)


def test_causes_are_grouped_by_keys(catalog: Path) -> None:
    """One line per package or other keys, with a bar, or in JSON a point, for each revision."""
    by_kind = cachelog("causes", "--by", "kind,package", "--since", "2025-01-07", catalog=catalog)
    assert by_kind.lines[1:] == [
        "rebuilt  reached  revisions  through time  kind, package",
        "      3        3          1  █             version, zlib",
    ]
    none = cachelog("causes", "--series", "other", catalog=catalog)
    assert none.lines[-1] == "Nothing is known to have rebuilt anything."
    commits = cachelog("causes", "--by", "commit", catalog=catalog)
    assert commits.lines[-1] == "No commit of the recipes is known to have rebuilt anything."
    first = cachelog("causes", "-n", "0", catalog=catalog)
    assert first.lines == ["develop: 3 revisions from 2025-01-05 to 2025-01-07", "and 1 more"]
    report = succeed("causes", "--until", "2025-01-06", "--json", catalog=catalog).json
    assert (report["num_revisions"], report["num_causes"], report["by"]) == (2, 1, ["package"])
    (cause,) = report["causes"]
    assert (cause["package"], cause["kind"], cause["num_specs"]) == ("zlib", None, 3)
    (point,) = cause["points"]
    assert (point["tag"], point["num_specs"], point["num_involved"]) == ("develop", 3, 3)


def test_causes_of_an_older_format_are_computed_again(
    catalog: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command stores them in the current format."""
    before = succeed("causes", "--json", catalog=catalog).json
    for module in ("changes.stored_changes", "catalog.history_tables", "timelines.causes"):
        monkeypatch.setattr(f"snapshots.{module}.CAUSES_FORMAT", 99)
    assert succeed("causes", "--json", catalog=catalog).json == before
    opened = Catalog(str(catalog))
    opened.refresh()
    assert opened.changes.explained == {*opened.history.pairs_of("develop")}


def test_costs_are_beside_the_numbers(catalog: Path, tmp_path: Path) -> None:
    """The build time is beside the numbers, in text and in JSON."""
    before = cachelog("causes", "--json", catalog=catalog).json["causes"]
    assert [cause["build_cost"] for cause in before] == [None]
    file = tmp_path / "costs.csv"
    file.write_text("name,seconds,cost_eur\nzlib,3600,2\npng,1800,1\n")
    assert cachelog("costs", "import", file, catalog=catalog).code == 0
    line = "      6  3.0 hours, 6.00 EUR (4 estimated, 2 unknown)        6          2  ·██ "
    assert cachelog("causes", catalog=catalog).lines[2].startswith(line)
    (cause,) = cachelog("causes", "--json", catalog=catalog).json["causes"]
    money = {"seconds": 10_800.0, "cost": 6.0, "unit": "eur"}
    assert cause["build_cost"] == money | {"num_estimated": 4, "num_unknown": 2}
