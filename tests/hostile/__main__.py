"""Attacks a server of its own: ``python -m tests.hostile [--full] [--only TEXT] [--loaded]``.

Prints a table in Markdown; leaves with 1 where an attack hurts. Everything stays on this machine.
``python -m tests.hostile --full --write docs/attacks.md`` puts the figures into that document.
"""

import argparse
import tempfile
from pathlib import Path

from snapshots import demo
from snapshots.catalog.catalog import Catalog
from tests.benchmarks.documents import write_figures
from tests.benchmarks.machine import Load, commit, describe
from tests.hostile import report
from tests.hostile.runner import (
    ANSWER_SECONDS,
    ANSWER_SECONDS_LOADED,
    VICTIM_P99,
    VICTIM_P99_LOADED,
    Bounds,
    run_all,
)
from tests.hostile.sizes import SMALL_CACHES, documented_bytes
from tests.hostile.table import ATTACKS
from tests.hostile.target import attacked


def main() -> int:
    """Run the attacks that were asked for; return 1 where one hurts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="58,000 specs, and the long attacks")
    parser.add_argument("--only", default="", metavar="TEXT", help="attacks with TEXT in the name")
    parser.add_argument("--loaded", action="store_true", help="allow for a machine that is busy")
    parser.add_argument(
        "--write",
        type=Path,
        metavar="FILE",
        help="replace the table of groups in a document, and write the figures beside it",
    )
    asked = parser.parse_args()
    chosen = [
        it for it in ATTACKS if asked.only in it.name and (asked.full or asked.only or not it.long)
    ]
    before, results = Load.now(), []
    with tempfile.TemporaryDirectory() as folder:
        catalog = made_catalog(Path(folder), full=asked.full)
        bounds = Bounds(
            ANSWER_SECONDS_LOADED if asked.loaded else ANSWER_SECONDS,
            VICTIM_P99_LOADED if asked.loaded else VICTIM_P99,
            documented_bytes(SMALL_CACHES),
        )
        with attacked(catalog, **SMALL_CACHES) as server:
            print(report.HEAD, flush=True)
            for result in run_all(server, chosen, bounds):
                results.append(result)
                print(report.line(result), flush=True)
    run = report.AttackRun(
        commit=commit(), machine=describe(before), attacks=report.figures(results)
    )
    table = report.by_group(run.attacks)
    print(f"\n{table}\n")
    if asked.write:
        write_figures(asked.write, "attacks", table, run)
    print(report.summary(results, bounds))
    return int(any(result.hurts for result in results))


def made_catalog(folder: Path, *, full: bool) -> Path:
    """Return a made-up catalog: three revisions of 58,000 specs, or of 6,000."""
    packages, specs = (4_000, 58_000) if full else (300, 6_000)
    Catalog(str(folder)).publish(list(demo.history(revisions=3, packages=packages, specs=specs)))
    return folder


if __name__ == "__main__":
    raise SystemExit(main())
