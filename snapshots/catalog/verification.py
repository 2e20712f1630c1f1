"""Verification of an entire catalog; each finding states a remedy."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, get_origin

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from deltalake.exceptions import TableNotFoundError

from snapshots import tables
from snapshots.catalog import delta, history_tables
from snapshots.catalog.catalog import Catalog
from snapshots.catalog.pairs import PairFailures, compared
from snapshots.catalog.parquet import from_parquet
from snapshots.catalog.recipes_tables import RECIPES_TABLES
from snapshots.catalog.removal import Contents, unnamed
from snapshots.catalog.specs_table import DamagedContent, SpecsTable, how_to_mend
from snapshots.catalog.storage import RESTORE, Storage, reason_of, translated
from snapshots.changes import stored_changes
from snapshots.changes.diff import SpecChangeKind
from snapshots.contents import Content
from snapshots.errors import CatalogError, NewerCatalog, NoCatalog
from snapshots.frames.columns import list_column_of
from snapshots.history import Pair
from snapshots.models import NOTHING, SPEC_FACTS, Dependency, Encoding, Fact, RevisionInfo, Spec
from snapshots.sources.reports import Progress, Report
from snapshots.spack.names import ROOT_STACK
from snapshots.texts import counted, short_digest, short_pair, size
from snapshots.workers import mapping

# -- findings

VACUUM = "'cachelog vacuum' deletes it later"
LIST_AGAIN = "'cachelog vacuum' lists it again"
IMPORT_AGAIN = "what was published is there; import again what was not"
FILL = "'cachelog history fill' compares them"


class Finding(msgspec.Struct, frozen=True):
    """A finding; one that is no damage is informational."""

    place: str
    reason: str
    advice: str
    is_damage: bool = True

    def __str__(self) -> str:
        return f"{self.place}: {self.reason}; {self.advice}"


# -- sets of hashes

Sums = npt.NDArray[np.uint64]
"""The number of hashes in a set, and the sum of their numbers, modulo 2^64.

Different sets have the same sum with a probability of 2^-64. Sums are added and subtracted when
hashes are added to a set and removed from it.
"""


def sum_of(hashes: Iterable[str]) -> Sums:
    """Return the sums of hashes."""
    numbers = stored_changes.numbers_of(pa.chunked_array([pa.array(hashes, pa.string())]))
    return np.array([len(numbers), numbers.sum(dtype=np.uint64)], np.uint64)


# -- stored pairs

# If two importers stored the same pair, the table contains its rows twice; other tools may
# duplicate rows further. Only the set of a pair's rows matters: pairs with seemingly too many rows
# are read again, and duplicates are counted once.

_SEPARATOR = "\0"
_OF_ROW = [name for name in tables.CHANGES.names if name not in ("base", "head")]
_KINDS = (SpecChangeKind.ADDED, SpecChangeKind.REMOVED, SpecChangeKind.CHANGED)
_ADDED, _REMOVED, _CHANGED, _UNKNOWN = range(4)

PairSums = npt.NDArray[np.uint64]
"""The changes of a pair: the sums of its hashes by kind, followed by those of its rows."""


class StoredPairs:
    """Accumulates the rows of ``changes`` file by file; ``sums`` contains those of each pair.

    ``added`` are the numbers of all hashes that any pair added, each combined with the name of its
    package, unsorted and with duplicates.
    """

    def __init__(self) -> None:
        self.sums: dict[Pair, PairSums] = {}
        self.added: list[stored_changes.Numbers] = []

    def take(self, rows: pa.Table) -> None:
        """Add the rows of a file."""
        pairs = history_tables.texts_in(rows).combine_chunks().dictionary_encode()
        sums = np.zeros((len(pairs.dictionary), *_NO_SUMS.shape), np.uint64)
        of_pair = np.asarray(pairs.indices)
        known_kinds = pa.array([kind.value for kind in _KINDS])
        of_kind = np.asarray(pc.index_in(rows["kind"], known_kinds).fill_null(_UNKNOWN))
        np.add.at(sums[..., 0], (of_pair, of_kind), np.uint64(1))
        np.add.at(sums[..., 1], (of_pair, of_kind), stored_changes.numbers_of(rows["hash"]))
        texts = pc.binary_join_element_wise(*(rows[name] for name in _OF_ROW), _SEPARATOR)
        np.add.at(sums[:, -1, 1], of_pair, stored_changes.numbers_of(texts))
        for text, of_text in zip(pairs.dictionary.to_pylist(), sums, strict=True):
            pair = history_tables.pair_of(text)
            self.sums[pair] = self.sums.get(pair, _NO_SUMS) + of_text
        is_added = pc.equal(rows["kind"], SpecChangeKind.ADDED.value)
        self.added.append(numbers_of_named(rows.filter(is_added)))


_CHANGES = [name for name in tables.READ_ON_DEMAND if name not in tables.NULLABLE]
# Feeds do not need stories, and older stories have another wording.
_CAUSES = [name for name in tables.NULLABLE if name != "story"]
_NO_SUMS = np.zeros((len(_KINDS) + 2, 2), np.uint64)


def rows_of_pairs(rows: pa.Table, pairs: Collection[Pair]) -> pa.Table:
    """Return the rows of ``changes`` that belong to the pairs."""
    return rows.filter(history_tables.are_of(rows, history_tables.texts_of(pairs)))


def numbers_of_named(rows: pa.Table) -> stored_changes.Numbers:
    """Return the number of each hash combined with the name of its package."""
    return stored_changes.numbers_of(
        pc.binary_join_element_wise(rows["hash"], rows["name"], _SEPARATOR)
    )


def sums_of_rows(rows: pa.Table) -> PairSums:
    """Return the sums of the rows of one pair."""
    pairs = StoredPairs()
    pairs.take(rows)
    return next(iter(pairs.sums.values()), _NO_SUMS)


# -- records from rows


def content_of(rows: pa.Table) -> Content:
    """Return the content that was written as these rows; its digest is computed from them."""
    inside, outside = tables.split_by_cache(rows)
    return Content.of(_specs(inside), _specs(outside))


def _specs(rows: pa.Table) -> Iterable[Spec]:
    columns = [_values(fact, rows[fact.name]) for fact in SPEC_FACTS.values()]
    for values in zip(*columns, strict=True):
        yield Spec(**dict(zip(SPEC_FACTS, values, strict=True)))


def _values(fact: Fact, column: pa.ChunkedArray) -> Sequence[Any]:
    if fact.encoding is Encoding.EDGES:
        return _edges(column.combine_chunks())
    if get_origin(fact.value_type) is tuple:
        return _lists(column)
    values: list[Any] = column.to_pylist()
    return values


def _lists(column: pa.ChunkedArray) -> list[Any]:
    lists = list_column_of(column)
    return [lists.values[code] for code in lists.codes.tolist()]


def _edges(lists: pa.ListArray) -> list[Any]:
    flat = lists.flatten()
    fields = [flat.field(name) for name in Dependency.__struct_fields__]
    parts = [
        _lists(pa.chunked_array([column])) if pa.types.is_list(column.type) else column.to_pylist()
        for column in fields
    ]
    edges = map(Dependency, *parts)
    lengths = pc.list_value_length(lists).to_pylist()
    return [
        None if length is None else tuple(next(edges) for _ in range(length)) for length in lengths
    ]


# -- contents

# The bytes must be those that were written, the rows must be decodable, and the resulting records
# must have the content's digest.


class UnreadContent(msgspec.Struct, frozen=True):
    """A content, its files if they are known, and the rows that name it."""

    digest: str
    files: Sequence[tables.StoredFile] | None
    rows: Sequence[RevisionInfo]
    how_to_mend: str


class Read(msgspec.Struct, frozen=True):
    """The findings about a content; its hashes, if it could be read."""

    digest: str
    findings: Sequence[Finding]
    hashes: Sums | None
    num_specs: int


def read_content(specs: SpecsTable, content: UnreadContent) -> Read:
    """Read a content, and compare it with the rows that name it."""
    place = f"content {short_digest(content.digest)}"
    try:
        with translated(place):
            rows = specs.opened(content.digest, content.files)(tables.SPEC_ROWS.names)
        actual = content_of(rows)
        digest, hashes = actual.digest, sum_of(spec.hash for spec in actual.specs())
    except DamagedContent as error:
        if content.digest == NOTHING:
            return Read(NOTHING, (), sum_of([]), 0)
        return _unreadable(content, Finding(place, error.damage, content.how_to_mend))
    except CatalogError as error:
        return _unreadable(content, Finding(place, error.reason, "try again"))
    except (
        msgspec.MsgspecError,
        pa.ArrowException,
        AttributeError,
        TypeError,
        ValueError,
        KeyError,
    ) as error:
        reason = f"its rows are not specs: {reason_of(error)}"
        return _unreadable(content, Finding(place, reason, _replace(content)))
    findings = [*_wrong(place, content, actual, digest)]
    return Read(content.digest, findings, hashes, len(actual))


def _unreadable(content: UnreadContent, finding: Finding) -> Read:
    return Read(content.digest, (finding,), None, 0)


def _wrong(place: str, content: UnreadContent, actual: Content, digest: str) -> Iterator[Finding]:
    if digest != content.digest:
        reason = f"its rows have the digest {short_digest(digest)}"
        yield Finding(place, reason, _replace(content))
        return
    if twice := len(actual) - len({spec.hash for spec in actual.specs()}):
        reason = f"{twice:,} hashes appear in it twice"
        yield Finding(place, reason, _replace(content))
    for row in content.rows:
        of_row = f"revision {row.tag} of {row.taken_at:%Y-%m-%d}"
        for name, said, count in _counts(row, actual):
            yield Finding(
                of_row,
                f"its row says {name} {said}, its content has {count}",
                f"remove it ('cachelog remove {row.tag}@{row.taken_at:%Y-%m-%d}') and import the "
                "same again",
            )


def _counts(row: RevisionInfo, content: Content) -> Iterator[tuple[str, int | None, int | None]]:
    """Yield the name of each count that differs from the content's, with both values."""
    num_stacks = len(content.stacks - {ROOT_STACK})
    # Older rows include root in the count.
    if row.num_stacks == len(content.stacks):
        num_stacks = row.num_stacks
    counts: Mapping[str, int | None] = {
        "num_packages": len(content.packages),
        "num_specs": len(content),
        "num_stacks": num_stacks,
        "total_size": content.total_size(),
    }
    for name, count in counts.items():
        if getattr(row, name) != count:
            yield name, getattr(row, name), count


def _replace(content: UnreadContent) -> str:
    tags = sorted({row.tag for row in content.rows})
    named = ", ".join(tags[:3]) + (" and others" if len(tags) > 3 else "")
    return (
        f"remove its revisions ('cachelog remove {short_digest(content.digest)}', of {named}) "
        "and import the same again"
    )


# -- history

# By default the changes of each pair are applied: they must lead from the hashes of base to those
# of head, and match the counts in `comparisons`. With `deep`, each pair is also compared again, row
# by row.

_PLACE = "history"
_SHOWN = 20


class HistoryCheck(msgspec.Struct, frozen=True, eq=False):
    """Verifies the history of a catalog that was just refreshed.

    ``hashes`` are those of the contents that could be read. Findings are reported per pair, up to a
    limit.
    """

    catalog: Catalog
    storage: Storage
    hashes: Mapping[str, Sums]
    progress: Progress

    def run(self, *, deep: bool) -> Iterator[Finding]:
        """Yield the findings."""
        try:
            counts = self.catalog.changes.counts
        except CatalogError as error:
            yield _damage(error.reason)
            return
        pairs = self.catalog.history.pairs
        if missing := sum(pair not in counts for pair in pairs):
            reason = f"{missing:,} of {len(pairs):,} pairs of neighbours are not compared yet"
            yield Finding(_PLACE, reason, FILL, is_damage=False)
        if not counts:
            return
        try:
            stored = self._stored(counts)
            yield from _first_findings(self._misfits(stored, counts))
            yield from self._missing_hashes(stored)
            if deep:
                yield from _first_findings(self._other_changes(stored, counts))
        except CatalogError as error:
            yield _damage(error.reason)

    def _stored(self, counts: Mapping[Pair, stored_changes.PairCounts]) -> StoredPairs:
        stored = StoredPairs()
        # Other rows belong to a killed or running import, or to former neighbours.
        for rows in self._files("changes", tables.CHANGES):
            stored.take(rows_of_pairs(rows, counts))
        doubtful = {
            pair for pair, sums in stored.sums.items() if self._misfit(pair, sums, counts[pair])
        }
        if doubtful:
            files = self._files("changes", tables.CHANGES)
            rows = pa.concat_tables([rows_of_pairs(rows, doubtful) for rows in files])
            for pair in doubtful:
                del stored.sums[pair]
            stored.take(
                rows.group_by(tables.CHANGES.names).aggregate([]).select(tables.CHANGES.names)
            )
        return stored

    def _misfits(
        self, stored: StoredPairs, counts: Mapping[Pair, stored_changes.PairCounts]
    ) -> Iterator[Finding]:
        for pair, sums in stored.sums.items():
            if reason := self._misfit(pair, sums, counts[pair]):
                yield _damage(f"{short_pair(*pair)}: {reason}")
        for pair, of_pair in counts.items():
            specs = (of_pair.specs_added, of_pair.specs_removed, of_pair.specs_changed)
            if pair not in stored.sums and any(specs):
                yield _damage(f"{short_pair(*pair)}: its changes are missing")

    def _misfit(self, pair: Pair, sums: PairSums, counts: stored_changes.PairCounts) -> str | None:
        base, head = (self.hashes.get(digest) for digest in pair)
        if (
            base is not None
            and head is not None
            and not np.array_equal(base + sums[_ADDED] - sums[_REMOVED], head)
        ):
            return "its changes do not lead from the one to the other"
        said = [counts.specs_added, counts.specs_removed, counts.specs_changed]
        if said != sums[: len(_KINDS), 0].tolist():
            return "its changes are not as many as comparisons says"
        return None

    def _missing_hashes(self, stored: StoredPairs) -> Iterator[Finding]:
        missing: stored_changes.Numbers = np.unique(
            np.concatenate([np.empty(0, np.uint64), *stored.added])
        )
        for rows in self._files("hashes", tables.HASHES):
            missing = np.setdiff1d(missing, numbers_of_named(rows))
        if len(missing):
            yield _damage(f"{len(missing):,} hashes that changes has are missing in hashes")

    def _other_changes(
        self, stored: StoredPairs, counts: Mapping[Pair, stored_changes.PairCounts]
    ) -> Iterator[Finding]:
        pairs = [pair for pair in self.catalog.history.pairs if pair in counts]
        made = compared(pairs, self.catalog.reader().side, PairFailures(), {})
        for done, computed in enumerate(made, 1):
            self.progress("comparing neighbours", done, len(pairs))
            expected = sums_of_rows(computed.rows)
            if not np.array_equal(stored.sums.get(computed.pair, _NO_SUMS), expected):
                yield _damage(f"{short_pair(*computed.pair)}: a comparison finds other changes")
            elif computed.counts != counts[computed.pair] or not self._agrees(computed, _CHANGES):
                yield _damage(f"{short_pair(*computed.pair)}: a comparison counts other changes")
            elif not self._agrees(computed, _CAUSES):
                yield _damage(f"{short_pair(*computed.pair)}: a comparison finds other causes")

    def _agrees(self, computed: stored_changes.StoredChanges, columns: Sequence[str]) -> bool:
        """Return whether all rows of a pair in ``comparisons`` have the values computed now.

        If causes are compared, rows without causes, or with those of another version, are skipped.
        """
        expected = stored_changes.comparisons_table([computed], "", None).select(
            ["base", "head", *columns]
        )
        for rows in self.catalog.changes.comparisons([computed.pair], columns):
            if "causes_format" in columns:
                rows = rows.filter(pc.equal(rows["causes_format"], stored_changes.CAUSES_FORMAT))
            if len(rows) and not rows.equals(pa.concat_tables([expected] * len(rows))):
                return False
        return True

    def _files(self, name: str, schema: pa.Schema) -> Iterator[pa.Table]:
        table = delta.CatalogTable(self.storage, name, schema)
        try:
            table.current()
        except TableNotFoundError:
            return
        files = table.files()
        for number, file in enumerate(files, 1):
            self.progress(f"reading {name}", number, len(files))
            path = f"{name}/{file.path}"
            try:
                yield delta.of_schema(
                    path, from_parquet(path, self.storage.read(path, file.size)), schema
                )
            except (pa.ArrowInvalid, OSError) as error:
                raise self.storage.error(reason_of(error)) from None


def _first_findings(findings: Iterator[Finding]) -> Iterator[Finding]:
    """Yield the first findings, and one with the number of the others."""
    more = 0
    for number, finding in enumerate(findings):
        if number < _SHOWN:
            yield finding
        else:
            more += 1
    if more:
        yield _damage(f"{more:,} pairs more like the last ones")


def _damage(reason: str) -> Finding:
    reason = reason.removesuffix(f"; {history_tables.HOW_TO_MEND}")
    return Finding(_PLACE, reason, history_tables.HOW_TO_MEND)


# -- the entire catalog

_TABLES = ("revisions", "specs", *history_tables.HISTORY_TABLES, *RECIPES_TABLES)


class Verified(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers of verified objects, and the findings, damage first."""

    num_revisions: int
    num_contents: int
    num_specs: int
    num_pairs: int
    findings: tuple[Finding, ...]

    @property
    def is_sound(self) -> bool:
        """Whether nothing is damaged."""
        return not any(finding.is_damage for finding in self.findings)


def verify(
    location: str,
    *,
    deep: bool = False,
    repair: bool = False,
    jobs: int | None = None,
    cluster: str | None = None,
    progress: Progress | None = None,
) -> Verified:
    """Read the entire catalog at a location, in ``jobs`` processes or on a cluster.

    ``jobs`` and ``cluster`` are those of ``mapping``. With ``deep``, all neighbours are compared
    again. With ``repair``, the unreadable end of a log is removed first, if nothing depends on it.
    Raises NoCatalog, NewerCatalog, and CatalogError if the store itself fails.
    """
    with translated(location):
        verification = _Verification(location, progress or Report().progress)
        if repair:
            verification.repair()
        return verification.run(deep=deep, jobs=jobs, cluster=cluster)


class _Verification:
    def __init__(self, location: str, progress: Progress) -> None:
        self._catalog = Catalog(location)
        self._contents = Contents(location)
        self._storage = self._contents.storage
        self._progress = progress
        self._findings: list[Finding] = []
        self._num_specs = self._num_contents = 0

    def repair(self) -> None:
        """Remove what ``droppable`` returns for each table, and record that."""
        for name in _TABLES:
            if path := delta.droppable(self._storage, name):
                delta.drop(self._storage, path)
                reason = f"{path} was unreadable, and is dropped"
                self._findings.append(
                    Finding(f"log of {name}", reason, IMPORT_AGAIN, is_damage=False)
                )

    def run(self, *, deep: bool, jobs: int | None, cluster: str | None) -> Verified:
        self._findings += self._broken_logs()
        try:
            self._catalog.refresh()
        except (NoCatalog, NewerCatalog):
            raise
        except CatalogError as error:
            advice = (
                delta.DROP + RESTORE if error.reason.endswith(delta.DROP + RESTORE) else RESTORE
            )
            reason = error.reason.removesuffix(f"; {advice}")
            self._findings.append(Finding("revisions", reason, advice))
        else:
            hashes = self._read_contents(jobs, cluster)
            self._findings += self._inconsistencies()
            check = HistoryCheck(self._catalog, self._storage, hashes, self._progress)
            self._findings += check.run(deep=deep)
        history = self._catalog.history
        return Verified(
            num_revisions=len(history.revisions),
            num_contents=self._num_contents,
            num_specs=self._num_specs,
            num_pairs=len(history.pairs),
            findings=tuple(sorted(dict.fromkeys(self._findings), key=_order)),
        )

    def _broken_logs(self) -> Iterator[Finding]:
        for name in _TABLES:
            if not self._storage.sizes(f"{name}/_delta_log"):
                continue  # there is no such table; refresh reports that if it is damage
            if reason := delta.what_is_broken(self._storage, name):
                advice = (
                    history_tables.HOW_TO_MEND if name in history_tables.HISTORY_TABLES else RESTORE
                )
                advice = delta.what_to_do(self._storage, name, reason, advice)
                yield Finding(f"log of {name}", reason, advice)

    def _read_contents(self, jobs: int | None, cluster: str | None) -> dict[str, Sums]:
        history, location = self._catalog.history, self._catalog.location
        rows: dict[str, list[RevisionInfo]] = {}
        for row in history.rows:
            rows.setdefault(row.digest, []).append(row)
        contents = [
            UnreadContent(
                digest, self._catalog.files_of(digest) or None, naming, how_to_mend(history, digest)
            )
            for digest, naming in rows.items()
        ]
        read_one = partial(read_content, SpecsTable(self._storage))
        hashes = {NOTHING: sum_of([])}
        self._progress("reading contents", 0, len(contents))
        with mapping(read_one, location, contents, jobs=jobs, cluster=cluster) as reads:
            for read in reads:
                self._num_contents += 1
                self._num_specs += read.num_specs
                self._findings += read.findings
                if read.hashes is not None:
                    hashes[read.digest] = read.hashes
                self._progress("reading contents", self._num_contents, len(contents))
        return hashes

    def _inconsistencies(self) -> Iterator[Finding]:
        """Yield inconsistencies between named, listed and existing files of contents."""
        try:
            listed = self._contents.listed()
        except TableNotFoundError:
            listed = []
        except CatalogError:
            return  # its log is broken, which is reported already
        named = self._contents.named()
        digests = {item.partition for item in listed}
        if unlisted := [item for item in named if item != NOTHING and item not in digests]:
            reason = f"{counted(len(unlisted), 'content')} that rows name: only cachelog finds them"
            yield Finding("specs", reason, LIST_AGAIN, is_damage=False)
        if unused := unnamed(listed, named):
            taken = size(sum(item.size for item in unused))
            reason = f"{counted(len(unused), 'file')} of contents that no row names, {taken}"
            yield Finding("specs", reason, VACUUM, is_damage=False)
        known_paths = {item.path for item in listed} | self._contents.named_files()
        existing = self._storage.data_files("specs", (".parquet", ".tmp"))
        stray = [file.size for path, file in existing.items() if path not in known_paths]
        if stray:
            reason = f"{counted(len(stray), 'file')} out of use, {size(sum(stray))}"
            yield Finding("specs", reason, VACUUM, is_damage=False)


def _order(finding: Finding) -> tuple[bool, str, str]:
    return not finding.is_damage, finding.place, finding.reason
