"""``python -m tests.cluster``: bulk work on a cluster of Ray, with two local nodes of one core.

Requires ``cachelog[cluster]`` and takes two minutes, most of which Ray needs to start, so it is run
by hand. It imports tags on the cluster and in one process, verifies what the cluster imported, and
exits with 1 if the results differ.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable

from snapshots.catalog.catalog import Catalog
from tests import demo_histories
from tests.benchmarks.plans import ROOT

_REVISIONS, _SPECS = 20, 5_000
_MEMORY = 150_000_000
_SECONDS = 300


def main() -> int:
    """Return the exit status."""
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        pages = folder / "pages"
        for week in demo_histories.history(revisions=_REVISIONS, packages=100, specs=_SPECS):
            demo_histories.write_pages(week, pages)
        imported = [folder / f"imported-{name}" for name in ("alone", "clustered")]
        _timed("one process", ["import", str(pages)], imported[0])
        with _cluster() as address:
            by_cluster = ["--cluster", address]
            # The second import measures a cluster that has started to work.
            for catalog in (folder / "first", imported[1]):
                _timed("two nodes", ["import", str(pages), *by_cluster], catalog)
            _timed("two nodes", ["verify", *by_cluster], imported[1])
        revisions = (
            [(it.tag, it.digest) for it in Catalog(str(catalog)).require_history().revisions]
            for catalog in imported
        )
        alone, clustered = imported
        are_equal = _rows(alone, "changes") == _rows(clustered, "changes")
        are_equal &= _rows(alone, "hashes") == _rows(clustered, "hashes")
        are_equal &= next(revisions) == next(revisions)
        print("the rows are the same" if are_equal else "THE ROWS DIFFER")
        return 0 if are_equal else 1


@contextmanager
def _cluster() -> Iterator[str]:
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ["PYTHONPATH"] = str(ROOT)
    utils: Any = import_module("ray.cluster_utils")
    port = 20_000 + os.getpid() % 10_000
    node = {"num_cpus": 1, "object_store_memory": _MEMORY}
    head = {**node, "ray_client_server_port": port, "include_dashboard": False}
    cluster = utils.Cluster(initialize_head=True, head_node_args=head)
    try:
        cluster.add_node(**node)
        cluster.wait_for_nodes()
        yield f"ray://127.0.0.1:{port}"
    finally:
        cluster.shutdown()


def _timed(who: str, words: list[str], catalog: Path) -> None:
    command = [sys.executable, "-m", "server", *words, "--catalog", str(catalog)]
    started = perf_counter()
    subprocess.run(command, check=True, cwd=ROOT, timeout=_SECONDS)
    print(f"{who}, {' '.join(words[:1])}: {perf_counter() - started:.1f} s", flush=True)


def _rows(catalog: Path, name: str) -> pa.Table:
    rows = DeltaTable(str(catalog / name)).to_pyarrow_table()
    order = [(column, "ascending") for column in rows.column_names if column != "packages"]
    return rows.take(pc.sort_indices(rows, order))


if __name__ == "__main__":
    sys.exit(main())
