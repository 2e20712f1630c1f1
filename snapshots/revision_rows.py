"""Revisions, and the files of their contents, as rows of the table ``revisions``."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pyarrow as pa

from snapshots.models import RevisionInfo, Source, Unproven
from snapshots.tables import REVISIONS, Files, FileTail, StoredFile

FILE_COLUMNS = ("files", "file_tails")
"""The columns that tell of the files of a content."""

LATER_COLUMNS = (*FILE_COLUMNS, "num_proven", "unproven")
"""The columns that a table of an older cachelog may lack."""

_SOURCE = "source_"


def revisions_table(revisions: Sequence[RevisionInfo], files: Files) -> pa.Table:
    """Return one row a revision; ``files`` holds those of contents whose files are known."""
    rows = []
    for revision in revisions:
        row = msgspec.structs.asdict(revision)
        row["unproven"] = msgspec.to_builtins(revision.unproven)
        source = msgspec.structs.asdict(row.pop("source"))
        row |= {_SOURCE + name: value for name, value in source.items()}
        rows.append(row | _columns_of_files(files.get(revision.digest)))
    return pa.Table.from_pylist(rows, schema=REVISIONS)


def revisions_of(table: pa.Table) -> list[RevisionInfo]:
    """Read the rows of a table of revisions."""
    columns = [name for name in table.column_names if name not in FILE_COLUMNS]
    rows = table.select(columns).to_pylist()
    for row in rows:
        row["unproven"] = msgspec.convert(row.get("unproven"), tuple[Unproven, ...] | None)
        source = {name: row.pop(_SOURCE + name) for name in Source.__struct_fields__}
        row["source"] = Source(**source)
    return [RevisionInfo(**row) for row in rows]


def files_of(table: pa.Table) -> dict[str, tuple[StoredFile, ...]]:
    """Read the files of contents from the rows of a table of revisions, by digest."""
    if "files" not in table.column_names:
        return {}
    columns: list[list[Any]] = [table[name].to_pylist() for name in ("digest", "files")]
    has_tails = "file_tails" in table.column_names
    tails = table["file_tails"].to_pylist() if has_tails else [None] * len(table)
    return {
        digest: _files_of_row(files, of_files)
        for digest, files, of_files in zip(*columns, tails, strict=True)
        if files is not None
    }


def _columns_of_files(files: Sequence[StoredFile] | None) -> dict[str, Any]:
    if not files:
        return {}
    rows = list(map(msgspec.structs.asdict, files))
    tails = [tail and msgspec.structs.asdict(tail) for tail in (row.pop("tail") for row in rows)]
    return {"files": rows, "file_tails": tails if any(tails) else None}


def _files_of_row(
    files: Sequence[dict[str, Any]], tails: Sequence[dict[str, Any] | None] | None
) -> tuple[StoredFile, ...]:
    return tuple(
        StoredFile(**file, tail=FileTail(**tail) if tail else None)
        for file, tail in zip(files, tails or [None] * len(files), strict=True)
    )
