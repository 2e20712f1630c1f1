"""Lighthouse scores of each page of the demo: ``python -m tests.lighthouse``.

Prints a table of scores from 0 to 100 per category, and the audits that cost a page points. Exits
with 1 if a score is below ``--least``. Lighthouse is installed from npm; the browser is the
installed Chromium.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

import httpx

from tests.screenshots import demo_server
from tests.server import npm
from tests.server.pages.tour import tour

HERE = Path(__file__).parent


def main(arguments: list[str]) -> int:
    """Audit the pages; return the exit code."""
    parser = ArgumentParser(prog="python -m tests.lighthouse", description=__doc__)
    parser.add_argument("--form", choices=["mobile", "desktop"], default="mobile")
    parser.add_argument("--least", type=int, default=95, metavar="SCORE")
    options = parser.parse_args(arguments)
    with demo_server() as url:
        with httpx.Client(base_url=url, timeout=60) as client:
            pages = {name: url + path for name, path in tour(client).items() if name != "missing"}
        results = audited(options.form, list(pages.values()))
    print("| page |", " | ".join(results[0]["scores"]), "|")
    print("|---|" + "---:|" * len(results[0]["scores"]))
    for name, result in zip(pages, results, strict=True):
        print(
            f"| {name} |", " | ".join(map(str, result["scores"].values())), "|", *result["wanting"]
        )
    return int(any(min(result["scores"].values()) < options.least for result in results))


def audited(form: str, addresses: list[str]) -> list[dict[str, Any]]:
    """Return the scores of pages and their failed audits, in the order of their addresses."""
    with tempfile.TemporaryDirectory() as folder:
        package = npm.installed(HERE, Path(folder))
        done = subprocess.run(
            ["node", "audit.mjs", form, *addresses],
            cwd=package,
            env=os.environ | {"CHROME_PATH": str(shutil.which("chromium"))},
            stdout=subprocess.PIPE,
            check=True,
            text=True,
        )
    return [json.loads(line) for line in done.stdout.splitlines()]


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
