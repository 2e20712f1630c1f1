"""Where a hash was last, for somebody who misses it in some revision."""

from snapshots.changes.reasons import SpecChangeReason
from snapshots.timelines.spans import last_seen
from tests.snapshots.factories import a_spec, hash_of
from tests.snapshots.timelines.naive import Past
from tests.snapshots.timelines.pasts import a_past

A, B = a_spec("a"), a_spec("b", name="zlib")


def seen(past: Past, series: str) -> tuple[str, SpecChangeReason | None, str | None]:
    """Return the tag that had it last, the reason, and the tag that no longer has it."""
    known = past.hash_history(hash_of("a"))
    assert known is not None
    found = last_seen(known, series)
    return found.revision.tag, found.reason, found.gone_in.tag if found.gone_in else None


def test_a_series_goes_by_its_own_order() -> None:
    """A release that was built again later stands before newer ones all the same."""
    past = a_past(("v0.22", 5, [A]), ("v0.21.1", 6, [B]), ("v0.21", 9, [A]))
    assert seen(past, "vX.Y.Z") == ("v0.22", None, None)


def test_where_it_never_was_in_the_series() -> None:
    """What was taken last of all others tells it, and why it went there."""
    past = a_past(("develop", 1, [A]), ("develop", 2, [B]), ("main", 3, [A]), ("main", 4, [B]))
    gone = SpecChangeReason.PACKAGE_GONE
    assert seen(past, "develop") == ("develop", gone, "develop")
    assert seen(past, "vX.Y.Z") == ("main", gone, "main")
