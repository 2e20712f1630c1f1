"""The catalog's two tables in Arrow's terms."""

from collections.abc import Iterator, Sequence

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from snapshots.models import RevisionInfo, Source

_TEXTS = pa.list_(pa.string())
_DEPENDENCY = pa.struct(
    [("name", pa.string()), ("hash", pa.string()), ("types", _TEXTS), ("virtuals", _TEXTS)]
)

SPECS = pa.schema(
    [
        ("digest", pa.string()),
        ("hash", pa.string()),
        ("name", pa.string()),
        ("version", pa.string()),
        ("compiler", pa.string()),
        ("operating_system", pa.string()),
        ("platform", pa.string()),
        ("target", pa.string()),
        ("variants", _TEXTS),
        ("stacks", _TEXTS),
        ("size", pa.int64()),
        ("tarball", pa.string()),
        ("namespace", pa.string()),
        ("package_hash", pa.string()),
        ("dependencies", pa.list_(_DEPENDENCY)),
        ("in_cache", pa.bool_()),
    ]
)
"""One row a spec; ``digest`` names the content that it belongs to.

Where ``in_cache`` is false, the row is no spec of the revision, but one outside the cache that
specs of the revision depend on. Catalogs of before that column have null there: true.
"""

_TIME = pa.timestamp("us", tz="UTC")

REVISIONS = pa.schema(
    [
        ("tag", pa.string()),
        ("digest", pa.string()),
        ("taken_at", _TIME),
        ("published_at", _TIME),
        ("num_packages", pa.int64()),
        ("num_specs", pa.int64()),
        ("num_stacks", pa.int64()),
        ("total_size", pa.int64()),
        ("source_kind", pa.string()),
        ("source_location", pa.string()),
        ("source_version", pa.string()),
        ("source_importer", pa.string()),
        ("source_synthetic", pa.bool_()),
    ]
)
"""One row a published revision."""

_SOURCE = "source_"


def with_columns(table: pa.Table, names: Sequence[str]) -> pa.Table:
    """Return the named columns of ``SPECS``; those that the table does not have are unknown."""
    return pa.table(
        [
            table[name]
            if name in table.column_names
            else pa.nulls(len(table), SPECS.field(name).type)
            for name in names
        ],
        names=list(names),
    )


def split_by_cache(table: pa.Table) -> tuple[pa.Table, pa.Table]:
    """Return the rows of the specs that are in the cache, and of those that are not."""
    if "in_cache" not in table.column_names:
        return table, table.slice(0, 0)
    in_cache = pc.fill_null(table["in_cache"], True)
    if pc.all(in_cache, min_count=0).as_py():
        return table, table.slice(0, 0)
    return table.filter(in_cache), table.filter(pc.invert(in_cache))


def revisions_table(revisions: Sequence[RevisionInfo]) -> pa.Table:
    """Return one row a revision."""
    rows = []
    for revision in revisions:
        row = msgspec.structs.asdict(revision)
        source = msgspec.structs.asdict(row.pop("source"))
        rows.append(row | {_SOURCE + name: value for name, value in source.items()})
    return pa.Table.from_pylist(rows, schema=REVISIONS)


def revisions_of(table: pa.Table) -> Iterator[RevisionInfo]:
    """Read the rows of a table of revisions."""
    for row in table.to_pylist():
        source = {
            name.removeprefix(_SOURCE): row.pop(name) for name in list(row) if _SOURCE in name
        }
        yield RevisionInfo(source=Source(**source), **row)
