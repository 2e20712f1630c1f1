"""How fast a history of cache pages is imported from git: commits a second, publishing included.

Run ``python -m tests.benchmarks.git_history``. It makes a repository of daily commits, of which
each changes a share of the pages, and imports it into an empty catalog; then once more, where
nothing is new, and once after another day.
"""

import argparse
import random
import subprocess
import tempfile
from base64 import b32encode
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from time import perf_counter
from typing import Any

import orjson

from snapshots.catalog.catalog import Catalog
from snapshots.sources.git.page_history import read
from snapshots.sources.reports import Report
from snapshots.sources.settings import ReadSettings

FIRST_DAY = datetime(2024, 1, 1, 6, tzinfo=UTC)
TAG = "develop"
CHANGING = 0.02
BATCH = 64

_PLACES = (
    ("ubuntu24.04", "linux", "x86_64_v3", ("e4s", "hep", "radiuss")),
    ("ubuntu22.04", "linux", "neoverse_v2", ("e4s-neoverse-v2", "developer-tools")),
    ("ventura", "darwin", "m1", ("ml-darwin-aarch64-mps", "developer-tools-darwin")),
)
_COMPILERS = ("gcc@11.4.0", "gcc@13.2.0", "clang@16.0.6", "oneapi@2024.2.0", "none")
_VARIANTS = ("~debug", "+shared", "+pic", "build_system:=cmake", "build_type:=Release", "~ipo")


def page(name: str, num_specs: int, draw: random.Random) -> bytes:
    """Return a page of the newest layout with made-up specs."""
    specs = sorted((_spec(draw) for _ in range(num_specs)), key=lambda spec: str(spec["hash"]))
    by_stack = Counter(stack for spec in specs for stack in spec["stacks"])

    def distinct(key: str) -> list[str]:
        return sorted({spec[key] for spec in specs})

    meta = {
        "versions": sorted({spec["versions"][0] for spec in specs}),
        "compilers": distinct("compiler"),
        "oss": distinct("os"),
        "platforms": distinct("platform"),
        "targets": distinct("target"),
        "stacks": sorted(by_stack),
        "num_specs": num_specs,
        "num_specs_by_stack": by_stack,
    }
    lines = (
        "---",
        f'title: "{name}"',
        "layout: cache",
        f"categories: [package, {TAG}]",
        "synthetic: true",
        f"meta: {orjson.dumps(meta).decode()}",
        f"spec_details: {orjson.dumps(specs).decode()}",
        "---\n",
    )
    return "\n".join(lines).encode()


def _spec(draw: random.Random) -> dict[str, Any]:
    system, platform, target, stacks = draw.choice(_PLACES)
    return {
        "hash": b32encode(draw.randbytes(20)).decode().lower(),
        "versions": [f"{draw.randrange(1, 5)}.{draw.randrange(20)}.{draw.randrange(10)}"],
        "compiler": draw.choice(_COMPILERS),
        "os": system,
        "platform": platform,
        "target": target,
        "variants": draw.sample(_VARIANTS, draw.randrange(2, len(_VARIANTS))),
        "stacks": sorted(["root", *draw.sample(stacks, draw.randrange(1, len(stacks)))]),
        "size": "-",
    }


def states(packages: int, num_specs: int, draw: random.Random) -> Iterator[dict[str, bytes]]:
    """Yield the pages that are written each day, by path: all on the first day, then a share."""
    paths = {f"_cache/{TAG}/pkg-{number:04}/specs.md": number for number in range(packages)}
    changing = list(paths)
    while True:
        yield {path: page(f"pkg-{paths[path]:04}", num_specs, draw) for path in changing}
        changing = draw.sample(list(paths), max(1, round(packages * CHANGING)))


def commit(folder: Path, days: Iterator[tuple[int, dict[str, bytes]]]) -> None:
    """Add a commit for each numbered day to the repository in a folder."""
    command = ["git", "-C", str(folder), "fast-import", "--quiet", "--date-format=raw"]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        for number, (day, pages) in enumerate(days):
            seconds = int((FIRST_DAY + timedelta(days=day)).timestamp())
            lines = [
                b"commit refs/heads/main",
                b"committer Nobody <nobody@example.org> %d +0000" % seconds,
                b"data 0",
            ]
            if day and not number:
                lines.append(b"from refs/heads/main^0")
            for path, data in pages.items():
                lines += [f"M 100644 inline {path}".encode(), b"data %d" % len(data), data]
            process.stdin.write(b"\n".join(lines) + b"\n\n")
    if process.returncode:
        raise SystemExit("git fast-import failed")


def load(repository: Path, catalog: Catalog) -> tuple[int, float]:
    """Publish what is new in the repository; return the number of revisions, and seconds."""
    started = perf_counter()
    catalog.refresh(missing_ok=True)
    snapshots = read(
        str(repository), history=catalog.history, settings=ReadSettings(), report=Report()
    )
    new = 0
    while batch := list(islice(snapshots, BATCH)):
        new += sum(publication.is_new for publication in catalog.publish(batch))
    return new, perf_counter() - started


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--commits", type=int, default=300)
    parser.add_argument("--packages", type=int, default=1200)
    parser.add_argument("--specs", type=int, nargs="*", default=[5, 20], help="on each page")
    options = parser.parse_args()
    for num_specs in options.specs:
        with tempfile.TemporaryDirectory() as folder:
            measure(Path(folder), options.commits, options.packages, num_specs)


def measure(folder: Path, commits: int, packages: int, num_specs: int) -> None:
    """Make a repository, import it three times, and print what each import took."""
    repository = folder / "repository"
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(repository)], check=True)
    days = enumerate(states(packages, num_specs, random.Random(0)))
    commit(repository, (next(days) for _ in range(commits)))
    catalog = Catalog(str(folder / "catalog"))
    print(f"{commits} commits x {packages} pages x {num_specs} specs, {CHANGING:.0%} changing")
    new, seconds = load(repository, catalog)
    print(f"  first run      {new:4} revisions {seconds:8.2f} s {new / seconds:8.1f} commits/s")
    new, seconds = load(repository, Catalog(str(folder / "catalog")))
    print(f"  nothing new    {new:4} revisions {seconds:8.2f} s")
    commit(repository, iter([next(days)]))
    new, seconds = load(repository, Catalog(str(folder / "catalog")))
    print(f"  one more day   {new:4} revisions {seconds:8.2f} s")
    print(f"  peak memory    {getrusage(RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB")


if __name__ == "__main__":
    main()
