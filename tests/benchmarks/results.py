"""The results of a run as a printed table."""

from itertools import groupby

import msgspec
from rich.console import Console
from rich.table import Table

from tests.benchmarks.machine import Machine
from tests.benchmarks.measurements import Measurement

_WIDTH = 132


class Results(msgspec.Struct, frozen=True, kw_only=True):
    """All measurements of a run."""

    machine: Machine
    quick: bool
    notes: list[str]
    measurements: list[Measurement]


def print_table(results: Results) -> None:
    """Print the medians, the lowest and highest round, and the ratios to each reference."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=_WIDTH)
    for (benchmark, subject), group in groupby(
        results.measurements, key=lambda it: (it.benchmark, it.subject)
    ):
        console.print(_table(f"{benchmark}: {subject}", list(group)))
    machine = results.machine
    before, after = machine.load_average
    console.print(f"{machine.cpu}, {machine.cores} cores, {machine.system}")
    versions = (f"{name} {version}" for name, version in machine.versions.items())
    console.print(", ".join((f"Python {machine.python}", *versions)), highlight=False)
    console.print(f"load average: {before:.2f} before, {after:.2f} after (the run itself included)")
    for note in dict.fromkeys(results.notes):
        console.print(f"- {note}", highlight=False, markup=False)
    if results.quick:
        console.print("- a quick run on little data: its numbers say nothing", highlight=False)


def _table(title: str, measurements: list[Measurement]) -> Table:
    table = Table(title=title, title_justify="left", min_width=100)
    table.add_column("", ratio=1)
    for heading in (measurements[0].unit, "rounds: lowest to highest", "ratio", "target"):
        table.add_column(heading, justify="right")
    for it in measurements:
        spread = f"{len(it.values)}: {rounded(it.low)} to {rounded(it.high)}"
        ratio = "" if it.ratio is None else f"{rounded(it.ratio)} x"
        table.add_row(it.contender, rounded(it.median), spread, ratio, _target(it))
    return table


def rounded(value: float) -> str:
    """Return a number with three significant digits, or all digits before the point."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def _target(it: Measurement) -> str:
    if it.target is None:
        return ""
    unit = "x" if it.target.of == "ratio" else it.unit
    return f"<= {it.target.at_most:g} {unit}: {'met' if it.met else 'MISSED'}"
