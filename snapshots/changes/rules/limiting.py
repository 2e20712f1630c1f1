"""``limit``: so many of something may have changed, or so much of it."""

from snapshots.changes.rules.amounts import Amount, Unit
from snapshots.changes.rules.measures import MEASURES, Measured, rows_of
from snapshots.changes.rules.records import Limit
from snapshots.changes.rules.scopes import Scope
from snapshots.changes.rules.verdict import Breach
from snapshots.wording import counted, size

_SIZES_UNKNOWN = "the catalog knows no sizes; cachelog import --sizes asks for them"


def measure(demand: Limit, scope: Scope) -> tuple[str, list[Breach]]:
    """Return what was counted, in one line, and the breach where it is too much.

    What cannot be counted is too much.
    """
    noun, happened, take, is_size = MEASURES[demand.measure]
    measured, limit = take(scope), demand.at_most
    if measured.amount is None or (limit.unit is Unit.PERCENTAGE and measured.whole is None):
        message = f"nobody knows how much was {happened}: {_SIZES_UNKNOWN}"
        return message, [_breach(message, measured)]
    found = _told_size(measured) if is_size else counted(measured.amount, noun)
    allowed = _allowed(limit, is_size=is_size)
    message = f"{found} {happened}{_share(measured, limit)}, at most {allowed}"
    is_broken = measured.amount > limit.share_of(measured.whole or 0)
    return message, [_breach(message, measured)] if is_broken else []


def _told_size(measured: Measured) -> str:
    told = f"{size(measured.amount)} ({measured.amount:,} bytes)"
    if measured.num_unknown:
        told += f" and {counted(measured.num_unknown, 'spec')} of unknown size"
    return told


def _share(measured: Measured, limit: Amount) -> str:
    """Return a count as a percentage of what base has, where the limit is one."""
    if limit.unit is not Unit.PERCENTAGE or measured.amount is None:
        return ""
    whole = measured.whole or 0
    if not whole:
        return " where base has none"
    return f" ({100 * measured.amount / whole:.2f} % of {whole:,})"


def _allowed(limit: Amount, *, is_size: bool) -> str:
    return f"{limit.text} bytes" if is_size and limit.unit is Unit.NUMBER else limit.text


def _breach(message: str, measured: Measured) -> Breach:
    if measured.changes is None:
        return Breach(message)
    frame, rows = rows_of(measured.changes)
    return Breach(message, None, frame, rows)
