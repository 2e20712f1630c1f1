"""``scale``: how the cost grows with the number of specs; ``million``: up to a million.

It is measured in processor time, once for each number, and written to ``docs/benchmarks.md``.
"""

import gc
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from time import process_time, sleep

from schema.context import Context
from server.settings import Settings
from snapshots.catalog.catalog import Catalog
from snapshots.catalog.library import Library
from tests.benchmarks.imports import publish
from tests.benchmarks.measurements import Measurement, compared
from tests.benchmarks.plans import ROOT, Data, Plan
from tests.benchmarks.processes import in_fresh_process
from tests.benchmarks.queries import QUERIES
from tests.benchmarks.results import rounded
from tests.schema.default_api import api
from tests.server.servers import application

_STATM = Path("/proc/self/statm")
_MB = 1_000_000
_DOCUMENT = ROOT / "docs" / "benchmarks.md"
_TABLE = re.compile(r"(?<=<!-- growth -->\n).*?(?=<!-- end -->)", re.DOTALL)


def run(plan: Plan, name: str) -> Iterator[Measurement]:
    """Measure each step for two or three numbers of specs."""
    growth = [*_growth(plan, plan.sizes[: 2 if name == "scale" else 3])]
    yield from growth
    if plan.rounds > 1:
        text = _DOCUMENT.read_text()
        _DOCUMENT.write_text(_TABLE.sub(lambda _: growth_table(growth), text))


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


def _resident_mb() -> float:
    from resource import getpagesize

    gc.collect()
    return int(_STATM.read_text().split()[1]) * getpagesize() / _MB


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
