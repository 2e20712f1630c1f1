"""``listed``: reading a build cache that has no index, beside one that has.

The specs of the former are listed and read one by one, from a folder and from a bucket on this
machine: for the first time, and once more with what was kept.
"""

import random
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import httpx

from snapshots.sources import buildcache
from snapshots.sources.reports import Report
from snapshots.sources.settings import ReadSettings, S3Access
from tests.benchmarks.measuring import Measurement, measure, summary
from tests.benchmarks.plans import Plan
from tests.benchmarks.processes import in_fresh_process, serving
from tests.snapshots.sources.buildcache.folders import put_layout_3, put_specs, text
from tests.snapshots.sources.buildcache.indexes import database, edge, node

SPECS = 5_000
_BASE = 40
_ROUNDS = 3  # of ten thousand requests each
_BASE32 = "abcdefghijklmnopqrstuvwxyz234567"


def run(plan: Plan) -> Iterator[Measurement]:
    """Measure; each turn has a process of its own, as an import has."""
    specs = min(SPECS, plan.data.specs)
    index = index_like_real_ones(specs, random.Random(1))
    with tempfile.TemporaryDirectory() as parent:
        indexed, listed = Path(parent, "indexed"), Path(parent, "listed")
        put_layout_3(indexed, text(index))
        put_specs(listed, index)
        command = [sys.executable, "-m", "tests.benchmarks.bucket_server", str(listed)]
        with serving(lambda port: [*command, str(port)], ready="/requests") as server:
            environ = {"AWS_ENDPOINT_URL": server.url, "AWS_ALLOW_HTTP": "true"}
            access = S3Access.of(environ | {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"})
            kept = Path(parent, "kept")
            afresh = partial(_afresh, kept, access)
            again = partial(in_fresh_process, _read, "s3://bucket", kept, access)
            yield from measure(
                "listed",
                f"{specs:,} specs",
                {
                    "an index: read from a folder": partial(in_fresh_process, _read, str(indexed)),
                    "cachelog: no index, a folder": partial(in_fresh_process, _read, str(listed)),
                    "cachelog: no index, a bucket": afresh,
                    "cachelog: the same once more": again,
                },
                unit="s",
                rounds=min(plan.rounds, _ROUNDS),
            )
            turns = {"for the first time": afresh, "once more": again}
            for contender, turn in turns.items():
                yield summary(
                    "listed",
                    "requests to the bucket, a spec",
                    f"cachelog: {contender}",
                    unit="requests",
                    values=[requests_of(turn, server.url) / specs],
                )


def requests_of(turn: Callable[[], object], url: str) -> int:
    """Return how many requests a turn makes of a server."""
    before = _requests_to(url)
    turn()
    return _requests_to(url) - before


def _requests_to(url: str) -> int:
    """Return how many requests for the bucket the server has had."""
    return int(httpx.get(f"{url}/requests").text)


def _afresh(kept: Path, access: S3Access) -> float:
    shutil.rmtree(kept, ignore_errors=True)
    return in_fresh_process(_read, "s3://bucket", kept, access)


def _read(location: str, kept: Path | None = None, access: S3Access | None = None) -> float:
    settings = ReadSettings(cache_dir=kept, s3=access or S3Access(), proof=False)
    started = perf_counter()
    list(buildcache.read(location, tags=["develop"], settings=settings, report=Report()))
    return perf_counter() - started


def index_like_real_ones(specs: int, draw: random.Random) -> dict[str, Any]:
    """Return an index whose specs have documents of some thirty nodes, as real ones do."""
    nodes: list[dict[str, Any]] = [node("gcc", _hash(draw), "13.2.0")]
    for number in range(specs):
        below = nodes[1 : 1 + min(number, _BASE)]
        edges = [edge("gcc", nodes[0]["hash"], ["build"], ["c", "cxx"])]
        edges += [
            edge(it["name"], it["hash"], ["build", "link"], [])
            for it in draw.sample(below, min(len(below), 6))
        ]
        version = f"{draw.randrange(10)}.{number}"
        name = f"package-{draw.randrange(1_200)}"
        nodes.append(node(name, _hash(draw), version, dependencies=edges))
    return database(*nodes)


def _hash(draw: random.Random) -> str:
    return "".join(draw.choices(_BASE32, k=32))
