"""Catalogs of years: up to a thousand revisions of sixty thousand specs, with realistic changes.

The contents are those of ``tests.benchmarks.churn``, one day apart: all are revisions of
``develop``, and every 250th is also a release. Digests, counts and files are those of imports, and
``cachelog verify`` reports no findings. But several processes write the two tables directly, and
without the history, which takes about 0.15 s per revision.
"""

import os
import shutil
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from datetime import datetime, timedelta
from functools import partial
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import msgspec

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.history_queries import fill, missing_pairs
from snapshots.catalog.locations import parse_location
from snapshots.catalog.publication import PublicationPlanner
from snapshots.catalog.revisions_table import RevisionsTable
from snapshots.catalog.specs_table import SpecsTable
from snapshots.catalog.storage import Storage
from snapshots.contents import Content, ContentRows, Snapshot, SuccessiveTables
from snapshots.demo.revisions import write_pages
from snapshots.history import History
from snapshots.models import RevisionInfo, Source, Spec
from snapshots.tables import StoredFile, revisions_table
from tests.benchmarks.churn import FIRST_DAY, LivingCache
from tests.benchmarks.plans import CACHE, made_once, source_digest
from tests.benchmarks.processes import FRESH

SERIES = "develop"
RELEASE_EVERY = 250

_IN_A_COMMIT = 20
_ROWS_IN_A_COMMIT = 100
_PUBLISHED_AFTER = timedelta(hours=2)
_EDITION = 2
"""The catalogs are created again if this number changes, or the source of their contents."""


class _State(msgspec.Struct):
    """A state of the cache."""

    taken_at: datetime
    source: Source
    specs: list[Spec]


class _Written(NamedTuple):
    """Revisions, oldest first, and the files of their contents."""

    revisions: list[RevisionInfo]
    files: dict[str, tuple[StoredFile, ...]]


def catalog_of_years(
    cache: Path = CACHE,
    *,
    revisions: int = 1_000,
    specs: int = 60_000,
    after: int = 0,
    processes: int | None = None,
) -> Path:
    """Return the folder of a catalog below ``cache``, created unless it exists.

    Its first revision is the one that follows ``after`` others. It is shared: write only into a
    copy (``copy_of``).
    """
    days = f"{revisions}-after-{after}" if after else f"{revisions}"
    return made_once(
        cache,
        f"years-{days}-{specs}",
        _digest(),
        partial(_publish, revisions=revisions, specs=specs, after=after, processes=processes),
    )


def with_history(plain: Path) -> Path:
    """Return the folder of a copy of a catalog with its history, created unless it exists."""

    def make(folder: Path) -> None:
        catalog = Catalog(str(copy_of(plain, folder)))
        pairs = missing_pairs(catalog, catalog.require_history())
        fill(catalog, pairs, jobs=os.cpu_count() or 1)

    name, _, digest = plain.name.rpartition("-")
    return made_once(plain.parent, f"filled-{name}", digest, make)


def tagged_pages(cache: Path, *, tags: int, specs: int) -> Path:
    """Return a folder of cache pages, TAG/PACKAGE/specs.md, with tags one week apart."""

    def make(folder: Path) -> None:
        living = LivingCache(specs)
        for number in range(tags):
            day = FIRST_DAY + timedelta(weeks=number)
            write_pages(living.snapshot(f"develop-{day:%Y-%m-%d}"), folder)
            living.live()

    digest = source_digest("snapshots/demo/revisions.py", "tests/benchmarks/churn.py")
    return made_once(cache, f"tagged-pages-{tags}-{specs}", digest, make)


def next_states(cache: Path, *, after: int, specs: int, number: int = 2) -> Path:
    """Return a file with the states after a number of revisions, for ``read_states``."""
    file = cache / f"states-{number}-after-{after}-{specs}-{_digest()}.msgpack"
    if not file.exists():
        living = LivingCache(specs)
        for _ in range(after):
            living.live()
        states = []
        for _ in range(number):
            snapshot = living.snapshot()
            taken_at = snapshot.taken_at or FIRST_DAY
            states.append(_State(taken_at, snapshot.source, [*snapshot.content.specs()]))
            living.live()
        unfinished = file.with_suffix(".unfinished")
        unfinished.write_bytes(msgspec.msgpack.encode(states))
        unfinished.rename(file)
    return file


def read_states(file: Path) -> list[Snapshot]:
    """Return the states in a file as snapshots of develop."""
    states = msgspec.msgpack.decode(file.read_bytes(), type=list[_State])
    return [
        Snapshot(tag=SERIES, content=Content.of(it.specs), source=it.source, taken_at=it.taken_at)
        for it in states
    ]


def copy_of(catalog: Path, folder: Path) -> Path:
    """Copy a catalog with hard links, as cachelog never writes into existing files."""
    shutil.copytree(catalog, folder, copy_function=os.link)
    return folder


def _publish(
    folder: Path, *, revisions: int, specs: int, after: int, processes: int | None
) -> None:
    """Write a catalog of the revisions that follow ``after`` others into a folder."""
    storage = Storage(parse_location(str(folder)))
    # Created before the processes start, to avoid a race.
    SpecsTable(storage).write([], {})
    workers = processes or min(os.cpu_count() or 1, revisions)
    bounds = [after + revisions * number // workers for number in range(workers + 1)]
    with ProcessPoolExecutor(workers, mp_context=FRESH) as pool:
        parts = pool.map(
            _write_part, [folder] * workers, [specs] * workers, bounds[:-1], bounds[1:]
        )
        written = list(chain.from_iterable(parts))
    table = RevisionsTable(storage)
    rows = [row for part in written for row in part.revisions]
    files = {digest: found for part in written for digest, found in part.files.items()}
    for start in range(0, len(rows), _ROWS_IN_A_COMMIT):
        table.append(revisions_table(rows[start : start + _ROWS_IN_A_COMMIT], files))


def _write_part(folder: Path, specs: int, start: int, stop: int) -> list[_Written]:
    """Write the contents of some days; return their rows of the table of revisions."""
    table = SpecsTable(Storage(parse_location(str(folder))))
    cache = LivingCache(specs)
    for _ in range(start):
        cache.live()
    tables = SuccessiveTables()
    before: dict[str, str | None] = {}
    known: dict[str, tuple[StoredFile, ...]] = {}
    written = []
    for first in range(start, stop, _IN_A_COMMIT):
        rows: list[RevisionInfo] = []

        def contents(days: range, rows: list[RevisionInfo]) -> Iterator[ContentRows]:
            for number in days:
                rows += _describe(cache, number)
                digest = rows[-1].digest
                if digest not in before:  # a small cache may be unchanged
                    before[digest] = next(reversed(before), None)
                    yield tables.rows(cache.content())
                cache.live()

        days = range(first, min(first + _IN_A_COMMIT, stop))
        files = table.write(contents(days, rows), known, before.get)
        known |= files
        written.append(_Written(rows, files))
    return written


def _describe(cache: LivingCache, number: int) -> list[RevisionInfo]:
    tags = [SERIES]
    if number % RELEASE_EVERY == RELEASE_EVERY // 2:
        tags.append(f"v0.{number // RELEASE_EVERY}.0")
    moment = FIRST_DAY + timedelta(days=number) + _PUBLISHED_AFTER
    planner = PublicationPlanner(History(), moment, None)
    return [planner.take(cache.snapshot(tag)) for tag in tags]


def _digest() -> str:
    return source_digest("snapshots/contents.py", "tests/benchmarks/churn.py", edition=_EDITION)
