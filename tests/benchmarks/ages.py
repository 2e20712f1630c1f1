"""``years``: what a catalog of a thousand revisions costs, beside one of the last ten of them.

Both end with the same content, so that what is asked for is the same. Answers that tell of more
revisions are larger; all else is to cost the same.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from time import perf_counter, process_time
from typing import NamedTuple, TypeVar

import pyarrow as pa
from deltalake import DeltaTable

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.history_tables import HISTORY_TABLES
from snapshots.contents import Snapshot
from tests.benchmarks.documents import aligned
from tests.benchmarks.measurements import Measurement, Target, beside_first
from tests.benchmarks.plans import Plan
from tests.benchmarks.processes import in_fresh_process
from tests.benchmarks.questions import LONGER, questions
from tests.benchmarks.results import rounded
from tests.benchmarks.sessions import Session, Taken, ask_server
from tests.benchmarks.years import (
    catalog_of_years,
    copy_of,
    next_states,
    read_states,
    with_history,
)

FLAT_TARGET = Target(1.3)
"""How much dearer a catalog of many revisions may be than one of few."""

SIZE_TARGET = Target(1.5, "median")
"""How many MB a revision may take on disk where 5 % of 60,000 specs changed."""

FEW = 10
PROCESSOR = ", processor time"
"""What ends the subjects of time that others on the machine leave as it is."""

_MB = 1_000_000
_TABLES = {"contents": ("specs",), "history": HISTORY_TABLES, "list of revisions": ("revisions",)}
_LEAST = {"MB": 0.01, "s": 0.0, "ms": 0.5}
"""What is less stands in no table: its ratio is that of noise."""

_TIMES = {"first": "first time", "later": "later"}
_COMMANDS = ("log --limit 10", "find * --limit 1", "diff develop~1 develop")

Result = TypeVar("Result")


class _Both(NamedTuple):
    """The catalog of few revisions and that of many, and how many revisions they have."""

    few: Path
    many: Path
    num_few: int
    num_many: int


class _Published(NamedTuple):
    """What publishing took, in milliseconds: until it was done, and of the processor."""

    first: Taken
    second: Taken


def run(plan: Plan) -> Iterator[Measurement]:
    """Measure disk and publishing; with servers also start, memory, questions and commands."""
    both = _catalogs(plan)
    yield from _disk(both)
    yield from _publishing(plan, both)
    if plan.over_http:
        yield from _asking(plan, both)
        yield from _commands(plan, both)


def table(measurements: Sequence[Measurement]) -> str:
    """Return what was measured of years as a table in Markdown: of time, that of the processor.

    It is empty where nothing was.
    """
    rows: list[tuple[str, ...]] = []
    of_years = [it for it in measurements if it.benchmark == "years"]
    pairs = list(zip(of_years[::2], of_years[1::2], strict=True))
    processor = {it.subject for it, _ in pairs if it.subject.endswith(PROCESSOR)}
    for few, many in pairs:
        if not rows:
            names = (it.contender.removeprefix("cachelog: ") for it in (few, many))
            rows.append(("Years of revisions", *names, "Times"))
        if f"{few.subject}{PROCESSOR}" not in processor and few.median >= _LEAST[few.unit]:
            values = (f"{rounded(it.median)} {it.unit}" for it in (few, many))
            rows.append((few.subject.removesuffix(PROCESSOR), *values, f"{many.ratio:.2f}"))
    return aligned(rows) if rows else ""


def _catalogs(plan: Plan) -> _Both:
    many, few = plan.contents, min(FEW, plan.contents // 2)
    made = partial(catalog_of_years, plan.data.cache, specs=plan.specs_of_years)
    return _Both(
        with_history(made(revisions=few, after=many - few)),
        with_history(made(revisions=many)),
        few,
        many,
    )


def _rounds(rounds: int, both: _Both, turn: Callable[[Path], Result]) -> list[list[Result]]:
    """Give both catalogs a turn a round; a round before the first warms up and does not count."""
    found: list[list[Result]] = [[], []]
    for number in range(rounds + 1):
        for results, folder in zip(found, both[:2], strict=True):
            result = turn(folder)
            if number:
                results.append(result)
    return found


def _beside(
    both: _Both,
    subject: str,
    unit: str,
    found: list[list[Result]],
    value: Callable[[Result], float],
    target: Target | None = FLAT_TARGET,
) -> Iterator[Measurement]:
    """Yield a measurement of each catalog; the one of few revisions is the reference."""
    few, many = ([value(result) for result in results] for results in found)
    names = f"{both.num_few:,} revisions", f"cachelog: {both.num_many:,} revisions"
    values = dict(zip(names, (few, many), strict=True))
    yield from beside_first("years", subject, values, unit=unit, target=target)


# -- disk


def _disk(both: _Both) -> Iterator[Measurement]:
    sizes = [
        [
            {
                name: sum(_mb(folder / it) for it in tables) / number
                for name, tables in _TABLES.items()
            }
        ]
        for folder, number in zip(both[:2], both[2:], strict=True)
    ]
    of = partial(_beside, both, unit="MB", found=sizes)
    yield from of("a revision on disk", value=lambda it: sum(it.values()), target=SIZE_TARGET)
    for name in _TABLES:
        value = partial(_value, name)
        yield from of(f"a revision on disk: {name}", value=value, target=None)


def _value(name: str, values: dict[str, float]) -> float:
    return values[name]


def _mb(table: Path) -> float:
    """Return what the log of a table takes, and the files that it lists: others go in a vacuum."""
    log = sum(file.stat().st_size for file in (table / "_delta_log").iterdir())
    listed = pa.table(DeltaTable(table).get_add_actions(flatten=True))["size_bytes"]
    return float(log + sum(listed.to_pylist())) / _MB


# -- publishing


def _publishing(plan: Plan, both: _Both) -> Iterator[Measurement]:
    states = next_states(plan.data.cache, after=both.num_many, specs=plan.specs_of_years)

    def turn(folder: Path) -> _Published:
        if plan.over_http:
            return in_fresh_process(_publish_all, folder, states)
        return _publish_all(folder, states)

    found = _rounds(plan.rounds, both, turn)
    of = partial(_taken_beside, both, found=found)
    yield from of("publish the first revision of a process", value=lambda it: it.first)
    yield from of("publish the next one", value=lambda it: it.second)


def _publish_all(folder: Path, states: Path) -> _Published:
    with tempfile.TemporaryDirectory(dir=folder.parent) as own:
        catalog = Catalog(str(copy_of(folder, Path(own, "catalog"))))
        return _Published(*(_publish(catalog, it) for it in read_states(states)))


def _publish(catalog: Catalog, snapshot: Snapshot) -> Taken:
    started, used = perf_counter(), process_time()
    (publication,) = catalog.publish([snapshot])
    taken = Taken((perf_counter() - started) * 1_000, (process_time() - used) * 1_000)
    if not publication.is_new or publication.unkept:
        raise SystemExit(f"years: {publication}")
    return taken


def _taken_beside(
    both: _Both,
    subject: str,
    found: list[list[Result]],
    value: Callable[[Result], Taken],
    target: Target | None = FLAT_TARGET,
) -> Iterator[Measurement]:
    """Yield what was taken, elapsed and of the processor, which others on the machine leave so."""
    of = partial(_beside, both, unit="ms", found=found)
    yield from of(subject, value=lambda it: value(it).elapsed, target=None)
    yield from of(f"{subject}{PROCESSOR}", value=lambda it: value(it).processor, target=target)


# -- asking


def _asking(plan: Plan, both: _Both) -> Iterator[Measurement]:
    asked = {folder: questions(folder) for folder in both[:2]}
    times = min(plan.calls, 11)
    found = _rounds(plan.rounds, both, lambda it: ask_server(it, asked[it], times=times))
    of = partial(_beside, both, found=found)
    start = partial(of, "start of a server, until /health/ready answers")
    yield from start("s", value=lambda it: it.start_seconds, target=None)
    start = partial(of, f"start of a server, until /health/ready answers{PROCESSOR}")
    yield from start("s", value=lambda it: it.start_cpu_seconds)
    yield from of("memory of a server, started", "MB", value=lambda it: it.memory_at_start)
    yield from of("memory of a server, asked", "MB", value=lambda it: it.memory_at_end)
    for which in ("first", "later"):
        for name in found[0][0].first:
            target = None if name in LONGER else FLAT_TARGET
            value = partial(_of_session, which, name)
            yield from _taken_beside(both, f"{name}: {_TIMES[which]}", found, value, target)


def _of_session(which: str, name: str, session: Session) -> Taken:
    taken: dict[str, Taken] = getattr(session, which)
    return taken[name]


def _commands(plan: Plan, both: _Both) -> Iterator[Measurement]:
    for command in _COMMANDS:
        found = _rounds(plan.rounds, both, partial(command_seconds, command.split()))
        yield from _beside(both, f"cachelog {command}{PROCESSOR}", "s", found, lambda it: it)


def command_seconds(words: list[str], catalog: Path) -> float:
    """Return the processor time of a command on a catalog, which must succeed."""
    before = getrusage(RUSAGE_CHILDREN)
    subprocess.run(
        [Path(sys.executable).with_name("cachelog"), *words],
        env={**os.environ, "CACHELOG_CATALOG": str(catalog)},
        check=True,
        stdout=subprocess.DEVNULL,
    )
    after = getrusage(RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
