"""``scale``: what a revision takes in memory and on disk, and how soon a server can answer."""

import gc
import shutil
import tempfile
import tracemalloc
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import orjson
import pyarrow as pa

from schema.context import Context
from snapshots.catalog.catalog import Catalog
from snapshots.catalog.library import Library
from snapshots.frames.frame import SpecField
from tests.benchmarks.measurements import Measurement, Target, beside_first, measure, summary
from tests.benchmarks.over_http import cachelog
from tests.benchmarks.plans import Plan
from tests.benchmarks.processes import in_fresh_process, serving
from tests.benchmarks.queries import QUERIES
from tests.benchmarks.years import catalog_of_years
from tests.schema.usual import api

MEMORY_TARGET = Target(60, "median")
MANY_TARGET = Target(6)
"""How much more many revisions may take than one."""

REVISIONS = 20
START_TARGET = Target(2, "median")

_STATM = Path("/proc/self/statm")
_MB = 1_000_000
_ORDERED = (
    '{revision(ref:"develop"){specs(first:100 orderBy:{field:FIELD}){totalCount nodes{hash}}}}'
)
_TYPICAL = (
    *QUERIES.values(),
    *(_ORDERED.replace("FIELD", field.name) for field in SpecField),
    '{revision(ref:"develop"){specs(filter:{compilers:["gcc"]}){totalCount facets'
    "{packages{count} versions{count} compilers{count} operatingSystems{count} targets{count} "
    "stacks{value numSpecs}}}}}",
    '{revision(ref:"develop"){stacks{name numPackages numSpecs}}}',
)


def run(plan: Plan) -> Iterator[Measurement]:
    """Measure memory, disk and start."""
    yield from _memory(plan)
    yield from _many(plan)
    yield from _disk(plan)
    if plan.over_http:
        yield from _start(plan)


class _Memory(NamedTuple):
    """What the first and the second frame of a process add to it, in MB."""

    first: float
    second: float
    second_asked: float


def _memory(plan: Plan) -> Iterator[Measurement]:
    catalog = plan.data.catalog
    found = [in_fresh_process(_resident, catalog) for _ in range(plan.rounds)]
    subject = f"memory of a revision of {plan.data.specs:,} specs"
    of = partial(summary, "scale", subject, unit="MB")
    yield of("a process's first, with what libraries take once", values=[it.first for it in found])
    yield of("loaded", values=[it.second for it in found])
    yield of(
        f"loaded, after {len(_TYPICAL)} typical queries",
        values=[it.second_asked for it in found],
        target=MEMORY_TARGET,
    )
    current, peak, counted = in_fresh_process(_traced, catalog)
    yield of("Python's and numpy's share, loaded (tracemalloc)", values=[current])
    yield of("Python's and numpy's share, while loading (tracemalloc)", values=[peak])
    yield of("as cachelog counts it for its limit", values=[counted])


def _resident(folder: Path) -> _Memory:
    catalog = Catalog(str(folder))
    catalog.refresh()
    library = Library(catalog)
    newer, older = catalog.history.revisions
    start = _resident_mb()
    library.frames.get(older.digest)
    first = _resident_mb()
    library.frames.get(newer.digest)
    second = _resident_mb()
    for query in _TYPICAL:
        answer = api.execute(query, context=Context(catalog, library))
        if answer.errors:
            raise SystemExit(f"{query}: {answer.errors}")
        orjson.dumps(answer.body())
    return _Memory(first - start, second - first, _resident_mb() - first)


def _resident_mb() -> float:
    from resource import getpagesize

    gc.collect()
    return int(_STATM.read_text().split()[1]) * getpagesize() / _MB


def _traced(folder: Path) -> tuple[float, float, float]:
    """Return the MB that a second frame keeps, had at the most while loading, and counts."""
    catalog = Catalog(str(folder))
    catalog.refresh()
    newer, older = catalog.history.revisions
    catalog.load(older.digest)
    tracemalloc.start()
    frame = catalog.load(newer.digest)
    gc.collect()
    current, peak = tracemalloc.get_traced_memory()
    return current / _MB, peak / _MB, frame.num_bytes / _MB


def _many(plan: Plan) -> Iterator[Measurement]:
    """Measure many revisions of a series beside one, of each of which something is asked."""
    folder = catalog_of_years(plan.data.cache, revisions=REVISIONS, specs=plan.specs_of_years)
    one, many = (in_fresh_process(_held_by, folder, number) for number in (1, REVISIONS))
    names = "1 revision", f"cachelog: {REVISIONS} revisions"
    subject = (
        f"memory of revisions of {plan.specs_of_years:,} specs, each 5 % another than the last"
    )
    for what, before, after in zip(("", ", as it is counted"), one, many, strict=True):
        values = {names[0]: [before], names[1]: [after]}
        target = None if what else MANY_TARGET
        yield from beside_first("scale", subject + what, values, unit="MB", target=target)


def _held_by(folder: Path, number: int) -> tuple[float, float]:
    """Return the MB that the latest revisions take, Arrow's included, and that cachelog counts."""
    catalog = Catalog(str(folder))
    catalog.refresh()
    digests = [revision.digest for revision in catalog.history.of_series("develop")]
    # What a process makes but once is made before, of a revision that is not kept.
    Library(catalog, frame_bytes=0).frames.get(digests[-1])
    library = Library(catalog)
    tracemalloc.start()
    before = _held()
    for digest in digests[:number]:
        library.frames.get(digest)
    return _held() - before, library.frames.num_bytes / _MB


def _held() -> float:
    gc.collect()
    return float(tracemalloc.get_traced_memory()[0] + pa.total_allocated_bytes()) / _MB


def _disk(plan: Plan) -> Iterator[Measurement]:
    subject = f"a revision of {plan.data.specs:,} specs on disk"
    of = partial(summary, "scale", subject, unit="MB")
    pages = _size_mb(plan.data.pages)
    stored = _size_mb(plan.data.catalog) / 2
    yield of("its cache pages", values=[pages])
    yield of("cachelog: in the catalog, one of two", values=[stored], ratio=stored / pages)


def _size_mb(folder: Path) -> float:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / _MB


def _start(plan: Plan) -> Iterator[Measurement]:
    whole = plan.data.many_revisions(plan.revisions)
    with tempfile.TemporaryDirectory(dir=plan.data.cache) as folder:
        # Nothing but the list of revisions is here, so a server that loads a frame cannot start.
        listed = Path(folder)
        shutil.copytree(whole / "revisions", listed / "revisions")
        ours = "cachelog serve: until /health/ready answers"
        yield from measure(
            "scale",
            f"start on a catalog of {plan.revisions} revisions",
            {
                ours: partial(_start_seconds, whole),
                "the same where the catalog has no specs to load": partial(_start_seconds, listed),
            },
            unit="s",
            rounds=plan.rounds,
            targets={ours: START_TARGET},
        )


def _start_seconds(catalog: Path) -> float:
    how = cachelog(catalog)
    with serving(how.command, environ=how.environ, ready=how.ready) as server:
        return server.start_seconds
