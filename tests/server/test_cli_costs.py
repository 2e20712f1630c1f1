"""``cachelog costs import``, and the outputs that include costs afterwards, on a real week."""

import csv
import re
from pathlib import Path

import pytest

from tests.server.commands import cachelog, fail, succeed
from tests.snapshots.templates import copied

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
    with file.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["name", "seconds", "cost_usd"])
        writer.writerows([name, 3_600, 0.5] for name in names)
    imported = succeed("costs", "import", file, catalog=catalog)
    assert imported.lines == [f"costs of 0 specs and {len(names)} packages kept, in USD"]
    return catalog


@pytest.mark.parametrize(
    "command",
    [
        f"why {RANGE}",
        f"notes {RANGE}",
        f"notes {RANGE} --format html",
        "impact gettext --in develop-2026-06-20",
        "impact --top 2",
    ],
)
def test_outputs_include_costs(e4s_week: Path, with_costs: Path, command: str) -> None:
    """Each output includes costs, unless none are imported."""
    without = cachelog(*command.split(), catalog=e4s_week)
    assert (without.code, BUILD_TIME.search(without.out)) == (0, None)
    assert BUILD_TIME.search(cachelog(*command.split(), catalog=with_costs).out)


def test_impact_includes_costs(with_costs: Path) -> None:
    """In total, and for each stack and target."""
    command = ("impact", "gettext", "--in", "develop-2026-06-20")
    line = cachelog(*command, catalog=with_costs).lines[1]
    assert line.endswith("; building them takes 112.0 hours, 56.00 USD (112 estimated)")
    report = cachelog(*command, "--json", catalog=with_costs).json
    money = {"seconds": 403_200.0, "cost": 56.0, "unit": "usd"}
    expected = money | {"num_estimated": 112, "num_unknown": 0}
    assert report["build_cost"] == report["by_target"][0]["build_cost"] == expected
    for package in cachelog("impact", "--top", 2, "--json", catalog=with_costs).json["top"]:
        cost = package["build_cost"]
        assert cost["num_estimated"] + cost["num_unknown"] == package["num_specs"]


def test_invalid_file_changes_nothing(with_costs: Path, tmp_path: Path) -> None:
    """The error states its position and reason, and the costs are unchanged."""
    before = cachelog("why", RANGE, catalog=with_costs).out
    file = tmp_path / "costs.csv"
    file.write_text("name,seconds\nzlib,fast\n")
    error = fail("costs", "import", file, catalog=with_costs)
    assert "costs.csv, line 2, seconds: 'fast' is not a number" in error
    assert cachelog("why", RANGE, catalog=with_costs).out == before
