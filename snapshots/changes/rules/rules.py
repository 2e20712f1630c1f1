"""Rules: the keys and meaning of each kind, and the verdict on a comparison or a revision.

Each kind of rule is a record whose fields with a description are the keys of a rule file, and which
evaluates itself. Reading of files and requests and the JSON schema are derived from these records.
The verdict is a pure function of its input; docs/gates.md defines the meaning of each rule.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from itertools import chain, compress
from operator import call
from pathlib import Path
from typing import Annotated, Any, ClassVar, Union, get_args, get_origin

import msgspec
import numpy as np
from msgspec import UNSET, Meta, UnsetType, ValidationError, convert
from msgspec.structs import replace

from snapshots import texts
from snapshots.arrays import Mask, Rows
from snapshots.changes import coverage
from snapshots.changes.diff import SpecChange, SpecChangeKind
from snapshots.changes.lookup import Lookup, RequestedSpecs
from snapshots.changes.package_changes import PackageChange, PackageChangeKind
from snapshots.changes.pairings import Records
from snapshots.changes.rules import measures
from snapshots.changes.sides import row_hashes
from snapshots.changes.stack_changes import StackChange, StackChangeKind
from snapshots.errors import CachelogError, CatalogError, RuleUnusable, UnknownPackage
from snapshots.frames import queries
from snapshots.frames.columns import begins_of_runs, rows_where
from snapshots.frames.frame import Frame
from snapshots.models import ConcreteSpec
from snapshots.spack.query import ANYTHING

# -- amounts


_NUMBER = r"[0-9]{1,15}(\.[0-9]{1,6})?"
SIZES = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
"""The units of sizes, in bytes."""

_AMOUNT = rf"^([0-9]{{1,15}}|{_NUMBER} ?(%|{'|'.join(SIZES)}))$"
_UP_TO_ALL = r"^([0-9]{1,15}|(100(\.0{1,6})?|[0-9]{1,2}(\.[0-9]{1,6})?) ?%)$"
"""Regular expressions for amounts in texts, also valid in JSON Schema."""


class AmountUnit(Enum):
    """The unit of an amount: a count, a percentage of the whole, or bytes."""

    NUMBER = "number"
    PERCENTAGE = "percentage"
    BYTES = "bytes"


class Amount(msgspec.Struct, frozen=True):
    """An amount, exactly as written; ``text`` is for messages."""

    value: Decimal
    unit: AmountUnit
    text: str

    def share_of(self, whole: int) -> Fraction:
        """Return the amount as a number: a percentage is applied to the whole."""
        value = Fraction(self.value)
        return value * whole / 100 if self.unit is AmountUnit.PERCENTAGE else value


def read_amount(value: int | str) -> Amount:
    """Parse an amount from a number or a text of a valid form."""
    match = re.fullmatch(r"([0-9.]+) ?(.*)", str(value))
    if match is None:
        raise ValueError(f"{texts.quoted(str(value))} is not an amount")
    number, unit = match.groups()
    if unit in SIZES:
        return Amount(Decimal(number) * SIZES[unit], AmountUnit.BYTES, f"{number} {unit}")
    if unit:
        return Amount(Decimal(number), AmountUnit.PERCENTAGE, f"{number} %")
    return Amount(Decimal(number), AmountUnit.NUMBER, f"{int(number):,}")


# -- the values of keys


LONGEST_TEXT = 200
"""Maximum number of characters of a name or glob."""

LONGEST_PATH = 4_096
"""Maximum number of characters of a path."""

MAX_GLOBS = 500
"""Maximum number of globs in a list."""

DIMENSIONS = {
    dimension.value.replace("_", "-"): dimension for dimension in coverage.CoverageDimension
}
"""The dimensions of coverage by their names in rule files and on the command line."""


class SpecQuery(str):
    """A query in Spack's spec syntax; raises ValueError for an invalid one."""

    __slots__ = ()

    def __new__(cls, text: object) -> "SpecQuery":
        """Return a text that is valid in Spack's spec syntax."""
        if not isinstance(text, str) or not text:
            raise ValueError(f"{shown(text)} is not in Spack's spec syntax, as hdf5+mpi is")
        try:
            queries.read(text)
        except CachelogError as error:
            raise ValueError(str(error).partition("\n")[0]) from None
        return super().__new__(cls, text)


class PackageQuery(SpecQuery):
    """A query in Spack's spec syntax that names a package."""

    __slots__ = ()

    def __new__(cls, text: object) -> "PackageQuery":
        """Return a query that names a package."""
        query = super().__new__(cls, text)
        if queries.read(query).name in (None, "", ANYTHING):
            reason = "names no package; write one in front, as in hdf5+mpi"
            raise ValueError(f"{texts.quoted(query)} {reason}")
        return query  # type: ignore[return-value]


class Dimensions(tuple[coverage.CoverageDimension, ...]):
    """Distinct dimensions of coverage; raises ValueError for unknown names."""

    __slots__ = ()

    def __new__(cls, names: object) -> "Dimensions":
        """Return the dimensions named by a list."""
        if not isinstance(names, list) or not names:
            raise ValueError(f"{shown(names)} is not a list of {', '.join(DIMENSIONS)}")
        for name in names:
            if not isinstance(name, str) or name not in DIMENSIONS:
                raise ValueError(f"{shown(name)} is not one of {', '.join(DIMENSIONS)}")
        if len({*names}) < len(names):
            raise ValueError("names something twice")
        return super().__new__(cls, (DIMENSIONS[name] for name in names))


def shown(value: object) -> str:
    """Return a value for a message: a quoted text, a number, or else its type in TOML's terms."""
    if isinstance(value, str):
        return texts.quoted(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return texts.shortened(f"{value}", 40)
    kinds = {bool: "a boolean", list: "a list", dict: "a table", type(None): "null"}
    return kinds.get(type(value), "a date or time")


class RuleLevel(Enum):
    """The severity of a broken rule.

    - ERROR: What is checked is refused.
    - WARNING: The breach is only reported.
    """

    ERROR = "error"
    WARNING = "warning"


class Forbidden(Enum):
    """What must not have happened from base to head, or must not be in head.

    docs/gates.md defines each.

    - PACKAGE_REMOVED: Base has a package that head does not have.
    - PACKAGE_DOWNGRADED: The newest version of a package fell.
    - VERSION_REMOVED: Base has a version that head does not have.
    - STACK_REMOVED: Base has a stack that head does not have.
    - COVERAGE_LOST: Base has specs in a cell in which head has none.
    - SPEC_REMOVED: Base has a hash that head does not have.
    - BINARY_REPLACED: Both sides have a hash, with binaries of different checksums.
    - HOLE: A spec of head cannot be installed from the cache alone.
    """

    PACKAGE_REMOVED = "package-removed"
    PACKAGE_DOWNGRADED = "package-downgraded"
    VERSION_REMOVED = "version-removed"
    STACK_REMOVED = "stack-removed"
    COVERAGE_LOST = "coverage-lost"
    SPEC_REMOVED = "spec-removed"
    BINARY_REPLACED = "binary-replaced"
    HOLE = "hole"


def _about(description: str) -> Meta:
    return Meta(description=description)


def _not(form: str, **bounds: Any) -> Meta:
    """Return the bounds of a value, with the error message for values outside them."""
    return Meta(extra={"not": form}, **bounds)


def _one_of(names: Iterable[str]) -> Meta:
    names = [*names]
    form = f"not one of {', '.join(names)}"
    return _not(form, pattern=f"^({'|'.join(names)})$", extra_json_schema={"enum": names})


_Text = Annotated[
    str,
    _not(f"not a text of 1 to {LONGEST_TEXT} characters", min_length=1, max_length=LONGEST_TEXT),
]
_Path = Annotated[
    str,
    _not(
        f"not a path of 1 to {LONGEST_PATH:,} characters",
        min_length=1,
        max_length=LONGEST_PATH,
        pattern=r"^[^\u0000]*$",
    ),
]
_Globs = Annotated[
    _Text | Annotated[tuple[_Text, ...], Meta(min_length=1, max_length=MAX_GLOBS)],
    _not(f"neither a text of 1 to {LONGEST_TEXT} characters nor a list of 1 to {MAX_GLOBS} such"),
]
_Number = Annotated[int, Meta(ge=0, le=10**15 - 1)]

_ForEach = Annotated[
    Dimensions,
    _about(
        "With require: each combination of these with a match in base needs one in head; "
        "with coverage-lost: the dimensions."
    ),
]
_Package = Annotated[_Globs, _about("Only these packages: names or globs.")]
_Except = Annotated[_Globs, _about("Not these packages: names or globs.")]
_Matching = Annotated[SpecQuery, _about("Only specs that match this query in Spack's syntax.")]


# -- breaches


class Breach(msgspec.Struct, frozen=True, gc=False):
    """A breach of a rule, with a message of one line.

    ``rows`` are the affected specs, as rows of ``frame``: of base, or of head for added ones.
    ``missing`` is the hash of a spec that is in neither.
    """

    message: str
    package: str | None = None
    frame: Frame | None = None
    rows: Rows | None = None
    missing: str | None = None

    @property
    def num_specs(self) -> int:
        """Number of specs that the breach affects."""
        return int(self.missing is not None) if self.rows is None else len(self.rows)

    def hashes(self) -> list[str]:
        """Return the hashes of the specs that the breach affects."""
        if self.missing is not None:
            return [self.missing]
        if self.frame is None or self.rows is None:
            return []
        return [self.frame.hashes.at(row) for row in self.rows.tolist()]


class Breaches(Records[Breach]):
    """A breach for each of some items, created on access; ``note`` is added to the message."""

    def __init__(self, items: Sequence[Any], make: Callable[[Any], Breach], note: str = "") -> None:
        self._items = items
        self._make = make
        self.note = note

    def __len__(self) -> int:
        return len(self._items)

    def _record(self, place: int) -> Breach:
        return self._make(self._items[place])


FEW = 20
"""Maximum number of breaches per rule that text formats list."""


class RuleResult(msgspec.Struct, frozen=True):
    """The result of a rule; ``message`` summarizes it in one line."""

    rule: "Rule"
    message: str
    breaches: Sequence[Breach]
    is_short: bool = False

    @property
    def passed(self) -> bool:
        """Whether the rule holds."""
        return not self.breaches and not self.is_short

    @property
    def outcome(self) -> str:
        """The outcome in one word: passed, or the level of the rule."""
        return "passed" if self.passed else self.rule.level.value

    @property
    def few_breaches(self) -> list[str]:
        """The first breaches, and the number of the others.

        A single breach whose message equals that of the result is omitted.
        """
        few = [breach.message for breach in self.breaches[:FEW]]
        if few == [self.message]:
            return []
        more = len(self.breaches) - len(few)
        return [*few, *([f"... and {more:,} more"] if more else [])]


class Verdict(msgspec.Struct, frozen=True):
    """The results of all rules, in their order."""

    results: tuple[RuleResult, ...]

    @property
    def passed(self) -> bool:
        """Whether no rule of level error is broken."""
        return not self.broken(RuleLevel.ERROR)

    def broken(self, level: RuleLevel) -> list[RuleResult]:
        """Return the results of the broken rules of a level."""
        return [
            result for result in self.results if not result.passed and result.rule.level is level
        ]


def lost_cells(cells: coverage.CoverageChanges, in_base: Mask, what: str) -> Breaches:
    """Return a breach for each lost cell; ``in_base`` marks the rows of base that count.

    ``what`` describes what is missing; ``{package}`` in it is replaced by the cell's package.
    """

    def breach(place: int) -> Breach:
        package, values = cells.package(place), cells.values(place)
        cell = zip(cells.dimensions, values, strict=True)
        rows = coverage.rows_in_cell(cells.base, package, cell)
        rows = rows[in_base[rows]]
        where = ", ".join(map(_named, cells.dimensions, values))
        missing = what.replace("{package}", package)
        message = f"{missing} for {where}: base has {texts.counted(len(rows), 'spec')} there"
        return Breach(message, package, cells.base, rows)

    return Breaches(range(len(cells)), breach)


def _named(dimension: coverage.CoverageDimension, value: str) -> str:
    return f"{dimension.value.replace('_', ' ')} {value}"


def _packages_removed(scoped: measures.ScopedComparison) -> Breaches:
    removed = scoped.comparison.packages.select([PackageChangeKind.REMOVED])

    def breach(change: PackageChange) -> Breach:
        rows = _rows_of(scoped, change.name)
        versions = ", ".join(change.versions_before)
        message = (
            f"{change.name} was removed: base has {texts.counted(len(rows), 'spec')} of {versions}"
        )
        return Breach(message, change.name, scoped.comparison.base, rows)

    return Breaches(removed, breach)


def _packages_downgraded(scoped: measures.ScopedComparison) -> Breaches:
    downgraded = scoped.comparison.packages.select([PackageChangeKind.DOWNGRADED])

    def breach(change: PackageChange) -> Breach:
        frame, rows = scoped.comparison.base, _rows_of(scoped, change.name)
        code = frame.version.index[change.newest_before or ""]
        rows = rows[frame.version.codes[rows] == code]
        message = f"{change.name} fell from {change.newest_before} to {change.newest_after}"
        return Breach(message, change.name, frame, rows)

    return Breaches(downgraded, breach)


def _versions_removed(scoped: measures.ScopedComparison) -> Breaches:
    """Return a breach for each version of a package that only base has, in base's order."""
    base, head = scoped.comparison.base, scoped.comparison.head
    in_base, in_head = scoped.masks
    rows = rows_where(in_base)
    columns = ("package", "version")
    ours = row_hashes(base, rows, columns)
    is_gone = ~np.isin(ours, row_hashes(head, rows_where(in_head), columns))
    rows = rows[is_gone]
    starts = np.flatnonzero(begins_of_runs(ours[is_gone]))
    parts = np.split(rows, starts[1:]) if len(rows) else []

    def breach(own: Rows) -> Breach:
        package, version = base.package.at(own[0]), base.version.at(own[0])
        message = f"{package} {version} was removed: base has {texts.counted(len(own), 'spec')}"
        return Breach(message, package, base, own)

    return Breaches(parts, breach)


def _stacks_removed(scoped: measures.ScopedComparison) -> Breaches:
    removed = scoped.stacks(StackChangeKind.REMOVED)

    def breach(change: StackChange) -> Breach:
        base = scoped.comparison.base
        rows = rows_where(scoped.masks[0] & base.in_stack(change.name))
        specs = texts.counted(len(rows), "spec")
        message = f"the stack {change.name} was removed: base has {specs}"
        return Breach(message, None, base, rows)

    return Breaches(removed, breach)


def _specs_removed(scoped: measures.ScopedComparison) -> Breaches:
    removed = scoped.comparison.specs.select([SpecChangeKind.REMOVED])

    def breach(change: SpecChange) -> Breach:
        row = change.before or 0
        spec = removed.base.spec(row)
        name = f"{texts.versioned(spec.name, spec.version)} /{texts.short_hash(spec.hash)}"
        message = f"{name} was removed: {spec.short}"
        return Breach(message, spec.name, removed.base, np.array([row], np.int32))

    return Breaches(removed, breach)


def _binaries_replaced(scoped: measures.ScopedComparison) -> Breaches:
    replaced = scoped.comparison.binaries_replaced

    def breach(change: SpecChange) -> Breach:
        before, after = (
            replaced.base.spec(change.before or 0),
            replaced.head.spec(change.after or 0),
        )
        name = f"{texts.versioned(after.name, after.version)} /{texts.short_hash(after.hash)}"
        message = f"the binary of {name} was replaced: {before.checksum} → {after.checksum}"
        rows = np.array([change.before or 0], np.int32)
        return Breach(message, after.name, replaced.base, rows)

    return Breaches(replaced, breach)


def _cells_lost(
    scoped: measures.ScopedComparison, dimensions: tuple[coverage.CoverageDimension, ...] = ()
) -> Breaches:
    cells = scoped.cells(dimensions or scoped.usual_dimensions)
    lost = cells.select([coverage.CoverageChangeKind.LOST])
    return lost_cells(lost, scoped.masks[0], "{package} was removed")


def _holes(scoped: measures.ScopedComparison) -> Breaches:
    """Return the holes in the scope, each with the specs that need it.

    The note states the number of specs whose dependencies are not known.
    """
    graph, holes = scoped.holes()

    def breach(number: int) -> Breach:
        hole = holes[number]
        name = f"{texts.versioned(hole.name, hole.version)} /{texts.short_hash(hole.hash)}"
        message = f"{name} is missing, needed to install {texts.counted(hole.num_affected, 'spec')}"
        return Breach(message, hole.name, scoped.head, holes.affected(graph, number))

    num_unsure = int(np.count_nonzero(scoped.masks[1])) - holes.num_affected - holes.num_whole
    unsure = f"; unknown for {texts.counted(num_unsure, 'spec')} with unknown dependencies"
    return Breaches(range(len(holes)), breach, unsure if num_unsure else "")


def _rows_of(scoped: measures.ScopedComparison, package: str) -> Rows:
    """Return the rows of a package of base that are in scope."""
    own = scoped.comparison.base.rows_of(package) or slice(0, 0)
    rows: Rows = rows_where(scoped.masks[0][own]) + np.int32(own.start)
    return rows


class Prohibition(msgspec.Struct, frozen=True):
    """What a rule can forbid: ``noun`` names the counted objects, ``happened`` the change to them.

    ``find`` returns the breaches in a scope, by the dimensions of the rule if it names any. A
    prohibition that is ``of_head`` needs no base: it depends on head alone.
    """

    noun: str
    happened: str
    find: Callable[..., Breaches]
    of_head: bool = False


PROHIBITIONS: Mapping[Forbidden, Prohibition] = {
    Forbidden.PACKAGE_REMOVED: Prohibition("package", "removed", _packages_removed),
    Forbidden.PACKAGE_DOWNGRADED: Prohibition("package", "downgraded", _packages_downgraded),
    Forbidden.VERSION_REMOVED: Prohibition("version", "removed", _versions_removed),
    Forbidden.STACK_REMOVED: Prohibition("stack", "removed", _stacks_removed),
    Forbidden.COVERAGE_LOST: Prohibition("cell", "lost", _cells_lost),
    Forbidden.SPEC_REMOVED: Prohibition("spec", "removed", _specs_removed),
    Forbidden.BINARY_REPLACED: Prohibition("binary", "replaced", _binaries_replaced),
    Forbidden.HOLE: Prohibition("hole", "", _holes, of_head=True),
}
"""What rules can forbid."""


_FEW_NAMES = 5
_SIZES_UNKNOWN = "the catalog has no sizes; cachelog import --sizes fetches them"


def _share(measured: measures.Measured, limit: Amount, side: str) -> str:
    """Return a count as a percentage of what a side has, if the limit is a percentage."""
    if limit.unit is not AmountUnit.PERCENTAGE or measured.amount is None:
        return ""
    whole = measured.whole or 0
    if not whole:
        return f" where {side} has none"
    return f" ({100 * measured.amount / whole:.2f} % of {whole:,})"


def _limit_breach(message: str, measured: measures.Measured) -> Breach:
    if measured.changes is None:
        return Breach(message)
    frame, rows = measures.rows_of(measured.changes)
    return Breach(message, None, frame, rows)


def _missing_breach(lookup: Lookup, place: int) -> Breach:
    """Return a breach for a missing spec that describes how the nearest spec differs."""
    spec = lookup.requested.specs[place]
    message = (
        f"{texts.versioned(spec.name, spec.version)} /{texts.short_hash(spec.hash)} is missing"
    )
    number = int(np.searchsorted(lookup.missing, place))
    if lookup.rows[place] >= 0:
        message += " there, though other stacks have it"
    elif (row := int(lookup.nearest[number])) >= 0:
        names = [texts.in_words(change.path) for change in lookup.differences(number)]
        other = ", ".join(names) or "dependencies"
        near = texts.short_hash(lookup.frame.hashes.at(row))
        message += f"; nearest is /{near}, with other {other}"
    return Breach(message, spec.name, missing=spec.hash)


# -- the kinds of rules


class Rule(msgspec.Struct, frozen=True, kw_only=True, rename="kebab", forbid_unknown_fields=True):
    """Base class of the kinds of rules: fields with a description are the keys of a rule file.

    ``line`` is the line of the file at which the rule begins; None if it is not from a file.
    ``key`` is the key that identifies the kind.
    """

    key: ClassVar[str]
    name: Annotated[_Text, _about("What it is called, in all messages about it.")]
    level: Annotated[RuleLevel, _about("Whether a breach is an error, or only a warning.")] = (
        RuleLevel.ERROR
    )
    stack: Annotated[_Text, _about("Only specs of this stack.")] | UnsetType = UNSET
    line: int | None = None

    @property
    def scope(self) -> measures.RuleScope:
        """The scope of the rule."""
        values = {name: getattr(self, name, UNSET) for name in measures.RuleScope.__struct_fields__}
        for name in ("package", "except_"):
            if isinstance(values[name], str):
                values[name] = (values[name],)
        return measures.RuleScope(
            **{name: value for name, value in values.items() if value is not UNSET}
        )

    @property
    def needs_base(self) -> bool:
        """Whether the rule cannot be evaluated for a single revision."""
        return True

    def faults(self) -> "Iterator[Fault]":
        """Yield the faults of values that contradict each other."""
        yield from ()

    def loaded(self, load: "Load") -> "Rule":  # noqa: ARG002 - for kinds that name something
        """Return the rule with the files that it names loaded; raise BadRule if that fails."""
        return self

    def judge(self, scoped: measures.ScopedComparison) -> "RuleResult":
        """Return the result of the rule; raise CachelogError if it cannot be evaluated."""
        raise NotImplementedError


class Forbid(Rule, frozen=True, kw_only=True, rename="kebab", forbid_unknown_fields=True):
    """An event must not have happened from base to head, or something must not be in head.

    ``for_each`` are dimensions of lost coverage.
    """

    key: ClassVar[str] = "forbid"
    forbid: Annotated[
        Forbidden,
        _about(
            "What must not happen from base to head, or be in head: "
            f"{', '.join(what.value for what in Forbidden)}."
        ),
    ]
    for_each: _ForEach | UnsetType = UNSET
    package: _Package | UnsetType = UNSET
    matching: _Matching | UnsetType = UNSET
    except_: _Except | UnsetType = UNSET

    @property
    def needs_base(self) -> bool:
        """Whether the rule is about changes between base and head."""
        return not PROHIBITIONS[self.forbid].of_head

    def faults(self) -> "Iterator[Fault]":
        """Yield a fault if dimensions are given for anything but lost coverage."""
        if self.for_each and self.forbid is not Forbidden.COVERAGE_LOST:
            name = texts.quoted(Forbidden.COVERAGE_LOST.value)
            yield Fault("for-each", f"is only for forbid = {name} and require")

    def judge(self, scoped: measures.ScopedComparison) -> "RuleResult":
        """Return the number of forbidden changes or holes as a message, and each as a breach."""
        prohibition = PROHIBITIONS[self.forbid]
        breaches = prohibition.find(scoped, *([self.for_each] if self.for_each else []))
        message = (
            f"{texts.counted(len(breaches), prohibition.noun)} {prohibition.happened}".rstrip()
            + breaches.note
        )
        return RuleResult(self, message, breaches)


class Require(Rule, frozen=True, kw_only=True, rename="kebab", forbid_unknown_fields=True):
    """A query in Spack's spec syntax has a match in head.

    With ``for_each``, in each cell in which base has one.
    """

    key: ClassVar[str] = "require"

    require: Annotated[
        PackageQuery,
        _about("A query in Spack's spec syntax that names a package: head must have a match."),
    ]
    for_each: _ForEach | UnsetType = UNSET
    matching: _Matching | UnsetType = UNSET

    @property
    def needs_base(self) -> bool:
        """Whether a match is required for each combination that base has."""
        return bool(self.for_each)

    def judge(self, scoped: measures.ScopedComparison) -> "RuleResult":
        """Return the breaches: no match in head, or none in a cell in which base has one."""
        try:
            before, after = scoped.find(self.require)
        except UnknownPackage as error:  # neither side has a spec with one of the names
            return RuleResult(self, str(error), (Breach(str(error)),))
        matches = int(after.sum())
        if self.for_each and scoped.base is not None:
            lost = scoped.lost_for_query(self.require, self.for_each)
            if len(lost):
                message = f"{texts.counted(matches, 'spec')} found, missing in {len(lost):,} cells"
                return RuleResult(self, message, lost_cells(lost, before, f"no {self.require}"))
        if matches:
            return RuleResult(self, f"{texts.counted(matches, 'spec')} found", ())
        message = f"no {self.require} found"
        if not before.any():
            return RuleResult(self, message, (Breach(message),))
        rows = rows_where(before)
        message += f", where base has {texts.counted(len(rows), 'spec')}"
        return RuleResult(self, message, (Breach(message, None, scoped.base, rows),))


class Limit(Rule, frozen=True, kw_only=True, rename="kebab", forbid_unknown_fields=True):
    """A count or a size does not exceed a limit."""

    key: ClassVar[str] = "limit"
    limit: Annotated[
        str,
        _one_of(measures.MEASURES),
        _about("A count of the summary (specs-removed ...), or size-removed, size-added."),
    ]
    at_most: Annotated[
        _Number | Annotated[str, Meta(pattern=_AMOUNT)],
        _not(f'not a number (100), percentage ("5 %") or size ("20 GiB"; {", ".join(SIZES)})'),
        _about("The limit: a number, 5 % of what base has, or 20 GiB."),
    ]
    package: _Package | UnsetType = UNSET
    matching: _Matching | UnsetType = UNSET
    except_: _Except | UnsetType = UNSET

    @property
    def needs_base(self) -> bool:
        """Whether the measure counts changes between base and head."""
        return not measures.MEASURES[self.limit].of_head

    def faults(self) -> "Iterator[Fault]":
        """Yield a fault if a count is limited by a size."""
        limit = read_amount(self.at_most)
        if limit.unit is AmountUnit.BYTES and not measures.MEASURES[self.limit].is_size:
            reason = f"{texts.quoted(limit.text)} is a size; {self.limit} takes a number (100)"
            yield Fault("at-most", f'{reason} or a percentage ("5 %")')

    def judge(self, scoped: measures.ScopedComparison) -> "RuleResult":
        """Return the count as a message, and a breach if it exceeds the limit.

        A count that is unknown exceeds any limit. If packages or stacks exceed it, the message
        names some of them.
        """
        measure, limit = measures.MEASURES[self.limit], read_amount(self.at_most)
        measured = measure.take(scoped)
        if measured.amount is None or (
            limit.unit is AmountUnit.PERCENTAGE and measured.whole is None
        ):
            message = f"how much was {measure.happened} is unknown: {_SIZES_UNKNOWN}"
            return RuleResult(self, message, [_limit_breach(message, measured)])
        if measure.is_size:
            amount = f"{texts.size(measured.amount)} ({measured.amount:,} bytes)"
            if measured.num_unknown:
                amount += f" and {texts.counted(measured.num_unknown, 'spec')} of unknown size"
        else:
            amount = texts.counted(measured.amount, measure.noun)
        side = "base" if self.needs_base else "head"
        is_in_bytes = measure.is_size and limit.unit is AmountUnit.NUMBER
        allowed = f"{limit.text} bytes" if is_in_bytes else limit.text
        message = f"{amount} {measure.happened}{_share(measured, limit, side)}, at most {allowed}"
        is_broken = measured.amount > limit.share_of(measured.whole or 0)
        if is_broken and measured.names:
            message += f": {texts.few(measured.names, _FEW_NAMES)}"
        breaches = [_limit_breach(message, measured)] if is_broken else []
        return RuleResult(self, message, breaches)


class Cover(Rule, frozen=True, kw_only=True, rename="kebab", forbid_unknown_fields=True):
    """Head contains concrete specs.

    ``specs`` are those of the lock file that ``cover`` names.
    """

    key: ClassVar[str] = "cover"

    cover: Annotated[
        _Path,
        _about("The path of a lock file, relative to this file: head must contain its specs."),
    ]
    at_least: Annotated[
        _Number | Annotated[str, Meta(pattern=_UP_TO_ALL)],
        _not('not a number (100), nor a percentage of 100 % or less ("98 %")'),
        _about("How many of them: a number, or 98 %; all unless given."),
    ] = "100 %"
    package: _Package | UnsetType = UNSET
    except_: _Except | UnsetType = UNSET
    specs: tuple[ConcreteSpec, ...] = ()

    @property
    def needs_base(self) -> bool:
        """Always False: only head is evaluated."""
        return False

    def loaded(self, load: "Load") -> "Rule":
        """Return the rule with the specs of the lock file."""
        try:
            return replace(self, specs=tuple(load(self.cover)))
        except ValueError as error:
            raise BadRule([Fault("cover", str(error))]) from None

    def judge(self, scoped: measures.ScopedComparison) -> "RuleResult":
        """Return the coverage as a message; if too many specs are missing, they are breaches.

        Specs that head does not have in the stack of the rule are missing.
        """
        is_meant = scoped.scope.packages_meant([spec.name for spec in self.specs])
        lookup = Lookup(RequestedSpecs(compress(self.specs, is_meant.tolist())), scoped.head)
        _, in_scope = scoped.masks
        is_there = lookup.rows >= 0
        is_there[is_there] = in_scope[lookup.rows[is_there]]
        total, num_present = len(lookup.requested), int(np.count_nonzero(is_there))
        share = f" ({100 * num_present / total:.2f} %)" if total else ""
        limit = read_amount(self.at_least)
        message = (
            f"{num_present:,} of {texts.counted(total, 'spec')} of {self.cover} found{share}, "
            f"at least {limit.text}"
        )
        if num_present >= limit.share_of(total):
            return RuleResult(self, message, ())
        missing = rows_where(~is_there)
        breaches = Breaches(missing.tolist(), lambda place: _missing_breach(lookup, place))
        return RuleResult(self, message, breaches, is_short=True)


KINDS: Mapping[str, type[Rule]] = {kind.key: kind for kind in (Forbid, Require, Limit, Cover)}
"""The kinds of rules by their key; each rule has one kind."""

Load = Callable[[str], Iterable[ConcreteSpec]]
"""Reads the specs that ``cover`` names; raises ValueError with the reason if it cannot."""


# -- reading


class Fault(msgspec.Struct, frozen=True):
    """A fault of a rule; ``key`` is None if it does not concern a single key."""

    key: str | None
    reason: str


class BadRule(Exception):
    """A rule that cannot be read, with all of its faults."""

    def __init__(self, faults: list[Fault]) -> None:
        self.faults = faults
        super().__init__(faults)


class Key(msgspec.Struct, frozen=True):
    """A key of a kind of rules: its field and the type of its values."""

    name: str
    field: str
    type: Any
    about: str
    is_required: bool


def _keys_of(kind: type[Rule]) -> dict[str, Key]:
    """Return the keys of a kind by name: its fields with a description."""
    keys = {}
    for field in msgspec.structs.fields(kind):
        hint = get_args(field.type)[0] if get_origin(field.type) is Union else field.type
        for meta in getattr(hint, "__metadata__", ()):
            if meta.description is not None:
                name = field.encode_name
                keys[name] = Key(name, field.name, hint, meta.description, field.required)
    return keys


KEYS_OF: Mapping[str, Mapping[str, Key]] = {key: _keys_of(kind) for key, kind in KINDS.items()}
"""The keys of each kind."""

_COUNTS = Counter(chain.from_iterable(KEYS_OF.values()))
_ORDER = {"name": 0, "level": 0}

KEYS: Mapping[str, Key] = {
    name: KEYS_OF[kind][name]
    for name in sorted(_COUNTS, key=lambda name: _ORDER.get(name, _COUNTS[name]))
    for kind in KINDS
    if name in KEYS_OF[kind]
}
"""All keys of rules: ``name`` and ``level``, then the keys of one kind, then those of several."""


def read_rule(values: Mapping[str, Any], load: Load, *, line: int | None = None) -> Rule:
    """Return the rule defined by keys and values; raise BadRule with all faults."""
    kinds = [key for key in KINDS if key in values]
    faults = [_unknown(name) for name in values if name not in KEYS]
    if len(kinds) > 1 or not (kinds or faults):
        choices = ", ".join(KINDS)
        has = f"has {' and '.join(kinds)}" if kinds else "asks for nothing"
        faults.append(Fault(None, f"the rule {has}: each rule has exactly one of {choices}"))
    keys = KEYS_OF[kinds[0]] if len(kinds) == 1 else KEYS
    of_kind = "each rule has a name" if len(kinds) != 1 else f"{kinds[0]} needs it"
    needed = ["name", *(key.name for key in keys.values() if key.is_required and len(kinds) == 1)]
    faults += [
        Fault(name, f"is missing: {'each rule has a name' if name == 'name' else of_kind}")
        for name in dict.fromkeys(needed)
        if name not in values
    ]
    fields: dict[str, Any] = {}
    for name, value in values.items():
        if name in keys:
            try:
                fields[keys[name].field] = convert(value, keys[name].type, dec_hook=call)
            except ValidationError as error:
                faults.append(Fault(name, _reason(value, keys[name].type, error)))
        elif name in KEYS:
            own = ", ".join(key for key in keys if key not in ("name", "level", kinds[0]))
            faults.append(Fault(name, f"is not a key of {kinds[0]} rules; these are: {own}"))
    if faults:
        raise BadRule(faults)
    rule = KINDS[kinds[0]](**fields, line=line)
    if faults := [*rule.faults()]:
        raise BadRule(faults)
    return rule.loaded(load)


def _unknown(key: str) -> Fault:
    hint = texts.nearest_hint(texts.nearest_names(key, KEYS, most=1))
    return Fault(key, f"is not a key of a rule{hint}; it may have {', '.join(KEYS)}")


def _reason(value: Any, hint: Any, error: ValidationError) -> str:
    """Return why a value is invalid: the message of its key if it has one, else the error."""
    form = _form(hint)
    return str(error) if form is None else f"{shown(value)} is {form}"


def _form(hint: Any) -> str | None:
    for meta in reversed(getattr(hint, "__metadata__", ())):
        if meta.extra is not None:
            return str(meta.extra["not"])
    base = getattr(hint, "__origin__", hint)
    return (
        f"not one of {', '.join(item.value for item in base)}" if issubclass(base, Enum) else None
    )


MAX_RULES_IN_FILE = 500
"""Maximum number of rules in a file."""

SCHEMA_FILE = Path(__file__).with_name("rules.schema.json")
"""The schema as it is committed and published with the package."""


# -- the verdict


Check = Callable[[], None]


def judge(
    rules: Iterable[Rule], context: measures.RuleContext, check: Check = lambda: None
) -> Verdict:
    """Return the verdict of rules on a comparison, or on head alone without a base.

    ``check`` is called before each rule, and may raise. Raises RuleUnusable for a rule that needs a
    missing base, is about a stack that neither side has, or cannot be evaluated.
    """
    scopes: dict[measures.RuleScope, measures.ScopedComparison] = {}
    results = []
    for rule in rules:
        check()
        scope = rule.scope
        if scope not in scopes:
            _require_stack(rule, context)
            scopes[scope] = measures.ScopedComparison(context, scope)
        results.append(_judge_one(rule, scopes[scope]))
    return Verdict(tuple(results))


def _judge_one(rule: Rule, scoped: measures.ScopedComparison) -> RuleResult:
    if rule.needs_base and scoped.base is None:
        raise RuleUnusable(rule.name, rule.key, "needs a base to compare with", line=rule.line)
    key = "matching"
    try:
        _ = scoped.masks
        key = rule.key
        result = rule.judge(scoped)
    except CachelogError as error:
        raise _translated(rule, key, error) from None
    return replace(result, message=result.message + _empty_scope_note(scoped))


def _empty_scope_note(scoped: measures.ScopedComparison) -> str:
    """Return a remark if the scope of a rule contains no spec."""
    before, after = scoped.masks
    if scoped.scope == measures.RuleScope() or after.any() or before.any():
        return ""
    return "; note that the rule is about no spec of either revision"


def _require_stack(rule: Rule, context: measures.RuleContext) -> None:
    """Raise RuleUnusable for a stack that neither side has: a misspelled name would pass.

    Also raise it if one side states no stacks: whether the stack changed is then unknown.
    """
    stack, comparison = rule.scope.stack, context.comparison
    base = None if comparison is None else comparison.base
    if stack is None:
        return
    stacks = {*context.head.frame.stacks.items, *(base.stacks.items if base else ())}
    if stack in stacks:
        if base is not None and (silent := measures.side_without_stacks(base, context.head.frame)):
            reason = f"{silent} does not list stacks, so nothing can be checked"
            raise RuleUnusable(rule.name, "stack", reason, line=rule.line)
        return
    hint = texts.names_hint(stack, sorted(stacks))
    reason = texts.absent_name(stack, hint, 1 if base is None else 2)
    raise RuleUnusable(rule.name, "stack", reason, line=rule.line)


def _translated(rule: Rule, key: str, error: CachelogError) -> CachelogError:
    """Return an error of a query as that of its rule; errors of the catalog are not translated."""
    if isinstance(error, CatalogError):
        return error
    return RuleUnusable(rule.name, key, str(error).partition("\n")[0], line=rule.line)
