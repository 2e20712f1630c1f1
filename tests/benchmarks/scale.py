"""``scale``: the size of a revision in memory and on disk, and the start of a server."""

import gc
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.library import Library
from tests.benchmarks.measurements import Measurement, Target, measure, summary
from tests.benchmarks.over_http import cachelog
from tests.benchmarks.plans import Plan
from tests.benchmarks.processes import in_fresh_process, serving

MEMORY_TARGET = Target(60, "median")
START_TARGET = Target(2, "median")

_STATM = Path("/proc/self/statm")
_MB = 1_000_000


def run(plan: Plan) -> Iterator[Measurement]:
    """Measure memory, disk and start."""
    yield from _memory(plan)
    yield from _disk(plan)
    yield from _start(plan)


def _memory(plan: Plan) -> Iterator[Measurement]:
    subject = f"memory of a revision of {plan.data.specs:,} specs"
    values = [in_fresh_process(_resident, plan.data.tags) for _ in range(plan.rounds)]
    yield summary("scale", subject, "loaded", unit="MB", values=values, target=MEMORY_TARGET)


def _resident(folder: Path) -> float:
    """Return the memory of the second frame of a process, in MB; the first loads libraries, too."""
    catalog = Catalog(str(folder))
    catalog.refresh()
    library = Library(catalog)
    newer, older = catalog.history.revisions
    library.frames.get(older.digest)
    before = _resident_mb()
    library.frames.get(newer.digest)
    return _resident_mb() - before


def _resident_mb() -> float:
    from resource import getpagesize

    gc.collect()
    return int(_STATM.read_text().split()[1]) * getpagesize() / _MB


def _disk(plan: Plan) -> Iterator[Measurement]:
    subject = f"a revision of {plan.data.specs:,} specs on disk"
    of = partial(summary, "scale", subject, unit="MB")
    pages = _size_mb(plan.data.pages)
    stored = _size_mb(plan.data.tags) / 2
    yield of("its cache pages", values=[pages])
    yield of("cachelog: in the catalog, one of two", values=[stored], ratio=stored / pages)


def _size_mb(folder: Path) -> float:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / _MB


def _start(plan: Plan) -> Iterator[Measurement]:
    contender = "cachelog serve: until /health/ready answers"
    yield from measure(
        "scale",
        f"start on a catalog of {plan.revisions} revisions",
        {contender: partial(_start_seconds, plan.data.many_revisions(plan.revisions))},
        unit="s",
        rounds=plan.rounds,
        targets={contender: START_TARGET},
    )


def _start_seconds(catalog: Path) -> float:
    how = cachelog(catalog)
    with serving(how.command, environ=how.environ, ready=how.ready) as server:
        return server.start_seconds
