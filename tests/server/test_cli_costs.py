"""``cachelog costs import``, and the outputs that include costs afterwards, on a real week."""

import csv
import re
from pathlib import Path

import pytest

from tests.server.commands import CommandResult, cachelog
from tests.snapshots.templates import copied

RANGE = "develop-2026-06-20..develop-2026-06-27"


BUILD_TIME = re.compile("build(ing the|ing them| time)", re.I)

COMMANDS: dict[str, tuple[str, ...]] = {
    "why": ("why", RANGE),
    "notes": ("notes", RANGE),
    "html": ("notes", RANGE, "--format", "html"),
    "json": ("notes", RANGE, "--format", "json"),
    "impact": ("impact", "gettext", "--in", "develop-2026-06-20"),
    "top": ("impact", "--top", "2"),
}


class Outputs:
    """The outputs of commands on two revisions of the stack e4s, without costs and with them."""

    def __init__(self, folder: Path, catalog: Path) -> None:
        self.catalog = copied(catalog, folder / "catalog").location
        self.without = self._all()
        specs = self.run("find", "", "--json").json["specs"]
        names = sorted({spec["name"] for spec in specs} - {"expat"})
        file = folder / "costs.csv"
        with file.open("w", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerow(["name", "seconds", "cost_usd"])
            writer.writerows([name, 3_600, 0.5] for name in names)
        self.num_names = len(names)
        self.imported = self.run("costs", "import", file)
        self.with_costs = self._all()

    def run(self, *arguments: object) -> CommandResult:
        """Run a command on the catalog."""
        return cachelog(*arguments, catalog=self.catalog)

    def _all(self) -> dict[str, CommandResult]:
        return {name: self.run(*command) for name, command in COMMANDS.items()}


@pytest.fixture(scope="module")
def outputs(e4s_week: Path, tmp_path_factory: pytest.TempPathFactory) -> Outputs:
    """Return the outputs."""
    return Outputs(tmp_path_factory.mktemp("week"), e4s_week)


def test_import_counts_the_packages(outputs: Outputs) -> None:
    """The output states the number of packages with costs."""
    assert (outputs.imported.code, outputs.imported.err) == (0, "")
    expected = f"costs of 0 specs and {outputs.num_names} packages kept, in USD"
    assert outputs.imported.lines == [expected]


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "json"])
def test_outputs_include_costs(outputs: Outputs, name: str) -> None:
    """Each output includes costs, unless none are imported."""
    assert outputs.without[name].code == 0
    assert not re.search(BUILD_TIME, outputs.without[name].out)
    assert re.search(BUILD_TIME, outputs.with_costs[name].out)


def test_impact_includes_costs(outputs: Outputs) -> None:
    """In total, and for each stack and target."""
    line = outputs.with_costs["impact"].lines[1]
    assert line.endswith("; building them takes 112.0 hours, 56.00 USD (112 estimated)")
    report = outputs.run(*COMMANDS["impact"], "--json").json
    expected = {
        "seconds": 403_200.0,
        "cost": 56.0,
        "unit": "usd",
        "num_estimated": 112,
        "num_unknown": 0,
    }
    assert report["build_cost"] == report["by_target"][0]["build_cost"] == expected
    top = outputs.run(*COMMANDS["top"], "--json").json["top"]
    for package in top:
        cost = package["build_cost"]
        assert cost["num_estimated"] + cost["num_unknown"] == package["num_specs"]


def test_invalid_file_changes_nothing(outputs: Outputs, tmp_path: Path) -> None:
    """The error states its position and reason, and the costs are unchanged."""
    file = tmp_path / "costs.csv"
    file.write_text("name,seconds\nzlib,fast\n")
    result = outputs.run("costs", "import", file)
    assert (result.code, result.out) == (1, "")
    assert "costs.csv, line 2, seconds: 'fast' is not a number" in result.err
    assert outputs.run(*COMMANDS["why"]).out == outputs.with_costs["why"].out
