"""A catalog of years: a thousand revisions of sixty thousand specs, each with real churn.

    python -m tests.benchmarks.years [--revisions 1000] [--specs 60000] [--fresh] [--cache FOLDER]

The contents are those of ``tests.benchmarks.churn``, a day apart: all are states of ``develop``,
and each 250th is a release too. It is a catalog as imports make it, digests, counts and files:
``cachelog verify`` finds nothing. But it is written by several processes straight into the two
tables, and without the history, as catalogs of before have it: some 0.15 s a revision.
"""

import argparse
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
"""Where it rises, the catalog is made anew, as where the source of the contents changes."""


class _State(msgspec.Struct):
    """What a state of the cache holds."""

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
    fresh: bool = False,
    processes: int | None = None,
) -> Path:
    """Return the folder of such a catalog below ``cache``, made now unless it is there.

    Its first revision is that of the day ``after`` so many others. It serves all that measure: who
    writes into a catalog takes a copy (``copy_of``).
    """
    days = f"{revisions}-after-{after}" if after else f"{revisions}"
    return made_once(
        cache,
        f"years-{days}-{specs}",
        _digest(),
        partial(publish_years, revisions=revisions, specs=specs, after=after, processes=processes),
        fresh=fresh,
    )


def with_history(plain: Path) -> Path:
    """Return the folder of a catalog beside another one, with its history, made now or before."""

    def make(folder: Path) -> None:
        catalog = Catalog(str(copy_of(plain, folder)))
        fill(
            catalog,
            missing_pairs(catalog, catalog.require_history()),
            jobs=os.cpu_count() or 1,
        )

    name, _, digest = plain.name.rpartition("-")
    return made_once(plain.parent, f"filled-{name}", digest, make)


def tagged_pages(cache: Path, *, tags: int, specs: int) -> Path:
    """Return a folder of cache pages of tags a week apart, TAG/PACKAGE/specs.md each."""

    def make(folder: Path) -> None:
        living = LivingCache(specs)
        for number in range(tags):
            day = FIRST_DAY + timedelta(weeks=number)
            write_pages(living.snapshot(f"develop-{day:%Y-%m-%d}"), folder)
            living.live()

    digest = source_digest("snapshots/demo/revisions.py", "tests/benchmarks/churn.py")
    return made_once(cache, f"tagged-pages-{tags}-{specs}", digest, make)


def next_states(cache: Path, *, after: int, specs: int, number: int = 2) -> Path:
    """Return a file with the states after so many revisions; ``read_states`` reads them."""
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
    """Return the states of a file, as states of develop that were just read."""
    states = msgspec.msgpack.decode(file.read_bytes(), type=list[_State])
    return [
        Snapshot(tag=SERIES, content=Content.of(it.specs), source=it.source, taken_at=it.taken_at)
        for it in states
    ]


def copy_of(catalog: Path, folder: Path) -> Path:
    """Copy a catalog by hard links, in no time; cachelog never writes into a file that is there."""
    shutil.copytree(catalog, folder, copy_function=os.link)
    return folder


def publish_years(
    folder: Path, *, revisions: int, specs: int, after: int = 0, processes: int | None = None
) -> None:
    """Write the catalog of so many revisions, behind ``after`` others, into a folder."""
    storage = Storage(parse_location(str(folder)))
    # Made before the processes start, so that they need not race for it.
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
    """Write the contents of some days; return the rows for them."""
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
                if digest not in before:  # a small cache can stay as it is for a day
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


def _main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.years", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--revisions", type=int, default=1_000)
    parser.add_argument("--specs", type=int, default=60_000)
    parser.add_argument("--fresh", action="store_true", help="make it anew")
    parser.add_argument("--cache", type=Path, default=CACHE, metavar="FOLDER")
    options = parser.parse_args()
    print(
        catalog_of_years(
            options.cache,
            revisions=options.revisions,
            specs=options.specs,
            fresh=options.fresh,
        )
    )


if __name__ == "__main__":
    _main()
