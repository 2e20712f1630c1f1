"""``registry``: reading a build cache in an OCI registry that has no index, beside one that has.

The registry is a small one on this machine. Without an index every spec is read from its image: for
the first time, and once more with what was kept.
"""

import random
import shutil
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from time import perf_counter

from snapshots.sources import buildcache
from snapshots.sources.reports import Report
from snapshots.sources.settings import ReadSettings
from tests.benchmarks.listed_caches import SPECS, index_like_real_ones, requests_of
from tests.benchmarks.measuring import Measurement, measure, summary
from tests.benchmarks.plans import Plan
from tests.benchmarks.processes import in_fresh_process, serving
from tests.snapshots.sources.buildcache.folders import put, text

_ROUNDS = 3  # of ten thousand requests each


def run(plan: Plan) -> Iterator[Measurement]:
    """Measure; each turn has a process of its own, as an import has."""
    specs = min(SPECS, plan.data.specs)
    with tempfile.TemporaryDirectory() as parent:
        index = put(Path(parent, "index.json"), text(index_like_real_ones(specs, random.Random(1))))
        command = [sys.executable, "-m", "tests.benchmarks.registry_server", str(index)]
        with serving(lambda port: [*command, str(port)], ready="/requests") as server:
            location = f"oci+{server.url}"
            kept = Path(parent, "kept")
            indexed = partial(in_fresh_process, _read, f"{location}/indexed")
            afresh = partial(_afresh, f"{location}/cache", kept)
            again = partial(in_fresh_process, _read, f"{location}/cache", kept)
            yield from measure(
                "registry",
                f"{specs:,} specs",
                {
                    "an index: read from its image": indexed,
                    "cachelog: no index": afresh,
                    "cachelog: the same once more": again,
                },
                unit="s",
                rounds=min(plan.rounds, _ROUNDS),
            )
            turns = {"for the first time": afresh, "once more": again}
            for contender, turn in turns.items():
                yield summary(
                    "registry",
                    "requests a spec",
                    f"cachelog: {contender}",
                    unit="requests",
                    values=[requests_of(turn, server.url) / specs],
                )


def _afresh(location: str, kept: Path) -> float:
    shutil.rmtree(kept, ignore_errors=True)
    return in_fresh_process(_read, location, kept)


def _read(location: str, kept: Path | None = None) -> float:
    settings = ReadSettings(cache_dir=kept, proof=False)
    started = perf_counter()
    list(buildcache.read(location, tags=["develop"], settings=settings, report=Report()))
    return perf_counter() - started
