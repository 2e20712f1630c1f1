"""Bulk work: one process, beside two on two cores.

Wall time tells how much sooner it is done on a machine with nothing else to do. The CPU time of all
processes together tells what that costs: twice as fast at best, less by as much as it is more. How
much two cores of a machine can gain at all is told by two imports of half the tags, each by itself:
they share caches and memory, but no work.
"""

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import forkserver, get_context
from pathlib import Path
from shutil import rmtree
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.pairs import changes_of_pairs
from snapshots.catalog.parallel_import import publish_locations
from snapshots.catalog.past import fill, missing_pairs
from snapshots.catalog.verification import verify
from snapshots.sources.reports import Report
from snapshots.sources.settings import ReadSettings
from tests.benchmarks.measurements import Measurement, Target, measure, summary
from tests.benchmarks.plans import Plan
from tests.benchmarks.years import catalog_of_years, copy_of, tagged_pages

_ALONE, _POOL = "cachelog: 1 process", "a pool of 2 processes"
_APART = "2 processes by themselves, half of it each"


class Taken(NamedTuple):
    """What a piece of work took: seconds on the clock, and of CPU in all its processes."""

    wall: float
    cpu: float


Work = Callable[[Path, int], None]
"""Works on a folder, in so many processes."""


def run(plan: Plan) -> Iterator[Measurement]:
    """Measure; the target is 1.7 times as fast as one process."""
    catalog = catalog_of_years(
        plan.data.cache, revisions=plan.bulk_contents, specs=plan.specs_of_years
    )
    contents = f"{plan.bulk_contents:,} contents of {plan.specs_of_years:,} specs"
    pages = tagged_pages(plan.data.cache, tags=plan.bulk_tags, specs=plan.data.specs)
    tags = [str(it) for it in sorted(pages.iterdir())]
    subject = f"import, {len(tags):,} tags of {plan.data.specs:,} specs"
    importing = partial(_taken, plan.data.cache, None, partial(_import, tags))
    apart = partial(_taken, plan.data.cache, None, partial(_import_apart, tags))
    yield from _beside(subject, importing, plan.rounds, apart)
    for name, work in {"history fill": _fill, "verify": _verify}.items():
        yield from _beside(
            f"{name}, {contents}", partial(_taken, plan.data.cache, catalog, work), plan.rounds
        )


def _beside(
    subject: str,
    taken: Callable[[int], Taken],
    rounds: int,
    apart: Callable[[int], Taken] | None = None,
) -> Iterator[Measurement]:
    """Measure a piece of work each way; the rounds of the clock are those of the CPU."""
    cpu: dict[str, list[float]] = {}

    def turn(name: str, way: Callable[[int], Taken], jobs: int) -> float:
        # Spawned: what its own children took counts, and not that of a server that all share.
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            found = pool.submit(way, jobs).result()
        cpu.setdefault(name, []).append(found.cpu)
        return found.wall

    ways = {_ALONE: (taken, 1), _POOL: (taken, 2)}
    if apart is not None:
        ways[_APART] = (apart, 1)
    rounds = min(rounds, 3)
    yield from measure(
        "cluster",
        subject,
        {name: partial(turn, name, *how) for name, how in ways.items()},
        unit="s",
        rounds=rounds,
        targets={_POOL: Target(1 / 1.7)},
    )
    reference = median(cpu[_ALONE][-rounds:])
    for name, values in cpu.items():
        counted = values[-rounds:]
        ratio = median(counted) / reference
        yield summary("cluster", f"{subject}, CPU", name, unit="s", values=counted, ratio=ratio)


def _taken(cache: Path, original: Path | None, work: Work, jobs: int) -> Taken:
    folder = Path(tempfile.mkdtemp(dir=cache))
    try:
        catalog = folder / "catalog"
        if original is not None:
            copy_of(original, catalog)
        started = perf_counter()
        work(catalog, jobs)
        wall = perf_counter() - started
        copied: Any = forkserver
        copied._forkserver._stop()  # so that what its children took counts
        return Taken(wall, sum(os.times()[:4]))
    finally:
        rmtree(folder)


def _import_apart(tags: Sequence[str], folder: Path, jobs: int) -> None:
    """Import each half into a catalog of its own."""
    spawned = get_context("spawn")
    halves = [
        spawned.Process(target=_import, args=(tags[first::2], folder / f"{first}", jobs))
        for first in range(2)
    ]
    for half in halves:
        half.start()
    for half in halves:
        half.join()
        if half.exitcode:
            raise RuntimeError("half of the tags could not be imported")


def _import(tags: Sequence[str], catalog: Path, jobs: int) -> None:
    opened = Catalog(str(catalog))
    published = publish_locations(
        tags,
        partial(opened.publish, make_pairs=partial(changes_of_pairs, jobs=jobs)),
        catalog=opened,
        settings=ReadSettings(),
        report=Report(),
        jobs=jobs,
    )
    if not all(it.is_new and it.unkept is None for it in published):
        raise RuntimeError("not all tags were published whole")


def _fill(catalog: Path, jobs: int) -> None:
    opened = Catalog(str(catalog))
    opened.refresh()
    pairs = missing_pairs(opened, opened.history)
    if fill(opened, pairs, jobs=jobs).num_made != len(pairs):
        raise RuntimeError("not all pairs were compared")


def _verify(catalog: Path, jobs: int) -> None:
    if not verify(str(catalog), jobs=jobs).is_sound:
        raise RuntimeError("the catalog is not sound")
