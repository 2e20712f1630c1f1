"""History queries of a catalog, answered from the stored changes between neighbours.

No content is read. The requested part of the history must be complete: if changes of a pair are not
stored, each query raises IncompleteHistory.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from itertools import chain, islice, pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from snapshots import errors, refs
from snapshots.arrays import Mask
from snapshots.catalog.catalog import Catalog
from snapshots.changes import stored_changes
from snapshots.changes.explanation import Explanation
from snapshots.changes.stack_changes import StackChangeKind
from snapshots.changes.stored_changes import pairs_in
from snapshots.frames.hashes import WIDTH, HashSet, is_beginning
from snapshots.frames.queries import read
from snapshots.frames.suggestions import Suggestion, SuggestionKind, Suggestions
from snapshots.history import History, Neighbours, Pair
from snapshots.models import RevisionInfo
from snapshots.refs import series
from snapshots.spack.names import is_name
from snapshots.texts import quoted, versioned
from snapshots.timelines import growth, packages, spans
from snapshots.timelines.absences import Absence, Loader, absence
from snapshots.timelines.availability import PackageCells
from snapshots.timelines.catalog_packages import CatalogPackage, catalog_package, catalog_packages
from snapshots.timelines.causes import SeriesCauses
from snapshots.timelines.growth import Counts, Growth, GrowthPoint, MainChanges
from snapshots.timelines.packages import PackageTimeline
from snapshots.timelines.spans import HashHistory
from snapshots.timelines.steps import Steps

_MAX_CANDIDATES = 50
_SHOWN_CANDIDATES = 20


def missing_pairs(
    catalog: Catalog, history: History, series: str | None = None, *, causes: bool = False
) -> list[Pair]:
    """Return the pairs whose changes are not stored, of one series or of all.

    With ``causes``, pairs whose causes are not stored are included.
    """
    stored = catalog.changes.explained if causes else catalog.changes.counts.keys()
    return [pair for pair in history.pairs_of(series) if pair not in stored]


def prepare(catalog: Catalog) -> None:
    """Load the data that all history queries share, so that the first one does not wait for it."""
    Steps.of(catalog.history, catalog.history.series_names)
    with suppress(errors.CatalogError):  # the first query reports it
        catalog.changes.open()


def require_complete(
    catalog: Catalog, history: History, series: str | None = None, *, causes: bool = False
) -> None:
    """Raise IncompleteHistory if changes, or with ``causes`` their causes, are not stored."""
    if missing := missing_pairs(catalog, history, series, causes=causes):
        num_pairs = len(history.pairs_of(series))
        raise errors.IncompleteHistory(len(missing), num_pairs)


# -- queries


class HistoryQueries:
    """History queries of a catalog, answered from the stored changes of neighbours.

    ``load`` returns the specs of contents. Methods that take a history raise IncompleteHistory
    if changes of it are missing. All methods raise CatalogError if the tables of the history cannot
    be read.
    """

    def __init__(self, catalog: Catalog, load: Loader) -> None:
        self._catalog = catalog
        self._load = load

    def hash_history(self, history: History, text: str) -> HashHistory | None:
        """Return the history of the hash with a prefix; None if no revision had one.

        Raises InvalidArgument for a text that is not a prefix of a hash, and AmbiguousHash.
        """
        if not text or not is_beginning(text):
            reason = f"{quoted(text)} is not a prefix of a hash ({WIDTH} characters of a-z2-7)"
            raise errors.InvalidArgument("hash", reason)
        require_complete(self._catalog, history)
        fitting = self._catalog.changes.packages_of_prefix(text)
        some = dict(islice(sorted(fitting.items()), _MAX_CANDIDATES))
        # Some of the stored changes may belong to removed revisions.
        histories = self.hash_histories(history, some.items())
        if len(histories) > 1 or len(some) < len(fitting):
            first = islice(histories.items(), _SHOWN_CANDIDATES)
            shown = {digest: versioned(of_hash.name, of_hash.version) for digest, of_hash in first}
            raise errors.AmbiguousHash(text, shown, len(histories) + len(fitting) - len(some))
        return next(iter(histories.values()), None)

    def hash_histories(
        self, history: History, hashes: Iterable[tuple[str, str]]
    ) -> dict[str, HashHistory]:
        """Return the history of each hash that a revision had; each precedes its package."""
        require_complete(self._catalog, history)
        packages = dict(hashes)
        rows = self._catalog.changes.changes_of(packages.values(), packages)
        return spans.hash_histories(rows, packages, history)

    def checksums(self, history: History, past: HashHistory) -> frozenset[str]:
        """Return the known checksums of the binaries that a hash had, in any series.

        They are read from the contents around each change of the hash, as only there a known
        checksum can become another.
        """
        rows = self._catalog.changes.changes_of([past.name], [past.hash])
        own = rows.filter(pc.equal(rows["hash"], past.hash))
        digests = {past.newest.digest}
        for pair in {*history.pairs}.intersection(pairs_in(own)):
            digests.update(pair)
        known = {revision.digest for revision in history.revisions}  # the first has none before it
        checksums = set()
        for digest in sorted(digests & known):
            frame = self._load.frame(digest)
            row = frame.hashes.find(past.hash)
            if row is not None:
                checksums.add(frame.spec(row).checksum)
        return frozenset(text for text in checksums if text is not None)

    def content_histories(
        self, history: History, digest: str, names: Iterable[str]
    ) -> dict[str, dict[str, HashHistory]]:
        """Return the history of each hash of some packages of a content, by package and hash."""
        frame = self._load.frame(digest)
        rows = range(len(frame))
        hashes = {
            name: [frame.hashes.at(row) for row in rows[frame.rows_of(name) or slice(0)]]
            for name in names
        }
        pairs = ((text, name) for name, texts in hashes.items() for text in texts)
        histories = self.hash_histories(history, pairs)
        return {
            name: {text: histories[text] for text in texts if text in histories}
            for name, texts in hashes.items()
        }

    def package_timelines(
        self, history: History, series: str, names: Iterable[str]
    ) -> dict[str, PackageTimeline]:
        """Return the timelines of packages in a series, without packages that it never had."""
        require_complete(self._catalog, history, series)
        return {
            name: timeline
            for name, rows in _by_package(self._catalog.changes.changes_of(names))
            if (timeline := packages.package_timeline(rows, name, series, history)) is not None
        }

    def package_timeline(self, history: History, series: str, name: str) -> PackageTimeline | None:
        """Return the timeline of a package in a series; None if the series never had it.

        An invalid package name or an unknown series is not looked up.
        """
        if not is_name(name) or not history.of_series(series):
            return None
        return self.package_timelines(history, series, [name]).get(name)

    def package_counts(
        self, pairs: Iterable[Pair]
    ) -> dict[Pair, tuple[stored_changes.PackageCounts, ...]]:
        """Return the counts of each changed package in pairs, without pairs that are not stored."""
        return stored_changes.packages_of(self._catalog.changes.comparisons(pairs, ["packages"]))

    def count_returned(
        self, history: History, series: str, pairs: Iterable[Pair]
    ) -> dict[RevisionInfo, Counts]:
        """Return the numbers of specs that returned in the revisions at the heads of some pairs.

        They are counted by the reason that is stored for them.
        """
        require_complete(self._catalog, history, series)
        new = self._catalog.changes.comparisons(pairs, ["new_specs"])
        removed = self._catalog.changes.comparisons(history.pairs_of(series), ["removed_specs"])
        return growth.count_returned(new, removed, series, history)

    def growth(self, history: History, series: str) -> Growth:
        """Return the growth of a series, oldest revision first."""
        require_complete(self._catalog, history, series)
        return growth.growth(self._catalog.changes.counts, series, history)

    def main_changes(self, history: History, series: str) -> dict[str, MainChanges]:
        """Return the main changes of each revision of a series but the first, by its ref."""
        require_complete(self._catalog, history, series, causes=True)
        rows = self._catalog.changes.comparisons(history.pairs_of(series), ["causes", "cells"])
        return growth.main_changes(self._catalog.changes.counts, rows, series, history)

    def causes(self, history: History, series: str) -> SeriesCauses:
        """Return the causes of all pairs of neighbours in a series."""
        require_complete(self._catalog, history, series, causes=True)
        pairs = history.pairs_of(series)
        rows = self._catalog.changes.comparisons(pairs, ["causes"])
        return SeriesCauses(rows, series, history)

    def package_causes(
        self, history: History, series: str | None, package_pairs: Collection[tuple[str, Pair]]
    ) -> dict[tuple[str, Pair], tuple[tuple[stored_changes.StoredCause, int], ...]]:
        """Return the main causes of packages' specs, each in a pair of one series or of any."""
        require_complete(self._catalog, history, series, causes=True)
        names_in: dict[Pair, list[str]] = {}
        for name, pair in package_pairs:
            names_in.setdefault(pair, []).append(name)
        rows = self._catalog.changes.comparisons(names_in, ["causes", "package_causes"])
        return {
            (name, pair): stored_changes.causes_of_package(rows, number, name)
            for number, pair in enumerate(pairs_in(rows))
            for name in names_in[pair]
        }

    def cells(self, history: History, name: str) -> PackageCells:
        """Return the cells in which a package was available, in every series."""
        require_complete(self._catalog, history, causes=True)
        rows = self._catalog.changes.comparisons(history.pairs, ["cells"])
        return PackageCells(rows, name, history)

    def absence(self, history: History, searched: RevisionInfo, query: str) -> Absence | None:
        """Return what is known of a query that matches no spec of a revision.

        None if it is not about a package that a revision had. Up to MAX_SEARCHED contents are read.
        """
        name = read(query).name
        package = None if name is None else self.catalog_package(history, name)
        if package is None:
            return None
        timelines = (
            self.package_timelines(history, one.series, [package.name])[package.name]
            for one in package.in_series
        )
        cells = self.cells(history, package.name)
        return absence(query, searched, package, timelines, cells, self._load)

    def all_packages(self, history: History) -> dict[str, CatalogPackage]:
        """Return all packages that any revision had, by name."""
        require_complete(self._catalog, history)
        rows = self._catalog.changes.comparisons(history.pairs, ["packages"])
        return catalog_packages(rows, history)

    def gone_names(self, history: History) -> Suggestions:
        """Return the packages and stacks that no newest revision of a series has."""
        gone = {
            (SuggestionKind.PACKAGE, name): (package.best.last_seen, package.best.num_specs)
            for name, package in self.all_packages(history).items()
            if package.is_gone
        }
        newest = (history.of_series(name)[0].digest for name in history.series_names)
        present = {*chain.from_iterable(self._load.frame(it).stacks.items for it in newest)}
        for name in history.series_names:
            changes = self.main_changes(history, name)
            for step in history.neighbours(name):
                stacks = changes[step.head.ref].stacks if step.base is not None else ()
                for stack in stacks:
                    is_gone = stack.kind is StackChangeKind.REMOVED and stack.name not in present
                    if is_gone and step.base is not None:
                        gone[SuggestionKind.STACK, stack.name] = step.base, stack.num_specs
        return Suggestions(
            Suggestion(kind, name, num_specs, last_in=revision.ref)
            for (kind, name), (revision, num_specs) in gone.items()
        )

    def catalog_package(self, history: History, name: str) -> CatalogPackage | None:
        """Return a package as ``all_packages`` does; None if no revision had it."""
        require_complete(self._catalog, history)
        return catalog_package(self._catalog.changes.changes_of([name]), name, history)

    def holding(
        self, history: History, hashes: Iterable[str], series: str | None = None
    ) -> list[RevisionInfo]:
        """Return the revisions that have all of the hashes, newest first, of one series or of all.

        Raises InvalidArgument for a text that is not a hash.
        """
        distinct = set(hashes)
        for text in distinct:
            if len(text) != WIDTH or not is_beginning(text):
                reason = f"{quoted(text)} is not a hash, which is {WIDTH} characters of a-z2-7"
                raise errors.InvalidArgument("hashes", reason)
        require_complete(self._catalog, history)
        histories = self.hash_histories(
            history, self._catalog.changes.packages_of(distinct).items()
        )
        if len(histories) < len(distinct):
            return []
        return spans.holding(histories.values(), history, series)

    def find_returned(
        self,
        history: History,
        explanation: Explanation,
        base: RevisionInfo,
        head: RevisionInfo,
        hash_set: Callable[[str], HashSet],
    ) -> Mask:
        """Return a mask of the rows of head that replaced no other spec and were there before.

        The revisions of head's series before base are searched, so that a hash that was added in
        between and remained has not returned. If base is of another series, or after head, those
        before head are. None is found unless their changes are stored. ``hash_set`` reads the
        hashes of a content.
        """
        frame, rows = explanation.head.frame, explanation.without_counterpart()
        mask = np.zeros(len(frame), np.bool_)
        revisions, before_base = history.earlier(head), history.earlier(base)
        is_next = series(base.tag) == series(head.tag) and len(before_base) < len(revisions)
        if is_next:
            revisions = [base, *before_base]
        digests = [revision.digest for revision in reversed(revisions)]
        pairs = {Pair(*both) for both in pairwise(digests) if len({*both}) > 1}
        with suppress(errors.CatalogError):
            if not (len(rows) and pairs <= self._catalog.changes.counts.keys()):
                return mask
            hashes = frame.hashes.at_rows(rows)
            removed = self._catalog.changes.comparisons(pairs, ["removed_specs"])
            were_there = growth.were_removed(removed, pa.chunked_array([hashes.texts], pa.string()))
            if digests and not is_next:  # the others of the last one were removed before
                were_there |= hash_set(digests[-1]).having(hashes)
            mask[rows[were_there]] = True
        return mask


def _by_package(rows: pa.Table) -> Iterator[tuple[str, pa.Table]]:
    """Yield the changes of each package; the rows are sorted by package."""
    names = rows["name"].combine_chunks().dictionary_encode()
    starts = np.flatnonzero(np.diff(names.indices.to_numpy(), prepend=-1)).tolist()
    for name, (start, end) in zip(
        names.dictionary.to_pylist(), pairwise([*starts, len(rows)]), strict=True
    ):
        yield name, rows.slice(start, end - start)


def growth_point(catalog: Catalog, history: History, revision: RevisionInfo) -> GrowthPoint:
    """Return the counts of a revision's changes; raises IncompleteHistory if they are missing."""
    step = Neighbours(history.previous(revision), revision)
    if step.pair.base != step.pair.head and step.pair not in catalog.changes.counts:
        require_complete(catalog, history, refs.series(revision.tag))
    return growth.growth_point(catalog.changes.counts, step)
