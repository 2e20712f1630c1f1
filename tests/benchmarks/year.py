"""``year``: a year of daily imports, each of which opens the catalog anew; nothing tidies it up.

What is measured after some of the days stands beside what it was after the first ten. The contents
are those of ``tests.benchmarks.churn``, of which 5 % are others each day. ``years`` is about a
thousand revisions of ten times as many specs, which are written straight into the tables.
"""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from time import perf_counter, process_time

import msgspec

from snapshots.catalog.catalog import Catalog
from snapshots.contents import Snapshot
from tests.benchmarks.ages import FLAT_TARGET, PROCESSOR
from tests.benchmarks.churn import LivingCache
from tests.benchmarks.measurements import Measurement, Target, beside_first
from tests.benchmarks.plans import Plan
from tests.benchmarks.questions import LONGER, questions
from tests.benchmarks.sessions import Session, Taken, ask_server

_MB = 1_000_000
_LAST = 9
_TIMES = {"first": "first time", "later": "later"}


class _Day(msgspec.Struct, frozen=True, kw_only=True):
    """The catalog after so many imports.

    ``imports`` is what the last few of them took, ``num_bytes`` and ``num_files`` what is in its
    folder, and ``sessions`` what servers of it took.
    """

    number: int
    imports: Sequence[Taken]
    num_bytes: int
    num_files: int
    sessions: Sequence[Session]


def run(plan: Plan) -> Iterator[Measurement]:
    """Measure imports, disk and files; with servers also pages and what they ask for."""
    plan.data.cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=plan.data.cache) as folder:
        days = list(_days(plan, Path(folder, "catalog")))
    yield from _taken_beside(days, "an import", lambda it: it.imports)
    yield from _beside(days, "MB on disk, a revision", "MB", _mb_a_revision)
    yield from _beside(days, "files, a revision", "files", lambda it: [it.num_files / it.number])
    if plan.over_http:
        yield from _answers(days)


def _days(plan: Plan, folder: Path) -> Iterator[_Day]:
    """Import a state a day, and yield the days that are to be measured."""
    cache = LivingCache(plan.specs_of_a_year)
    taken: list[Taken] = []
    for number in range(1, plan.days[-1] + 1):
        taken.append(_import(folder, cache.snapshot()))
        cache.live()
        if number in plan.days:
            files = [it.stat().st_size for it in folder.rglob("*") if it.is_file()]
            yield _Day(
                number=number,
                imports=taken[-_LAST:],
                num_bytes=sum(files),
                num_files=len(files),
                sessions=list(_asked(plan, folder)) if plan.over_http else (),
            )


def _import(folder: Path, snapshot: Snapshot) -> Taken:
    started, used = perf_counter(), process_time()
    (publication,) = Catalog(str(folder)).publish([snapshot])
    taken = Taken((perf_counter() - started) * 1_000, (process_time() - used) * 1_000)
    if not publication.is_new or publication.unkept:
        raise SystemExit(f"year: {publication}")
    return taken


def _asked(plan: Plan, folder: Path) -> Iterator[Session]:
    asked = [it for it in questions(folder) if it.name.startswith(("page", "what", "a series"))]
    for _ in range(min(plan.rounds, 3)):
        yield ask_server(folder, asked, times=min(plan.calls, 11))


def _mb_a_revision(day: _Day) -> list[float]:
    return [day.num_bytes / day.number / _MB]


def _answers(days: Sequence[_Day]) -> Iterator[Measurement]:
    for which, words in _TIMES.items():
        for name in days[0].sessions[0].first:
            target = None if name in LONGER else FLAT_TARGET
            taken = partial(_of_sessions, which, name)
            yield from _taken_beside(days, f"{name}: {words}", taken, target)


def _of_sessions(which: str, name: str, day: _Day) -> list[Taken]:
    taken: list[dict[str, Taken]] = [getattr(it, which) for it in day.sessions]
    return [it[name] for it in taken]


def _taken_beside(
    days: Sequence[_Day],
    subject: str,
    taken: Callable[[_Day], Sequence[Taken]],
    target: Target | None = FLAT_TARGET,
) -> Iterator[Measurement]:
    """Yield what was taken, elapsed and of the processor, which others on the machine leave so."""
    of = partial(_beside, days, unit="ms")
    yield from of(subject, values=lambda day: [it.elapsed for it in taken(day)], target=None)
    yield from of(
        f"{subject}{PROCESSOR}",
        values=lambda day: [it.processor for it in taken(day)],
        target=target,
    )


def _beside(
    days: Sequence[_Day],
    subject: str,
    unit: str,
    values: Callable[[_Day], Sequence[float]],
    target: Target | None = FLAT_TARGET,
) -> Iterator[Measurement]:
    """Yield a measurement of each day; the first one is the reference."""
    of_days = {
        f"{'cachelog: ' if number else ''}{day.number:,} revisions": values(day)
        for number, day in enumerate(days)
    }
    yield from beside_first("year", subject, of_days, unit=unit, target=target)
