"""``bounds``: work with a fixed bound: starting, analyses of a revision, feeds, histories in git.

All times are processor times, including git's, as other processes hardly affect these.
"""

import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from functools import partial
from itertools import count
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage

import numpy as np
from msgspec.structs import replace

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.library import Library
from snapshots.catalog.pairs import PairMaker
from snapshots.catalog.recipes_import import import_recipes
from snapshots.changes.holes import Holes
from snapshots.changes.impact import largest_impacts
from snapshots.changes.sides import Side
from snapshots.changes.twins import Twins
from snapshots.history import Neighbours
from snapshots.models import RevisionInfo
from snapshots.sources.git.page_history import read
from snapshots.sources.reports import Report
from snapshots.sources.settings import ReadSettings
from tests.benchmarks.measurements import Measurement, Target, Turn, measure, summary
from tests.benchmarks.plans import Plan
from tests.benchmarks.years import copy_of
from tests.snapshots.factories import a_revision
from tests.snapshots.sources.page_trees import page

_CACHELOG = Path(sys.executable).with_name("cachelog")
_FIRST = 1_500_000_000
_DAY = 86_400


def run(plan: Plan) -> Iterator[Measurement]:
    """Measure all of them, with their bounds as targets."""
    yield from _start(plan)
    yield from _questions(plan)
    with tempfile.TemporaryDirectory(dir=plan.data.cache) as parent:
        yield from _stories(plan, Path(parent))
        yield from _pages_of_commits(plan, Path(parent))
        yield from _recipes(plan, Path(parent))


def _seconds(work: Callable[[], object]) -> float:
    """Return the processor time of some work, including the programs that it runs."""

    def used() -> float:
        uses = map(getrusage, (RUSAGE_SELF, RUSAGE_CHILDREN))
        return sum(use.ru_utime + use.ru_stime for use in uses)

    before = used()
    work()
    return used() - before


def _turn(work: Callable[[], object]) -> Turn:
    return partial(_seconds, work)


def _measured(
    plan: Plan, subject: str, turns: dict[str, Turn], bounds: dict[str, float]
) -> list[Measurement]:
    targets = {name: Target(bound, "median") for name, bound in bounds.items()}
    return measure("bounds", subject, turns, unit="s", rounds=plan.rounds, targets=targets)


def _start(plan: Plan) -> Iterator[Measurement]:
    commands: dict[str, list[str | Path]] = {
        "Python: nothing": [sys.executable, "-c", "pass"],
        "cachelog: --version": [_CACHELOG, "--version"],
        "cachelog: --help": [_CACHELOG, "--help"],
    }
    turns = {
        name: _turn(partial(subprocess.run, command, check=True, stdout=subprocess.DEVNULL))
        for name, command in commands.items()
    }
    bounds = {"cachelog: --version": 0.1, "cachelog: --help": 0.15}
    yield from _measured(plan, "commands that need no catalog", turns, bounds)


def _questions(plan: Plan) -> Iterator[Measurement]:
    library = Library(plan.data.opened())
    digest = plan.data.digests()[1]
    frame, graph = library.frames.get(digest), library.dependencies.get(digest)
    every = np.ones(len(frame), np.bool_)
    turns = {
        "cachelog: holes": _turn(lambda: Holes(graph)),
        "cachelog: what each package would rebuild": _turn(
            lambda: largest_impacts(frame, graph, every, 1 << 30)
        ),
        "cachelog: twins and their causes": _turn(lambda: Twins(Side(frame, graph)).explanation),
    }
    subject = f"a loaded revision of {plan.data.specs:,} specs"
    yield from _measured(plan, subject, turns, dict.fromkeys(turns, 0.3))


def _stories(plan: Plan, folder: Path) -> Iterator[Measurement]:
    """Measure reading the story of a pair that an import stored, with nothing in memory."""
    catalog = Catalog(str(copy_of(plan.data.catalog, folder / "stories")))
    revisions = {revision.digest: revision for revision in catalog.require_history().revisions}
    base, head = (revisions[digest] for digest in plan.data.digests())
    pair = Neighbours(base, head)
    catalog.keep(list(PairMaker(catalog.load_side, neighbours={pair.pair: pair}).make([pair.pair])))
    turns = {
        "cachelog: explained": _turn(lambda: Library(catalog).explain(base, head)),
        "cachelog: as stored": _turn(
            lambda: Library(catalog).history_queries.stored_stories([pair])
        ),
    }
    subject = f"the story of two revisions of {plan.data.specs:,} specs"
    yield from _measured(plan, subject, turns, {"cachelog: as stored": 0.3 / 5})


# -- histories in git


def _fast_import(folder: Path, pieces: Iterable[bytes]) -> None:
    """Create a repository from the input of ``git fast-import``."""
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(folder)], check=True)
    subprocess.run(
        ["git", "-C", str(folder), "fast-import", "--quiet"], input=b"".join(pieces), check=True
    )


def _commit(number: int, files: Iterable[tuple[str, bytes]]) -> Iterator[bytes]:
    subject = b"pkg: change %d (#%d)" % (number, number)
    yield b"commit refs/heads/main\ncommitter P <p@example.org> %d +0000\n" % _moment(number)
    yield b"data %d\n%s\n" % (len(subject), subject)
    for path, data in files:
        yield b"M 644 inline %s\ndata %d\n%s\n" % (path.encode(), len(data), data)


def _moment(number: int) -> int:
    return _FIRST + _DAY * number // 48


def _pages_of_commits(plan: Plan, folder: Path) -> Iterator[Measurement]:
    """Measure an import of pages into an empty catalog; each commit changes 2 % of them."""
    num_commits, num_pages = (60, 300) if plan.data.specs > 1_000 else (10, 50)
    draw, labels = random.Random(0), count()

    def pages(numbers: Iterable[int]) -> Iterator[tuple[str, bytes]]:
        for number in numbers:
            name = f"pkg-{number:04}"
            specs = [f"{name}-{next(labels)}" for _ in range(5)]
            yield f"_cache/develop/{name}/specs.md", page(name, *specs, tag="develop")

    every = range(num_pages)
    changing = (draw.sample(every, max(1, num_pages // 50)) for _ in range(1, num_commits))
    commits = (_commit(number, pages(some)) for number, some in enumerate([every, *changing], 1))
    _fast_import(folder / "pages", (piece for commit in commits for piece in commit))

    def publish() -> None:
        with tempfile.TemporaryDirectory(dir=folder) as location:
            catalog = Catalog(location)
            catalog.refresh(missing_ok=True)
            repository, history, settings = str(folder / "pages"), catalog.history, ReadSettings()
            catalog.publish(read(repository, history=history, settings=settings, report=Report()))

    seconds = [_seconds(publish) for _ in range(min(plan.rounds, 3))]
    yield summary(
        "bounds",
        f"{num_commits} commits of {num_pages} pages of 5 specs",
        "cachelog: a commit of import --git",
        unit="s",
        values=[value / num_commits for value in seconds],
        target=Target(1 / 60, "median"),
    )


def _recipes(plan: Plan, folder: Path) -> Iterator[Measurement]:
    """Measure storing the commits of years of recipes, and those of a later import."""
    num_commits, num_recipes = (37_000, 7_000) if plan.data.specs > 1_000 else (300, 40)
    draw = random.Random(0)

    def recipes(number: int) -> Iterator[tuple[str, bytes]]:
        changed = range(num_recipes) if number == 1 else [draw.randrange(num_recipes)]
        for recipe in changed:
            path = f"repos/spack_repo/builtin/packages/pkg_{recipe:04}/package.py"
            yield path, b"%d" % number

    numbers = range(1, num_commits + 1)
    pieces = (piece for number in numbers for piece in _commit(number, recipes(number)))
    _fast_import(folder / "recipes", pieces)
    weeks = [_revision(num_commits * week // 120) for week in range(1, 121)]

    def keep(revisions: list[RevisionInfo]) -> None:
        catalog, recipes = Catalog(str(folder / "catalog")), str(folder / "recipes")
        import_recipes(catalog, revisions, recipes, settings=ReadSettings())

    subject = f"{num_commits:,} commits of {num_recipes:,} recipes"
    for contender, revisions, bound in (
        ("cachelog: a first fill", weeks[:-1], 20),
        ("cachelog: an import after it", weeks[-1:], 0.3),
    ):
        values = [_seconds(partial(keep, revisions))]
        target = Target(bound, "median")
        yield summary("bounds", subject, contender, unit="s", values=values, target=target)


def _revision(number: int) -> RevisionInfo:
    moment = datetime.fromtimestamp(_moment(number) + 1, UTC)
    return replace(a_revision(f"develop-{moment:%Y-%m-%d}", 0, f"{moment}"), taken_at=moment)
