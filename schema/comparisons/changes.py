"""Changes: the parts of a comparison in general, and changes of packages, stacks and coverage."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from operator import attrgetter
from typing import TYPE_CHECKING, Annotated, Any, Generic, TypeVar

import msgspec
import numpy as np
import strawberry
from strawberry.scalars import JSON

from schema.context import Context, LoadedRevision, PlannedInfo
from schema.fields import gql, many, relay
from schema.fields.cost import EXPLAINED, SMALL, field
from schema.node import Node, info_of_id, key_of, node_id, page_path
from schema.revisions.package import PackageRows, RevisionPackage
from schema.revisions.spec import SpecRows, SpecType
from snapshots.changes.causes import CauseStep
from snapshots.changes.coverage import CoverageChangeKind
from snapshots.changes.diff import Comparison, SpecChangeKind
from snapshots.changes.explanation import Explanation
from snapshots.changes.package_changes import PackageChangeField, PackageChangeKind
from snapshots.changes.reasons import SpecChangeReason
from snapshots.changes.scope import ComparisonFilter
from snapshots.changes.stack_changes import StackChangeKind
from snapshots.errors import InvalidArgument
from snapshots.models import RevisionInfo
from snapshots.recipes.effects import RecipesChange
from snapshots.side_comparisons import SideComparison
from snapshots.texts import quoted

if TYPE_CHECKING:
    from schema.comparisons.explanations import Cause

Item = TypeVar("Item")

gql.describe_enum(
    SpecChangeReason,
    RETURNED="Added: an earlier revision of the series had the hash. Not known where the history "
    "is incomplete.",
)


LazyCause = Annotated["Cause", strawberry.lazy("schema.comparisons.explanations")]

OF_SPEC = "/"
"""The separator in ids between the ref of a revision and the hash of a spec."""


class LoadedComparison(SideComparison[RevisionInfo, Context], frozen=True, dict=True):
    """A comparison in the context of a request.

    ``hashes`` are those of the two specs, if only these are compared; ``pair_paths`` has their path
    to each cause.
    """

    hashes: tuple[str, str] | None = None
    pair_paths: Sequence[Sequence[CauseStep]] = ()

    @property
    def key(self) -> tuple[str, str]:
        """The parts of ids that identify it: see ``comparison_key``; a key is followed by the
        spec's hash.
        """
        base, head = comparison_key(self.base, self.head, self.only)
        if self.hashes is not None:
            before, after = self.hashes
            return f"{base}{OF_SPEC}{before}", f"{head}{OF_SPEC}{after}"
        return base, head

    @cached_property
    def before(self) -> LoadedRevision:
        """The loaded base."""
        return self.source.load(self.base)

    @cached_property
    def after(self) -> LoadedRevision:
        """The loaded head."""
        return self.source.load(self.head)

    # A response may refer to many comparisons; the context retains these values for the latest.

    @property
    def explanation(self) -> Explanation:
        """The explanation of all changes."""
        return self.explained or self.source.explain(self.base, self.head)

    @property
    def recipes(self) -> RecipesChange:
        """The commits of the recipes that explain the causes."""
        return self.source.recipes_change(self.base, self.head)


def load_comparison(
    context: Context, base: RevisionInfo, head: RevisionInfo, only: ComparisonFilter | None = None
) -> LoadedComparison:
    """Load and compare two sides, and restrict the comparison to some specs of both.

    The result is retained for the other fields of one object. Raises InvalidArgument for a stack or
    a package that neither side has, and the errors of queries.
    """
    key = id(base), id(head), only  # the comparison that is retained refers to both
    comparison: LoadedComparison | None = context.comparisons.get(key)
    if comparison is None:
        comparison = LoadedComparison(base, head, context, only)
        _ = comparison.before, comparison.after, comparison.whole
        if only:
            context.require_time()  # the changes are listed again, which takes up to 20 ms
        _ = comparison.changes
        context.comparisons[key] = comparison
    return comparison


_ONLY = "?"


def comparison_key(
    base: RevisionInfo, head: RevisionInfo, only: ComparisonFilter | None = None
) -> tuple[str, str]:
    """Return the parts of ids that identify a comparison: the keys of both sides.

    The restriction, if any, follows the key of head.
    """
    narrowing = _ONLY + urlsafe_b64encode(msgspec.json.encode(only)).decode() if only else ""
    return key_of(base), key_of(head) + narrowing


def comparison_url(
    base: RevisionInfo,
    head: RevisionInfo,
    only: ComparisonFilter | None = None,
    *names: str,
    **query: str | None,
) -> str | None:
    """Return the path of the page of a comparison, or of a part of it; None for a plan."""
    if isinstance(head, PlannedInfo):
        return None
    scope = {} if only is None else msgspec.structs.asdict(only)
    return page_path("compare", f"{base.ref}...{head.ref}", *names, **scope, **query)


def comparison_of_id(
    context: Context, base: str, head: str
) -> tuple[RevisionInfo, RevisionInfo, ComparisonFilter | None] | None:
    """Return the sides that an id names by two keys, and the restriction; None if a side does not
    exist.

    Raises InvalidArgument for an invalid restriction.
    """
    head, sign, narrowing = head.partition(_ONLY)
    try:
        only = (
            msgspec.json.decode(urlsafe_b64decode(narrowing), type=ComparisonFilter)
            if sign
            else None
        )
    except (ValueError, msgspec.DecodeError):
        raise InvalidArgument("id", f"{quoted(narrowing)} narrows to nothing") from None
    before, after = info_of_id(context, base), info_of_id(context, head)
    return None if before is None or after is None else (before, after, only)


def loaded_of_id(context: Context, base: str, head: str) -> LoadedComparison | None:
    """Return the comparison that ids name: of two sides, of twins, or of specs, whose hashes follow
    the keys.
    """
    (one, _, of_base), (other, _, of_head) = (text.partition(OF_SPEC) for text in (base, head))
    if of_base or of_head:
        from schema.comparisons.spec_comparison import comparison_of_ids

        return comparison_of_ids(context, (one, of_base), (other, of_head))
    if (sides := comparison_of_id(context, base, head)) is None:
        return None
    if base == head:
        from schema.revisions.twins import twins_comparison

        return twins_comparison(context, sides[0], context.twins(sides[0]))
    return load_comparison(context, *sides)


class PartRows(many.LazyList[Item], Generic[Item]):
    """Objects for the records of a table, mostly parts of a comparison (changes, steps)."""

    def __init__(self, make: Callable[..., Item], comparison: Any, table: Any) -> None:
        self._make = make
        self.comparison = comparison
        self.table = table

    def __len__(self) -> int:
        return len(self.table)

    def __getitem__(self, place: Any) -> Any:
        number = range(len(self))[place]
        table = self.table[number : number + 1]
        return self._make(rows=PartRows(self._make, self.comparison, table))

    @cached_property
    def records(self) -> list[Any]:
        """The record of each part."""
        return list(self.table)


def id_of_record(kind: str, name: str) -> Any:
    """Declare the id of a part, which consists of the comparison's key and a fact of the part's
    record.
    """
    value = attrgetter(name)

    def ids(rows: PartRows[Any]) -> list[strawberry.ID]:
        key = rows.comparison.key
        return [node_id(kind, *key, value(record)) for record in rows.records]

    return many.for_many(ids, "An opaque, stable id.")


def change_of_id(table_of: Callable[[Comparison], Any]) -> Any:
    """Return the ``of_id`` of the changes of a table, which finds its rows by name."""

    def of_id(cls: Any, context: Context, base: str, head: str, name: str) -> Any:
        comparison = loaded_of_id(context, base, head)
        if comparison is None:
            return None
        table = table_of(comparison.changes)
        place = table.find(name)
        return None if place is None else PartRows(cls, comparison, table)[place]

    return classmethod(of_id)


def size_delta(before: int | None, after: int | None) -> gql.ByteCount | None:
    """Return the difference of two sizes in bytes; None if either is unknown."""
    return None if before is None or after is None else gql.ByteCount(after - before)


def _size_deltas(rows: PartRows[Any]) -> list[gql.ByteCount | None]:
    """The difference of the sums of its known sizes in bytes; null if either is unknown."""
    return [size_delta(record.size_before, record.size_after) for record in rows.records]


def change_connection(
    make: Callable[..., Item],
    comparison: LoadedComparison,
    table: Any,
    arguments: relay.PageArguments,
    order: relay.Order | None = None,
    *,
    key: Callable[[Any], str] = attrgetter("name"),
    find: Callable[[str], int | None] | None = None,
) -> relay.Connection[Item]:
    """Return a connection over a table of changes, in the order of the table unless ``order`` is
    given.

    ``key`` returns the key of a record, and ``find`` the index of a key, which is by
    default the ``find`` of the table. Raises InvalidArgument for an invalid cursor.
    """
    if order is not None:
        table = table.ordered(order.field, descending=order.is_descending)
    digests = comparison.base.digest, comparison.head.digest
    part = relay.window_at(arguments.within(*digests), len(table), find or table.find)
    shown = PartRows(make, comparison, table[part.start : part.stop])
    start = relay.cursor_of(*digests, key="")
    cursors = [start + key(record) for record in shown.records]
    return relay.Connection(page=relay.ListPage([part], shown, cursors))


@gql.object_type
class FieldChangeType:
    """A fact that differs, with both values as JSON."""

    path: str = field("The name of the fact, for example stacks, compiler or variants.")
    before: JSON | None = field("The value in base.")
    after: JSON | None = field("The value in head.")


gql.describe_enum(PackageChangeKind)

PackageChangeOrderArgument = Annotated[
    relay.Order | None,
    relay.order_by("PackageChangeOrder", "changed packages", PackageChangeField, ties="name"),
]


def _packages_before(rows: PartRows[Any]) -> many.NullableObjects:
    """The package in base; null if it was added."""
    codes = rows.table.names.in_base[rows.table.places]
    return many.NullableObjects.at(codes, partial(PackageRows, rows.comparison.before))


def _packages_after(rows: PartRows[Any]) -> many.NullableObjects:
    """The package in head; null if it was removed."""
    codes = rows.table.names.in_head[rows.table.places]
    return many.NullableObjects.at(codes, partial(PackageRows, rows.comparison.after))


def _causes_of_packages(rows: PartRows[Any]) -> many.NullableObjects:
    """The main cause of most of its added specs that replaced others; null if there are none."""
    from schema.comparisons.explanations import CauseRows

    comparison, codes = rows.comparison, rows.table.names.in_head[rows.table.places]
    added = comparison.changes.specs.select([SpecChangeKind.ADDED])
    of_added = comparison.explanation.main_causes(added)
    packages = added.head.package.codes[added.after]  # sorted, as the table is by package
    starts, stops = (np.searchsorted(packages, codes, side) for side in ("left", "right"))
    causes = np.full(len(codes), -1, np.int32)
    for place, (start, stop) in enumerate(zip(starts.tolist(), stops.tolist(), strict=True)):
        numbers = of_added[start:stop]
        if (numbers >= 0).any():
            causes[place] = np.bincount(numbers[numbers >= 0]).argmax()
    return many.NullableObjects.at(causes, lambda at: CauseRows(comparison, at.tolist()))


@gql.object_type
class PackageChangeType(many.ListedRecord, Node):
    """The change of a package.

    - name: The package's name.
    - kind: How it changed.
    - versions_added: Versions only in head, newest first.
    - versions_removed: Versions only in base, newest first.
    - num_specs_added: Number of its hashes that are only in head.
    - num_specs_removed: Number of its hashes that are only in base.
    - num_specs_changed: Number of its hashes on both sides whose facts changed.
    """

    of_id = change_of_id(attrgetter("packages"))
    id: strawberry.ID = id_of_record("PackageChange", "name")
    name: str = many.of_record("name")
    kind: PackageChangeKind = many.of_record("kind")

    before: RevisionPackage | None = many.for_many(_packages_before)
    after: RevisionPackage | None = many.for_many(_packages_after)
    versions_added: list[str] = many.of_record("versions_added")
    versions_removed: list[str] = many.of_record("versions_removed")
    num_specs_added: int = many.of_record("specs_added")
    num_specs_removed: int = many.of_record("specs_removed")
    num_specs_changed: int = many.of_record("specs_changed")
    size_delta: gql.ByteCount | None = many.for_many(_size_deltas)
    main_cause: LazyCause | None = many.for_many(_causes_of_packages, cost=EXPLAINED)


gql.describe_enum(StackChangeKind)


@gql.object_type
class StackChangeType(many.ListedRecord, Node):
    """The change of a stack.

    - name: The stack's name.
    - kind: How it changed.
    - num_specs_before: Number of its specs in base.
    - num_specs_after: Number of its specs in head.
    - num_specs_added: Number of hashes that it contains only in head.
    - num_specs_removed: Number of hashes that it contains only in base.
    - added_package_names: The names of the packages of which it contains a spec only in head.
    - removed_package_names: The names of the packages of which it contains a spec only in base.
    """

    of_id = change_of_id(attrgetter("stacks"))
    id: strawberry.ID = id_of_record("StackChange", "name")
    name: str = many.of_record("name")
    kind: StackChangeKind = many.of_record("kind")
    num_specs_before: int = many.of_record("num_specs_before")
    num_specs_after: int = many.of_record("num_specs_after")
    num_specs_added: int = many.of_record("specs_added")
    num_specs_removed: int = many.of_record("specs_removed")
    size_delta: gql.ByteCount | None = many.for_many(_size_deltas)
    added_package_names: list[str] = many.of_record("packages_added", cost=SMALL)
    removed_package_names: list[str] = many.of_record("packages_removed", cost=SMALL)


gql.describe_enum(CoverageChangeKind)


def _nearest(rows: PartRows[Any]) -> many.Sublists:
    """For LOST: the most similar specs of the package in head."""
    head = rows.comparison.after
    nearest = [record.nearest for record in rows.records]
    return many.Sublists.of(nearest, lambda numbers: SpecRows(head, np.array(numbers, np.int32)))


@gql.object_type
class CoverageChangeType(many.ListedRecord):
    """A lost or gained cell: a package with a value for each dimension.

    - kind: Whether it was lost or gained.
    - package_name: The package's name.
    - values: The value for each requested dimension, in the order of `by`.
    - num_specs: Number of specs in the cell, on the side that has it.
    """

    kind: CoverageChangeKind = many.of_record("kind")
    package_name: str = many.of_record("package")
    values: list[str] = many.of_record(
        "values",
    )
    num_specs: int = many.of_record("num_specs")
    nearest_specs: list[SpecType] = many.for_many(_nearest, cost=SMALL)
