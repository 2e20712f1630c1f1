"""``cachelog costs import``, and the outputs that have costs afterwards: on a real week."""

import csv
import re
from pathlib import Path

import pytest

from tests.server.commands import Done, cachelog
from tests.snapshots.templates import copied

RANGE = "develop-2026-06-20..develop-2026-06-27"


SHOWN = re.compile("build(ing the|ing them| time)", re.I)

COMMANDS: dict[str, tuple[str, ...]] = {
    "why": ("why", RANGE),
    "notes": ("notes", RANGE),
    "html": ("notes", RANGE, "--format", "html"),
    "json": ("notes", RANGE, "--format", "json"),
    "impact": ("impact", "gettext", "--in", "develop-2026-06-20"),
    "top": ("impact", "--top", "2"),
}


class Printed:
    """What commands print of two states of the stack e4s without costs, and with them."""

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

    def run(self, *arguments: object) -> Done:
        """Run a command on the catalog."""
        return cachelog(*arguments, catalog=self.catalog)

    def _all(self) -> dict[str, Done]:
        return {name: self.run(*command) for name, command in COMMANDS.items()}


@pytest.fixture(scope="module")
def printed(e4s_week: Path, tmp_path_factory: pytest.TempPathFactory) -> Printed:
    """Return what commands print."""
    return Printed(tmp_path_factory.mktemp("week"), e4s_week)


def test_costs_are_imported(printed: Printed) -> None:
    """The output counts them."""
    assert (printed.imported.code, printed.imported.err) == (0, "")
    expected = f"costs of 0 specs and {printed.num_names} packages kept, in USD"
    assert printed.imported.lines == [expected]


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "json"])
def test_nothing_is_shown_without_costs(printed: Printed, name: str) -> None:
    """And with them each output has them."""
    assert printed.without[name].code == 0
    assert not re.search(SHOWN, printed.without[name].out)
    assert re.search(SHOWN, printed.with_costs[name].out)


def test_costs_of_an_impact(printed: Printed) -> None:
    """Of all, and of each stack and target."""
    line = printed.with_costs["impact"].lines[1]
    assert line.endswith("; building them takes 112.0 hours, 56.00 USD (112 estimated)")
    document = printed.run(*COMMANDS["impact"], "--json").json
    expected = {
        "seconds": 403_200.0,
        "cost": 56.0,
        "unit": "usd",
        "num_estimated": 112,
        "num_unknown": 0,
    }
    assert document["build_cost"] == document["by_target"][0]["build_cost"] == expected
    top = printed.run(*COMMANDS["top"], "--json").json["top"]
    for package in top:
        cost = package["build_cost"]
        assert cost["num_estimated"] + cost["num_unknown"] == package["num_specs"]


def test_a_bad_file_changes_nothing(printed: Printed, tmp_path: Path) -> None:
    """Its place and the reason are named."""
    file = tmp_path / "costs.csv"
    file.write_text("name,seconds\nzlib,fast\n")
    done = printed.run("costs", "import", file)
    assert (done.code, done.out) == (1, "")
    assert "costs.csv, line 2, seconds: 'fast' is not a number" in done.err
    assert printed.run(*COMMANDS["why"]).out == printed.with_costs["why"].out
