"""``replicas``: servers of a catalog in a bucket: how soon they answer, what two hold beside one.

The bucket is an emulator's on the same machine, so times are without a network's.
"""

import os
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from time import perf_counter, sleep
from unittest.mock import patch
from urllib.request import Request, urlopen

from snapshots.catalog.locations import parse_location
from snapshots.catalog.storage import Storage
from tests.benchmarks import replicas_loaded
from tests.benchmarks.measurements import Measurement, Target, measure, summary
from tests.benchmarks.over_http import cachelog
from tests.benchmarks.plans import Plan
from tests.benchmarks.processes import serving
from tests.snapshots.catalog.emulators import Emulator

_COLD_TARGET = Target(3, "median")
_IDLE_TARGET = Target(1, "median")
LOCATION = "s3://bucket/catalog"
"""Where the catalog is in the emulator's bucket."""

_OTHER = "s3://bucket/other"
_IDLE_SECONDS = 5
_LIST = b'{"query":"{revision(ref:\\"develop\\"){specs(first:1000){nodes{hash name version}}}}"}'


def run(plan: Plan) -> Iterator[Measurement]:
    """Measure a cold start up to the first list, the requests of an idle server, and load."""
    with tempfile.TemporaryDirectory() as folder:
        store = Emulator(Path(folder) / "log")
        try:
            with patch.dict(os.environ, store.variables()):
                for location in (LOCATION, _OTHER):
                    copy_to_bucket(plan.data.catalog, location)
                yield from _cold(plan)
                yield from _idle(store)
                yield from replicas_loaded.run(plan, LOCATION, _OTHER, Path(folder))
        finally:
            store.stop()


def copy_to_bucket(catalog: Path, location: str = LOCATION) -> None:
    """Copy a catalog into the bucket, as a tool of the store does: file by file."""
    folder = Storage(parse_location(str(catalog)))
    bucket = Storage(parse_location(location))
    for table in ("specs", "comparisons", "changes", "hashes", "revisions"):
        for path, found in folder.find(table).items():
            bucket.write(f"{table}/{path}", folder.read(f"{table}/{path}", found.size))


def _cold(plan: Plan) -> Iterator[Measurement]:
    in_bucket = "cachelog serve, in a bucket"
    yield from measure(
        "replicas",
        f"from the start to the first 1,000 of {plan.data.specs:,} specs",
        {
            in_bucket: partial(_cold_seconds, LOCATION),
            "the same in a folder": partial(_cold_seconds, plan.data.catalog),
        },
        unit="s",
        rounds=plan.rounds,
        targets={in_bucket: _COLD_TARGET},
    )


def _cold_seconds(catalog: Path | str) -> float:
    how = cachelog(catalog)
    with serving(how.command, environ=how.environ, ready=how.ready) as server:
        began = perf_counter()
        headers = {"Content-Type": "application/json"}
        with urlopen(Request(f"{server.url}/graphql", _LIST, headers)) as answer:  # noqa: S310
            assert b'"errors"' not in answer.read()
        return server.start_seconds + perf_counter() - began


def _idle(store: Emulator) -> Iterator[Measurement]:
    how = cachelog(LOCATION, CACHELOG_REFRESH="0.5")
    with serving(how.command, environ=how.environ, ready=how.ready):
        sleep(1)
        before = store.num_requests()
        sleep(_IDLE_SECONDS)
        values = [(store.num_requests() - before) / (2 * _IDLE_SECONDS)]
    yield summary(
        "replicas",
        "requests to the store of an idle server",
        "cachelog serve, in a bucket",
        unit="a refresh",
        values=values,
        target=_IDLE_TARGET,
    )
