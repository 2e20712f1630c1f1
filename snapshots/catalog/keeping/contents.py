"""Which contents a catalog still needs, and how the table ``specs`` lets go of the others.

A content is needed where a row names it, or one that is laid over it. Another is struck off the
table's log at first; that is when its time of grace begins. Its file stays until a vacuum that
comes after it, for imports and servers that still know the rows. A file that was struck off is
never written again under the same name.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from deltalake.exceptions import TableNotFoundError

from snapshots.catalog.contents.specs_table import SpecsTable
from snapshots.catalog.keeping.attempts import attempts
from snapshots.catalog.revisions_table import RevisionsTable
from snapshots.catalog.store.locations import parse_location
from snapshots.catalog.store.storage import Storage
from snapshots.catalog.tables.actions import remove_action
from snapshots.catalog.tables.delta import Table
from snapshots.errors import CatalogError
from snapshots.tables import REVISIONS, SPECS, StoredFile


class Listed(NamedTuple):
    """A file that the table ``specs`` lists: where, its size, its content, when it was added."""

    path: str
    size: int
    digest: str
    added_at: float


class Contents:
    """The contents of the catalog at a location. Errors are those of the store."""

    def __init__(self, location: str) -> None:
        self.storage = Storage(parse_location(location))
        self.revisions = Table(self.storage, "revisions", REVISIONS)
        self.specs = Table(self.storage, "specs", SPECS, "digest")
        self._rows = RevisionsTable(self.storage)
        self._specs = SpecsTable(self.storage)

    def named(self) -> Mapping[str, Sequence[StoredFile]]:
        """Return the contents that rows need now, with the files of their own where known."""
        self._rows.refresh()
        return self._rows.needed

    def named_files(self) -> set[str]:
        """Return the paths of all files that rows name now."""
        self._rows.refresh()
        return {file.path for files in self._rows.files.values() for file in files}

    def listed(self) -> list[Listed]:
        """Return all files that the table lists now."""
        try:
            self.specs.current()
        except TableNotFoundError:
            return []
        files = self.specs.files()
        columns = (files[name].to_pylist() for name in ("path", "size", "partition", "added_at"))
        return [Listed(*values) for values in zip(*columns, strict=True)]

    def strike_off(self, goes: Callable[[Listed], bool]) -> list[Listed]:
        """Strike off what ``goes`` holds for and no row names; return it.

        Rows that are written at the same moment by an import are looked for afterwards.
        """
        for _ in attempts():
            listed = self.listed()
            seen = self.specs.mark() if listed else None
            gone = [it for it in unnamed(listed, self.named()) if goes(it)]
            removed = [remove_action(it.path, it.size, {"digest": it.digest}) for it in gone]
            if not gone or self.specs.exchange(removed, (), seen):
                self.relist()
                return gone
        raise CatalogError(
            self.storage.location.text, "others wrote into the table specs all the time; try again"
        )

    def relist(self) -> list[str]:
        """List the files of contents that rows name and the table does not have; return those.

        So it is where an import named a content at the moment that it was struck off. cachelog
        finds it all the same, by the row, but other tools do not.
        """
        listed = {it.digest for it in self.listed()}
        named = self.named()
        return self._specs.list_again(
            {digest: files for digest, files in named.items() if files and digest not in listed}
        )


def unnamed(listed: Collection[Listed], named: Mapping[str, Sequence[StoredFile]]) -> list[Listed]:
    """Return the listed files that no row needs.

    A named content can have a second file, from two imports at once; it goes where the first is
    listed. Where another tool has rewritten a content, its files are not those that the rows name.
    """
    paths = {it.path for it in listed}
    found = []
    for it in listed:
        files = named.get(it.digest)
        if files is None:
            found.append(it)
        elif files and it.path not in {file.path for file in files}:
            found += [it] if all(file.path in paths for file in files) else []
    return found
