"""``load``: a revision from the store into memory, beside reading the same Parquet files alone."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from time import perf_counter

from snapshots.catalog.catalog import Catalog
from tests.benchmarks.measuring import Measurement, measure
from tests.benchmarks.plans import Plan
from tests.benchmarks.processes import in_fresh_process

_LEFT_OUT = ("digest", "dependencies")


def run(plan: Plan) -> Iterator[Measurement]:
    """Measure; the first load of a process pays for what libraries do once, so both count."""
    catalog = plan.data.catalog
    first, second = plan.data.digests()
    yield from measure(
        "load",
        f"a revision of {plan.data.specs:,} specs",
        {
            "pyarrow: read the same Parquet, the next one": partial(
                in_fresh_process, _read_parquet, catalog, first, second
            ),
            "cachelog: the next one": partial(in_fresh_process, _load, catalog, first, second),
            "cachelog: the first of a process": partial(in_fresh_process, _load, catalog, second),
        },
        unit="ms",
        rounds=plan.rounds,
    )


def _load(folder: Path, *digests: str) -> float:
    """Return the milliseconds that the last of the loads takes."""
    catalog = Catalog(str(folder))
    catalog.refresh()
    frames = []
    for digest in digests:
        started = perf_counter()
        frames.append(catalog.load(digest))
    return (perf_counter() - started) * 1_000


def _read_parquet(folder: Path, *digests: str) -> float:
    """Return the milliseconds that the last of the readings takes."""
    from pyarrow import parquet

    from snapshots.tables import SPECS

    columns = [name for name in SPECS.names if name not in _LEFT_OUT]
    tables = []
    for digest in digests:
        files = sorted(str(file) for file in (folder / "specs" / f"digest={digest}").iterdir())
        started = perf_counter()
        tables += [parquet.ParquetFile(file).read(columns) for file in files]
    return (perf_counter() - started) * 1_000
