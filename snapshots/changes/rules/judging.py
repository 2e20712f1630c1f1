"""Judges a comparison, or one revision, by rules: pure, and the same for ever.

docs/gates.md defines what each rule means.
"""

from collections.abc import Callable, Iterable, Sequence

from snapshots.changes.rules.covering import judge_cover
from snapshots.changes.rules.forbidding import NOUNS, find_forbidden
from snapshots.changes.rules.limiting import measure
from snapshots.changes.rules.lost_cells import lost_cells
from snapshots.changes.rules.records import Cover, Forbid, Limit, Only, Require, Rule
from snapshots.changes.rules.scopes import HeadScope, Judged, Scope, scope_of, silent_side
from snapshots.changes.rules.verdict import Breach, RuleResult, Verdict
from snapshots.errors import CachelogError, CatalogError, RuleUnusable, UnknownPackage
from snapshots.wording import counted, nearest_hint, nearest_names, quoted

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
    key = _kind_of(rule)
    if rule.needs_base and not isinstance(scope, Scope):
        raise RuleUnusable(rule.name, key, "needs a base to compare with", line=rule.line)
    try:
        _ = scope.masks
    except CachelogError as error:
        raise _translated(rule, "matching", error) from None
    try:
        message, breaches, passed = _found(rule, scope)
    except CachelogError as error:
        raise _translated(rule, key, error) from None
    return RuleResult(rule, message + _about_nothing(scope), breaches, passed)


def _found(rule: Rule, scope: HeadScope) -> tuple[str, Sequence[Breach], bool]:
    """Return what was found in words, the breaches, and whether the rule holds."""
    demand = rule.demand
    if isinstance(demand, Require):
        message, breaches = _require(demand, scope)
        return message, breaches, not breaches
    if isinstance(demand, Cover):
        return judge_cover(demand, scope)
    if not isinstance(scope, Scope):
        raise TypeError("judged without a base")
    if isinstance(demand, Forbid):
        found = find_forbidden(demand, scope)
        noun, happened = NOUNS[demand.what]
        return f"{counted(len(found), noun)} {happened}", found, not found
    message, breaches = measure(demand, scope)
    return message, breaches, not breaches


def _require(demand: Require, scope: HeadScope) -> tuple[str, Sequence[Breach]]:
    """Return the breaches of ``require``: nothing matches, or nothing in a cell that base had."""
    try:
        before, after = scope.find(demand.query)
    except UnknownPackage as error:  # neither side has it, whatever it is
        return str(error), (Breach(str(error)),)
    found = int(after.sum())
    if demand.for_each and isinstance(scope, Scope) and before is not None:
        lost = scope.lost_for_query(demand.query, demand.for_each)
        if len(lost):
            breaches: Sequence[Breach] = lost_cells(lost, before, f"no {demand.query}")
            return f"{counted(found, 'spec')} found, missing in {len(lost):,} cells", breaches
    if found:
        return f"{counted(found, 'spec')} found", ()
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
    """Raise RuleUnusable for a stack that neither side has: a slip of the pen would pass.

    Likewise where one side tells no stacks: nobody knows what became of this one.
    """
    stack, comparison = rule.only.stack, judged.comparison
    base = None if comparison is None else comparison.base
    known = {*judged.head.stacks.items, *(base.stacks.items if base else ())}
    if stack is None:
        return
    if stack in known:
        if base is not None and (silent := silent_side(base, judged.head)):
            reason = f"{silent} tells no stacks, so nothing can be judged"
            raise RuleUnusable(rule.name, "stack", reason, line=rule.line)
        return
    hint = nearest_hint(nearest_names(stack, known))
    who = "neither revision has" if base else "the revision does not have"
    raise RuleUnusable(rule.name, "stack", f"{who} {quoted(stack)}{hint}", line=rule.line)


def _translated(rule: Rule, key: str, error: CachelogError) -> CachelogError:
    """Return the error of a rule for one of its query; that of the catalog is none."""
    if isinstance(error, CatalogError):
        return error
    return RuleUnusable(rule.name, key, str(error).partition("\n")[0], line=rule.line)


def _kind_of(rule: Rule) -> str:
    kinds: dict[type, str] = {Forbid: "forbid", Require: "require", Limit: "limit", Cover: "cover"}
    return kinds[type(rule.demand)]
