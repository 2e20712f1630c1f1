"""How long imports take to keep the commits of the recipes, and a comparison to find its own.

Run ``python -m tests.benchmarks.recipes``. It makes a repository as Spack's packages have: commits
of years, most of which touch one recipe, and revisions a week apart with a ref each. The recipes of
all revisions but one are found at once, as ``history fill`` does, then those of the newest, as an
import does. Times are of this process and of git's, with the processor's time beside them.
"""

import argparse
import random
import subprocess
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage
from statistics import median
from time import perf_counter
from typing import TypeVar

from msgspec.structs import replace

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.recipes_import import KeptRecipes, keep_recipes
from snapshots.changes.diff import Comparison
from snapshots.changes.explanation import Explanation, explain
from snapshots.models import RevisionInfo
from snapshots.recipes.effects import Attribution
from snapshots.sources.settings import ReadSettings
from tests.snapshots.changes.graphs import edge, node, side_of
from tests.snapshots.factories import a_revision

Value = TypeVar("Value")

FIRST = 1_500_000_000
STEP = 2_000
"""Seconds between two commits: 37,000 are some two and a half years."""

BRANCHED = 0.05
"""This share of commits are on branches, which the next one merges."""

OTHER_PATHS = {97: "stacks/e4s/spack.yaml", 200: ".ci/env"}
"""What commits whose number is a multiple of this change, too."""

ROUNDS = 5


def path_of(package: int) -> str:
    """Return where the recipe of a package is."""
    return f"repos/spack_repo/builtin/packages/pkg_{package:04}/package.py"


def stream(num_commits: int, num_packages: int, draw: random.Random) -> Iterator[bytes]:
    """Yield what git fast-import makes the commits of; commit N has the mark N, from 1."""
    develop, branch = 0, 0
    for number in range(1, num_commits + 1):
        paths = [path_of(draw.randrange(num_packages)) for _ in range(draw.choice([1, 1, 1, 2]))]
        if number == 1:
            paths = list(map(path_of, range(num_packages)))
        elif number % 5_000 == 0:  # as a header of a licence
            paths = list(map(path_of, range(0, num_packages, 2)))
        paths += [path for each, path in OTHER_PATHS.items() if number % each == 0]
        is_branch = develop > 10 and not branch and draw.random() < BRANCHED
        parents = [max(1, develop - draw.randrange(2, 9))] if is_branch else [develop, branch]
        yield from commit_of(number, [parent for parent in parents if parent], paths, is_branch)
        develop, branch = (develop, number) if is_branch else (number, 0)


def commit_of(
    number: int, parents: Sequence[int], paths: Iterable[str], is_branch: bool
) -> Iterator[bytes]:
    """Yield a commit that changes paths."""
    subject = b"pkg: add v%d (#%d)" % (number, number)
    yield b"commit refs/heads/%s\nmark :%d\n" % (b"topic" if is_branch else b"develop", number)
    yield b"committer P <p@example.org> %d +0000\n" % (FIRST + STEP * number)
    yield b"data %d\n%s\n" % (len(subject), subject)
    for place, parent in enumerate(parents):
        yield b"%s :%d\n" % (b"merge" if place else b"from", parent)
    for path in dict.fromkeys(paths):
        content = b"SPACK=%040x\n" % number if path == ".ci/env" else b"%d\n" % number
        yield b"M 644 inline %s\ndata %d\n%s" % (path.encode(), len(content), content)


def make(folder: Path, num_commits: int, num_packages: int) -> None:
    """Make the repository."""
    subprocess.run(["git", "init", "-q", "--bare", "-b", "develop", str(folder)], check=True)
    command = ["git", "-C", str(folder), "fast-import", "--quiet"]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        for piece in stream(num_commits, num_packages, random.Random(0)):
            process.stdin.write(piece)
    if process.returncode:
        raise SystemExit("git fast-import failed")


def revisions(num_commits: int, weeks: int) -> list[RevisionInfo]:
    """Return revisions of a series, as far from each other, the oldest first."""
    moments = [
        datetime.fromtimestamp(FIRST + STEP * (num_commits * place // weeks) + 1, UTC)
        for place in range(1, weeks + 1)
    ]
    return [
        replace(a_revision(f"develop-{moment:%Y-%m-%d}", 0, f"{moment}"), taken_at=moment)
        for moment in moments
    ]


def timed(name: str, action: Callable[[], Value], rounds: int = 1) -> Value:
    """Do something some times, print the medians of what that takes, and return what it returns."""
    values: list[Value] = []
    times: list[tuple[float, float, float]] = []
    for _ in range(rounds):
        started, before = perf_counter(), usage()
        values.append(action())
        after = usage()
        times.append((perf_counter() - started, after[0] - before[0], after[1] - before[1]))
    seconds, own, of_git = (median(column) for column in zip(*times, strict=True))
    print(f"  {name:34} {seconds:8.3f} s, of the processor {own:8.3f} s and {of_git:7.3f} s of git")
    return values[-1]


def usage() -> tuple[float, float]:
    """Return the seconds of the processor that this process and its children took."""
    found = (getrusage(who) for who in (RUSAGE_SELF, RUSAGE_CHILDREN))
    own, children = (one.ru_utime + one.ru_stime for one in found)
    return own, children


def explained(num_packages: int, changed: Collection[int]) -> Explanation:
    """Explain that some recipes changed of packages of which each depends on three others."""
    sides = []
    for label in ("old", "new"):
        draw, names, specs = random.Random(0), dict[int, str](), []
        for package in range(num_packages):
            below = draw.sample(range(package), min(package, 3))
            is_new = label == "new" and (
                package in changed or any(names[one].endswith("new") for one in below)
            )
            names[package] = f"pkg-{package:04}:{'new' if is_new else 'old'}"
            recipe = {"package_hash": f"{label}{package}"} if package in changed else {}
            edges = [edge(names[one], name=f"pkg-{one:04}") for one in below]
            specs.append(node(names[package], *edges, name=f"pkg-{package:04}", **recipe))
        sides.append(side_of(specs))
    base, head = sides
    return explain(Comparison(base.frame, head.frame), base.graph, head.graph)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--commits", type=int, default=37_000)
    parser.add_argument("--packages", type=int, default=7_000)
    parser.add_argument("--weeks", type=int, default=120)
    parser.add_argument("--specs", type=int, default=2_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        measure(Path(folder), options)


def measure(folder: Path, options: argparse.Namespace) -> None:
    """Make a repository, find the recipes of revisions in it, and print what each step took."""
    make(folder / "recipes", options.commits, options.packages)
    print(f"{options.commits:,} commits of {options.packages:,} recipes, {options.weeks} revisions")
    every = revisions(options.commits, options.weeks)

    def fill(new: Sequence[RevisionInfo], catalog: str = "catalog") -> KeptRecipes:
        location = str(folder / "recipes")
        return keep_recipes(Catalog(str(folder / catalog)), new, location, settings=ReadSettings())

    kept = timed("first fill", lambda: fill(every[: 1 - ROUNDS]))
    print(f"    {kept.num_commits:,} commits kept")
    later = iter(every[1 - ROUNDS :])
    timed("an import after it", lambda: fill([next(later)]), ROUNDS - 1)
    tables = Catalog(str(folder / "catalog")).recipes
    tables.refresh()
    base, head = every[-2:]
    between = timed("a process's first comparison", lambda: tables.between(base, head))
    timed("a comparison's commits", lambda: tables.between(base, head), ROUNDS)
    assert between is not None
    changed = {int(name[4:]) for commit in between.reached[:40] for name in commit.packages}
    explanation = explained(options.specs, {one for one in changed if one < options.specs})
    attribution = timed(
        "which explain which causes", lambda: Attribution(explanation, between), ROUNDS
    )
    timed("what each commit did", attribution.effects, ROUNDS)
    print(f"    {len(between.reached):,} commits, {len(explanation.causes):,} causes")
    print(f"  peak memory {getrusage(RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB")


if __name__ == "__main__":
    main()
