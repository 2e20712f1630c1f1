"""``unindexed``: reading build caches that have no index, in a bucket and in a registry.

Their specs are listed and read one by one, from a server on this machine: for the first time, and
once more with what was kept.
"""

import random
import shutil
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

from snapshots.sources.reports import Report
from snapshots.sources.settings import ReadSettings, S3Access
from tests.benchmarks.measurements import Measurement, measure, summary
from tests.benchmarks.plans import Plan
from tests.benchmarks.processes import in_fresh_process
from tests.snapshots.sources.buildcache.folders import put_layout_3, put_specs, text
from tests.snapshots.sources.buildcache.indexes import database, documents_of, edge, node
from tests.snapshots.sources.buildcache.misbehaving_servers import Reply, content, serving
from tests.snapshots.sources.buildcache.registries import serve, spec_image
from tests.snapshots.sources.readings import read_cache

_SPECS = 5_000
_BASE = 40
_ROUNDS = 3  # of ten thousand requests each
_BASE32 = "abcdefghijklmnopqrstuvwxyz234567"


def run(plan: Plan) -> Iterator[Measurement]:
    """Measure both; each turn has a process of its own, as an import has."""
    specs = min(_SPECS, plan.data.specs // 10)
    index = _index_like_real_ones(specs, random.Random(1))
    with tempfile.TemporaryDirectory() as parent, serving() as server:
        bucket, kept = Path(parent, "served/bucket"), Path(parent, "kept")
        put_layout_3(Path(parent, "indexed"), text(index))
        put_specs(bucket, index)
        server.serve_folder(bucket.parent)
        server.replies = _Bucket(server.replies, bucket)
        registry = serve(server, "cache", list(map(spec_image, documents_of(index).values())))
        access = S3Access(endpoint=server.url, allows_http=True)

        def read(location: str, kept: Path | None = None) -> float:
            return in_fresh_process(_read, access, location, kept)

        def read_afresh(location: str) -> float:
            shutil.rmtree(kept, ignore_errors=True)
            return read(location, kept)

        turns = {"an index: read from a folder": partial(read, f"{parent}/indexed")}
        for place, location in {"a bucket": "s3://bucket", "a registry": registry}.items():
            turns[f"cachelog: no index, {place}"] = partial(read_afresh, location)
            turns[f"cachelog: {place} again"] = partial(read, location, kept)
        rounds = min(plan.rounds, _ROUNDS)
        yield from measure("unindexed", f"{specs:,} specs", turns, unit="s", rounds=rounds)
        for contender, turn in list(turns.items())[1:]:
            before = len(server.asked)
            turn()
            requests = [(len(server.asked) - before) / specs]
            yield summary(
                "unindexed", "requests a spec", contender, unit="requests", values=requests
            )


class _Bucket(dict[str, Reply]):
    """Replies that list the files of a bucket, too, whatever is asked of the list."""

    def __init__(self, replies: dict[str, Reply], folder: Path) -> None:
        super().__init__(replies)
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        items = (
            f"<Contents><Key>{file.relative_to(folder).as_posix()}</Key><ETag>1</ETag></Contents>"
            for file in files
        )
        self._list = content(f"<ListBucketResult>{''.join(items)}</ListBucketResult>".encode())

    def get(self, path: str, default: Any = None) -> Any:
        return self._list if path.startswith("/bucket/?") else super().get(path, default)


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
