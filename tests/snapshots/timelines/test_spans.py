"""Spans of hashes, by examples, and the steps of series."""

import gc
from weakref import ref

import pytest

from snapshots.changes.reasons import SpecChangeReason as R
from snapshots.history import History
from snapshots.models import Spec
from snapshots.timelines.spans import Span, hash_histories, holding, last_seen
from snapshots.timelines.steps import Steps
from tests.model.histories import HistoryQueries
from tests.snapshots.factories import a_revision, a_spec, day, hash_of
from tests.snapshots.timelines.generated_histories import a_past

ONE = a_spec("one", name="zlib", version="1", variants=())
MOVED = a_spec("one", name="zlib", version="1", variants=(), stacks=("hep",))
TWO = a_spec("two", name="hdf5", version="1", target="m1", variants=("+mpi",))
REBUILT = a_spec("three", name="zlib", version="1", variants=())


def spans_of(past: HistoryQueries, label: str) -> list[Span]:
    """Return the spans of the hash of a label."""
    return list(hash_histories(past.rows(), [hash_of(label)], past.history)[hash_of(label)].spans)


def days(span: Span) -> tuple[str, int, int, int | None]:
    """Return a span's series and the days of its first, last and next revision."""
    first, last = ((revision.taken_at - day(0)).days for revision in (span.first, span.last))
    gone_in = None if span.gone_in is None else (span.gone_in.taken_at - day(0)).days
    return span.series, first, last, gone_in


@pytest.mark.parametrize(
    ("states", "spans"),
    [
        ([(1, [ONE])], [(1, 1, None, R.NEW_PACKAGE, None)]),
        (
            [(1, [ONE]), (2, [TWO]), (3, [TWO]), (4, [ONE, TWO])],
            [(1, 1, 2, R.NEW_PACKAGE, R.PACKAGE_GONE), (4, 4, None, R.RETURNED, None)],
        ),
        (
            [(1, [ONE]), (2, [REBUILT]), (3, [ONE])],
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
    ids=["one", "returned", "rebuilt", "returned twice", "removed", "changed"],
)
def test_spans(
    states: list[tuple[int, list[Spec]]],
    spans: list[tuple[int, int, int | None, R, R | None]],
) -> None:
    """A hash is added, removed and returns; a spec that replaces another does not return."""
    past = a_past(*(("develop", day, specs) for day, specs in states))
    assert spans == [
        (*days(span)[1:], span.reason_came, span.reason_gone) for span in spans_of(past, "one")
    ]


def test_revisions_with_all_hashes() -> None:
    """Without any hash, these are all revisions."""
    past = a_past(
        ("develop", 1, [ONE]), ("develop", 2, [ONE, TWO]), ("v0.1", 3, [TWO]), ("main", 4, [])
    )
    hashes = [hash_of("one"), hash_of("two")]
    both = list(hash_histories(past.rows(), hashes, past.history).values())
    assert [revision.taken_at for revision in holding(both, past.history)] == [day(2)]
    assert [revision.taken_at for revision in holding(both[:1], past.history)] == [day(2), day(1)]
    assert holding(both, past.history, "vX.Y.Z") == []
    assert holding(both, past.history, "nowhere") == []
    assert holding([], past.history) == past.history.revisions


A, B = a_spec("a"), a_spec("b", name="zlib")
REVISIONS = [
    a_revision("develop", 1, "a"),
    a_revision("develop", 2, "b"),
    a_revision("v0.1", 3, "c"),
]


def tags_of_last(past: HistoryQueries, series: str) -> tuple[str, R | None, str | None]:
    """Return the last tag with a hash, the reason of its removal, and the tag that lacks it."""
    history = past.hash_history(hash_of("a"))
    assert history is not None
    last = last_seen(history, series)
    return last.revision.tag, last.reason, last.gone_in.tag if last.gone_in else None


def test_last_revision_with_a_hash() -> None:
    """It is in the series, in the order of the series, or else the latest of all series."""
    past = a_past(("v0.22", 5, [A]), ("v0.21.1", 6, [B]), ("v0.21", 9, [A]))
    assert tags_of_last(past, "vX.Y.Z") == ("v0.22", None, None)
    past = a_past(("develop", 1, [A]), ("develop", 2, [B]), ("main", 3, [A]), ("main", 4, [B]))
    assert tags_of_last(past, "develop") == ("develop", R.PACKAGE_GONE, "develop")
    assert tags_of_last(past, "vX.Y.Z") == ("main", R.PACKAGE_GONE, "main")


def test_steps_are_computed_once_per_history() -> None:
    """They are shared for the same series, and released with their history."""
    history, longer = History(REVISIONS[:2]), History(REVISIONS)
    steps = Steps.of(history, ["develop", "v0.1"])
    assert Steps.of(history, ["develop"]) is steps  # as the history has no v0.1
    assert steps.revisions == REVISIONS[:2]
    assert Steps.of(longer, ["develop"]) is not steps
    assert Steps.of(longer, ["develop", "v0"]).revisions == REVISIONS[:2]
    assert len(Steps.of(longer, longer.series_names)) == 3
    assert len(Steps.of(History(), ["develop"])) == 0
    reference = ref(steps)
    del history, steps
    gc.collect()
    assert reference() is None
