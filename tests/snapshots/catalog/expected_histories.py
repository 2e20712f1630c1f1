"""Histories in catalogs, and the expected answers about them."""

import shutil
from collections.abc import Iterator, Sequence
from itertools import pairwise, starmap
from pathlib import Path
from random import Random

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.library import Library
from snapshots.contents import Snapshot
from snapshots.history import Pair
from snapshots.models import NOTHING
from tests.model.histories import HistoryQueries
from tests.snapshots.factories import NAMES, a_snapshot, a_spec, day
from tests.snapshots.timelines.generated_histories import HASHES

TABLES = ("comparisons", "changes", "hashes")
"""The tables of the history."""


def snapshots_of(past: HistoryQueries) -> list[Snapshot]:
    """Return the snapshots of a generated past."""
    return [
        a_snapshot(past.specs_of(revision).values(), revision.tag, revision.taken_at)
        for revision in past.history.revisions
    ]


def past_of(catalog: Catalog, past: HistoryQueries) -> HistoryQueries:
    """Return the past of a catalog's revisions, to which a generated past was published."""
    return HistoryQueries(
        catalog.history, {digest: list(all_.values()) for digest, all_ in past.contents.items()}
    )


def check(catalog: Catalog, past: HistoryQueries) -> None:
    """Compare the answers of a catalog with those of a naive model of its contents."""
    library, history = Library(catalog), catalog.history
    assert catalog.changes.counts.keys() >= set(history.pairs)
    assert {pair: catalog.changes.counts[pair] for pair in history.pairs} == {
        pair: past.counts(pair) for pair in history.pairs
    }
    for text in HASHES:
        assert library.history_queries.hash_history(history, text) == past.hash_history(text)
    assert library.history_queries.all_packages(history) == past.all_packages()
    for series in history.series_names:
        for name in NAMES:
            timeline = library.history_queries.package_timeline(history, series, name)
            assert timeline == past.package_timeline(name, series)
    counted = library.history_queries.package_counts(history.pairs)
    assert counted == {pair: past.kept(pair).packages for pair in history.pairs}


def grouped(snapshots: Sequence[Snapshot], random: Random) -> Iterator[Sequence[Snapshot]]:
    """Yield the snapshots in groups of random sizes."""
    start = 0
    while start < len(snapshots):
        size = random.randrange(1, 5)
        yield snapshots[start : start + size]
        start += size


def forget(catalog: Catalog, *tables: str) -> None:
    """Remove tables of a catalog."""
    for table in tables:
        shutil.rmtree(Path(catalog.location) / table, ignore_errors=True)


def states(*labels: str) -> list[Snapshot]:
    """Return one state per day, with one spec per letter; each letter has a separate package."""
    return [
        a_snapshot(
            [a_spec(label, name=f"package-{label}") for label in state], "develop", day(number)
        )
        for number, state in enumerate(labels)
    ]


def pairs(snapshots: Sequence[Snapshot]) -> list[Pair]:
    """Return the pairs of consecutive states."""
    digests = [NOTHING, *(snapshot.content.digest for snapshot in snapshots)]
    return list(starmap(Pair, pairwise(digests)))
