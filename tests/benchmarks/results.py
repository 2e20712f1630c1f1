"""The results of a run as printed tables."""

import platform
from collections.abc import Iterable
from itertools import groupby

from rich.console import Console
from rich.table import Table

from tests.benchmarks.measurements import Measurement

_WIDTH = 132


def print_tables(measurements: Iterable[Measurement], notes: Iterable[str]) -> None:
    """Print the medians, the lowest and highest round, and the ratios to each reference."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=_WIDTH)
    for (benchmark, subject), group in groupby(
        measurements, key=lambda it: (it.benchmark, it.subject)
    ):
        console.print(_table(f"{benchmark}: {subject}", list(group)))
    console.print(f"Python {platform.python_version()}, {platform.platform()}", highlight=False)
    for note in dict.fromkeys(notes):
        console.print(f"- {note}", highlight=False, markup=False)


def _table(title: str, measurements: list[Measurement]) -> Table:
    table = Table(title=title, title_justify="left", min_width=100)
    table.add_column("", ratio=1)
    for heading in (measurements[0].unit, "rounds: lowest to highest", "ratio"):
        table.add_column(heading, justify="right")
    for it in measurements:
        spread = f"{len(it.values)}: {rounded(min(it.values))} to {rounded(max(it.values))}"
        ratio = "" if it.ratio is None else f"{rounded(it.ratio)} x"
        table.add_row(it.contender, rounded(it.median), spread, ratio)
    return table


def rounded(value: float) -> str:
    """Return a number with three significant digits, or all digits before the point."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"
