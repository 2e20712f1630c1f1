"""Catalogs of years: up to a thousand revisions of sixty thousand specs, with realistic changes.

The contents are those of ``tests.benchmarks.churn``, one day apart: all are revisions of
``develop``, and every 250th is also a release.
"""

import os
import shutil
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import msgspec

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.history_tables import HISTORY_TABLES
from snapshots.contents import Content, Snapshot
from snapshots.demo.revisions import write_pages
from snapshots.models import Source, Spec
from tests.benchmarks.churn import FIRST_DAY, LivingCache
from tests.benchmarks.plans import CACHE, made_once, source_digest

SERIES = "develop"
RELEASE_EVERY = 250

_AT_ONCE = 20
"""Number of days that are published together."""


class _State(msgspec.Struct):
    """A state of the cache."""

    taken_at: datetime
    source: Source
    specs: list[Spec]


def catalog_of_years(
    cache: Path = CACHE, *, revisions: int = 1_000, specs: int = 60_000, after: int = 0
) -> Path:
    """Return the folder of a catalog below ``cache``, created unless it exists.

    Its first revision is the one that follows ``after`` others. It is shared: write only into a
    copy (``copy_of``).
    """

    def make(folder: Path) -> None:
        living = LivingCache(specs)
        for _ in range(after):
            living.live()
        last = after + revisions
        for first in range(after, last, _AT_ONCE):
            days = range(first, min(first + _AT_ONCE, last))
            Catalog(str(folder)).publish(_snapshots(living, days))

    days = f"{revisions}-after-{after}" if after else f"{revisions}"
    return made_once(cache, f"years-{days}-{specs}", _digest(), make)


def _snapshots(living: LivingCache, days: range) -> Iterator[Snapshot]:
    """Yield the states of some days; the cache is advanced to the day after them."""
    for number in days:
        yield living.snapshot(SERIES)
        if number % RELEASE_EVERY == RELEASE_EVERY // 2:
            yield living.snapshot(f"v0.{number // RELEASE_EVERY}.0")
        living.live()


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


def next_states(cache: Path, *, after: int, specs: int) -> Path:
    """Return a file with the two states after a number of revisions, for ``read_states``."""
    file = cache / f"states-after-{after}-{specs}-{_digest()}.msgpack"
    if not file.exists():
        living = LivingCache(specs)
        for _ in range(after):
            living.live()
        states = []
        for _ in range(2):
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


def copy_of(catalog: Path, folder: Path, *, has_history: bool = True) -> Path:
    """Copy a catalog with hard links, as cachelog never writes into existing files."""
    left_out = shutil.ignore_patterns(*(() if has_history else HISTORY_TABLES))
    shutil.copytree(catalog, folder, copy_function=os.link, ignore=left_out)
    return folder


def _digest() -> str:
    return source_digest("snapshots/contents.py", "tests/benchmarks/churn.py")
