"""The names in a catalog, read at once: for a shell that completes what is being typed.

Arrow and numpy take longer to import than deltalake's own queries take to answer, so neither is
used here.
"""

from collections.abc import Iterator
from functools import cached_property
from typing import Any

from deltalake import DeltaTable, QueryBuilder

from snapshots.catalog.store.locations import parse_location
from snapshots.history import History
from snapshots.models import RevisionInfo, Source

_SOURCE = "source_"
_IN_CACHE = "in_cache"


class Names:
    """The revisions of a catalog, and the packages and stacks of one of them.

    Every method may raise whatever deltalake raises where the catalog cannot be read, and
    InvalidArgument for a location that cannot hold one. Nothing is kept up to date.
    """

    def __init__(self, location: str) -> None:
        self._location = parse_location(location)
        self._tables: dict[str, DeltaTable] = {}

    @cached_property
    def history(self) -> History:
        """All revisions."""
        return History(map(_revision, self._rows("SELECT * FROM revisions", "revisions")))

    def packages(self, digest: str) -> list[str]:
        """Return the names of a content's packages, in no order."""
        return self._column("SELECT DISTINCT name FROM specs", digest)

    def stacks(self, digest: str) -> list[str]:
        """Return the names of a content's stacks, in no order."""
        return self._column("SELECT DISTINCT unnest(stacks) AS name FROM specs", digest)

    def _column(self, query: str, digest: str) -> list[str]:
        # A digest is made of hexadecimal digits, so it cannot end the quotes.
        query += f" WHERE digest = '{int(digest, 16):064x}'"
        if _IN_CACHE in {field.name for field in self._table("specs").schema().fields}:
            query += f" AND {_IN_CACHE} IS NOT FALSE"
        return [row["name"] for row in self._rows(query, "specs")]

    def _table(self, name: str) -> DeltaTable:
        if name not in self._tables:
            self._tables[name] = DeltaTable(self._location.uri(name))
        return self._tables[name]

    def _rows(self, query: str, table: str) -> Iterator[dict[str, Any]]:
        found = QueryBuilder().register(table, self._table(table)).execute(query).read_all()
        columns = [found[name].to_pylist() for name in found.column_names]
        for values in zip(*columns, strict=True):
            yield dict(zip(found.column_names, values, strict=True))


def _revision(row: dict[str, Any]) -> RevisionInfo:
    source = {name.removeprefix(_SOURCE): row[name] for name in row if name.startswith(_SOURCE)}
    fields = {name: row[name] for name in RevisionInfo.__struct_fields__ if name in row}
    return RevisionInfo(source=Source(**source), **fields)
