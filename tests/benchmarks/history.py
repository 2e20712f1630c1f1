"""``history``: questions to years of history beside reading contents, and what it takes on disk."""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import cycle
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable

from snapshots.catalog.asking.library import Library
from snapshots.catalog.catalog import Catalog
from snapshots.catalog.pairs.history_tables import HISTORY_TABLES
from snapshots.demo.draws import Draw
from snapshots.frames.frame import Frame
from tests.benchmarks.measuring import Measurement, Target, measure, milliseconds, summary
from tests.benchmarks.plans import Plan
from tests.benchmarks.years import catalog_of_years, with_history

QUESTION_TARGET = Target(100, "median")
PUBLISH_TARGET = Target(1.3)
DISK_TARGET = Target(0.1)

_FEW = 10
_CHURN = 0.05
_SERIES = "develop"
_SAMPLE = 10
_MB = 1_000_000


def run(plan: Plan) -> Iterator[Measurement]:
    """Measure questions and space."""
    many = with_history(
        catalog_of_years(plan.data.cache, revisions=plan.contents, specs=plan.specs_of_years)
    )
    yield from _questions(plan, many)
    yield from _disk(many)


def _opened(folder: Path) -> Catalog:
    catalog = Catalog(str(folder))
    catalog.refresh()
    return catalog


def _questions(plan: Plan, folder: Path) -> Iterator[Measurement]:
    catalog = _opened(folder)
    history = catalog.history
    digests = [it.digest for it in history.of_series(_SERIES)]
    frame = catalog.load(digests[len(digests) // 2])
    hashes, names = _drawn(frame)
    subject = f"of {len(digests):,} revisions of {plan.specs_of_years:,} specs"

    def scanned() -> None:
        catalog.hashes_in(digests[:_SAMPLE], [next(hashes), "none"])

    def asked(ask: Callable[[Library], object]) -> float:
        library = Library(_opened(folder))  # nothing of the rows is in memory
        return milliseconds(lambda: ask(library))

    ours = {
        "cachelog: since when is a hash there": lambda it: it.hash_history(history, next(hashes)),
        "cachelog: the same by its first 10 characters": lambda it: it.hash_history(
            history, next(hashes)[:10]
        ),
        "cachelog: the timeline of a package": lambda it: it.package_timeline(
            history, _SERIES, next(names)
        ),
        "cachelog: the growth of the series": lambda it: it.growth(history, _SERIES),
    }
    share = len(digests) / min(_SAMPLE, len(digests))
    yield from measure(
        "history",
        subject,
        {
            f"pyarrow: hashes of each content, reckoned from {_SAMPLE}": lambda: (
                milliseconds(scanned) * share
            ),
            **{name: partial(asked, ask) for name, ask in ours.items()},
        },
        unit="ms",
        rounds=plan.rounds,
        targets=dict.fromkeys(ours, QUESTION_TARGET),
    )


def _drawn(frame: Frame) -> tuple[Iterator[str], Iterator[str]]:
    """Return hashes and names of packages to ask for, without end."""
    draw = Draw(1)
    rows = [int(draw.random() * len(frame)) for _ in range(100)]
    hashes = cycle([frame.hashes.at(row) for row in rows])
    return hashes, cycle([frame.package.at(row) for row in rows])


def _disk(folder: Path) -> Iterator[Measurement]:
    of = partial(summary, "history", "on disk", unit="MB")
    specs = _size_mb(folder / "specs")
    kept = sum(_listed_mb(folder / name) for name in HISTORY_TABLES)
    stored = sum(_size_mb(folder / name) for name in HISTORY_TABLES)
    yield of("the contents", values=[specs], ratio=1.0)
    yield of("cachelog: the history", values=[kept], ratio=kept / specs, target=DISK_TARGET)
    yield of("cachelog: with what a vacuum deletes", values=[stored], ratio=stored / specs)


def _listed_mb(table: Path) -> float:
    """Return what the files of a Delta table take, those left out that were merged into others."""
    actions = pa.table(DeltaTable(table).get_add_actions(flatten=True))
    num_bytes: int = pc.sum(actions["size_bytes"]).as_py()
    return num_bytes / _MB


def _size_mb(folder: Path) -> float:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / _MB
