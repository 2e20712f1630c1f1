"""Catalogs of years: the demo's revisions of develop, a week apart."""

import os
import shutil
from collections.abc import Iterator
from datetime import datetime
from itertools import islice
from pathlib import Path

import msgspec

from snapshots.catalog.catalog import Catalog
from snapshots.contents import Content, Snapshot
from snapshots.demo import develop_history
from snapshots.models import Source, Spec
from tests.benchmarks.plans import DECIDING, made_once, source_digest

_SPECS_OF_A_PACKAGE = 47
_AT_ONCE = 20
"""Number of revisions that are published together."""


class _State(msgspec.Struct):
    """A state of the cache."""

    taken_at: datetime
    source: Source
    specs: list[Spec]


def catalog_of_years(cache: Path, *, revisions: int, specs: int, after: int = 0) -> Path:
    """Return the folder of a catalog below ``cache``, created unless it exists.

    Its first revision is the one that follows ``after`` others. It is shared: write only into a
    copy (``copy_of``).
    """

    def make(folder: Path) -> None:
        states = _states(after, revisions, specs)
        while some := [*islice(states, _AT_ONCE)]:
            Catalog(str(folder)).publish(some)

    days = f"{revisions}-after-{after}" if after else f"{revisions}"
    return made_once(cache, f"years-{days}-{specs}", source_digest(*DECIDING), make)


def _states(after: int, revisions: int, specs: int) -> Iterator[Snapshot]:
    """Yield some revisions of develop that follow others."""
    packages = max(1, specs // _SPECS_OF_A_PACKAGE)
    history = develop_history(revisions=after + revisions, packages=packages, specs=specs)
    return islice((state for state in history if state.tag == "develop"), after, None)


def next_states(cache: Path, *, after: int, specs: int) -> Path:
    """Return a file with the two states after a number of revisions, for ``read_states``."""
    file = cache / f"states-after-{after}-{specs}-{source_digest(*DECIDING)}.msgpack"
    if not file.exists():
        states = [
            _State(state.taken_at or datetime.min, state.source, [*state.content.specs()])
            for state in _states(after, 2, specs)
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


def copy_of(catalog: Path, folder: Path) -> Path:
    """Copy a catalog with hard links, as cachelog never writes into existing files."""
    return Path(shutil.copytree(catalog, folder, copy_function=os.link))
