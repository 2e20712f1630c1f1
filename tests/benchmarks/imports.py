"""``import``: reading and publishing cache pages, compared with only parsing their JSON.

All times are processor times, which neither the disk nor other processes affect much.
"""

import gc
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from time import process_time

import orjson

from snapshots.catalog.catalog import Catalog
from snapshots.sources.reports import Report
from tests.benchmarks.measurements import Measurement, measure
from tests.benchmarks.plans import Plan
from tests.benchmarks.processes import in_fresh_process
from tests.snapshots.sources.readings import read_pages

_JSON_LINES = (b"meta: ", b"spec_details: ")


def run(plan: Plan) -> Iterator[Measurement]:
    """Measure; each turn has its own process, as an import does."""
    folder = plan.data.pages
    yield from measure(
        "import",
        f"{plan.data.packages:,} pages, {plan.data.specs:,} specs",
        {
            "orjson: parse the JSON lines, from memory": partial(in_fresh_process, _parse, folder),
            "cachelog: read": partial(in_fresh_process, _read, folder),
            "cachelog: read and publish": partial(in_fresh_process, publish, folder),
        },
        unit="ms",
        rounds=plan.rounds,
    )


def _parse(folder: Path) -> float:
    lines = [
        line.partition(b": ")[2]
        for page in sorted(folder.rglob("*.md"))
        for line in page.read_bytes().split(b"\n")
        if line.startswith(_JSON_LINES)
    ]
    gc.collect()
    started = process_time()
    for line in lines:
        orjson.loads(line)
    return (process_time() - started) * 1_000


def _read(folder: Path) -> float:
    started = process_time()
    list(read_pages([folder], report=Report()))
    return (process_time() - started) * 1_000


def publish(folder: Path) -> float:
    """Return the milliseconds of processor time that an import of pages takes."""
    with tempfile.TemporaryDirectory(dir=folder.parent) as catalog:
        started = process_time()
        Catalog(catalog).publish(list(read_pages([folder], report=Report())))
        return (process_time() - started) * 1_000
