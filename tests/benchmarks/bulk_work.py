"""``history fill`` and ``verify``: one process, beside two and a program of Daft's on two cores."""

import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from shutil import rmtree
from time import perf_counter
from unittest.mock import patch

from snapshots.catalog.bulk.mapping import has_daft
from snapshots.catalog.catalog import Catalog
from snapshots.catalog.filling import fill, missing_pairs
from snapshots.catalog.verifying.verify import verify
from tests.benchmarks.measuring import Measurement, Target, measure
from tests.benchmarks.plans import Plan
from tests.benchmarks.processes import in_fresh_process
from tests.benchmarks.years import catalog_of_years, copy_of

_BY_DAFT = "Daft's native runner, 2 jobs"

Work = Callable[[Catalog, int], None]


def run(plan: Plan) -> Iterator[Measurement]:
    """Measure; the target is 1.7 times as fast as one process."""
    catalog = catalog_of_years(
        plan.data.cache, revisions=plan.bulk_contents, specs=plan.specs_of_years
    )
    works: dict[str, Work] = {"history fill": _fill, "verify": _verify}
    for name, work in works.items():
        contenders: dict[str, Callable[[], float]] = {
            "cachelog: 1 process": partial(in_fresh_process, _seconds, catalog, work, 1, False),
            "a pool of 2 processes": partial(in_fresh_process, _seconds, catalog, work, 2, False),
        }
        if has_daft():
            contenders[_BY_DAFT] = partial(in_fresh_process, _seconds, catalog, work, 2, True)
        yield from measure(
            "cluster",
            f"{name}, {plan.bulk_contents:,} contents of {plan.specs_of_years:,} specs",
            contenders,
            unit="s",
            rounds=min(plan.rounds, 3),
            targets={_BY_DAFT: Target(1 / 1.7)},
        )


def _seconds(catalog: Path, work: Work, jobs: int, by_daft: bool) -> float:
    folder = Path(tempfile.mkdtemp(dir=catalog.parent))
    try:
        opened = Catalog(str(copy_of(catalog, folder / "catalog")))
        opened.refresh()
        started = perf_counter()
        with patch("snapshots.catalog.bulk.mapping.has_daft", lambda: by_daft):
            work(opened, jobs)
        return perf_counter() - started
    finally:
        rmtree(folder)


def _fill(catalog: Catalog, jobs: int) -> None:
    pairs = missing_pairs(catalog, catalog.history)
    if fill(catalog, pairs, jobs=jobs).num_made != len(pairs):
        raise RuntimeError("not all pairs were compared")


def _verify(catalog: Catalog, jobs: int) -> None:
    if not verify(catalog.location, jobs=jobs).is_sound:
        raise RuntimeError("the catalog is not sound")
