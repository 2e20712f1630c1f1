"""The catalog's two tables in Arrow's terms."""

from collections.abc import Iterator, Sequence

import msgspec
import pyarrow as pa

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
    ]
)
"""One row a spec; ``digest`` names the content that it belongs to."""

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
