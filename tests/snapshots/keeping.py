"""What tests of keeping and forgetting share: small catalogs, clocks set back, what is stored."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from resource import RLIMIT_FSIZE, getrlimit, setrlimit
from time import time
from unittest import mock

import pytest
from deltalake import DeltaTable

from snapshots.catalog import delta
from snapshots.catalog.catalog import Catalog
from snapshots.catalog.removal import Removal, plan, remove
from snapshots.catalog.vacuum import Vacuumed, vacuum
from snapshots.models import RevisionInfo
from tests.snapshots.factories import a_snapshot, day
from tests.snapshots.importers import specs_of

HOUR = timedelta(hours=1)


def publish(catalog: Catalog, state: int, taken: int, tag: str = "develop") -> str:
    """Publish the state with a number as of a day; return its digest."""
    (made,) = catalog.publish([a_snapshot(specs_of(state), tag, day(taken))])
    return made.revision.digest


def publish_killed(catalog: Catalog, state: int, owner: type, method: str) -> None:
    """Publish a state by an import that is killed as it calls a method."""
    killed = mock.patch.object(owner, method, side_effect=KeyboardInterrupt)
    with killed, pytest.raises(KeyboardInterrupt):
        publish(catalog, state, state)


def published(folder: Path, states: int) -> Path:
    """Publish so many states of develop, a day apart, in a folder; return the folder."""
    made = Catalog(str(folder))
    for number in range(states):
        publish(made, number, number)
    return folder


def drop(catalog: Catalog, *refs: str) -> Removal:
    """Remove revisions."""
    catalog.refresh()
    return remove(catalog, plan(catalog, map(catalog.history.resolve, refs)))


def clean(catalog: Catalog, older_than: timedelta = HOUR) -> Vacuumed:
    """Clean the catalog."""
    return vacuum(catalog, older_than=older_than)


def rows(catalog: Catalog) -> set[tuple[str, int, str]]:
    """Return all rows that another process reads: tag, day and digest."""
    read = Catalog(catalog.location)
    read.refresh()
    return {(it.tag, (it.taken_at - day(0)).days, it.digest) for it in read.history.by_key.values()}


def loaded(catalog: Catalog) -> dict[str, int]:
    """Load all contents as another process does; return how many specs each has."""
    read = Catalog(catalog.location)
    read.refresh()
    return {digest: len(read.load(digest)) for digest in read.history.digests}


def listed(catalog: Catalog) -> set[str]:
    """Return the contents that other tools find in the table ``specs``."""
    table = DeltaTable(f"{catalog.location}/specs")
    return {it["digest"] for it in table.partitions()}


def stored(catalog: Catalog, table: str = "specs") -> set[str]:
    """Return the files that a table's folder holds, its log left out."""
    folder = Path(catalog.location, table)
    found = (file.relative_to(folder) for file in folder.rglob("*") if file.is_file())
    return {str(file) for file in found if file.parts[0] != "_delta_log"}


def grow_old(catalog: Catalog, hours: float = 2) -> None:
    """Let all files of the catalog have been written some hours earlier."""
    for file in Path(catalog.location).rglob("*"):
        if file.is_file():
            written = file.stat().st_mtime - hours * 3_600
            os.utime(file, (written, written))


@contextmanager
def hours_ago(hours: float = 2) -> Iterator[None]:
    """Let what is committed within have been committed some hours earlier."""
    with mock.patch.object(delta, "time", return_value=time() - hours * 3_600):
        yield


def facts(revisions: list[RevisionInfo]) -> list[tuple[str, int]]:
    """Return tags and days."""
    return [(it.tag, (it.taken_at - day(0)).days) for it in revisions]


@contextmanager
def file_size_limit(num_bytes: int) -> Iterator[None]:
    """Let no file grow beyond a size; to delete is possible, as where a disk is full."""
    soft, hard = getrlimit(RLIMIT_FSIZE)
    setrlimit(RLIMIT_FSIZE, (num_bytes, hard))
    try:
        yield
    finally:
        setrlimit(RLIMIT_FSIZE, (soft, hard))
