"""Where a hash was last, for somebody who looks for it in vain."""

from typing import NamedTuple

from snapshots.changes.reasons import SpecChangeReason
from snapshots.history import age
from snapshots.models import RevisionInfo
from snapshots.timelines.spans import HashHistory


class LastSeen(NamedTuple):
    """The last revision that has a hash, and the one after it, which has it no longer for a reason.

    The latter two are None where the newest revision of the series has it.
    """

    revision: RevisionInfo
    reason: SpecChangeReason | None
    gone_in: RevisionInfo | None


def last_seen(known: HashHistory, series: str) -> LastSeen:
    """Return where a hash was last in a series, or anywhere where it never was in that one.

    In a series that is by its order, elsewhere by when revisions were taken.
    """
    own = [span for span in known.spans if span.series == series]
    last = own[-1] if own else max(known.spans, key=lambda span: age(span.last))
    return LastSeen(last.last, last.reason_gone, last.gone_in)
