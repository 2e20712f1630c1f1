"""Attack a server on this machine: ``python -m tests.hostile [--full] [--only TEXT]``.

Prints a table in Markdown; exits with 1 if an attack hurts.
"""

import argparse
import tempfile
from pathlib import Path

from server.settings import Settings
from snapshots.catalog.catalog import Catalog
from tests.demo_histories import history
from tests.hostile import report
from tests.hostile.runner import ANSWER_SECONDS, VICTIM_P99, Bounds, run_all
from tests.hostile.table import ATTACKS
from tests.hostile.target import SMALL_CACHES, attacked
from tests.memory import max_memory


def main() -> int:
    """Run the selected attacks; return 1 if one hurts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="58,000 specs, and the long attacks")
    parser.add_argument("--only", default="", metavar="TEXT", help="attacks with TEXT in the name")
    options = parser.parse_args()
    chosen = [
        attack
        for attack in ATTACKS
        if options.only in attack.name and (options.full or options.only or not attack.long)
    ]
    results = []
    with tempfile.TemporaryDirectory() as folder:
        catalog = synthetic_catalog(Path(folder), full=options.full)
        bounds = Bounds(ANSWER_SECONDS, VICTIM_P99, max_memory(Settings(**SMALL_CACHES)))
        with attacked(catalog, **SMALL_CACHES) as server:
            print(report.HEAD, flush=True)
            for result in run_all(server, chosen, bounds):
                results.append(result)
                print(report.line(result), flush=True)
    return int(any(result.hurts for result in results))


def synthetic_catalog(folder: Path, *, full: bool) -> Path:
    """Publish a synthetic catalog with three revisions of 58,000 specs, or of 6,000."""
    packages, specs = (4_000, 58_000) if full else (300, 6_000)
    Catalog(str(folder)).publish(list(history(revisions=3, packages=packages, specs=specs)))
    return folder


if __name__ == "__main__":
    raise SystemExit(main())
