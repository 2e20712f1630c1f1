"""``import``: reading cache pages and publishing them, beside parsing their JSON alone.

Publishing waits for the disk, so that a power cut takes nothing away; what that costs is measured
by publishing without.
"""

import gc
import os
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from time import perf_counter
from unittest import mock

import orjson

from snapshots.catalog.catalog import Catalog
from snapshots.sources import pages
from snapshots.sources.reports import Report
from tests.benchmarks.measuring import Measurement, Target, measure
from tests.benchmarks.plans import Plan
from tests.benchmarks.processes import in_fresh_process

_JSON_LINES = (b"meta: ", b"spec_details: ")


def run(plan: Plan) -> Iterator[Measurement]:
    """Measure; each turn has a process of its own, as an import has."""
    folder = plan.data.pages
    yield from measure(
        "import",
        f"{plan.data.packages:,} pages, {plan.data.specs:,} specs",
        {
            "orjson: parse the JSON lines, from memory": partial(in_fresh_process, _parse, folder),
            "cachelog: read": partial(in_fresh_process, _read, folder),
            "cachelog: read and publish": partial(in_fresh_process, _publish, folder),
            "cachelog: ... without waiting for the disk": partial(
                in_fresh_process, _publish_unsynced, folder
            ),
        },
        unit="ms",
        rounds=plan.rounds,
        targets={"cachelog: read and publish": Target(12)},
    )


def _parse(folder: Path) -> float:
    lines = [
        line.partition(b": ")[2]
        for page in sorted(folder.rglob("*.md"))
        for line in page.read_bytes().split(b"\n")
        if line.startswith(_JSON_LINES)
    ]
    gc.collect()
    started = perf_counter()
    for line in lines:
        orjson.loads(line)
    return (perf_counter() - started) * 1_000


def _read(folder: Path) -> float:
    started = perf_counter()
    list(pages.read([folder], report=Report()))
    return (perf_counter() - started) * 1_000


def _publish(folder: Path) -> float:
    with tempfile.TemporaryDirectory(dir=folder.parent) as catalog:
        started = perf_counter()
        Catalog(catalog).publish(list(pages.read([folder], report=Report())))
        return (perf_counter() - started) * 1_000


def _publish_unsynced(folder: Path) -> float:
    with mock.patch.object(os, "fsync"):
        return _publish(folder)
