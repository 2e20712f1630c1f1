"""The catalog's tables in Arrow's terms, and revisions and specs as their rows."""

from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any, get_args, get_origin

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from snapshots.models import SOURCE_KIND_TEXT, SPEC_FACTS, RevisionInfo, Source, Spec, Unproven

_SCALARS = {str: pa.string(), int: pa.int64(), bool: pa.bool_()}


def _arrow_type(value_type: Any) -> pa.DataType:
    """Return the type of a column of such values; a record becomes a struct of its fields."""
    if get_origin(value_type) is tuple:
        return pa.list_(_arrow_type(get_args(value_type)[0]))
    if value_type in _SCALARS:
        return _SCALARS[value_type]
    fields = msgspec.structs.fields(value_type)
    return pa.struct([(field.name, _arrow_type(field.type)) for field in fields])


def _field(name: str, column_type: pa.DataType, comment: str) -> pa.Field:
    return pa.field(name, column_type, metadata={"comment": comment})


SPEC_ROWS = pa.schema(
    [
        *(
            _field(fact.name, _arrow_type(fact.value_type), fact.description)
            for fact in SPEC_FACTS.values()
        ),
        _field(
            "in_cache",
            pa.bool_(),
            "False for a row that is no spec of the content, but outside the cache: a spec of the "
            "content depends on it. Null is true, in catalogs older than this column.",
        ),
    ]
)
"""What a row says of a spec."""

SPECS = pa.schema(
    [
        _field("digest", pa.string(), "The content that the row belongs to."),
        *SPEC_ROWS,
        _field(
            "base",
            pa.string(),
            "The content that this one is laid over: its other rows are there. Null where all of "
            "the content is here.",
        ),
        _field(
            "place",
            pa.int64(),
            "Where the row stands in its content, from 0. Null where that is laid over another, "
            "and in catalogs older than this column.",
        ),
        _field(
            "base_place",
            pa.int64(),
            "The place of a row of the base that is not in this content: this row stands in its "
            "stead or, where it has no hash, none.",
        ),
    ]
)
"""One row a spec. The comments describe the columns to any reader of Delta tables."""

_TIME = pa.timestamp("us", tz="UTC")

_FILE = pa.struct([("path", pa.string()), ("size", pa.int64()), ("checksum", pa.string())])

_UNPROVEN = pa.struct([("reason", pa.string()), ("num_specs", pa.int64())])


REVISIONS = pa.schema(
    [
        _field("tag", pa.string(), "The tag that was published."),
        _field("digest", pa.string(), "Its content: rows of the table specs with this digest."),
        _field("taken_at", _TIME, "When the build cache stood so."),
        _field("published_at", _TIME, "When the catalog learned of it."),
        _field("num_packages", pa.int64(), "How many packages the content has."),
        _field("num_specs", pa.int64(), "How many specs the content has."),
        _field("num_stacks", pa.int64(), "How many stacks the content has, root not counted."),
        _field("total_size", pa.int64(), "The sum of the known sizes in bytes; null if none is."),
        _field("source_kind", pa.string(), SOURCE_KIND_TEXT),
        _field("source_location", pa.string(), "Where it was read: a path or URL."),
        _field("source_version", pa.string(), "The commit or ETag that was read, if it had one."),
        _field("source_importer", pa.string(), "The program that read it, with its version."),
        _field("source_synthetic", pa.bool_(), "Whether a generator made the data up."),
        _field(
            "files",
            pa.list_(_FILE),
            "The Parquet files of the content, that of its base first: path below the table "
            "specs, size in bytes and xxh3 (64 bits, hexadecimal) of the bytes. Null in catalogs "
            "older than this column.",
        ),
        _field(
            "num_proven",
            pa.int64(),
            "How many hashes the import computed anew and found right; null where it did not try.",
        ),
        _field(
            "unproven",
            pa.list_(_UNPROVEN),
            "How many hashes it could not compute, by reason: converted, spliced, external, "
            "format_unknown.",
        ),
    ]
)
"""One row each time that a tag was seen in a state.

Rows of a tag that follow one another with the same digest are one revision, confirmed later.
"""

RECIPES = pa.schema(
    [
        _field("tag", pa.string(), "The tag of the revision."),
        _field("taken_at", _TIME, "When the build cache stood so."),
        _field("digest", pa.string(), "The content of the revision."),
        _field(
            "repository",
            pa.string(),
            "The git repository of the recipes: a path or URL, without credentials.",
        ),
        _field("commit", pa.string(), "The commit that the specs were concretized with."),
        _field(
            "found_by",
            pa.string(),
            "How it was found: given, by the ref of the tag, or by date.",
        ),
        _field(
            "line",
            pa.int64(),
            "How often the repository's history had been rewritten before, as far as imports saw: "
            "commits of two lines cannot be compared.",
        ),
        _field("recorded_at", _TIME, "When the catalog learned of it; the newest row counts."),
    ]
)
"""One row each time that the recipes of a revision became known."""

COMMITS = pa.schema(
    [
        _field(
            "repository",
            pa.string(),
            "The repository, as the table recipes has it, without slashes or .git at its end.",
        ),
        _field("line", pa.int64(), "As in the table recipes."),
        _field("hash", pa.string(), "The whole hash of the commit."),
        _field("parents", pa.list_(pa.string()), "The hashes of what it follows on."),
        _field("committed_at", _TIME, "When it was committed."),
        _field(
            "subject",
            pa.string(),
            "The first line of its message, with invisible characters escaped.",
        ),
        _field(
            "pull_request",
            pa.int64(),
            "The number of the pull request that the subject ends with; null without one.",
        ),
        _field("packages", pa.list_(pa.string()), "The packages whose recipes it touched, sorted."),
        _field("stacks", pa.list_(pa.string()), "The stacks that it touched, sorted."),
        _field("changes_spack", pa.bool_(), "Whether it changed which Spack is used."),
        _field("spack_before", pa.string(), "The Spack before that; null where it is not known."),
        _field("spack_after", pa.string(), "The Spack after that; null where it is not known."),
    ]
)
"""One row a commit that the recipes of some revisions reach, and not those of all."""

COSTS = pa.schema(
    [
        _field("hash", pa.string(), "The DAG hash of the spec that was built; null for a package."),
        _field("name", pa.string(), "The package's name; null where only the hash is known."),
        _field("seconds", pa.float64(), "How long the build took."),
        _field("cost", pa.float64(), "What it cost; null where the file had no such column."),
        _field("unit", pa.string(), "The unit of the cost, as the header of the file named it."),
        _field("recorded_at", _TIME, "When the file was imported; each import replaces all rows."),
    ]
)
"""One row for each measured build of a spec, or of a package."""

_BASE = _field("base", pa.string(), "The digest of the content before; of nothing for the first.")
_HEAD = _field("head", pa.string(), "The digest of the content after.")

CHANGES = pa.schema(
    [
        _field("name", pa.string(), "The package's name."),
        _field("hash", pa.string(), "The DAG hash."),
        _BASE,
        _HEAD,
        _field("kind", pa.string(), "What became of the hash: added, removed or changed."),
        _field("version", pa.string(), "The version that was built."),
        _field(
            "reason",
            pa.string(),
            "Why, as the two contents tell: rebuilt, replaces, new_version, replaced ...",
        ),
    ]
)
"""One row for each hash that was added, removed or changed between two neighbours of a series.

The rows of a file are sorted by the columns in their order.
"""

HASHES = pa.schema(
    [
        _field("hash", pa.string(), "The DAG hash."),
        _field("name", pa.string(), "Its package: the name to look for in the table changes."),
    ]
)
"""One row for each hash that was ever added; sorted likewise."""


_COUNTED = (
    "specs_added",
    "specs_removed",
    "specs_changed",
    "packages_added",
    "packages_removed",
    "packages_changed",
)
_COUNTED_REASONS = (
    "rebuilt",
    "replaces",
    "new_package",
    "new_stack",
    "new_version",
    "new_target",
    "new_build",
    "replaced",
    "package_gone",
    "stack_gone",
    "version_gone",
    "target_gone",
    "build_gone",
)


def _count_of(counted: str) -> pa.Field:
    what, _, became = counted.partition("_")
    return _field(f"num_{counted}", pa.int64(), f"How many {what} were {became}.")


def _count_of_reason(reason: str) -> pa.Field:
    return _field(f"num_{reason}", pa.int64(), f"How many specs have the reason {reason}.")


_PACKAGE = pa.struct(
    [
        ("name", pa.string()),
        ("kind", pa.string()),
        ("versions_added", pa.list_(pa.string())),
        ("versions_removed", pa.list_(pa.string())),
        ("specs_added", pa.int64()),
        ("specs_removed", pa.int64()),
        ("specs_changed", pa.int64()),
        ("specs_rebuilt", pa.int64()),
        ("specs_replaced", pa.int64()),
        ("specs_new", pa.int64()),
    ]
)

_CAUSE = pa.struct(
    [
        ("kind", pa.string()),
        ("package", pa.string()),
        ("before", pa.string()),
        ("after", pa.string()),
        ("num_specs", pa.int64()),
        ("num_involved", pa.int64()),
        ("size", pa.int64()),
    ]
)

_PACKAGE_CAUSE = pa.struct(
    [("package", pa.string()), ("cause", pa.int64()), ("num_specs", pa.int64())]
)

CELL = pa.struct(
    [
        ("package", pa.string()),
        ("version", pa.string()),
        ("target", pa.string()),
        ("stack", pa.string()),
        ("reason", pa.string()),
        ("num_specs", pa.int64()),
    ]
)

COMPARISONS = pa.schema(
    [
        _BASE,
        _HEAD,
        *map(_count_of, _COUNTED),
        *map(_count_of_reason, _COUNTED_REASONS),
        _field(
            "packages",
            pa.list_(_PACKAGE),
            "The packages that changed: what became of each, versions newest first, and how many "
            "specs were added, removed and changed; of the added ones how many have the reason "
            "rebuilt, how many replaces, and how many are new.",
        ),
        _field(
            "new_specs",
            pa.list_(pa.struct([("number", pa.int64()), ("reason", pa.string())])),
            "The added specs that are new: the number of the hash, and the reason.",
        ),
        _field("removed_specs", pa.list_(pa.int64()), "The number of each hash that was removed."),
        _field(
            "story",
            pa.string(),
            "What feeds tell of the pair, as JSON: format, synthetic, html. Null where it was not "
            "among the newest of a series, and in catalogs older than this column.",
        ),
        _field(
            "causes",
            pa.list_(_CAUSE),
            "Why specs took the place of others, what explains most first: of how many specs it is "
            "the main cause, in how many it is involved, and the sum of the known sizes of the "
            "former. Null in catalogs older than this column.",
        ),
        _field(
            "package_causes",
            pa.list_(
                pa.struct(
                    [("package", pa.string()), ("cause", pa.int64()), ("num_specs", pa.int64())]
                )
            ),
            "Of how many specs of each package each of the causes, by its place in them, is the "
            "main one. Null in catalogs older than this column.",
        ),
        _field(
            "cells",
            pa.list_(CELL),
            "By how many specs each combination of package, version, target and stack grew, or "
            "shrank, for which reason; a target that is not stated is null, and with no stack all "
            "specs count. Null in catalogs older than this column.",
        ),
        _field(
            "causes_format",
            pa.int64(),
            "The version of causes and cells; null where there are none. Other versions are made "
            "anew.",
        ),
        _field("made_by", pa.string(), "The program that compared the two, with its version."),
        _field("made_at", _TIME, "When it did so."),
    ]
)
"""One row for each two neighbours of a series whose changes are kept, and their commit point."""

READ_ON_DEMAND = (
    "packages",
    "new_specs",
    "removed_specs",
    "story",
    "causes",
    "package_causes",
    "cells",
)
"""Its columns that are not kept in memory."""

NULLABLE = ("story", "causes", "package_causes", "cells", "causes_format")
"""Those of its columns that need not be there, and whose values need not."""


def spec_rows(specs: Sequence[Spec], *, in_cache: bool = True) -> pa.RecordBatch:
    """Return one row a spec, with the columns of ``SPEC_ROWS``."""
    columns = [
        _column(SPEC_ROWS.field(name), list(map(attrgetter(name), specs))) for name in SPEC_FACTS
    ]
    columns.append(pa.repeat(in_cache, len(specs)))
    return pa.RecordBatch.from_arrays(columns, schema=SPEC_ROWS)


def _column(field: pa.Field, values: list[Any]) -> pa.Array:
    if not pa.types.is_list(field.type):
        return pa.array(values, field.type)
    # Few lists are distinct objects, and converting one takes as long as converting all its texts.
    # To find those that are equal takes longer than to convert them.
    ids = list(map(id, values))
    objects = dict(zip(ids, values, strict=True))
    places = {number: place for place, number in enumerate(objects)}
    distinct: list[Any] = list(objects.values())
    if pa.types.is_struct(field.type.value_type):
        distinct = [
            None if edges is None else list(map(msgspec.structs.asdict, edges))
            for edges in distinct
        ]
    rows = pa.array(list(map(places.__getitem__, ids)), pa.int32())
    return pa.array(distinct, field.type).take(rows)


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


def rows_of_stack(rows: pa.Table, stack: str) -> pa.Table:
    """Return the rows of the specs of a stack; what they depend on besides is outside the cache.

    ``rows`` have all columns of ``SPEC_ROWS``. None of those returned tells stacks.
    """
    return _with_reached(rows, _having(rows["stacks"].combine_chunks(), [stack]), [])


def rows_of_stacks(rows: pa.Table, stacks: Sequence[str] | None, hashes: pa.Array) -> pa.Table:
    """Return the rows of the specs of some stacks, or of all, and of those with some hashes.

    What they depend on besides is outside the cache. ``rows`` have all columns of ``SPEC_ROWS``;
    those returned tell no stacks but these.
    """
    if stacks is None:
        return rows.select(SPEC_ROWS.names)
    of_hashes = pc.is_in(rows["hash"], value_set=hashes).to_numpy()
    return _with_reached(rows, _having(rows["stacks"].combine_chunks(), stacks) | of_hashes, stacks)


def _with_reached(rows: pa.Table, inside: npt.NDArray[np.bool_], stacks: Sequence[str]) -> pa.Table:
    """Return the rows that a mask marks, and outside the cache those that they reach.

    Of the stacks that they tell the named ones are left.
    """
    inside = inside & pc.fill_null(rows["in_cache"], True).to_numpy()
    edges = rows["dependencies"].combine_chunks()
    sources = pc.list_parent_indices(edges).to_numpy()
    ends = pc.index_in(edges.flatten().field("hash"), rows["hash"].combine_chunks())
    targets = pc.fill_null(ends, -1).to_numpy()
    reached = inside.copy()
    latest = inside
    while latest.any():
        nodes = targets[latest[sources] & (targets >= 0)]
        latest = np.zeros(len(rows), np.bool_)
        latest[nodes] = True
        latest &= ~reached
        reached |= latest
    kept = rows.select(SPEC_ROWS.names).filter(pa.array(reached))
    left = _items_among(kept["stacks"].combine_chunks(), stacks)
    columns = {"stacks": left, "in_cache": pa.array(inside[reached])}
    for name, column in columns.items():
        kept = kept.set_column(SPEC_ROWS.get_field_index(name), SPEC_ROWS.field(name), column)
    return kept


def _items_among(lists: pa.ListArray, items: Sequence[str]) -> pa.ListArray:
    """Return the lists with those of their items that are among some."""
    values = lists.flatten()
    is_kept = pc.is_in(values, value_set=pa.array(items, pa.string()))
    owners = pc.list_parent_indices(lists).filter(is_kept).to_numpy()
    ends = np.cumsum(np.bincount(owners, minlength=len(lists)))
    offsets = pa.array(np.concatenate(([0], ends)), pa.int32())
    return pa.ListArray.from_arrays(offsets, values.filter(is_kept)).cast(lists.type)


def _having(lists: pa.ListArray, items: Sequence[str]) -> npt.NDArray[np.bool_]:
    """Return a mask over lists: those that have any of some items."""
    is_one = pc.is_in(lists.flatten(), value_set=pa.array(items, pa.string()))
    owners = pc.list_parent_indices(lists).filter(is_one)
    mask = np.zeros(len(lists), np.bool_)
    mask[owners.to_numpy()] = True
    return mask


class StoredFile(msgspec.Struct, frozen=True, kw_only=True):
    """A Parquet file of a content: path below the table ``specs``, size in bytes, xxh3 checksum."""

    path: str
    size: int
    checksum: str


Files = Mapping[str, Sequence[StoredFile]]
"""The files of contents, by digest: of one that is laid over another those of both."""


# -- rows of the table revisions


LATER_COLUMNS = ("files", "num_proven", "unproven")
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
        row["files"] = msgspec.to_builtins(files.get(revision.digest)) or None
        rows.append(row)
    return pa.Table.from_pylist(rows, schema=REVISIONS)


def revisions_of(table: pa.Table) -> list[RevisionInfo]:
    """Read the rows of a table of revisions, which may have columns of other versions, too."""
    columns = [name for name in REVISIONS.names if name in table.column_names and name != "files"]
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
    digests, files = (table[name].to_pylist() for name in ("digest", "files"))
    return {
        digest: tuple(StoredFile(**file) for file in of_content)
        for digest, of_content in zip(digests, files, strict=True)
        if of_content is not None
    }
