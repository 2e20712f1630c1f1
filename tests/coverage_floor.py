"""Check the coverage of the domain: each file needs ``FLOOR`` percent, including branches.

It reads the measurement of ``pytest --cov``: ``python -m tests.coverage_floor``.
"""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

from coverage import Coverage

FLOOR = 95.0
DOMAIN = "snapshots/"


def low_files(report: dict[str, dict[str, dict[str, float]]]) -> dict[str, float]:
    """Return the files of the domain below the floor, with their coverage in percent.

    ``report`` maps paths to their entries in the JSON report of coverage.
    """
    percents = {
        path: file["summary"]["percent_covered"]
        for path, file in report.items()
        if path.startswith(DOMAIN)
    }
    return {path: percent for path, percent in percents.items() if percent < FLOOR}


def main() -> int:
    """Print the coverage, and the files below the floor; return 1 if there are any."""
    coverage = Coverage()
    coverage.load()
    coverage.report()
    with TemporaryDirectory() as folder:
        outfile = Path(folder) / "coverage.json"
        coverage.json_report(outfile=str(outfile))
        low = low_files(json.loads(outfile.read_text("utf-8"))["files"])
    for path, percent in low.items():
        print(f"{path}: {percent:.1f} % is covered, {FLOOR:g} % is asked of the domain")
    return 1 if low else 0


if __name__ == "__main__":
    raise SystemExit(main())
