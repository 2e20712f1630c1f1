"""``history``: questions to years of history, what it takes on disk, and what it costs to add to.

The catalog is that of ``tests.benchmarks.years``, its history filled.
"""

import os
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from itertools import cycle
from pathlib import Path
from time import perf_counter

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable
from msgspec.structs import replace

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.filling import fill, missing_pairs
from snapshots.catalog.history_tables import HISTORY_TABLES
from snapshots.catalog.library import Library
from snapshots.contents import Content, Snapshot
from snapshots.demo.draws import Draw
from snapshots.frames.frame import Frame
from tests.benchmarks.churn import FIRST_DAY, LivingCache
from tests.benchmarks.measuring import Measurement, Target, measure, milliseconds, summary
from tests.benchmarks.over_http import cachelog
from tests.benchmarks.plans import Plan
from tests.benchmarks.processes import in_fresh_process, serving
from tests.benchmarks.years import catalog_of_years, copy_of

QUESTION_TARGET = Target(100, "median")
PUBLISH_TARGET = Target(1.3)
DISK_TARGET = Target(0.1)

_FEW = 10
_CHURN = 0.05
_SERIES = "develop"
_SAMPLE = 10
_MB = 1_000_000


def run(plan: Plan) -> Iterator[Measurement]:
    """Measure questions, space, publishing and start."""
    many = _filled(plan, plan.contents)
    yield from _questions(plan, many)
    yield from _disk(many)
    yield from _publishing(plan, many)
    if plan.over_http:
        yield from _start(plan, many)


def _filled(plan: Plan, revisions: int) -> Path:
    """Return the kept catalog of so many revisions, with its history."""
    plain = catalog_of_years(plan.data.cache, revisions=revisions, specs=plan.specs_of_years)
    folder = plain.with_name(f"filled-{plain.name}")
    if not folder.exists():
        # Renamed when it is whole, so that a run that is stopped half way leaves no half data.
        with tempfile.TemporaryDirectory(dir=plan.data.cache) as unfinished:
            made = copy_of(plain, Path(unfinished, "catalog"))
            catalog = Catalog(str(made))
            history = catalog.require_history()
            fill(catalog, missing_pairs(catalog, history), jobs=os.cpu_count() or 1)
            made.rename(folder)
    return folder


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


def _publishing(plan: Plan, many: Path) -> Iterator[Measurement]:
    few = _filled(plan, min(_FEW, plan.contents))
    next_state = _edited(LivingCache(plan.specs_of_years))

    def publish(folder: Path) -> float:
        with tempfile.TemporaryDirectory(dir=plan.data.cache) as own:
            catalog = _opened(copy_of(folder, Path(own, "catalog")))
            newest = catalog.history.of_tag(_SERIES)[0]
            snapshot = next_state(catalog, newest.digest)
            started = perf_counter()
            catalog.publish([snapshot])
            return (perf_counter() - started) * 1_000

    ours = f"cachelog: into {plan.contents:,}"
    yield from measure(
        "history",
        f"publish a revision with {_CHURN:.0%} churn, and what changed",
        {f"into {min(_FEW, plan.contents)}": partial(publish, few), ours: partial(publish, many)},
        unit="ms",
        rounds=plan.rounds,
        targets={ours: PUBLISH_TARGET},
    )


def _edited(cache: LivingCache) -> Callable[[Catalog, str], Snapshot]:
    """Return what makes of a content the next one: some of its specs under other hashes."""
    snapshot = cache.snapshot(_SERIES)

    def edit(catalog: Catalog, digest: str) -> Snapshot:
        frame = catalog.load(digest)
        specs = [frame.spec(row) for row in range(len(frame))]
        step = round(1 / _CHURN)
        for row in range(0, len(specs), step):
            specs[row] = replace(specs[row], hash=specs[row].hash[::-1])
        taken_at = FIRST_DAY.replace(year=FIRST_DAY.year + 50)
        return replace(snapshot, content=Content.of(specs), taken_at=taken_at)

    return edit


def _start(plan: Plan, many: Path) -> Iterator[Measurement]:
    few = _filled(plan, min(_FEW, plan.contents))
    ours = f"cachelog serve: on {plan.contents:,}"
    yield from measure(
        "history",
        "start of a server, until /health/ready answers",
        {
            f"on {min(_FEW, plan.contents)}": partial(_start_seconds, few),
            ours: partial(_start_seconds, many),
        },
        unit="s",
        rounds=plan.rounds,
    )
    found = [in_fresh_process(_resident_mb, many) for _ in range(min(3, plan.rounds))]
    subject = f"memory of a process that knows {plan.contents:,} revisions"
    of = partial(summary, "history", subject, unit="MB")
    yield of("cachelog: its list and counts", values=[listed for listed, _ in found])
    yield of("cachelog: and after ten questions", values=[asked for _, asked in found])


def _start_seconds(catalog: Path) -> float:
    how = cachelog(catalog)
    with serving(how.command, environ=how.environ, ready=how.ready) as server:
        return server.start_seconds


def _resident_mb(folder: Path) -> tuple[float, float]:
    """Return the MB that a refresh adds to a process, and then ten questions."""
    before = _resident()
    catalog = _opened(folder)
    history = catalog.history
    _ = catalog.counts
    listed = _resident() - before
    frame = catalog.load(history.of_series(_SERIES)[0].digest)
    hashes, names = _drawn(frame)
    del frame
    library = Library(catalog)
    start = _resident()
    for _ in range(5):
        library.hash_history(history, next(hashes))
        library.package_timeline(history, _SERIES, next(names))
    return listed, _resident() - start


def _resident() -> float:
    from resource import getpagesize

    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * getpagesize() / _MB
