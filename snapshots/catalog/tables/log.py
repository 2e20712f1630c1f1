"""The log of a Delta table: its commits, one file each, and now and then a checkpoint of them."""

import re
from contextlib import suppress

import msgspec
import pyarrow as pa

from snapshots.catalog.store.parquet import checksum
from snapshots.catalog.store.storage import Storage

_FOLDER = "_delta_log"
_ATTEMPTS = 5
# Commits are 00000000000000000007.json; the files of a checkpoint begin with its version too.
_VERSIONED = re.compile(r"(\d{20})\.(?:json|checkpoint\..*parquet)")


class Mark(msgspec.Struct, frozen=True):
    """A state of a table: its version, and a checksum and the size of the commit that made it.

    A table that was put in the place of another has other marks, whatever its version is.
    """

    version: int
    checksum: str
    size: int


class Log:
    """The log of one table in a storage. Errors are those of the store."""

    def __init__(self, storage: Storage, table: str) -> None:
        self._storage = storage
        self.folder = f"{table}/{_FOLDER}"

    def has(self, version: int) -> bool:
        """Tell whether there is the commit that made a version."""
        return self._storage.exists(self._path(version))

    def mark(self, version: int) -> Mark | None:
        """Return the mark of a version; None where the commit that made it is not there."""
        try:
            data = self._storage.read(self._path(version))
        except FileNotFoundError:
            return None
        return Mark(version, checksum(data), data.size)

    def stands(self, mark: Mark) -> bool:
        """Tell whether the log still has the commit that made a state, byte by byte."""
        try:
            data = self._storage.read(self._path(mark.version), mark.size)
        except (FileNotFoundError, pa.ArrowInvalid):
            return False
        return checksum(data) == mark.checksum

    def files(self) -> dict[str, pa.Buffer]:
        """Return all commits and checkpoints by their names, as they are at one moment."""
        for _ in range(_ATTEMPTS - 1):
            with suppress(FileNotFoundError):  # others tidy the log meanwhile
                return self._files()
        return self._files()

    def _files(self) -> dict[str, pa.Buffer]:
        sizes = self._storage.sizes(self.folder)
        names = sorted(filter(_VERSIONED.fullmatch, sizes))
        paths = {f"{self.folder}/{name}": sizes[name] for name in names}
        return dict(zip(names, self._storage.read_all(paths), strict=True))

    def empty_commit(self) -> str | None:
        """Return the path of a commit that holds nothing: the library takes it for one."""
        for name, size in sorted(self._storage.sizes(self.folder).items()):
            if not size and name.endswith(".json"):
                return f"{self.folder}/{name}"
        return None

    def is_lost(self) -> bool:
        """Tell whether the table has files beside a log that has none, which no import leaves."""
        table = self.folder.removesuffix(f"/{_FOLDER}")
        has_rows = any(name.endswith(".parquet") for name in self._storage.sizes(table))
        return has_rows and not self._storage.sizes(self.folder)

    def sync(self, since: int) -> int:
        """Have the commits and checkpoints after a version outlast a power cut; return the last."""
        if not self._storage.location.is_folder:
            return since
        found = map(_VERSIONED.fullmatch, self._storage.sizes(self.folder))
        names = {it[0]: int(it[1]) for it in found if it and int(it[1]) > since}
        self._storage.sync(f"{self.folder}/{name}" for name in names)
        return max(names.values(), default=since)

    def trim(self, version: int) -> None:
        """Remove what is older than a version; there must be a checkpoint of it or of a later one.

        The oldest goes first, so that who is interrupted leaves no gap.
        """
        found = map(_VERSIONED.fullmatch, sorted(self._storage.sizes(self.folder)))
        for name in [it[0] for it in found if it and int(it[1]) < version]:
            self._storage.remove(f"{self.folder}/{name}")

    def _path(self, version: int) -> str:
        return f"{self.folder}/{version:020}.json"
