"""Retention policies: which revisions are kept, such as "30 daily, 52 weekly, all releases".

The rules are those of restic's ``forget --keep-*``, applied per series: of each of the last ``n``
hours, days, weeks, months or years that have a revision, the newest one is kept. No data is read
here.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from datetime import datetime

import msgspec

from snapshots.errors import InvalidArgument
from snapshots.history import History, age
from snapshots.models import RevisionInfo
from snapshots.texts import quoted

_PERIODS: dict[str, Callable[[datetime], Hashable]] = {
    "hourly": lambda moment: (moment.date(), moment.hour),
    "daily": lambda moment: moment.date(),
    "weekly": lambda moment: moment.isocalendar()[:2],
    "monthly": lambda moment: (moment.year, moment.month),
    "yearly": lambda moment: moment.year,
}
_LAST, _RELEASES = "last", "releases"
_RELEASE_SERIES = "vX.Y.Z"
_RULE = re.compile(r"(?P<number>all|\d{1,6})(?:\s+(?P<what>[a-z]+))?", re.IGNORECASE)
_ALLOWED = (
    f"write a number, or all, before one of {_LAST}, {', '.join(_PERIODS)}; or 'all {_RELEASES}'; "
    "or 'all'. Separate rules by commas: 30 daily, 52 weekly, all releases"
)

NEWEST_OF_SERIES = "newest of its series"
OTHER_SERIES = "another series"


class RetentionRule(msgspec.Struct, frozen=True):
    """A rule of a policy: the number of revisions or periods; None for all."""

    what: str
    number: int | None = None

    def __str__(self) -> str:
        number = "all" if self.number is None else str(self.number)
        return f"{number} {self.what}".rstrip()


class RetentionChoice(msgspec.Struct, frozen=True):
    """The decision about a revision: kept for the reasons ``kept_by``, removed without any."""

    revision: RevisionInfo
    kept_by: tuple[str, ...]


def parse_policy(text: str) -> tuple[RetentionRule, ...]:
    """Return the rules of a policy; raises InvalidArgument that states the allowed rules."""
    rules = tuple(_rule(part.strip(), text) for part in text.split(","))
    if not any(rule.number is None or rule.number for rule in rules):
        raise InvalidArgument(
            "keep",
            f"{quoted(text)} keeps nothing; to drop revisions by name, use 'cachelog remove'",
        )
    return rules


def _rule(part: str, text: str) -> RetentionRule:
    match = _RULE.fullmatch(part)
    what = (match["what"] or "").lower() if match else ""
    if match is None or what not in ("", _LAST, _RELEASES, *_PERIODS):
        where = f" in {quoted(text)}" if part != text.strip() else ""
        raise InvalidArgument("keep", f"{quoted(part)}{where} is not a rule: {_ALLOWED}")
    number = None if match["number"].lower() == "all" else int(match["number"])
    if what in ("", _RELEASES) and number is not None:
        more = f"all {what}" if what else f"{number} {_LAST}"
        raise InvalidArgument("keep", f"{quoted(part)} is not a rule; did you mean '{more}'?")
    return RetentionRule(what, number)


def choose(
    history: History, rules: Sequence[RetentionRule], *, only: str | None = None
) -> list[RetentionChoice]:
    """Return the decision about every revision, newest first.

    With ``only``, the revisions of all other series are kept. The newest of each series is always
    kept.
    """
    reasons: defaultdict[RevisionInfo, list[str]] = defaultdict(list)
    for name in history.series_names:
        revisions = sorted(history.of_series(name), key=age, reverse=True)
        if only not in (None, name):
            for revision in revisions:
                reasons[revision].append(OTHER_SERIES)
            continue
        for rule in rules:
            for revision in _kept_by(rule, name, revisions):
                reasons[revision].append(str(rule))
        if not reasons[revisions[0]]:
            reasons[revisions[0]].append(NEWEST_OF_SERIES)
    return [RetentionChoice(revision, tuple(reasons[revision])) for revision in history.revisions]


def _kept_by(
    rule: RetentionRule, name: str, revisions: Sequence[RevisionInfo]
) -> Sequence[RevisionInfo] | Iterator[RevisionInfo]:
    if rule.what == _RELEASES:
        return revisions if name == _RELEASE_SERIES else ()
    if rule.what in _PERIODS:
        return _newest_of_each(_PERIODS[rule.what], rule.number, revisions)
    return revisions[: rule.number]


def _newest_of_each(
    period: Callable[[datetime], Hashable], number: int | None, revisions: Sequence[RevisionInfo]
) -> Iterator[RevisionInfo]:
    seen: set[Hashable] = set()
    for revision in revisions:
        of_revision = period(revision.taken_at)
        if of_revision in seen:
            continue
        if number is not None and len(seen) == number:
            return
        seen.add(of_revision)
        yield revision
