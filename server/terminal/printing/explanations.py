"""Why specs were built anew, as lines of text."""

from collections import Counter
from collections.abc import Iterable, Iterator

import numpy as np

from server.terminal.printing import styles
from server.terminal.printing.differences import pair_text
from server.terminal.printing.layout import Column, table, wrapped
from server.terminal.printing.reports import Report, Told, hash_at
from snapshots.changes.causes import CauseCount, Causes, CauseStep
from snapshots.changes.reasons import SpecChangeReason
from snapshots.wording import counted, in_words, short_hash

_NAMED = 5
"""So many causes are named that go together with another."""


def causes_summary(report: Report, width: int | None) -> list[str]:
    """Return how many specs were built anew."""
    reasons = Counter(told.reason for told in report.changes)
    rebuilt, replaced = (
        reasons[it] for it in (SpecChangeReason.REBUILT, SpecChangeReason.REPLACES)
    )
    return wrapped(
        f"{counted(rebuilt + replaced, 'spec')} took the place of another: {rebuilt:,} rebuilt, "
        f"{replaced:,} whose own facts differ",
        width,
    )


def cause_lines(causes: Causes, shown: Iterable[CauseCount], width: int | None) -> Iterator[str]:
    """Yield a table of causes: of how many specs each is the main one, and is involved in."""
    rows = list(shown)
    if not rows:
        return
    columns = [
        Column("specs", [f"{it.num_specs:,}" for it in rows], 0, is_number=True),
        Column("involved", [f"{it.num_involved:,}" for it in rows], 1, is_number=True),
        Column("cause", [_titled(causes, it.number) for it in rows], 0, style=styles.name),
    ]
    yield from table(columns, width)


def _titled(causes: Causes, number: int) -> str:
    return causes.name_of(number).title + _together(causes, number)


def _together(causes: Causes, number: int) -> str:
    """Return the causes that go together with one, in brackets; nothing where there are none."""
    together = causes.together_with(number)
    if not together:
        return ""
    named = [causes.name_of(other).title for other in together[:_NAMED]]
    more = causes.num_together(number) - len(named)
    return f" (together with {', '.join(named)}{f' and {more:,} more' if more else ''})"


def story_lines(report: Report, told: Told, width: int | None) -> Iterator[str]:
    """Yield all that is known of why one hash came, went or changed."""
    own = report.own(told)
    yield from wrapped(f"{styles.digest(own.hash)} {own.short}", width)
    if told.counterpart is None:
        yield f"  {told.change.kind.value}: {in_words(told.reason.value)}"
        return
    before, after = report.pair(told)
    is_removed = told.reason is SpecChangeReason.REPLACED
    verb, other = ("replaced by", after) if is_removed else ("took the place of", before)
    yield from wrapped(f"  {verb} {other.hash}: {pair_text(before, after)}", width)
    yield from _path_lines(report, told, width)


def _path_lines(report: Report, told: Told, width: int | None) -> Iterator[str]:
    """Yield the way from a spec with a counterpart down to its main cause, and other causes."""
    why, causes = report.why, report.why.causes
    row = told.head_row
    if told.cause is None or row is None:
        return
    yield from wrapped(f"  main cause: {styles.name(causes.name_of(told.cause).title)}", width)
    if unknown := causes.why_unknown(told.cause):
        yield from wrapped(f"    {unknown}", width)
    path = why.path(row)
    if len(path) > 1:
        for depth, step in enumerate(path):
            yield f"    {'  ' * depth}{'↳ ' if depth else ''}{_step(report, step)}"
    involved = causes.involved_in(np.array([row], np.int32)).numbers.tolist()
    others = [number for number in involved if number != told.cause]
    if others:
        yield f"  also involved: {counted(len(others), 'cause')}"
        for number in others:
            yield from wrapped(f"    {causes.name_of(number).title}", width)


def _step(report: Report, step: CauseStep) -> str:
    ends = (report.why.base, step.base_node), (report.why.head, step.head_node)
    hashes = [short_hash(hash_at(side, node)) for side, node in ends if node is not None]
    return f"{step.name} {styles.digest(' → '.join(hashes))}"
