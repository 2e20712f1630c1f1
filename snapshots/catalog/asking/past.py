"""Questions to the past of a catalog, answered from what changed between neighbours.

No content is read for it. What is asked about must be complete: where changes of a pair are not
kept, each question raises IncompleteHistory.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice, pairwise
from threading import Lock
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa

from snapshots import refs
from snapshots.catalog.catalog import Catalog
from snapshots.changes.kept_changes import PackageCounts, PairCounts, packages_of
from snapshots.errors import (
    AmbiguousHash,
    CatalogError,
    IncompleteHistory,
    InvalidArgument,
    RevisionsLeftOut,
)
from snapshots.frames.hashes import WIDTH, is_beginning
from snapshots.history import History, Neighbours, Pair
from snapshots.models import RevisionInfo
from snapshots.notes.atom.kept_stories import from_text, told_in
from snapshots.timelines import growth, packages, spans
from snapshots.timelines.growth import GrowthPoint
from snapshots.timelines.packages import PackageTimeline
from snapshots.timelines.spans import HashHistory
from snapshots.timelines.steps import Steps
from snapshots.wording import quoted, short_digest, versioned

_MOST_CANDIDATES = 50
_SHOWN_CANDIDATES = 20


class _Missing(NamedTuple):
    """The pairs whose changes are not kept, where these counts are ``known``."""

    known: Mapping[Pair, PairCounts]
    pairs: Sequence[Pair]


_MISSING: WeakKeyDictionary[History, dict[str | None, _Missing]] = WeakKeyDictionary()
_LOCK = Lock()


def pairs_of(history: History, series: str | None = None) -> Sequence[Pair]:
    """Return the pairs of neighbours whose contents differ, of one series or of all, each once."""
    return history.pairs if series is None else history.pairs_of(series)


def missing_pairs(catalog: Catalog, history: History, series: str | None = None) -> list[Pair]:
    """Return the pairs whose changes are not kept, of one series or of all.

    Every question asks for them, so they are looked for once, until more is kept.
    """
    known = catalog.counts
    with _LOCK:
        found = _MISSING.setdefault(history, {}).get(series)
    if found is None or found.known is not known:
        missing = [pair for pair in pairs_of(history, series) if pair not in known]
        found = _Missing(known, missing)
        with _LOCK:
            _MISSING[history][series] = found
    return [*found.pairs]


def prepare(catalog: Catalog) -> None:
    """Make what every question to the past needs, so that the first one does not wait for it."""
    Steps.of(catalog.history, catalog.history.series_names)
    with suppress(CatalogError):  # who asks is told
        missing_pairs(catalog, catalog.history)
        catalog.changes.open()


def require_complete(catalog: Catalog, history: History, series: str | None = None) -> None:
    """Raise IncompleteHistory where changes of a pair are not kept."""
    if missing := missing_pairs(catalog, history, series):
        raise IncompleteHistory(len(missing), len(pairs_of(history, series)))


def left_out(
    history: History, unreadable: Iterable[str], series: str | None = None
) -> RevisionsLeftOut:
    """Return what to say where a history is told without contents that cannot be read."""
    unread = frozenset(unreadable)
    revisions = history.revisions if series is None else history.of_series(series)
    return RevisionsLeftOut(
        [f"{it.tag}@{short_digest(it.digest)}" for it in revisions if it.digest in unread]
    )


def hash_history(catalog: Catalog, history: History, text: str) -> HashHistory | None:
    """Return the history of the hash that begins so; None where no revision had one.

    Raises InvalidArgument for a text that begins no hash, and AmbiguousHash.
    """
    if not text or not is_beginning(text):
        reason = f"{quoted(text)} begins no hash, which is {WIDTH} characters of a-z2-7"
        raise InvalidArgument("hash", reason)
    require_complete(catalog, history)
    fitting = catalog.changes.packages_of_prefix(text)
    some = dict(islice(sorted(fitting.items()), _MOST_CANDIDATES))
    # Of what is kept some may be of revisions that are no longer there.
    known = hash_histories(catalog, history, some)
    if len(known) > 1 or len(some) < len(fitting):
        found = islice(known.items(), _SHOWN_CANDIDATES)
        shown = {digest: versioned(it.name, it.version) for digest, it in found}
        num_fitting = len(known) + len(fitting) - len(some)
        raise AmbiguousHash(text, shown, num_fitting)
    return next(iter(known.values()), None)


def hash_histories(
    catalog: Catalog, history: History, named: Mapping[str, str]
) -> dict[str, HashHistory]:
    """Return the history of each hash that any revision had; ``named`` has the package of each."""
    require_complete(catalog, history)
    rows = catalog.changes.changes_of(named.values(), named)
    return spans.hash_histories(rows, named, history)


def package_timelines(
    catalog: Catalog, history: History, series: str, names: Iterable[str]
) -> dict[str, PackageTimeline]:
    """Return what became of packages in a series, without those of which no revision had any."""
    require_complete(catalog, history, series)
    rows = catalog.changes.changes_of(names)
    told = {
        name: packages.package_timeline(of_package, name, series, history)
        for name, of_package in _by_package(rows)
    }
    return {name: it for name, it in told.items() if it is not None}


def _by_package(rows: pa.Table) -> Iterator[tuple[str, pa.Table]]:
    """Yield the changes of each package, of rows that are sorted by package."""
    if not len(rows):
        return
    names = rows["name"].combine_chunks().dictionary_encode()
    starts = np.flatnonzero(np.diff(names.indices.to_numpy(), prepend=-1)).tolist()
    for name, (start, end) in zip(
        names.dictionary.to_pylist(), pairwise([*starts, len(rows)]), strict=True
    ):
        yield name, rows.slice(start, end - start)


def package_counts(
    catalog: Catalog, pairs: Iterable[Pair]
) -> dict[Pair, tuple[PackageCounts, ...]]:
    """Return what became of each package in some pairs; without those that are not kept."""
    found: dict[Pair, tuple[PackageCounts, ...]] = {}
    for rows in catalog.changes.comparisons(pairs, ["packages"]):
        found |= packages_of(rows)
    return found


def kept_stories(catalog: Catalog, told: Iterable[Neighbours]) -> dict[Pair, str]:
    """Return the stories of neighbours that are kept; those of others have to be made.

    So have all where the table of comparisons cannot be read.
    """
    by_pair = {it.pair: it for it in told}
    found: dict[Pair, str] = {}
    with suppress(CatalogError):
        for rows in catalog.changes.comparisons(by_pair, ["story"]):
            pairs = map(Pair, rows["base"].to_pylist(), rows["head"].to_pylist())
            # As bytes: others may have written what is no text.
            for pair, text in zip(pairs, rows["story"].cast(pa.binary()).to_pylist(), strict=True):
                if (html := from_text(by_pair[pair], text)) is not None:
                    found[pair] = html
    return found


def untold_pairs(catalog: Catalog, history: History, series: str | None = None) -> list[Pair]:
    """Return the pairs that feeds tell of, whose changes are kept but not their story."""
    names = history.series_names if series is None else [series]
    told = {it.pair: it for name in names for it in told_in(history, name)}
    kept = kept_stories(catalog, told.values())
    return [pair for pair in told if pair in catalog.counts and pair not in kept]


def count_returned(
    catalog: Catalog, history: History, series: str, pairs: Iterable[Pair]
) -> dict[RevisionInfo, growth.Counts]:
    """Return how many specs returned with the revisions of a series that some pairs lead to.

    They are counted by the reason that they are kept with.
    """
    require_complete(catalog, history, series)
    new = catalog.changes.comparisons(pairs, ["new_specs"])
    removed = catalog.changes.comparisons(pairs_of(history, series), ["removed_specs"])
    return growth.count_returned(new, removed, series, history)


def growth_of(catalog: Catalog, history: History, series: str) -> list[GrowthPoint]:
    """Return how a series grew, oldest first."""
    require_complete(catalog, history, series)
    return growth.growth(catalog.counts, series, history)


def growth_point(catalog: Catalog, history: History, revision: RevisionInfo) -> GrowthPoint:
    """Return what came and went with a revision; raises IncompleteHistory where it is not kept."""
    step = Neighbours(history.previous(revision), revision)
    if step.pair.base != step.pair.head and step.pair not in catalog.counts:
        require_complete(catalog, history, refs.series(revision.tag))
    return growth.growth_point(catalog.counts, step)


def holding(
    catalog: Catalog, history: History, hashes: Iterable[str], series: str | None
) -> list[RevisionInfo]:
    """Return the revisions that have all of the hashes, newest first; of one series or of all.

    Raises InvalidArgument for a text that is no hash.
    """
    wanted = set(hashes)
    for text in wanted:
        if len(text) != WIDTH or not is_beginning(text):
            reason = f"{quoted(text)} is no hash, which is {WIDTH} characters of a-z2-7"
            raise InvalidArgument("hashes", reason)
    require_complete(catalog, history)
    found = hash_histories(catalog, history, catalog.changes.packages_of(wanted))
    return spans.holding(found.values(), history, series) if len(found) == len(wanted) else []
