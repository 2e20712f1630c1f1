"""Verification of an entire catalog; each finding states a remedy.

Each content must have the bytes that were written, and its records the content's digest and the
counts of its revisions. The files of the history must have the bytes that were written.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import partial
from typing import Any, get_origin

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.delta import TableLog
from snapshots.catalog.history_tables import (
    HISTORY_TABLES,
    HOW_TO_MEND,
    HistoryTables,
)
from snapshots.catalog.specs_table import DamagedContent, SpecsTable, how_to_mend
from snapshots.catalog.storage import RESTORE, reason_of, translated
from snapshots.contents import Content
from snapshots.errors import CatalogError, NewerCatalog, NoCatalog, OlderCatalog
from snapshots.frames.columns import list_column_of
from snapshots.models import NOTHING, SPEC_FACTS, Dependency, Encoding, Fact, RevisionInfo, Spec
from snapshots.sources.reports import Progress, Report
from snapshots.spack.names import ROOT_STACK
from snapshots.tables import SPEC_ROWS, TABLES, split_by_cache
from snapshots.texts import short_digest
from snapshots.workers import mapping

# -- findings

FILL = "'cachelog upkeep' compares them"


class Finding(msgspec.Struct, frozen=True):
    """A finding; one that is no damage is informational."""

    place: str
    reason: str
    advice: str
    is_damage: bool = True

    def __str__(self) -> str:
        return f"{self.place}: {self.reason}; {self.advice}"


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


# -- records from rows


def content_of(rows: pa.Table) -> Content:
    """Return the content that was written as these rows; its digest is computed from them."""
    inside, outside = split_by_cache(rows)
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


class UnreadContent(msgspec.Struct, frozen=True):
    """A content, and the rows that name it."""

    digest: str
    rows: Sequence[RevisionInfo]
    how_to_mend: str


class Read(msgspec.Struct, frozen=True):
    """The findings about a content, and the number of its specs."""

    findings: Sequence[Finding]
    num_specs: int


def read_content(specs: SpecsTable, content: UnreadContent) -> Read:
    """Read a content, and compare it with the rows that name it."""
    place = f"content {short_digest(content.digest)}"
    if content.digest == NOTHING:
        return Read((), 0)
    try:
        with translated(place):
            rows = specs.opened(content.digest)(SPEC_ROWS.names)
        actual = content_of(rows)
        digest = actual.digest
    except DamagedContent as error:
        return Read([Finding(place, error.damage, content.how_to_mend)], 0)
    except CatalogError as error:
        return Read([Finding(place, error.reason, "try again")], 0)
    except (
        msgspec.MsgspecError,
        pa.ArrowException,
        AttributeError,
        TypeError,
        ValueError,
        KeyError,
    ) as error:
        reason = f"its rows are not specs: {reason_of(error)}"
        return Read([Finding(place, reason, _replace(content))], 0)
    return Read([*_wrong(place, content, actual, digest)], len(actual))


def _wrong(place: str, content: UnreadContent, actual: Content, digest: str) -> Iterator[Finding]:
    if digest != content.digest:
        reason = f"its rows have the digest {short_digest(digest)}"
        yield Finding(place, reason, _replace(content))
        return
    if twice := len(actual) - len({spec.hash for spec in actual.specs()}):
        reason = f"{twice:,} hashes appear in it twice"
        yield Finding(place, reason, _replace(content))
    for row in content.rows:
        of_row = f"revision {row.ref}"
        for name, said, count in _counts(row, actual):
            yield Finding(
                of_row,
                f"its row says {name} {said}, its content has {count}",
                f"remove it ('cachelog remove {row.ref}') and import the same again",
            )


def _counts(row: RevisionInfo, content: Content) -> Iterator[tuple[str, int | None, int | None]]:
    """Yield the name of each count that differs from the content's, with both values."""
    counts: Mapping[str, int | None] = {
        "num_packages": len(content.packages),
        "num_specs": len(content),
        "num_stacks": len(content.stacks - {ROOT_STACK}),
        "total_size": content.total_size(),
    }
    for name, count in counts.items():
        if getattr(row, name) != count:
            yield name, getattr(row, name), count


def _replace(content: UnreadContent) -> str:
    """Return the advice for a content that is as it was written, and wrong."""
    tags = sorted({row.tag for row in content.rows})
    named = ", ".join(tags[:3]) + (" and others" if len(tags) > 3 else "")
    return (
        f"remove its revisions ('cachelog remove {short_digest(content.digest)}', of {named}) "
        "and import the same again"
    )


# -- the entire catalog


SHARES = 30
"""Contents are in one of these shares, by their digests."""


def verify(
    location: str,
    *,
    shares: Set[int] | None = None,
    jobs: int | None = None,
    cluster: str | None = None,
    progress: Progress | None = None,
) -> Verified:
    """Read the entire catalog at a location, in ``jobs`` processes or on a cluster.

    With ``shares``, only the contents in these shares are read. ``jobs`` and ``cluster`` are those
    of ``mapping``. Raises NoCatalog, NewerCatalog, OlderCatalog,
    and CatalogError if the store itself fails.
    """
    with translated(location):
        verification = _Verification(location, shares, progress or Report().progress)
        return verification.run(jobs=jobs, cluster=cluster)


class _Verification:
    def __init__(self, location: str, shares: Set[int] | None, progress: Progress) -> None:
        self._catalog = Catalog(location)
        self._shares = shares
        self._progress = progress
        self._findings: list[Finding] = []
        self._num_specs = self._num_contents = 0

    def run(self, *, jobs: int | None, cluster: str | None) -> Verified:
        self._findings += self._broken_logs()
        try:
            self._catalog.refresh()
        except (NoCatalog, NewerCatalog, OlderCatalog):
            raise
        except CatalogError as error:
            reason = error.reason.removesuffix(f"; {RESTORE}").removesuffix(f" {RESTORE}")
            self._findings.append(Finding("revisions", reason, RESTORE))
        else:
            self._read_contents(jobs, cluster)
            self._findings += self._wrong_pairs()
        history = self._catalog.history
        return Verified(
            num_revisions=len(history.revisions),
            num_contents=self._num_contents,
            num_specs=self._num_specs,
            num_pairs=len(history.pairs),
            findings=tuple(sorted(dict.fromkeys(self._findings), key=_order)),
        )

    def _broken_logs(self) -> Iterator[Finding]:
        for name in TABLES:
            advice = HOW_TO_MEND if name in HISTORY_TABLES else RESTORE
            if path := TableLog(self._catalog.storage, name).broken_commit():
                yield Finding(f"log of {name}", f"{path} is not a commit of a Delta table", advice)

    def _read_contents(self, jobs: int | None, cluster: str | None) -> None:
        history, location = self._catalog.history, self._catalog.location
        rows: dict[str, list[RevisionInfo]] = {}
        for row in history.rows:
            rows.setdefault(row.digest, []).append(row)
        contents = [
            UnreadContent(digest, naming, how_to_mend(history, digest))
            for digest, naming in rows.items()
            if self._shares is None or int(digest[:8], 16) % SHARES in self._shares
        ]
        read_one = partial(read_content, SpecsTable(self._catalog.storage))
        self._progress("reading contents", 0, len(contents))
        with mapping(read_one, location, contents, jobs=jobs, cluster=cluster) as reads:
            for read in reads:
                self._num_contents += 1
                self._num_specs += read.num_specs
                self._findings += read.findings
                self._progress("reading contents", self._num_contents, len(contents))

    def _wrong_pairs(self) -> Iterator[Finding]:
        """Yield the damage of the tables of the history, and the number of missing pairs."""
        history = HistoryTables(self._catalog.storage)
        try:
            history.refresh()
            pairs = self._catalog.history.pairs
            if missing := sum(pair not in history.counts for pair in pairs):
                reason = f"{missing:,} of {len(pairs):,} pairs of neighbours are not compared yet"
                yield Finding("history", reason, FILL, is_damage=False)
            if not history.counts:
                return
            for table in (history.table, history.changes, history.hashes):
                table.check()
        except CatalogError as error:
            yield _damage(error.reason)


def _damage(reason: str) -> Finding:
    return Finding("history", reason.removesuffix(f"; {HOW_TO_MEND}"), HOW_TO_MEND)


def _order(finding: Finding) -> tuple[bool, str, str]:
    return not finding.is_damage, finding.place, finding.reason
