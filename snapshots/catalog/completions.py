"""The names in a catalog, read quickly, for the completion of words in a shell.

Importing Arrow and numpy takes longer than a query of deltalake, so neither is used here.
"""

from collections.abc import Iterator
from functools import cached_property
from typing import Any

from deltalake import DeltaTable, QueryBuilder

from snapshots.catalog.locations import parse_location
from snapshots.history import History
from snapshots.models import RevisionInfo, Source

_SOURCE = "source_"


class Names:
    """The revisions of a catalog, and the packages and stacks of a revision.

    Every method may raise any error of deltalake if the catalog cannot be read, and the constructor
    raises InvalidArgument for an invalid location. Results are never refreshed.
    """

    def __init__(self, location: str) -> None:
        self._location = parse_location(location)
        self._tables: dict[str, DeltaTable] = {}

    @cached_property
    def history(self) -> History:
        """All revisions, without the columns about proven hashes."""
        return History(map(_revision, self._rows("SELECT * FROM revisions", "revisions")))

    def packages(self, digest: str) -> list[str]:
        """Return the names of a content's packages, in any order."""
        return self._distinct("name", self._specs_of(digest))

    def stacks(self, digest: str) -> list[str]:
        """Return the names of a content's stacks, in any order."""
        return self._distinct("unnest(stacks)", self._specs_of(digest))

    def _specs_of(self, digest: str) -> str:
        """Return an SQL condition for the specs of a content, which may have a base."""
        columns = {field.name for field in self._table("specs").schema().fields}
        own = _of_content(digest)
        condition = f"{own} AND hash IS NOT NULL"
        if "base" in columns:
            gone = _select("base_place", f"{own} AND base_place IS NOT NULL")
            for base in filter(None, self._distinct("base", own)):
                condition = f"({condition}) OR ({_of_content(base)} AND place NOT IN ({gone}))"
        return f"({condition}) AND in_cache IS NOT FALSE" if "in_cache" in columns else condition

    def _distinct(self, what: str, condition: str) -> list[str]:
        query = _select(f"DISTINCT {what} AS found", condition)
        return [row["found"] for row in self._rows(query, "specs")]

    def _table(self, name: str) -> DeltaTable:
        if name not in self._tables:
            self._tables[name] = DeltaTable(self._location.uri(name))
        return self._tables[name]

    def _rows(self, query: str, table: str) -> Iterator[dict[str, Any]]:
        result = QueryBuilder().register(table, self._table(table)).execute(query).read_all()
        columns = [result[name].to_pylist() for name in result.column_names]
        for values in zip(*columns, strict=True):
            yield dict(zip(result.column_names, values, strict=True))


def _select(what: str, condition: str) -> str:
    return f"SELECT {what} FROM specs WHERE {condition}"  # noqa: S608 - see ``_of_content``


def _of_content(digest: str) -> str:
    # A digest consists of hexadecimal digits, so it cannot close the quotes.
    return f"digest = '{int(digest, 16):064x}'"


def _revision(row: dict[str, Any]) -> RevisionInfo:
    source = {name.removeprefix(_SOURCE): row[name] for name in row if name.startswith(_SOURCE)}
    names = set(RevisionInfo.__struct_fields__) & row.keys() - {"num_proven", "unproven"}
    fields = {name: row[name] for name in names}
    return RevisionInfo(source=Source(**source), **fields)
