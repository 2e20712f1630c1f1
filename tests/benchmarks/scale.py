"""``scale``: the size of a revision in memory and on disk, the start of a server, and growth.

How the cost grows with the number of specs is measured in processor time, once for each number, and
written to ``docs/benchmarks.md``. ``million`` measures only this, up to a million specs.
"""

import gc
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from time import process_time, sleep

from schema.context import Context
from server.settings import Settings
from snapshots.catalog.catalog import Catalog
from snapshots.catalog.library import Library
from tests.benchmarks.imports import publish
from tests.benchmarks.measurements import Measurement, compared, measure
from tests.benchmarks.over_http import cachelog
from tests.benchmarks.plans import ROOT, Data, Plan
from tests.benchmarks.processes import in_fresh_process, serving
from tests.benchmarks.queries import QUERIES
from tests.benchmarks.results import rounded
from tests.schema.default_api import api
from tests.server.servers import application

_STATM = Path("/proc/self/statm")
_MB = 1_000_000
_DOCUMENT = ROOT / "docs" / "benchmarks.md"
_TABLE = re.compile(r"(?<=<!-- growth -->\n).*?(?=<!-- end -->)", re.DOTALL)


def run(plan: Plan, name: str) -> Iterator[Measurement]:
    """Measure memory, disk, start and growth, or only growth."""
    if name == "scale":
        yield from _memory(plan)
        yield from _disk(plan)
        yield from _start(plan)
    growth = [*_growth(plan, plan.sizes[: 2 if name == "scale" else 3])]
    yield from growth
    if plan.rounds > 1:
        text = _DOCUMENT.read_text()
        _DOCUMENT.write_text(_TABLE.sub(lambda _: growth_table(growth), text))


def _memory(plan: Plan) -> Iterator[Measurement]:
    subject = f"memory of a revision of {plan.data.specs:,} specs"
    values = [in_fresh_process(_resident, plan.data.tags) for _ in range(plan.rounds)]
    yield Measurement("scale", subject, "loaded", "MB", values)


def _resident(folder: Path) -> float:
    """Return the memory of the second frame of a process, in MB; the first loads libraries, too."""
    catalog = Catalog(str(folder))
    catalog.refresh()
    library = Library(catalog)
    newer, older = catalog.history.revisions
    library.frames.get(older.digest)
    before = _resident_mb()
    library.frames.get(newer.digest)
    return _resident_mb() - before


def _resident_mb() -> float:
    from resource import getpagesize

    gc.collect()
    return int(_STATM.read_text().split()[1]) * getpagesize() / _MB


def _disk(plan: Plan) -> Iterator[Measurement]:
    subject = f"a revision of {plan.data.specs:,} specs on disk"
    pages = _size_mb(plan.data.pages)
    stored = _size_mb(plan.data.tags) / 2
    sizes = {"its cache pages": [pages], "cachelog: in the catalog, one of two": [stored]}
    yield from compared("scale", subject, sizes, unit="MB")


def _size_mb(folder: Path) -> float:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / _MB


def _start(plan: Plan) -> Iterator[Measurement]:
    contender = "cachelog serve: until /health/ready answers"
    yield from measure(
        "scale",
        f"start on a catalog of {plan.revisions} revisions",
        {contender: partial(_start_seconds, plan.data.many_revisions(plan.revisions))},
        unit="s",
        rounds=plan.rounds,
    )


def _start_seconds(catalog: Path) -> float:
    how = cachelog(catalog)
    with serving(how.command, environ=how.environ, ready=how.ready) as server:
        return server.start_seconds


# -- growth


def _growth(plan: Plan, sizes: Sequence[int]) -> Iterator[Measurement]:
    """Measure each step for each number of specs; the smallest is the reference."""
    values: dict[tuple[str, str], dict[str, list[float]]] = {}
    for specs in sizes:
        packages = plan.data.packages * specs // plan.data.specs
        data = Data(plan.data.cache, packages=packages, specs=specs)
        steps = {("import", "s"): in_fresh_process(publish, data.pages) / 1_000}
        steps |= in_fresh_process(_steps, data.catalog)
        steps["its page, once it is explained", "s"] = in_fresh_process(_page, data.catalog)
        for measured, value in steps.items():
            values.setdefault(measured, {})[f"cachelog: {specs:,} specs"] = [value]
    for (subject, unit), of_sizes in values.items():
        yield from compared("scale", subject, of_sizes, unit=unit)


def _steps(folder: Path) -> dict[tuple[str, str], float]:
    """Return what each step takes for two revisions, by its name and unit."""
    catalog = Catalog(str(folder))
    catalog.refresh()
    library = Library(catalog, comparison_bytes=1 << 32)
    newer, older = catalog.history.revisions
    before = _resident_mb()

    def load() -> None:
        for revision in (older, newer):
            library.dependencies.get(revision.digest)

    steps = {("load both revisions and their graphs", "s"): _seconds(load)}
    steps["memory of both", "MB"] = _resident_mb() - before

    def first_list() -> None:
        answer = api.execute(QUERIES["list1000"], {}, context=Context(catalog, library))
        assert not answer.errors

    steps["first list of 1,000 specs", "s"] = _seconds(first_list)
    steps["compare", "s"] = _seconds(lambda: library.compare(older, newer).specs)
    steps["explain", "s"] = _seconds(lambda: library.explain(older, newer))
    steps["memory with the explanation", "MB"] = _resident_mb() - before
    return steps


def _page(folder: Path) -> float:
    """Return the seconds that the page of a comparison takes once it is explained."""
    catalog = Catalog(str(folder))
    catalog.refresh()
    newer, older = catalog.history.revisions
    path = f"/compare/{older.ref}...{newer.ref}"
    with application(Settings(catalog=str(folder), response_cache=0, access_log=False)) as client:
        while client.get(path).headers["cache-control"] == "no-store":
            sleep(1)  # it is being explained
        return _seconds(lambda: client.get(path))


def _seconds(work: Callable[[], object]) -> float:
    started = process_time()
    work()
    return process_time() - started


def growth_table(measurements: Sequence[Measurement]) -> str:
    """Return the growth as a table in Markdown: steps in rows, numbers of specs in columns."""
    steps = [(step, [*group]) for step, group in groupby(measurements, attrgetter("subject"))]
    names = [it.contender.removeprefix("cachelog: ") for it in steps[0][1]]
    rows = [["", *names, "growth"], ["---", *["---:"] * (len(names) + 1)]]
    for step, group in steps:
        values = [f"{rounded(it.median)} {it.unit}" for it in group]
        rows.append([step, *values, f"{rounded(group[-1].ratio or 1)} x"])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)
