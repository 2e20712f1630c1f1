"""What tests of removal share: small catalogs, clocks set back, and the stored files."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from resource import RLIMIT_FSIZE, getrlimit, setrlimit
from time import time
from typing import Any
from unittest import mock

import pytest
from deltalake import DeltaTable

from snapshots.catalog import delta
from snapshots.catalog import vacuum as vacuums
from snapshots.catalog.catalog import Catalog
from snapshots.catalog.removal import Removal, plan, remove
from snapshots.catalog.vacuum import Vacuumed, vacuum
from snapshots.models import RevisionInfo
from tests.snapshots.factories import a_snapshot, day
from tests.snapshots.importers import specs_of
from tests.snapshots.templates import reopened

HOUR = timedelta(hours=1)


def publish(catalog: Catalog, state: int, taken: int, tag: str = "develop") -> str:
    """Publish a numbered state taken on a day; return its digest."""
    (made,) = catalog.publish([a_snapshot(specs_of(state), tag, day(taken))])
    return made.revision.digest


def publish_killed(catalog: Catalog, state: int, owner: type, method: str) -> None:
    """Publish a state by an import that is killed when it calls a method."""
    killed = mock.patch.object(owner, method, side_effect=KeyboardInterrupt)
    with killed, pytest.raises(KeyboardInterrupt):
        publish(catalog, state, state)


def published(folder: Path, states: int) -> Path:
    """Publish states of develop, one per day, in a folder; return the folder."""
    made = Catalog(str(folder))
    for number in range(states):
        publish(made, number, number)
    return folder


def drop(catalog: Catalog, *refs: str) -> Removal:
    """Remove revisions."""
    catalog.refresh()
    return remove(catalog, plan(catalog, map(catalog.history.resolve, refs)))


def drop_unlisted(catalog: Catalog, *refs: str) -> str:
    """Remove revisions, and unlist their only content by a vacuum; return its digest."""
    (digest,) = drop(catalog, *refs).contents
    with mock.patch.object(vacuums, "time", return_value=time() + 2 * 3_600):
        assert digest in clean(catalog).struck_off
    return digest


def clean(catalog: Catalog, older_than: timedelta = HOUR) -> Vacuumed:
    """Vacuum the catalog."""
    return vacuum(catalog, older_than=older_than)


def clean_all(catalog: Catalog) -> Vacuumed:
    """Vacuum the catalog twice, without a grace period: the second deletes what no row needs."""
    clean(catalog, timedelta(0))
    return clean(catalog, timedelta(0))


def rows(catalog: Catalog) -> set[tuple[str, int, str]]:
    """Return all rows that another process reads: tag, day and digest."""
    read = reopened(catalog)
    every = read.history.rows
    return {(row.tag, (row.taken_at - day(0)).days, row.digest) for row in every}


def loaded(catalog: Catalog) -> dict[str, int]:
    """Load all contents as another process does; return the number of specs of each."""
    read = reopened(catalog)
    return {digest: len(read.reader().frame(digest)) for digest in read.history.digests}


def listed(catalog: Catalog) -> set[str]:
    """Return the contents that the log of the table ``specs`` lists for other tools."""
    table = DeltaTable(f"{catalog.location}/specs")
    return {partition["digest"] for partition in table.partitions()}


def stored(catalog: Catalog, table: str = "specs") -> set[str]:
    """Return the files in a table's folder, without its log."""
    folder = Path(catalog.location, table)
    files = (file.relative_to(folder) for file in folder.rglob("*") if file.is_file())
    return {str(file) for file in files if file.parts[0] != "_delta_log"}


def grow_old(catalog: Catalog, hours: float = 2) -> None:
    """Set the modification times of all files of the catalog some hours back."""
    for file in Path(catalog.location).rglob("*"):
        if file.is_file():
            written = file.stat().st_mtime - hours * 3_600
            os.utime(file, (written, written))


def flip(file: Path, place: int | None = None, bit: int = 0) -> None:
    """Flip a bit of a file, by default in the middle."""
    data = bytearray(file.read_bytes())
    data[len(data) // 2 if place is None else place] ^= 1 << bit
    file.write_bytes(data)


@contextmanager
def hours_ago(hours: float = 2) -> Iterator[None]:
    """Date commits within the context some hours back."""
    with mock.patch.object(delta, "time", return_value=time() - hours * 3_600):
        yield


def running_before(owner: type, method: str, action: Callable[[], object]) -> Any:
    """Patch a method of a class: its first call within the context calls an action before."""
    real, actions = getattr(owner, method), iter([action])

    def wrapper(*arguments: Any, **options: Any) -> Any:
        for each in actions:
            each()
        return real(*arguments, **options)

    return mock.patch.object(owner, method, wrapper)


def facts(revisions: list[RevisionInfo]) -> list[tuple[str, int]]:
    """Return the tag and day of each revision."""
    return [(revision.tag, (revision.taken_at - day(0)).days) for revision in revisions]


@contextmanager
def file_size_limit(num_bytes: int) -> Iterator[None]:
    """Limit the size of files, which can still be deleted, as on a full disk."""
    soft, hard = getrlimit(RLIMIT_FSIZE)
    setrlimit(RLIMIT_FSIZE, (num_bytes, hard))
    try:
        yield
    finally:
        setrlimit(RLIMIT_FSIZE, (soft, hard))
