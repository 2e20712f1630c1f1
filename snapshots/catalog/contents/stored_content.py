"""The bytes of a content, read from the store once; columns are decoded as they are asked for."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import pyarrow as pa

from snapshots.catalog.contents.files import owner_of
from snapshots.catalog.contents.overlays import OF_BASE, OF_OVERLAY, laid_over
from snapshots.catalog.contents.tails import has_all_of
from snapshots.catalog.store.failures import reason_of
from snapshots.catalog.store.parquet import from_parquet
from snapshots.errors import CatalogError
from snapshots.tables import StoredFile, with_columns
from snapshots.wording import short_digest


class ReadColumns(Protocol):
    """Returns columns of a content; raises DamagedContent.

    Those that are ``coded`` may come as codes into their distinct values.
    """

    def __call__(self, columns: Sequence[str], coded: Sequence[str] = ()) -> pa.Table:
        """Return the columns."""


class DamagedContent(CatalogError):
    """The store has a content no more, or not the bytes that were written.

    ``damage`` says how; ``owner`` is whose rows have it: the content itself, or what it is laid
    over.
    """

    def __init__(self, location: str, digest: str, owner: str, damage: str) -> None:
        below = "" if owner == digest else f"is laid over {short_digest(owner)}, which "
        super().__init__(location, f"the content {short_digest(digest)} {below}{damage}")
        self.owner = owner
        self.damage = damage

    @classmethod
    def of(
        cls, location: str, digest: str, error: Exception | None, owner: str
    ) -> "DamagedContent":
        """Return what says that the rows of ``owner`` are damaged; missing, without an error."""
        damage = "is missing" if error is None else f"is damaged: {reason_of(error)}"
        return cls(location, digest, owner, damage)


class ReadFile(NamedTuple):
    """A file and its bytes.

    Where it ``is_tail``, the bytes of its tail were read alone, and compared with their checksum;
    those before are not to be looked at.
    """

    file: StoredFile
    data: pa.Buffer
    is_tail: bool = False


class StoredContent:
    """A content as it was written: its own files, and last that of what it is laid over, if any.

    Of files whose tails were read only columns can be asked for that these have.
    """

    def __init__(self, location: str, digest: str, files: Sequence[ReadFile]) -> None:
        self._location = location
        self._digest = digest
        self._files = files
        self._is_laid = any(owner_of(it.file, digest) != digest for it in files)

    def __call__(self, columns: Sequence[str], coded: Sequence[str] = ()) -> pa.Table:
        """Return the columns."""
        tables = [self._decoded(it, columns, coded) for it in self._files]
        if not self._is_laid:
            return pa.concat_tables(tables)
        own, base = tables
        return laid_over(base, own, columns)

    def _decoded(self, read: ReadFile, columns: Sequence[str], coded: Sequence[str]) -> pa.Table:
        file, data, is_tail = read
        if is_tail and not has_all_of(columns):
            raise ValueError(f"{file.path} was not read whole")
        owner = owner_of(file, self._digest)
        if self._is_laid:
            columns = with_more(columns, OF_OVERLAY if owner == self._digest else OF_BASE)
        try:
            path = f"specs/{file.path}"
            rows = from_parquet(path, data, columns, file, coded, is_checked=is_tail)
        except pa.ArrowInvalid as error:
            raise DamagedContent.of(self._location, self._digest, error, owner) from None
        return _coded(with_columns(rows, columns), coded)


def _coded(rows: pa.Table, columns: Sequence[str]) -> pa.Table:
    """Return rows with such columns as codes, also those that were not read from the file."""
    for name in columns:
        place = rows.schema.get_field_index(name)
        rows = rows.set_column(place, name, rows[name].dictionary_encode())
    return rows


def with_more(columns: Sequence[str], more: Sequence[str]) -> list[str]:
    """Return the names of both, each once."""
    return [*dict.fromkeys([*columns, *more])]
