"""The verdict of rules on a comparison, or on one revision: pure, and always the same.

docs/gates.md defines what each rule means.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import compress

import msgspec
import numpy as np

from snapshots.changes.coverage import (
    CoverageChangeKind,
    CoverageChanges,
    CoverageDimension,
    having,
)
from snapshots.changes.diff import SpecChangeKind
from snapshots.changes.lookup import Lookup, Wanted
from snapshots.changes.package_changes import PackageChangeKind
from snapshots.changes.pairings import Records
from snapshots.changes.rules.measures import (
    MEASURES,
    Find,
    HeadScope,
    Judged,
    Measured,
    Scope,
    rows_of,
    scope_of,
    silent_side,
)
from snapshots.changes.rules.rules import (
    Amount,
    Cover,
    Forbid,
    Forbidden,
    Limit,
    Only,
    Require,
    Rule,
    RuleLevel,
    Unit,
)
from snapshots.changes.sides import row_hashes
from snapshots.changes.stack_changes import StackChangeKind
from snapshots.errors import CachelogError, CatalogError, RuleUnusable, UnknownPackage
from snapshots.frames import matching
from snapshots.frames.columns import Mask, Rows, begins_of_runs, rows_where
from snapshots.frames.dependencies import DependencyGraph
from snapshots.frames.frame import Frame
from snapshots.frames.matching import require_known, unknown_names
from snapshots.wording import (
    counted,
    in_words,
    nearest_hint,
    nearest_names,
    quoted,
    short_hash,
    size,
    versioned,
)


class Breach(msgspec.Struct, frozen=True, gc=False):
    """What breaks a rule, in one line for people.

    ``rows`` are the specs that it is about, as rows of ``frame``: of base, or of head where they
    came. ``missing`` is the hash of a spec that is in neither.
    """

    message: str
    package: str | None = None
    frame: Frame | None = None
    rows: Rows | None = None
    missing: str | None = None

    @property
    def num_specs(self) -> int:
        """How many specs the breach is about."""
        return int(self.missing is not None) if self.rows is None else len(self.rows)

    def hashes(self) -> list[str]:
        """Return the hashes of the specs that the breach is about."""
        if self.missing is not None:
            return [self.missing]
        if self.frame is None or self.rows is None:
            return []
        return [self.frame.hashes.at(row) for row in self.rows.tolist()]


class Breaches(Records[Breach]):
    """Breaches that are made when they are read."""

    def __init__(self, size: int, make: Callable[[int], Breach]) -> None:
        self._size = size
        self._make = make

    def __len__(self) -> int:
        return self._size

    def _record(self, place: int) -> Breach:
        return self._make(place)


class RuleResult(msgspec.Struct, frozen=True):
    """What became of a rule; ``message`` says in one line what was found."""

    rule: Rule
    message: str
    breaches: Sequence[Breach]
    passed: bool


class Verdict(msgspec.Struct, frozen=True):
    """What became of all rules, in their order."""

    results: tuple[RuleResult, ...]

    @property
    def passed(self) -> bool:
        """Whether no rule of level error is broken."""
        return not self.broken(RuleLevel.ERROR)

    def broken(self, level: RuleLevel) -> list[RuleResult]:
        """Return what became of the broken rules of a level."""
        return [
            result for result in self.results if not result.passed and result.rule.level is level
        ]


def lost_cells(cells: CoverageChanges, in_base: Mask, what: str) -> Breaches:
    """Return a breach for each of some lost cells, of which base has the rows that a mask marks.

    ``what`` says what is missing there; ``{package}`` in it is the cell's.
    """

    def breach(place: int) -> Breach:
        package, values = cells.package(place), cells.values(place)
        rows = _rows_in_cell(cells, place, in_base)
        where = ", ".join(map(_named, cells.dimensions, values))
        missing = what.replace("{package}", package)
        message = f"{missing} for {where}: base has {counted(len(rows), 'spec')} there"
        return Breach(message, package, cells.base, rows)

    return Breaches(len(cells), breach)


def _named(dimension: CoverageDimension, value: str) -> str:
    return f"{dimension.value.replace('_', ' ')} {value}"


def _rows_in_cell(cells: CoverageChanges, place: int, in_base: Mask) -> Rows:
    """Return the rows of base in a cell."""
    own = cells.base.rows_of(cells.package(place)) or slice(0, 0)
    mask = in_base[own].copy()
    values = zip(cells.dimensions, cells.values(place), strict=True)
    for has_value in having(cells.base, own, values):
        mask &= has_value
    rows: Rows = rows_where(mask) + np.int32(own.start)
    return rows


def _packages_removed(scope: Scope) -> Breaches:
    gone = scope.comparison.packages.select([PackageChangeKind.REMOVED])

    def breach(number: int) -> Breach:
        change = gone[number]
        rows = _rows_of(scope, change.name)
        versions = ", ".join(change.versions_before)
        message = f"{change.name} is gone: base has {counted(len(rows), 'spec')} of {versions}"
        return Breach(message, change.name, scope.comparison.base, rows)

    return Breaches(len(gone), breach)


def _packages_downgraded(scope: Scope) -> Breaches:
    downgraded = scope.comparison.packages.select([PackageChangeKind.DOWNGRADED])

    def breach(number: int) -> Breach:
        change = downgraded[number]
        frame, rows = scope.comparison.base, _rows_of(scope, change.name)
        code = frame.version.index[change.newest_before]
        rows = rows[frame.version.codes[rows] == code]
        message = f"{change.name} fell from {change.newest_before} to {change.newest_after}"
        return Breach(message, change.name, frame, rows)

    return Breaches(len(downgraded), breach)


def _versions_removed(scope: Scope) -> Breaches:
    """Return the versions that base has of a package and head has not, in base's order."""
    base, head = scope.comparison.base, scope.comparison.head
    in_base, in_head = scope.sides
    rows = rows_where(in_base)
    columns = ("package", "version")
    ours = row_hashes(base, rows, columns)
    is_gone = ~np.isin(ours, row_hashes(head, rows_where(in_head), columns))
    rows = rows[is_gone]
    starts = np.flatnonzero(begins_of_runs(ours[is_gone]))
    parts = np.split(rows, starts[1:]) if len(rows) else []

    def breach(number: int) -> Breach:
        own = parts[number]
        package, version = base.package.at(own[0]), base.version.at(own[0])
        message = f"{package} {version} is gone: base has {counted(len(own), 'spec')} of it"
        return Breach(message, package, base, own)

    return Breaches(len(parts), breach)


def _stacks_removed(scope: Scope) -> Breaches:
    gone = scope.stacks(StackChangeKind.REMOVED)

    def breach(number: int) -> Breach:
        change, base = gone[number], scope.comparison.base
        rows = rows_where(scope.sides[0] & base.in_stack(change.name))
        message = f"the stack {change.name} is gone: base has {counted(len(rows), 'spec')} of it"
        return Breach(message, None, base, rows)

    return Breaches(len(gone), breach)


def _specs_removed(scope: Scope) -> Breaches:
    gone = scope.comparison.specs.select([SpecChangeKind.REMOVED])

    def breach(number: int) -> Breach:
        frame, rows = gone.base, gone.before[number : number + 1]
        spec = frame.spec(int(rows[0]))
        name = f"{versioned(spec.name, spec.version)} /{short_hash(spec.hash)}"
        message = f"{name} is gone: {spec.short}"
        return Breach(message, spec.name, frame, rows)

    return Breaches(len(gone), breach)


def _rows_of(scope: Scope, package: str) -> Rows:
    """Return the rows of a package of base that the rule is about."""
    own = scope.comparison.base.rows_of(package) or slice(0, 0)
    rows: Rows = rows_where(scope.sides[0][own]) + np.int32(own.start)
    return rows


_FORBIDDEN: Mapping[Forbidden, tuple[str, str, Callable[[Scope], Breaches]]] = {
    Forbidden.PACKAGE_REMOVED: ("package", "removed", _packages_removed),
    Forbidden.PACKAGE_DOWNGRADED: ("package", "downgraded", _packages_downgraded),
    Forbidden.VERSION_REMOVED: ("version", "removed", _versions_removed),
    Forbidden.STACK_REMOVED: ("stack", "removed", _stacks_removed),
    Forbidden.SPEC_REMOVED: ("spec", "removed", _specs_removed),
}
"""What is counted, what happened to it, and what finds the breaches."""


def judge_forbid(demand: Forbid, scope: Scope) -> tuple[str, Breaches]:
    """Return how much of the kind happened, in words, and everything that did."""
    if demand.what is Forbidden.COVERAGE_LOST:
        cells = scope.cells(demand.for_each or scope.usual_dimensions)
        lost = cells.select([CoverageChangeKind.LOST])
        breaches = lost_cells(lost, scope.sides[0], "{package} is gone")
        return f"{counted(len(breaches), 'cell')} lost", breaches
    noun, happened, find = _FORBIDDEN[demand.what]
    breaches = find(scope)
    return f"{counted(len(breaches), noun)} {happened}", breaches


_SIZES_UNKNOWN = "the catalog knows no sizes; cachelog import --sizes asks for them"


def judge_limit(demand: Limit, scope: Scope) -> tuple[str, list[Breach]]:
    """Return what was counted, in one line, and the breach where it is too much.

    What cannot be counted is too much.
    """
    measure, limit = MEASURES[demand.measure], demand.at_most
    measured = measure.take(scope)
    if measured.amount is None or (limit.unit is Unit.PERCENTAGE and measured.whole is None):
        message = f"nobody knows how much was {measure.happened}: {_SIZES_UNKNOWN}"
        return message, [_limit_breach(message, measured)]
    if measure.is_size:
        amount = f"{size(measured.amount)} ({measured.amount:,} bytes)"
        if measured.num_unknown:
            amount += f" and {counted(measured.num_unknown, 'spec')} of unknown size"
    else:
        amount = counted(measured.amount, measure.noun)
    is_in_bytes = measure.is_size and limit.unit is Unit.NUMBER
    allowed = f"{limit.text} bytes" if is_in_bytes else limit.text
    message = f"{amount} {measure.happened}{_share(measured, limit)}, at most {allowed}"
    is_broken = measured.amount > limit.share_of(measured.whole or 0)
    return message, [_limit_breach(message, measured)] if is_broken else []


def _share(measured: Measured, limit: Amount) -> str:
    """Return a count as a percentage of what base has, where the limit is one."""
    if limit.unit is not Unit.PERCENTAGE or measured.amount is None:
        return ""
    whole = measured.whole or 0
    if not whole:
        return " where base has none"
    return f" ({100 * measured.amount / whole:.2f} % of {whole:,})"


def _limit_breach(message: str, measured: Measured) -> Breach:
    if measured.changes is None:
        return Breach(message)
    frame, rows = rows_of(measured.changes)
    return Breach(message, None, frame, rows)


def judge_cover(demand: Cover, scope: HeadScope) -> tuple[str, Sequence[Breach], bool]:
    """Return what was found in words, the specs that are missing, and whether enough are there.

    Those are missing that head does not have in the stack that the rule is about.
    """
    is_meant = scope.only.packages_meant([spec.name for spec in demand.wanted])
    lookup = Lookup(Wanted(compress(demand.wanted, is_meant.tolist())), scope.head)
    _, in_scope = scope.masks
    is_there = lookup.rows >= 0
    is_there[is_there] = in_scope[lookup.rows[is_there]]
    total, num_found = len(lookup.wanted), int(np.count_nonzero(is_there))
    share = f" ({100 * num_found / total:.2f} %)" if total else ""
    message = (
        f"{num_found:,} of {counted(total, 'spec')} of {demand.title} found{share}, "
        f"at least {demand.at_least.text}"
    )
    if num_found >= demand.at_least.share_of(total):
        return message, (), True
    missing = rows_where(~is_there)
    return (
        message,
        Breaches(len(missing), lambda number: _missing_breach(lookup, int(missing[number]))),
        False,
    )


def _missing_breach(lookup: Lookup, place: int) -> Breach:
    """Return that a wanted spec is missing, and how what is nearest to it differs."""
    spec = lookup.wanted.specs[place]
    message = f"{versioned(spec.name, spec.version)} /{short_hash(spec.hash)} is missing"
    number = int(np.searchsorted(lookup.missing, place))
    if lookup.rows[place] >= 0:
        message += " there, though other stacks have it"
    elif (row := int(lookup.nearest[number])) >= 0:
        names = [in_words(change.path) for change in lookup.differences(number)]
        other = ", ".join(names) or "dependencies"
        near = short_hash(lookup.frame.hashes.at(row))
        message += f"; nearest is /{near}, with other {other}"
    return Breach(message, spec.name, missing=spec.hash)


Check = Callable[[], None]


def judge(rules: Iterable[Rule], judged: Judged, check: Check = lambda: None) -> Verdict:
    """Return the verdict of rules on a comparison, or on head alone where there is no base.

    ``check`` is called before each rule, and may raise. Raises RuleUnusable for a rule that needs a
    base where there is none, is about a stack that neither side has, or asks what cannot be
    answered.
    """
    scopes: dict[Only, HeadScope] = {}
    results = []
    for rule in rules:
        check()
        if rule.only not in scopes:
            _require_stack(rule, judged)
            scopes[rule.only] = scope_of(judged, rule.only)
        results.append(_judge_one(rule, scopes[rule.only]))
    return Verdict(tuple(results))


def _judge_one(rule: Rule, scope: HeadScope) -> RuleResult:
    key = rule.demand.key
    if rule.needs_base and not isinstance(scope, Scope):
        raise RuleUnusable(rule.name, key, "needs a base to compare with", line=rule.line)
    try:
        _ = scope.masks
    except CachelogError as error:
        raise _translated(rule, "matching", error) from None
    try:
        message, breaches, passed = _judge_demand(rule, scope)
    except CachelogError as error:
        raise _translated(rule, key, error) from None
    return RuleResult(rule, message + _about_nothing(scope), breaches, passed)


def _judge_demand(rule: Rule, scope: HeadScope) -> tuple[str, Sequence[Breach], bool]:
    """Return what was found in words, the breaches, and whether the rule holds."""
    demand = rule.demand
    if isinstance(demand, Require):
        message, breaches = _require(demand, scope)
        return message, breaches, not breaches
    if isinstance(demand, Cover):
        return judge_cover(demand, scope)
    if not isinstance(scope, Scope):
        raise TypeError("judged without a base")
    if isinstance(demand, Limit):
        message, breaches = judge_limit(demand, scope)
    else:
        message, breaches = judge_forbid(demand, scope)
    return message, breaches, not breaches


def _require(demand: Require, scope: HeadScope) -> tuple[str, Sequence[Breach]]:
    """Return the breaches of ``require``: nothing matches, or nothing in a cell that base had."""
    try:
        before, after = scope.find(demand.query)
    except UnknownPackage as error:  # neither side has it, whatever it is
        return str(error), (Breach(str(error)),)
    matches = int(after.sum())
    if demand.for_each and isinstance(scope, Scope) and before is not None:
        lost = scope.lost_for_query(demand.query, demand.for_each)
        if len(lost):
            breaches: Sequence[Breach] = lost_cells(lost, before, f"no {demand.query}")
            return f"{counted(matches, 'spec')} found, missing in {len(lost):,} cells", breaches
    if matches:
        return f"{counted(matches, 'spec')} found", ()
    message = f"no {demand.query} found"
    if before is None or not before.any():
        return message, (Breach(message),)
    rows = before.nonzero()[0].astype("int32")
    message += f", where base has {counted(len(rows), 'spec')}"
    return message, (Breach(message, None, scope.base, rows),)


def _about_nothing(scope: HeadScope) -> str:
    """Return a remark where a narrowed rule is about no spec at all."""
    before, after = scope.masks
    if scope.only == Only() or after.any() or (before is not None and before.any()):
        return ""
    return "; note that the rule is about no spec of either revision"


def _require_stack(rule: Rule, judged: Judged) -> None:
    """Raise RuleUnusable for a stack that neither side has: a typing error would pass.

    Likewise where one side states no stacks: what became of this one is unknown.
    """
    stack, comparison = rule.only.stack, judged.comparison
    base = None if comparison is None else comparison.base
    if stack is None:
        return
    stacks = {*judged.head.stacks.items, *(base.stacks.items if base else ())}
    if stack in stacks:
        if base is not None and (silent := silent_side(base, judged.head)):
            reason = f"{silent} tells no stacks, so nothing can be judged"
            raise RuleUnusable(rule.name, "stack", reason, line=rule.line)
        return
    hint = nearest_hint(nearest_names(stack, stacks))
    who = "neither revision has" if base else "the revision does not have"
    raise RuleUnusable(rule.name, "stack", f"{who} {quoted(stack)}{hint}", line=rule.line)


def _translated(rule: Rule, key: str, error: CachelogError) -> CachelogError:
    """Return the error of a rule for one of its query; that of the catalog is none."""
    if isinstance(error, CatalogError):
        return error
    return RuleUnusable(rule.name, key, str(error).partition("\n")[0], line=rule.line)


class Searched(msgspec.Struct, frozen=True):
    """A revision that is searched; ``load`` returns its graph where a query needs it."""

    frame: Frame
    load: Callable[[], DependencyGraph]


def finder(base: Searched | None, head: Searched, elsewhere: Callable[[], Collection[str]]) -> Find:
    """Return what finds the specs of head, and of base if there is one, that a query matches.

    ``elsewhere`` returns the names of packages of other revisions. Where nothing matches on either
    side it raises UnknownPackage for any unknown name: with a typing error behind ``^``, too, a
    rule would hold whatever is published.
    """

    def find(query: str) -> tuple[Mask | None, Mask]:
        parsed = matching.read(query)
        before = None if base is None else matching.select(base.frame, parsed, base.load)
        after = matching.select(head.frame, parsed, head.load)
        if not after.any() and (before is None or not before.any()):
            packages = () if base is None else base.frame.packages
            question = parsed, head.frame, head.load, lambda: {*packages, *elsewhere()}
            require_known(*question)
            for unknown in unknown_names(*question):
                raise UnknownPackage(unknown.name, unknown.nearest)
        return before, after

    return find
