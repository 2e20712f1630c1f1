"""The history's tables must lead from content to content, and say what a comparison says.

By default the changes of each pair are applied: they must make of the hashes of base those of head,
and be as many as ``comparisons`` says. With ``deep`` each pair is compared anew, row by row.
"""

from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa
from deltalake.exceptions import TableNotFoundError

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.pairs.history_tables import HOW_TO_MEND
from snapshots.catalog.pairs.making import PairMaker, in_chains
from snapshots.catalog.store.failures import reason_of
from snapshots.catalog.store.parquet import from_parquet
from snapshots.catalog.store.storage import Storage
from snapshots.catalog.tables.delta import Table
from snapshots.catalog.tables.listed_files import of_schema, sizes_of
from snapshots.catalog.verifying.findings import FILL, Finding
from snapshots.catalog.verifying.hash_sums import SetOfHashes
from snapshots.catalog.verifying.kept_pairs import (
    KeptPairs,
    SummedUp,
    numbers_of_named,
    rows_of_pairs,
    summed_up,
)
from snapshots.changes.kept_changes import KeptChanges, Numbers, PairCounts, comparisons_table
from snapshots.errors import CatalogError
from snapshots.history import Pair
from snapshots.sources.reports import Progress
from snapshots.tables import CHANGES, HASHES, NULLABLE, READ_ON_DEMAND
from snapshots.wording import short_pair

_PLACE = "history"
_SHOWN = 20


class HistoryCheck:
    """Verifies the history of a catalog that was just refreshed.

    ``hashes`` are those of the contents that could be read. All that does not fit is told pair by
    pair, up to some.
    """

    def __init__(
        self,
        catalog: Catalog,
        storage: Storage,
        hashes: Mapping[str, SetOfHashes],
        progress: Progress,
    ) -> None:
        self._catalog = catalog
        self._storage = storage
        self._hashes = hashes
        self._progress = progress

    def run(self, *, deep: bool) -> Iterator[Finding]:
        """Yield what is found."""
        try:
            counts = self._catalog.counts
        except CatalogError as error:
            yield _damage(error.reason)
            return
        pairs = self._catalog.history.pairs
        if missing := sum(pair not in counts for pair in pairs):
            reason = f"{missing:,} of {len(pairs):,} pairs of neighbours are not compared yet"
            yield Finding(place=_PLACE, reason=reason, advice=FILL, is_damage=False)
        if not counts:
            return
        try:
            kept = self._kept(counts)
            yield from _some(self._misfits(kept, counts))
            yield from self._unfound(kept)
            if deep:
                yield from _some(self._other_than_compared(kept, counts))
        except CatalogError as error:
            yield _damage(error.reason)

    def _kept(self, counts: Mapping[Pair, PairCounts]) -> KeptPairs:
        kept = KeptPairs()
        # Other rows are of an import that was killed, or is running; or nobody asks for them.
        for path, rows in self._files("changes", CHANGES):
            kept.take(path, rows_of_pairs(rows, counts))
        doubtful = {
            pair for pair, found in kept.copies() if self._misfit(pair, found, counts[pair])
        }
        if doubtful:
            files = self._files("changes", CHANGES)
            found = [rows_of_pairs(rows, doubtful) for _, rows in files]
            rows = pa.concat_tables([CHANGES.empty_table(), *found])
            kept.replace(doubtful, rows.group_by(CHANGES.names).aggregate([]).select(CHANGES.names))
        return kept

    def _misfits(self, kept: KeptPairs, counts: Mapping[Pair, PairCounts]) -> Iterator[Finding]:
        seen = set()
        for pair, found in kept.copies():
            seen.add(pair)
            if reason := self._misfit(pair, found, counts[pair]):
                yield _damage(f"{short_pair(*pair)}: {reason}")
        for pair, of_pair in counts.items():
            specs = (of_pair.specs_added, of_pair.specs_removed, of_pair.specs_changed)
            if pair not in seen and any(specs):
                yield _damage(f"{short_pair(*pair)}: its changes are missing")

    def _misfit(self, pair: Pair, found: SummedUp, counts: PairCounts) -> str | None:
        base, head = (self._hashes.get(digest) for digest in pair)
        if base and head and base.after(found.added, found.removed) != head:
            return "its changes do not lead from the one to the other"
        said = (counts.specs_added, counts.specs_removed, counts.specs_changed)
        if said != (found.added.size, found.removed.size, found.changed.size):
            return "its changes are not as many as comparisons says"
        return None

    def _unfound(self, kept: KeptPairs) -> Iterator[Finding]:
        wanted: Numbers = np.unique(np.concatenate([np.empty(0, np.uint64), *kept.added]))
        for _, rows in self._files("hashes", HASHES):
            wanted = np.setdiff1d(wanted, numbers_of_named(rows))
        if len(wanted):
            yield _damage(f"{len(wanted):,} hashes that changes has are missing in hashes")

    def _other_than_compared(
        self, kept: KeptPairs, counts: Mapping[Pair, PairCounts]
    ) -> Iterator[Finding]:
        copies: dict[Pair, list[SummedUp]] = {}
        for pair, found in kept.copies():
            copies.setdefault(pair, []).append(found)
        asked = [pair for pair in self._catalog.history.pairs if pair in counts]
        maker = PairMaker(self._catalog.load_side)
        done = 0
        for chain in in_chains(asked):
            for made in maker.make(chain):
                done += 1
                self._progress("comparing neighbours", done, len(asked))
                rows = summed_up(made.rows)
                found_rows = copies.get(made.pair) or [summed_up(CHANGES.empty_table())]
                if any(it != rows for it in found_rows):
                    yield _damage(f"{short_pair(*made.pair)}: a comparison finds other changes")
                elif made.counts != counts[made.pair] or not self._says_the_same(made):
                    yield _damage(f"{short_pair(*made.pair)}: a comparison counts other changes")

    def _says_the_same(self, made: KeptChanges) -> bool:
        """Tell whether each row of a pair in ``comparisons`` has what was made of it now."""
        # Of stories, which feeds can do without, there may be none, and older ones in other words.
        columns = [name for name in READ_ON_DEMAND if name not in NULLABLE]
        expected = comparisons_table([made], "", None).select(["base", "head", *columns])
        kept = self._catalog.changes.comparisons([made.pair], columns)
        return all(rows.equals(pa.concat_tables([expected] * len(rows))) for rows in kept)

    def _files(self, name: str, schema: pa.Schema) -> Iterator[tuple[str, pa.Table]]:
        table = Table(self._storage, name, schema)
        try:
            table.current()
        except TableNotFoundError:
            return
        sizes = sizes_of(table.files())
        for number, (path, size) in enumerate(sizes.items(), 1):
            self._progress(f"reading {name}", number, len(sizes))
            whole = f"{name}/{path}"
            try:
                rows = from_parquet(whole, self._storage.read(whole, size))
                rows = of_schema(whole, rows, schema)
            except (pa.ArrowInvalid, OSError) as error:
                raise CatalogError(self._storage.location.text, reason_of(error)) from None
            yield path, rows


def _some(found: Iterator[Finding]) -> Iterator[Finding]:
    """Yield some findings, and how many more there are."""
    more = 0
    for number, finding in enumerate(found):
        if number < _SHOWN:
            yield finding
        else:
            more += 1
    if more:
        yield _damage(f"{more:,} pairs more like the last ones")


def _damage(reason: str) -> Finding:
    reason = reason.removesuffix(f"; {HOW_TO_MEND}")
    return Finding(place=_PLACE, reason=reason, advice=HOW_TO_MEND)
