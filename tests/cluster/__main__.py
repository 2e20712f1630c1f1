"""``python -m tests.cluster``: bulk work on a cluster of Ray's, two nodes of one core, all here.

Wants ``cachelog[cluster]``, and takes a minute, most of which Ray takes to start: so it is run by
hand. It fills the history of a catalog on the cluster and in this process, has both verified, and
leaves with 1 where the two do not say the same.
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

from tests.benchmarks.plans import ROOT
from tests.benchmarks.years import catalog_of_years, copy_of

_REVISIONS, _SPECS = 20, 5_000
_MEMORY = 150_000_000
_SECONDS = 300


def main() -> int:
    """Return the exit status."""
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        original = catalog_of_years(folder, revisions=_REVISIONS, specs=_SPECS)
        alone, clustered = (copy_of(original, folder / name) for name in ("alone", "clustered"))
        _timed("one process", ["history", "fill"], alone)
        with _cluster() as address:
            options = ["--cluster", address]
            _timed("two nodes", ["history", "fill", *options], clustered)
            _timed("two nodes", ["verify", *options], clustered)
        same = all(_rows(alone, name) == _rows(clustered, name) for name in ("changes", "hashes"))
        print("the rows are the same" if same else "THE ROWS DIFFER")
        return 0 if same else 1


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
    print(f"{who}: {perf_counter() - started:.1f} s", flush=True)


def _rows(catalog: Path, name: str) -> pa.Table:
    rows = DeltaTable(str(catalog / name)).to_pyarrow_table()
    order = [(column, "ascending") for column in rows.column_names if column != "packages"]
    return rows.take(pc.sort_indices(rows, order))


if __name__ == "__main__":
    sys.exit(main())
