"""The log of a Delta table: its commits, one file each, and now and then a checkpoint of them."""

import re

from snapshots.catalog.storage import Found, Storage, checksum

_FOLDER = "_delta_log"
# Commits are 00000000000000000007.json; the files of a checkpoint begin with its version too.
_VERSIONED = re.compile(r"(\d{20})\.(?:json|checkpoint\..*parquet)")

Listing = dict[str, Found]
"""The files of a log by name."""


class Log:
    """The log of one table in a storage. Errors are those of the store."""

    def __init__(self, storage: Storage, table: str) -> None:
        self._storage = storage
        self.folder = f"{table}/{_FOLDER}"

    def listing(self) -> Listing:
        """Return which files the log has now: one request, other than to ask for each of them."""
        return self._storage.find(self.folder)

    def has(self, version: int) -> bool:
        """Tell whether there is the commit that made a version."""
        return self._storage.exists(self._path(version))

    def checksum(self, version: int) -> str | None:
        """Return the checksum of the commit that made a version; None where there is none."""
        try:
            return checksum(self._storage.read(self._path(version)))
        except FileNotFoundError:
            return None

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

    def trim(self, version: int) -> None:
        """Remove what is older than a version; there must be a checkpoint of it or of a later one.

        The oldest goes first, so that who is interrupted leaves no gap.
        """
        found = map(_VERSIONED.fullmatch, sorted(self._storage.sizes(self.folder)))
        for name in [it[0] for it in found if it and int(it[1]) < version]:
            self._storage.remove(f"{self.folder}/{name}")

    def _path(self, version: int) -> str:
        return f"{self.folder}/{version:020}.json"
