"""The catalog's tables as Arrow schemas, and the conversion of revisions and specs to rows."""

from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import Any, get_args, get_origin

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from snapshots.models import SOURCE_KIND_TEXT, SPEC_FACTS, RevisionInfo, Source, Spec, Unproven

_TYPES = {
    "text": pa.string(),
    "int": pa.int64(),
    "real": pa.float64(),
    "bool": pa.bool_(),
    "time": pa.timestamp("us", tz="UTC"),
}
_SCALARS = {str: pa.string(), int: pa.int64(), bool: pa.bool_()}


def _type_of(text: str) -> pa.DataType:
    """Return the type that a text describes: brackets denote lists, commas separate fields."""
    if text[0] == "[":
        return pa.list_(_type_of(text[1:-1]))
    if text in _TYPES:
        return _TYPES[text]
    parts = (part.partition(" ") for part in text.split(", "))
    return pa.struct([(name, _type_of(kind)) for name, _, kind in parts])


def _columns(text: str) -> list[pa.Field]:
    """Return one column per line with its name, type and comment; indented lines continue it."""
    columns = []
    for line in text.replace("\n    ", " ").strip().split("\n"):
        column, comment = line.split(": ", 1)
        name, _, kind = column.partition(" ")
        columns.append(pa.field(name, _type_of(kind), metadata={"comment": comment}))
    return columns


def _arrow_type(value_type: Any) -> pa.DataType:
    """Return the type of a column of such values; a record becomes a struct of its fields."""
    if get_origin(value_type) is tuple:
        return pa.list_(_arrow_type(get_args(value_type)[0]))
    if value_type in _SCALARS:
        return _SCALARS[value_type]
    fields = msgspec.structs.fields(value_type)
    return pa.struct([(field.name, _arrow_type(field.type)) for field in fields])


SPEC_ROWS = pa.schema(
    [
        *(
            pa.field(name, _arrow_type(fact.value_type), metadata={"comment": fact.description})
            for name, fact in SPEC_FACTS.items()
        ),
        *_columns("""
in_cache bool: False for a row that is not a spec of the content, but outside the cache: a spec
    of the content depends on it.
"""),
    ]
)
"""The columns of a row that describe a spec."""

SPECS = pa.schema(
    [
        *_columns("digest text: The content that the row belongs to."),
        *SPEC_ROWS,
    ]
)
"""One row per spec. The comments describe the columns to any reader of Delta tables."""

REVISIONS = pa.schema(
    _columns(f"""
tag text: The tag that was published.
digest text: Its content: rows of the table specs with this digest.
taken_at time: When the build cache was in this state.
published_at time: When the catalog learned of it.
num_packages int: How many packages the content has.
num_specs int: How many specs the content has.
num_stacks int: How many stacks the content has, root not counted.
total_size int: The sum of the known sizes in bytes; null if none is.
source_kind text: {SOURCE_KIND_TEXT}
source_location text: Where it was read: a path or URL.
source_version text: The commit or ETag that was read, if it had one.
source_importer text: The program that read it, with its version.
source_synthetic bool: Whether the data is generated.
num_proven int: How many hashes the import recomputed and confirmed; null if it did not try.
unproven [reason text, num_specs int]: The number of hashes that it could not compute, by reason:
    converted, spliced, external, format_unknown, rewritten.
""")
)
"""One row for each time that a tag was seen in a state.

Consecutive rows of a tag with the same digest are one revision, which the later rows confirm.
"""

RECIPES = pa.schema(
    _columns("""
tag text: The tag of the revision.
taken_at time: When the build cache was in this state.
digest text: The content of the revision.
repository text: The git repository of the recipes: a path or URL, without credentials.
commit text: The commit that the specs were concretized with.
found_by text: How it was found: given, by the ref of the tag, or by date.
line int: The number of earlier rewrites of the repository's history that imports detected;
    commits of two lines are not compared.
recorded_at time: When the catalog learned of it; the newest row counts.
""")
)
"""One row for each time that the recipes of a revision became known."""

COMMITS = pa.schema(
    _columns("""
repository text: The repository, as the table recipes has it, without slashes or .git at its end.
line int: As in the table recipes.
hash text: The full hash of the commit.
parents [text]: The hashes of what it follows on.
committed_at time: When it was committed.
subject text: The first line of its message, with invisible characters escaped.
pull_request int: The number of the pull request that the subject ends with; null without one.
packages [text]: The packages whose recipes it touched, sorted.
stacks [text]: The stacks that it touched, sorted.
changes_spack bool: Whether it changed which Spack is used.
spack_before text: The Spack before that; null where it is not known.
spack_after text: The Spack after that; null where it is not known.
""")
)
"""One row for each commit that the recipes of some revisions, but not of all, reach."""

RUNS = pa.schema(
    _columns("""
kind text: What ran: import, upkeep, verify or backup.
subject text: The source of an import, or the target of a backup; else empty.
series [text]: The series that an import read, published or not, sorted.
started_at time: When it began.
seconds real: How long it took.
result text: published; unchanged, if an import found nothing new; refused, by a gate; failed; or
    done.
message text: Why it was refused or failed, in a sentence; else empty.
revisions [text]: The refs of the revisions that it published.
""")
)
"""One row for each run of an import, of upkeep, of a verification or of a backup."""

_PAIR = """
base text: The digest of the content before; of nothing for the first.
head text: The digest of the content after.
"""
CHANGES = pa.schema(
    _columns(f"""
name text: The package's name.
hash text: The DAG hash.{_PAIR}kind text: What became of the hash: added, removed or changed.
version text: The version that was built.
reason text: Why, as the two contents tell: rebuilt, replaces, new_version, replaced ...
""")
)
"""One row for each hash that was added, removed or changed between two neighbours of a series.

The rows of a file are sorted by the columns in their order.
"""

HASHES = pa.schema(
    _columns("""
hash text: The DAG hash.
name text: Its package: the name to look for in the table changes.
""")
)
"""One row for each hash that was ever added; sorted in the same way."""

_COUNTED = """
specs_added specs_removed specs_changed packages_added packages_removed packages_changed
"""
_COUNTED_REASONS = """
rebuilt replaces new_package new_stack new_version new_target new_build
replaced package_gone stack_gone version_gone target_gone build_gone
"""


def _counts() -> Iterator[str]:
    for counted in _COUNTED.split():
        what, _, became = counted.partition("_")
        yield f"num_{counted} int: How many {what} were {became}."
    for reason in _COUNTED_REASONS.split():
        yield f"num_{reason} int: How many specs have the reason {reason}."


COMPARISONS = pa.schema(
    [
        *_columns(_PAIR),
        *_columns("\n".join(_counts())),
        *_columns("""
packages [name text, kind text, versions_added [text], versions_removed [text], specs_added int,
    specs_removed int, specs_changed int, specs_rebuilt int, specs_replaced int, specs_new int]: The
    packages that changed: what became of each, versions newest first, and how many specs were
    added, removed and changed; of the added ones how many have the reason rebuilt, how many
    replaces, and how many are new.
new_specs [number int, reason text]: The added specs that are new: the number of the hash, and the
    reason.
removed_specs [int]: The number of each hash that was removed.
causes [kind text, package text, before text, after text, num_specs int, num_involved int, size
    int]: Why specs replaced others, what explains most first: of how many specs it is the
    main cause, in how many it is involved, and the sum of the known sizes of the former.
package_causes [package text, cause int, num_specs int]: The number of specs of each package whose
    main cause is the cause at this index.
cells [package text, version text, target text, stack text, reason text, num_specs int]: The change
    in the number of specs of each combination of package, version, target and stack, by reason;
    target is null if not stated, stack is null for all stacks.
causes_format int: The version of causes and cells; other versions are made anew.
made_by text: The program that compared the two, with its version.
made_at time: When it did so.
"""),
    ]
)
"""One row for each pair of neighbours whose changes are stored; it also commits them."""

TABLES = {
    "revisions": REVISIONS,
    "recipes": RECIPES,
    "commits": COMMITS,
    "runs": RUNS,
    "comparisons": COMPARISONS,
    "changes": CHANGES,
    "hashes": HASHES,
    "specs": SPECS,
}
"""All tables of a catalog. Each precedes those that its rows refer to."""

CELL = COMPARISONS.field("cells").type.value_type


def spec_rows(specs: Sequence[Spec], *, in_cache: bool = True) -> pa.RecordBatch:
    """Return one row per spec, with the columns of ``SPEC_ROWS``."""
    columns = []
    for name in SPEC_FACTS:
        values = list(map(attrgetter(name), specs))
        if name == "dependencies":
            values = [
                None if edges is None else list(map(msgspec.structs.asdict, edges))
                for edges in values
            ]
        columns.append(pa.array(values, SPEC_ROWS.field(name).type))
    columns.append(pa.repeat(in_cache, len(specs)))
    return pa.RecordBatch.from_arrays(columns, schema=SPEC_ROWS)


def with_columns(table: pa.Table, names: Sequence[str]) -> pa.Table:
    """Return the named columns of ``SPECS``; those that the table does not have are null."""
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
    """Return the rows of the specs in the cache, and the rows of those outside."""
    in_cache = table["in_cache"]
    num_inside = pc.sum(in_cache, min_count=0).as_py()
    if pc.all(in_cache.slice(0, num_inside), min_count=0).as_py():
        # As they are stored: nothing has to be copied.
        return table.slice(0, num_inside), table.slice(num_inside)
    return table.filter(in_cache), table.filter(pc.invert(in_cache))


def rows_of_stack(rows: pa.Table, stack: str) -> pa.Table:
    """Return the rows of a stack's specs, and of their other dependencies as outside the cache.

    ``rows`` have all columns of ``SPEC_ROWS``. The returned rows have no stacks.
    """
    return _with_reached(rows, _having(rows["stacks"].combine_chunks(), [stack]), [])


def rows_of_stacks(rows: pa.Table, stacks: Sequence[str] | None, hashes: pa.Array) -> pa.Table:
    """Return the rows of the specs of some stacks, or of all, and of those with some hashes.

    Their other dependencies are outside the cache. ``rows`` have all columns of ``SPEC_ROWS``; the
    returned rows list only these stacks.
    """
    if stacks is None:
        return rows.select(SPEC_ROWS.names)
    of_hashes = pc.is_in(rows["hash"], value_set=hashes).to_numpy()
    return _with_reached(rows, _having(rows["stacks"].combine_chunks(), stacks) | of_hashes, stacks)


def _with_reached(rows: pa.Table, inside: npt.NDArray[np.bool_], stacks: Sequence[str]) -> pa.Table:
    """Return the rows that a mask selects, and the rows they depend on as outside the cache.

    Only the named stacks remain in the rows.
    """
    inside = inside & rows["in_cache"].to_numpy()
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
    selected = rows.select(SPEC_ROWS.names).filter(pa.array(reached))
    remaining = _items_among(selected["stacks"].combine_chunks(), stacks)
    columns = {"stacks": remaining, "in_cache": pa.array(inside[reached])}
    for name, column in columns.items():
        selected = selected.set_column(
            SPEC_ROWS.get_field_index(name), SPEC_ROWS.field(name), column
        )
    return selected


def _items_among(lists: pa.ListArray, items: Sequence[str]) -> pa.ListArray:
    """Return the lists with only those of their items that are in ``items``."""
    values = lists.flatten()
    is_kept = pc.is_in(values, value_set=pa.array(items, pa.string()))
    owners = pc.list_parent_indices(lists).filter(is_kept).to_numpy()
    ends = np.cumsum(np.bincount(owners, minlength=len(lists)))
    offsets = pa.array(np.concatenate(([0], ends)), pa.int32())
    return pa.ListArray.from_arrays(offsets, values.filter(is_kept)).cast(lists.type)


def _having(lists: pa.ListArray, items: Sequence[str]) -> npt.NDArray[np.bool_]:
    """Return a mask that selects the lists with any of some items."""
    is_one = pc.is_in(lists.flatten(), value_set=pa.array(items, pa.string()))
    owners = pc.list_parent_indices(lists).filter(is_one)
    mask = np.zeros(len(lists), np.bool_)
    mask[owners.to_numpy()] = True
    return mask


# -- rows of the table revisions


_SOURCE = "source_"


def revisions_table(revisions: Sequence[RevisionInfo]) -> pa.Table:
    """Return one row per revision."""
    rows = []
    for revision in revisions:
        row = msgspec.structs.asdict(revision)
        row["unproven"] = msgspec.to_builtins(revision.unproven)
        source = msgspec.structs.asdict(row.pop("source"))
        row |= {_SOURCE + name: value for name, value in source.items()}
        rows.append(row)
    return pa.Table.from_pylist(rows, schema=REVISIONS)


def revisions_of(table: pa.Table) -> list[RevisionInfo]:
    """Convert the rows of a table of revisions."""
    rows = table.select(REVISIONS.names).to_pylist()
    for row in rows:
        row["unproven"] = msgspec.convert(row["unproven"], tuple[Unproven, ...] | None)
        source = {name: row.pop(_SOURCE + name) for name in Source.__struct_fields__}
        row["source"] = Source(**source)
    return [RevisionInfo(**row) for row in rows]
