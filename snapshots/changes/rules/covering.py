"""``cover``: so many of the concrete specs of a lock file must be there."""

from collections.abc import Sequence
from itertools import compress

import numpy as np

from snapshots.changes.lookup import Lookup
from snapshots.changes.rules.records import Cover
from snapshots.changes.rules.scopes import HeadScope
from snapshots.changes.rules.verdict import Breach, Breaches
from snapshots.changes.wanted import Wanted
from snapshots.frames.columns import rows_where
from snapshots.wording import counted, in_words, short_hash, versioned


def judge_cover(demand: Cover, scope: HeadScope) -> tuple[str, Sequence[Breach], bool]:
    """Return what was found in words, the specs that are missing, and whether enough are there.

    Those are missing that head does not have in the stack that the rule is about.
    """
    is_meant = scope.only.packages_meant([it.name for it in demand.wanted])
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
        Breaches(len(missing), lambda number: _breach(lookup, int(missing[number]))),
        False,
    )


def _breach(lookup: Lookup, place: int) -> Breach:
    """Return that a wanted spec is missing, and how what is nearest to it differs."""
    spec = lookup.wanted.specs[place]
    message = f"{versioned(spec.name, spec.version)} /{short_hash(spec.hash)} is missing"
    number = int(np.searchsorted(lookup.missing, place))
    if lookup.rows[place] >= 0:
        message += " there, though other stacks have it"
    elif (row := int(lookup.nearest[number])) >= 0:
        names = [in_words(it.path) for it in lookup.differences(number)]
        other = ", ".join(names) or "dependencies"
        near = short_hash(lookup.frame.hashes.at(row))
        message += f"; nearest is /{near}, with other {other}"
    return Breach(message, spec.name, missing=spec.hash)
