"""What caused the rebuilds, in a sentence, and each cause in words."""

from collections.abc import Iterator, Sequence

from snapshots.changes.cause_names import CauseKind
from snapshots.notes.rebuilds import CauseEntry, Reach, Rebuilds, grouped
from snapshots.notes.sentences import Name, Sentence, Value, enumerated, spelled
from snapshots.wording import counted, shortened

_FEW = 3
_LONGEST = 120

Group = Sequence[CauseEntry]


def causes_sentence(rebuilds: Rebuilds) -> Sentence | None:
    """Return what set off most of the rebuilds, and how much of the rest changed by itself.

    Causes of kind UNKNOWN explain nothing, and are left out; None where there are no others.
    """
    told = [cause for cause in rebuilds.causes if cause.kind != CauseKind.UNKNOWN.value]
    if not told:
        return None
    # What reaches farthest comes first; equal ones as they are ordered.
    groups = sorted(grouped(told), key=lambda group: -group[0].num_involved)
    clauses = list(_clauses(groups, rebuilds.reach))
    pieces: list[str] = []
    for number, clause in enumerate(clauses):
        pieces += ["; ", *clause] if number else clause
    if not isinstance(pieces[0], Name):
        pieces[0] = pieces[0][0].upper() + pieces[0][1:]
    return Sentence(*pieces, ".")


def noun_phrase(cause: CauseEntry) -> list[str]:
    """Return the pieces that name a cause in a list, or after "by"."""
    package, before, after = Name(cause.package or ""), cause.before, cause.after
    step = _step(before, after)
    in_brackets = [" (", *step, ")"] if step else []
    match CauseKind(cause.kind):
        case CauseKind.VERSION:
            return [package, " ", *step]
        case CauseKind.RECIPE:
            return ["the recipe of ", package]
        case CauseKind.VARIANTS:
            return ["variants of ", package, *in_brackets]
        case CauseKind.COMPILER:
            return ["the compiler of ", package, *in_brackets]
        case CauseKind.TARGET:
            return ["the target of ", package, *in_brackets]
        case CauseKind.DEPENDENCY_ADDED | CauseKind.DEPENDENCY_REMOVED if before == after:
            return [package, " depending otherwise on ", Name(after or "")]
        case CauseKind.DEPENDENCY_ADDED:
            return [package, " newly depending on ", Name(after or "")]
        case CauseKind.DEPENDENCY_REMOVED:
            return [package, " no longer depending on ", Name(before or "")]
        case CauseKind.PROVIDER:
            return [package, " with ", Name(after or ""), " in place of ", Name(before or "")]
        case CauseKind.EXTERNAL:
            return [package, *in_brackets, " from outside the cache"]
        case CauseKind.FORMAT:
            return ["Spack's format of specs", *in_brackets]
    return [package, " for a reason that is not known"]


def _step(before: str | None, after: str | None) -> list[str]:
    """Return what there was and what there is, as far as there is and was something."""
    old, new = (
        None if text is None else Value(shortened(text, _LONGEST)) for text in (before, after)
    )
    if old is not None and new is not None:
        return [old, " → ", new]
    if old is not None:
        return ["no longer ", old]
    return ["now ", new] if new is not None else []


def _clauses(groups: Sequence[Group], reach: Reach) -> Iterator[list[str]]:
    """Yield what the groups of causes led to, what reaches farthest first."""
    first, *others = groups
    if not reach.num_others(first[0]):
        yield _themselves(groups, is_more=False)
        return
    shared = {
        number: reach.num_shared(first[0], group[0])
        for number, group in enumerate(others)
        if 2 * group[0].num_involved > first[0].num_involved
    }
    along = [number for number, count in shared.items() if 2 * count > first[0].num_involved]
    are_all = all(shared[number] == first[0].num_involved for number in along)
    companions = [cause for number in along for cause in others[number]]
    yield _first_clause(first, reach, companions, are_all=are_all)
    apart = [group for number, group in enumerate(others) if number not in along]
    further = [group for group in apart if not all(map(_is_alone, group))]
    shown = further if len(further) <= _FEW else further[: _FEW - 1]
    for group in shown:
        yield [*_listed(group), f" rebuilt {counted(reach.num_others(group[0]), 'spec')}"]
    if rest := further[len(shown) :]:
        changes = spelled(sum(map(len, rest)), "more change")
        most = counted(rest[0][0].num_involved, "spec")
        yield [changes, f" rebuilt {most} or fewer" + (" each" if len(rest) > 1 else "")]
    if alone := [group for group in apart if all(map(_is_alone, group))]:
        yield _themselves(alone, is_more=True)


def _first_clause(
    first: Group, reach: Reach, companions: Sequence[CauseEntry], *, are_all: bool
) -> list[str]:
    clause = _what_happened(first[0])
    if partners := first[1:]:
        clause += [", together with ", *_listed(partners)]
    num_others = reach.num_others(first[0])
    clause.append(f", which rebuilt {counted(num_others, 'spec')}")
    if companions:
        how_many = f"{'all' if are_all else 'most'} of them " if num_others > 1 else ""
        clause += [f", {how_many}also by ", *_listed(companions)]
    return clause


def _is_alone(cause: CauseEntry) -> bool:
    """Tell whether a cause is the main one of no other package than its own."""
    return cause.packages in ([], [cause.package])


def _themselves(groups: Sequence[Group], *, is_more: bool) -> list[str]:
    count = sum(map(len, groups))
    changes = spelled(count, "more change" if is_more else "change")
    return [changes, f" rebuilt {'itself' if count == 1 else 'themselves'}"]


def _what_happened(cause: CauseEntry) -> list[str]:
    """Return the pieces of a main clause."""
    package = Name(cause.package or "")
    before, after = cause.before or "", cause.after or ""
    match CauseKind(cause.kind):
        case CauseKind.VERSION if cause.before and cause.after:
            return [package, " went from ", Value(before), " to ", Value(after)]
        case CauseKind.RECIPE:
            return [package, "'s recipe changed"]
        case CauseKind.DEPENDENCY_ADDED | CauseKind.DEPENDENCY_REMOVED if before == after:
            return [package, " depends otherwise on ", Name(after)]
        case CauseKind.DEPENDENCY_ADDED:
            return [package, " newly depends on ", Name(after)]
        case CauseKind.DEPENDENCY_REMOVED:
            return [package, " no longer depends on ", Name(before)]
        case CauseKind.PROVIDER:
            return [package, " uses ", Name(after), " in place of ", Name(before)]
    return [*noun_phrase(cause), " changed"]


def _listed(causes: Sequence[CauseEntry]) -> list[str]:
    shown = causes if len(causes) <= _FEW + 1 else causes[:_FEW]
    others = f"{len(causes) - len(shown):,} more" if len(shown) < len(causes) else ""
    return enumerated([noun_phrase(cause) for cause in shown], others)
