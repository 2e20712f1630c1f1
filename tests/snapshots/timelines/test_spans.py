"""Spans of hashes, by hand-made pasts."""

import pytest

from snapshots.changes.reasons import SpecChangeReason
from snapshots.changes.reasons import SpecChangeReason as R
from snapshots.models import Spec
from snapshots.timelines.spans import Span, hash_histories, holding, last_seen
from tests.model.histories import Past
from tests.snapshots.factories import a_spec, day, hash_of
from tests.snapshots.timelines.pasts import a_past

ONE = a_spec("one", name="zlib", version="1", variants=())
MOVED = a_spec("one", name="zlib", version="1", variants=(), stacks=("hep",))
TWO = a_spec("two", name="hdf5", version="1", target="m1", variants=("+mpi",))
BUILT_ANEW = a_spec("three", name="zlib", version="1", variants=())


def spans_of(past: Past, label: str) -> list[Span]:
    """Return the spans of the hash of a label."""
    return list(hash_histories(past.rows(), [hash_of(label)], past.history)[hash_of(label)].spans)


def days(span: Span) -> tuple[str, int, int, int | None]:
    """Return a span's series and the days of its first, last and next revision."""
    first, last = ((it.taken_at - day(0)).days for it in (span.first, span.last))
    gone = None if span.gone_in is None else (span.gone_in.taken_at - day(0)).days
    return span.series, first, last, gone


@pytest.mark.parametrize(
    ("states", "spans"),
    [
        ([(1, [ONE])], [(1, 1, None, R.NEW_PACKAGE, None)]),
        (
            [(1, [ONE]), (2, [TWO]), (3, [TWO]), (4, [ONE, TWO])],
            [(1, 1, 2, R.NEW_PACKAGE, R.PACKAGE_GONE), (4, 4, None, R.RETURNED, None)],
        ),
        (
            [(1, [ONE]), (2, [BUILT_ANEW]), (3, [ONE])],
            [(1, 1, 2, R.NEW_PACKAGE, R.REPLACED), (3, 3, None, R.REBUILT, None)],
        ),
        (
            [(1, [ONE]), (2, [TWO]), (3, [ONE]), (4, [TWO]), (5, [ONE, TWO])],
            [
                (1, 1, 2, R.NEW_PACKAGE, R.PACKAGE_GONE),
                (3, 3, 4, R.RETURNED, R.PACKAGE_GONE),
                (5, 5, None, R.RETURNED, None),
            ],
        ),
        (
            [(1, []), (2, [ONE]), (3, []), (4, [])],
            [(2, 2, 3, R.NEW_PACKAGE, R.PACKAGE_GONE)],
        ),
        ([(1, [ONE]), (2, [MOVED])], [(1, 2, None, R.NEW_PACKAGE, None)]),
    ],
    ids=["from the first on", "away and back", "built anew and back", "twice", "empty", "moved"],
)
def test_spans(
    states: list[tuple[int, list[Spec]]],
    spans: list[tuple[int, int, int | None, R, R | None]],
) -> None:
    """A hash comes, goes and returns; what replaced another spec is not a return."""
    past = a_past(*(("develop", day, specs) for day, specs in states))
    found = [(*days(it)[1:], it.reason_came, it.reason_gone) for it in spans_of(past, "one")]
    assert found == spans


def test_revisions_that_hold_all() -> None:
    """Only revisions that have every one count; of no hash that is all of them."""
    past = a_past(
        ("develop", 1, [ONE]), ("develop", 2, [ONE, TWO]), ("v0.1", 3, [TWO]), ("main", 4, [])
    )
    hashes = [hash_of("one"), hash_of("two")]
    both = list(hash_histories(past.rows(), hashes, past.history).values())
    assert [it.taken_at for it in holding(both, past.history)] == [day(2)]
    assert [it.taken_at for it in holding(both[:1], past.history)] == [day(2), day(1)]
    assert holding(both, past.history, "vX.Y.Z") == []
    assert holding(both, past.history, "nowhere") == []
    assert holding([], past.history) == past.history.revisions


# -- where a hash was last, for somebody who misses it in some revision


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
    """The one of all others that was taken last counts, and why the hash went there."""
    past = a_past(("develop", 1, [A]), ("develop", 2, [B]), ("main", 3, [A]), ("main", 4, [B]))
    gone = SpecChangeReason.PACKAGE_GONE
    assert seen(past, "develop") == ("develop", gone, "develop")
    assert seen(past, "vX.Y.Z") == ("main", gone, "main")
