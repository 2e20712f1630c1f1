"""Catalogs of years: up to a thousand revisions of sixty thousand specs, with realistic changes.

The contents are those of ``tests.benchmarks.churn``, one day apart: all are revisions of
``develop``, and every 250th is also a release.
"""

import os
import shutil
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import islice
from pathlib import Path

import msgspec
from msgspec.structs import replace

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.history_tables import HISTORY_TABLES
from snapshots.contents import Content, Snapshot
from snapshots.models import Source, Spec
from tests.benchmarks.churn import living_cache
from tests.benchmarks.plans import CACHE, made_once, source_digest

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
        states = islice(enumerate(living_cache(specs)), after, after + revisions)
        while some := [*islice(states, _AT_ONCE)]:
            Catalog(str(folder)).publish(_with_releases(some))

    days = f"{revisions}-after-{after}" if after else f"{revisions}"
    return made_once(cache, f"years-{days}-{specs}", _digest(), make)


def _with_releases(states: Iterable[tuple[int, Snapshot]]) -> Iterator[Snapshot]:
    """Yield numbered states, each 250th also as a release."""
    for number, state in states:
        yield state
        if number % RELEASE_EVERY == RELEASE_EVERY // 2:
            yield replace(state, tag=f"v0.{number // RELEASE_EVERY}.0")


def next_states(cache: Path, *, after: int, specs: int) -> Path:
    """Return a file with the two states after a number of revisions, for ``read_states``."""
    file = cache / f"states-after-{after}-{specs}-{_digest()}.msgpack"
    if not file.exists():
        states = [
            _State(state.taken_at or datetime.min, state.source, [*state.content.specs()])
            for state in islice(living_cache(specs), after, after + 2)
        ]
        unfinished = file.with_suffix(".unfinished")
        unfinished.write_bytes(msgspec.msgpack.encode(states))
        unfinished.rename(file)
    return file


def read_states(file: Path) -> list[Snapshot]:
    """Return the states in a file as snapshots of develop."""
    states = msgspec.msgpack.decode(file.read_bytes(), type=list[_State])
    return [
        Snapshot(
            tag="develop", content=Content.of(it.specs), source=it.source, taken_at=it.taken_at
        )
        for it in states
    ]


def copy_of(catalog: Path, folder: Path, *, has_history: bool = True) -> Path:
    """Copy a catalog with hard links, as cachelog never writes into existing files."""
    left_out = shutil.ignore_patterns(*(() if has_history else HISTORY_TABLES))
    shutil.copytree(catalog, folder, copy_function=os.link, ignore=left_out)
    return folder


def _digest() -> str:
    return source_digest("snapshots/contents.py", "tests/benchmarks/churn.py")
