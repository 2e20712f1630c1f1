"""Each content is read whole, and must be what its digest and its revisions say.

The bytes must be those that were written, the rows must decode, and of the records that they become
the digest is worked out again.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import NamedTuple

import msgspec
import pyarrow as pa

from snapshots.catalog.bulk.mapping import mapping
from snapshots.catalog.contents.mending import how_to_mend
from snapshots.catalog.contents.specs_table import SpecsTable
from snapshots.catalog.contents.stored_content import DamagedContent
from snapshots.catalog.store.failures import reason_of, translated
from snapshots.catalog.store.locations import parse_location
from snapshots.catalog.store.storage import Storage
from snapshots.catalog.verifying.findings import Finding
from snapshots.catalog.verifying.hash_sums import SetOfHashes, sum_of
from snapshots.catalog.verifying.reading_back import content_of
from snapshots.contents import Content
from snapshots.digests import short_digest
from snapshots.errors import CatalogError
from snapshots.history import History
from snapshots.models import NOTHING, RevisionInfo
from snapshots.spack.names import ROOT_STACK
from snapshots.tables import SPEC_ROWS, StoredFile


class ToRead(NamedTuple):
    """A content, its files where they are known, and the rows that name it."""

    digest: str
    files: Sequence[StoredFile] | None
    rows: Sequence[RevisionInfo]
    how_to_mend: str


class DamagedBase(NamedTuple):
    """What a content is laid over, and how that is damaged."""

    digest: str
    damage: str


class Read(NamedTuple):
    """What was found of a content; its hashes where it could be read.

    ``damaged_base`` is what alone it could not be read for.
    """

    digest: str
    findings: Sequence[Finding]
    hashes: SetOfHashes | None
    num_specs: int
    damaged_base: DamagedBase | None = None


def contents_to_read(
    history: History, files_of: Callable[[str], Sequence[StoredFile]]
) -> list[ToRead]:
    """Return all contents that rows name, the newest last."""
    rows: dict[str, list[RevisionInfo]] = {}
    for row in history.by_key.values():
        rows.setdefault(row.digest, []).append(row)
    return [
        ToRead(digest, files_of(digest) or None, naming, how_to_mend(history, digest))
        for digest, naming in rows.items()
    ]


def read_contents(
    location: str,
    contents: Sequence[ToRead],
    jobs: int | None = None,
    cluster: str | None = None,
) -> AbstractContextManager[Iterator[Read]]:
    """Have what is found of each content; ``jobs`` and ``cluster`` are those of ``mapping``."""
    return mapping(_reader, location, contents, jobs=jobs, cluster=cluster)


def _reader(location: str) -> Callable[[ToRead], Read]:
    """Open the table once in a process that reads."""
    return partial(read_content, SpecsTable(Storage(parse_location(location))))


def read_content(specs: SpecsTable, content: ToRead) -> Read:
    """Read a content, and compare it with what names it."""
    place = f"content {short_digest(content.digest)}"
    try:
        with translated(place):
            rows = specs.read(content.digest, content.files, SPEC_ROWS.names)
        found = content_of(rows)
        digest, hashes = found.digest, sum_of(spec.hash for spec in found.specs())
    except DamagedContent as error:
        if content.digest == NOTHING:
            return Read(NOTHING, (), sum_of([]), 0)
        if error.owner != content.digest:
            return Read(content.digest, (), None, 0, DamagedBase(error.owner, error.damage))
        found_damage = Finding(place=place, reason=error.damage, advice=content.how_to_mend)
        return _unreadable(content, found_damage)
    except CatalogError as error:
        return _unreadable(content, Finding(place=place, reason=error.reason, advice="try again"))
    except (
        msgspec.MsgspecError,
        pa.ArrowException,
        AttributeError,
        TypeError,
        ValueError,
        KeyError,
    ) as error:
        reason = f"its rows are no specs: {reason_of(error)}"
        return _unreadable(content, Finding(place=place, reason=reason, advice=_replace(content)))
    findings = [*_wrong(place, content, found, digest)]
    return Read(content.digest, findings, hashes, len(found))


def _unreadable(content: ToRead, finding: Finding) -> Read:
    return Read(content.digest, (finding,), None, 0)


def _wrong(place: str, content: ToRead, found: Content, digest: str) -> Iterator[Finding]:
    if digest != content.digest:
        reason = f"its rows have the digest {short_digest(digest)}"
        yield Finding(place=place, reason=reason, advice=_replace(content))
        return
    if twice := len(found) - len({spec.hash for spec in found.specs()}):
        reason = f"{twice:,} hashes stand in it twice"
        yield Finding(place=place, reason=reason, advice=_replace(content))
    for row in content.rows:
        of_row = f"revision {row.tag} of {row.taken_at:%Y-%m-%d}"
        for name, said, actual in _counts(row, found):
            yield Finding(
                place=of_row,
                reason=f"its row says {name} {said}, its content has {actual}",
                advice=f"remove it ('cachelog remove {row.tag}@{row.taken_at:%Y-%m-%d}') and "
                "import the same again",
            )


def _counts(row: RevisionInfo, found: Content) -> Iterable[tuple[str, int | None, int | None]]:
    num_stacks = len(found.stacks - {ROOT_STACK})
    # Older rows count root.
    if row.num_stacks == len(found.stacks):
        num_stacks = row.num_stacks
    actual: Mapping[str, int | None] = {
        "num_packages": len(found.packages),
        "num_specs": len(found),
        "num_stacks": num_stacks,
        "total_size": found.total_size(),
    }
    for name, value in actual.items():
        if getattr(row, name) != value:
            yield name, getattr(row, name), value


def _replace(content: ToRead) -> str:
    tags = sorted({row.tag for row in content.rows})
    named = ", ".join(tags[:3]) + (" and others" if len(tags) > 3 else "")
    return (
        f"remove its revisions ('cachelog remove {short_digest(content.digest)}', of {named}) "
        "and import the same again"
    )
