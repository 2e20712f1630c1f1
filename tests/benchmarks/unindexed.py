"""``listed`` and ``registry``: reading build caches that have no index, beside ones that have.

The specs of such a cache are listed and read one by one: from a folder, a bucket or a registry, all
on this machine; for the first time, and once more with what was kept.
"""

import random
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import httpx

from snapshots.sources.reports import Report
from snapshots.sources.settings import ReadSettings, S3Access
from tests.benchmarks.measurements import Measurement, Turn, measure, summary
from tests.benchmarks.plans import Plan
from tests.benchmarks.processes import in_fresh_process, serving
from tests.snapshots.sources.buildcache.folders import put, put_layout_3, put_specs, text
from tests.snapshots.sources.buildcache.indexes import database, edge, node
from tests.snapshots.sources.readings import read_cache

_SPECS = 5_000
_BASE = 40
_ROUNDS = 3  # of ten thousand requests each
_BASE32 = "abcdefghijklmnopqrstuvwxyz234567"


def run(plan: Plan, name: str) -> Iterator[Measurement]:
    """Measure one kind of them; each turn has a process of its own, as an import has."""
    specs = min(_SPECS, plan.data.specs)
    index = _index_like_real_ones(specs, random.Random(1))
    with tempfile.TemporaryDirectory() as parent:
        folder, kept = Path(parent, "cache"), Path(parent, "kept")
        put_layout_3(Path(parent, "indexed"), text(index))
        put_specs(folder, index)
        whole = put(Path(parent, "index.json"), text(index))
        served = {"listed": ["bucket", str(folder)], "registry": ["registry", str(whole)]}[name]
        command = [sys.executable, "-m", "tests.benchmarks.counting_servers", *served]
        with serving(lambda port: [*command, str(port)], ready="/requests") as server:
            access, registry = _access(server.url), f"oci+{server.url}"

            def read(location: str, kept: Path | None = None) -> float:
                return in_fresh_process(_read, access, location, kept)

            def read_afresh(location: str) -> float:
                shutil.rmtree(kept, ignore_errors=True)
                return read(location, kept)

            location = {"listed": "s3://bucket", "registry": f"{registry}/cache"}[name]
            first, again = partial(read_afresh, location), partial(read, location, kept)
            others: dict[str, Mapping[str, Turn]] = {
                "listed": {
                    "an index: read from a folder": partial(read, f"{parent}/indexed"),
                    "cachelog: no index, a folder": partial(read, str(folder)),
                },
                "registry": {"an index: read from its image": partial(read, f"{registry}/indexed")},
            }
            yield from measure(
                name,
                f"{specs:,} specs",
                {**others[name], "cachelog: no index": first, "cachelog: the same again": again},
                unit="s",
                rounds=min(plan.rounds, _ROUNDS),
            )
            for contender, turn in {"no index": first, "the same again": again}.items():
                before = _requests_to(server.url)
                turn()
                yield summary(
                    name,
                    "requests a spec",
                    f"cachelog: {contender}",
                    unit="requests",
                    values=[(_requests_to(server.url) - before) / specs],
                )


def _access(url: str) -> S3Access:
    variables = {"AWS_ENDPOINT_URL": url, "AWS_ALLOW_HTTP": "true"}
    return S3Access.of(variables | {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"})


def _requests_to(url: str) -> int:
    """Return how many requests a server has had, those for their number left out."""
    return int(httpx.get(f"{url}/requests").text)


def _read(access: S3Access, location: str, kept: Path | None = None) -> float:
    settings = ReadSettings(cache_dir=kept, s3=access, proof=False)
    started = perf_counter()
    list(read_cache(location, tags=["develop"], settings=settings, report=Report()))
    return perf_counter() - started


def _index_like_real_ones(specs: int, draw: random.Random) -> dict[str, Any]:
    """Return an index whose specs have documents of some thirty nodes, as real ones do."""
    nodes: list[dict[str, Any]] = [node("gcc", _hash(draw), "13.2.0")]
    for number in range(specs):
        below = nodes[1 : 1 + min(number, _BASE)]
        edges = [edge("gcc", nodes[0]["hash"], ["build"], ["c", "cxx"])]
        edges += [
            edge(other["name"], other["hash"], ["build", "link"], [])
            for other in draw.sample(below, min(len(below), 6))
        ]
        version = f"{draw.randrange(10)}.{number}"
        name = f"package-{draw.randrange(1_200)}"
        nodes.append(node(name, _hash(draw), version, dependencies=edges))
    return database(*nodes)


def _hash(draw: random.Random) -> str:
    return "".join(draw.choices(_BASE32, k=32))
