"""Verification of an entire catalog; each finding states a remedy.

The log of each table must be readable, and each file must have the bytes that were written. The
rows of each content must have its digest, and the counts that its revisions state.
"""

from collections.abc import Iterable, Iterator, Sequence, Set
from functools import partial
from typing import Any, get_origin

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
from deltalake.exceptions import TableNotFoundError

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.delta import CatalogTable
from snapshots.catalog.history_tables import HISTORY_TABLES, HOW_TO_MEND
from snapshots.catalog.specs_table import IMPORT_AGAIN, DamagedContent, SpecsTable
from snapshots.catalog.storage import RESTORE, reason_of, translated
from snapshots.contents import Content
from snapshots.errors import CatalogError
from snapshots.frames.columns import list_column_of
from snapshots.models import NOTHING, SPEC_FACTS, Dependency, Encoding, Fact, RevisionInfo, Spec
from snapshots.sources.reports import Progress, Report
from snapshots.spack.names import ROOT_STACK
from snapshots.tables import SPEC_ROWS, TABLES, split_by_cache
from snapshots.texts import few, short_digest
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


class Read(msgspec.Struct, frozen=True):
    """The finding about a content, if there is one, and the number of its specs."""

    num_specs: int
    finding: Finding | None = None


def read_content(specs: SpecsTable, revisions: Sequence[RevisionInfo]) -> Read:
    """Read the content of revisions, and compare its digest and their counts."""
    digest = revisions[0].digest
    place = f"content {short_digest(digest)}"
    if digest == NOTHING:
        return Read(0)
    try:
        with translated(place):
            rows = specs.opened(digest)(SPEC_ROWS.names)
        actual = content_of(rows)
        if actual.digest != digest:
            reason = f"its rows have the digest {short_digest(actual.digest)}"
        elif wrong := next(filter(None, (_wrong_count(one, actual) for one in revisions)), None):
            reason = wrong
        else:
            return Read(len(actual))
    except DamagedContent as error:
        return Read(0, Finding(place, error.damage, IMPORT_AGAIN))
    except CatalogError as error:
        return Read(0, Finding(place, error.reason, "try again"))
    except (msgspec.MsgspecError, AttributeError, TypeError, ValueError) as error:
        reason = f"its rows are not specs: {reason_of(error)}"
    tags = few(list(dict.fromkeys(one.tag for one in revisions)), 3)
    remove = f"remove its revisions ('cachelog remove {short_digest(digest)}', of {tags})"
    return Read(0, Finding(place, reason, f"{remove} and import the same again"))


def _wrong_count(revision: RevisionInfo, content: Content) -> str | None:
    """Return the first count of a revision that is not that of its content, in words."""
    counts = {
        "num_packages": len(content.packages),
        "num_specs": len(content),
        "num_stacks": len(content.stacks - {ROOT_STACK}),
        "total_size": content.total_size(),
    }
    for name, count in counts.items():
        if (stated := getattr(revision, name)) != count:
            return f"{revision.ref} states {name} {stated}, its content has {count}"
    return None


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
    of ``mapping``. Raises NoCatalog, NewerCatalog, OlderCatalog, and CatalogError if the store
    itself fails.
    """
    catalog = Catalog(location)
    with translated(location):
        findings = [*_broken_tables(catalog)]
        reads: list[Read] = []
        if not any(finding.place in ("revisions", "specs") for finding in findings):
            catalog.refresh()
            findings += _missing_history(catalog)
            report = progress or Report().progress
            reads = _read_contents(catalog, shares, jobs, cluster, report)
    findings += [read.finding for read in reads if read.finding is not None]
    return Verified(
        num_revisions=len(catalog.history.revisions),
        num_contents=len(reads),
        num_specs=sum(read.num_specs for read in reads),
        num_pairs=len(catalog.history.pairs),
        findings=tuple(sorted(findings, key=_order)),
    )


def _broken_tables(catalog: Catalog) -> Iterator[Finding]:
    """Yield a finding for each table with a broken log, or with a damaged file.

    The files of contents are checked when their rows are read.
    """
    for name, schema in TABLES.items():
        table = CatalogTable(catalog.storage, name, schema)
        try:
            if name == "specs":
                table.current()
            else:
                table.check()
        except TableNotFoundError:
            continue
        except CatalogError as error:
            advice = HOW_TO_MEND if name in HISTORY_TABLES else RESTORE
            yield Finding(name, error.reason.removesuffix(f"; {RESTORE}"), advice)


def _missing_history(catalog: Catalog) -> Iterator[Finding]:
    """Yield a finding if tables of stored pairs are missing, and if pairs are not stored."""
    try:
        stored = catalog.changes.counts
    except CatalogError:
        return  # ``_broken_tables`` describes the damage
    try:
        catalog.changes.open()
    except CatalogError as error:
        yield Finding("history", error.reason.removesuffix(f"; {HOW_TO_MEND}"), HOW_TO_MEND)
    pairs = catalog.history.pairs
    if missing := sum(pair not in stored for pair in pairs):
        reason = f"{missing:,} of {len(pairs):,} pairs of neighbours are not compared yet"
        yield Finding("history", reason, FILL, is_damage=False)


def _read_contents(
    catalog: Catalog,
    shares: Set[int] | None,
    jobs: int | None,
    cluster: str | None,
    progress: Progress,
) -> list[Read]:
    revisions: dict[str, list[RevisionInfo]] = {}
    for row in catalog.history.rows:
        revisions.setdefault(row.digest, []).append(row)
    contents = [
        of_digest
        for digest, of_digest in revisions.items()
        if shares is None or int(digest[:8], 16) % SHARES in shares
    ]
    read_one = partial(read_content, SpecsTable(catalog.storage))
    progress("reading contents", 0, len(contents))
    reads = []
    with mapping(read_one, catalog.location, contents, jobs=jobs, cluster=cluster) as results:
        for read in results:
            reads.append(read)
            progress("reading contents", len(reads), len(contents))
    return reads


def _order(finding: Finding) -> tuple[bool, str, str]:
    return not finding.is_damage, finding.place, finding.reason
