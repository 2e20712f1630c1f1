"""``scale``: the size of a revision in memory and on disk, and the start of a server."""

import gc
import shutil
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import orjson

from schema.context import Context
from snapshots.catalog.catalog import Catalog
from snapshots.catalog.library import Library
from snapshots.frames.frame import SpecField
from tests.benchmarks.measurements import Measurement, Target, measure, summary
from tests.benchmarks.over_http import cachelog
from tests.benchmarks.plans import Plan
from tests.benchmarks.processes import in_fresh_process, serving
from tests.benchmarks.queries import QUERIES
from tests.schema.default_api import api

MEMORY_TARGET = Target(60, "median")
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
    yield from _disk(plan)
    if plan.over_http:
        yield from _start(plan)


class _Memory(NamedTuple):
    """The memory of the first and the second frame of a process, in MB."""

    first: float
    second: float
    second_asked: float


def _memory(plan: Plan) -> Iterator[Measurement]:
    catalog = plan.data.tags
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
    complete = plan.data.many_revisions(plan.revisions)
    with tempfile.TemporaryDirectory(dir=plan.data.cache) as folder:
        # This catalog has no specs, so a server that loads a frame cannot start.
        listed = Path(folder)
        shutil.copytree(complete / "revisions", listed / "revisions")
        ours = "cachelog serve: until /health/ready answers"
        yield from measure(
            "scale",
            f"start on a catalog of {plan.revisions} revisions",
            {
                ours: partial(_start_seconds, complete),
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
