"""``python -m tests.benchmarks``: measure cachelog, compared with other ways to do the same."""

import argparse
import os
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from tests.benchmarks.measurements import Measurement
from tests.benchmarks.plans import CACHE, Data, Plan
from tests.benchmarks.queries import QUERIES
from tests.benchmarks.results import print_tables

# Imported late, as each process that a benchmark starts imports this module again.
BENCHMARKS = {
    "import": "imports",
    "compare": "comparisons",
    "explain": "comparisons",
    **dict.fromkeys(QUERIES, "over_http"),
    "pages": "pages",
    "cost": "costs",
    "scale": "scale",
}
"""The modules of the benchmarks, by name."""

SELDOM = {"years": "ages", "million": "scale"}
"""Run only by name: creating their data takes up to half an hour and some GB."""


def main() -> None:
    """Run the named benchmarks, and print their tables."""
    options = _options()
    names = options.names or [*BENCHMARKS]
    before = os.getloadavg()[0]
    plan = _plan(options)
    measurements: list[Measurement] = []
    for name in names:
        print(f"measuring {name} ...", file=sys.stderr, flush=True)
        measurements += _measured(plan, name)
    load = f"load average: {before:.2f} before, {os.getloadavg()[0]:.2f} after, this run included"
    quick = ["a quick run on little data: its numbers say nothing"] if options.quick else []
    print_tables(measurements, [load, *plan.notes, *quick])


def _measured(plan: Plan, name: str) -> Iterator[Measurement]:
    modules = BENCHMARKS | SELDOM
    module = modules[name]
    run = import_module(f"tests.benchmarks.{module}").run
    # A module with several names gets the name as an argument.
    yield from run(plan, name) if [*modules.values()].count(module) > 1 else run(plan)


def _plan(options: argparse.Namespace) -> Plan:
    packages, specs = (40, 400) if options.quick else (1_233, 58_000)
    return Plan(
        data=Data(options.cache, packages=packages, specs=specs),
        rounds=1 if options.quick else 7,
        seconds=0.02 if options.quick else 1,
        calls=1 if options.quick else 25,
        contents=20 if options.quick else 250,
        specs_of_years=400 if options.quick else 60_000,
        sizes=(400, 800, 1_200) if options.quick else (58_000, 300_000, 1_000_000),
    )


def _name(name: str) -> str:
    if name not in (names := [*BENCHMARKS, *SELDOM]):
        raise argparse.ArgumentTypeError(f"there is no benchmark {name}, only {', '.join(names)}")
    return name


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        type=_name,
        help=f"one of {', '.join(BENCHMARKS)}, which all run by default, or "
        f"{', '.join(SELDOM)}, which does not",
    )
    parser.add_argument(
        "--quick", action="store_true", help="only check that it runs, on little data"
    )
    parser.add_argument(
        "--cache", type=Path, default=CACHE, metavar="FOLDER", help="where the data is stored"
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()
