"""``memory``: what loaded revisions of one series take, beside one of them alone."""

import gc
import tracemalloc
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import orjson
import pyarrow as pa

from schema.context import Context
from snapshots.catalog.asking.library import Library
from snapshots.catalog.catalog import Catalog
from tests.benchmarks.measuring import Measurement, Target, summary
from tests.benchmarks.plans import Plan
from tests.benchmarks.processes import in_fresh_process
from tests.benchmarks.years import catalog_of_years
from tests.schema.usual import api

REVISIONS = 20
MEMORY_TARGET = Target(6)
"""How much more many revisions may take than one."""

_MB = 1_000_000
_ASKED = (
    '{revision(ref:"REF"){specs(first:100){totalCount nodes{hash name version variants stacks}}}}',
    '{revision(ref:"REF"){specs(filter:{compilers:["gcc"]}){totalCount facets{versions{count}}}}}',
    '{revision(ref:"REF"){packages(first:50){nodes{name numSpecs}}}}',
)


class _Taken(NamedTuple):
    """What revisions take in MB: loaded, once they were asked, and as cachelog counts it."""

    loaded: float
    asked: float
    counted: float


def run(plan: Plan) -> Iterator[Measurement]:
    """Measure one revision and many, each number in a process of its own."""
    folder = catalog_of_years(plan.data.cache, revisions=REVISIONS, specs=plan.specs_of_years)
    one, many = (in_fresh_process(_take, folder, number) for number in (1, REVISIONS))
    for what, subject in (
        ("loaded", f"revisions of {plan.specs_of_years:,} specs, each 5 % another than the last"),
        ("asked", f"the same, after {len(_ASKED)} queries of each"),
        ("counted", "the same, as cachelog counts it for its limit"),
    ):
        of = partial(summary, "memory", subject, unit="MB")
        before, after = getattr(one, what), getattr(many, what)
        yield of("1 revision", values=[before])
        yield of(
            f"{REVISIONS} revisions",
            values=[after],
            ratio=after / before,
            target=MEMORY_TARGET if what == "loaded" else None,
        )


def _take(folder: Path, number: int) -> _Taken:
    """Return what the latest revisions take; Python's, numpy's and Arrow's memory all count."""
    catalog = Catalog(str(folder))
    catalog.refresh()
    revisions = [it for it in catalog.history.revisions if it.tag == "develop"]
    library = Library(catalog)

    def ask(ref: str) -> None:
        for text in _ASKED:
            query = text.replace("REF", ref)
            answer = api.execute(query, context=Context(catalog, library))
            if answer.errors:
                raise SystemExit(f"{query}: {answer.errors}")
            orjson.dumps(answer.body())

    # What a process makes but once is made before, of a revision that is not kept.
    other = Library(catalog, frame_bytes=0)
    other.frames.get(revisions[-1].digest)
    tracemalloc.start()
    before = _held()
    for revision in revisions[:number]:
        library.frames.get(revision.digest)
    loaded = _held()
    for revision in revisions[:number]:
        ask(revision.digest)
    return _Taken((loaded - before) / _MB, (_held() - before) / _MB, library.frames.num_bytes / _MB)


def _held() -> float:
    gc.collect()
    return float(tracemalloc.get_traced_memory()[0] + pa.total_allocated_bytes())
