"""The rows that imports append and the resulting history, compared with a naive model."""

from datetime import UTC, datetime, timedelta, timezone
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapshots.catalog.publication import PublicationPlanner
from snapshots.errors import SourceError
from snapshots.history import History
from snapshots.models import RevisionInfo
from tests.snapshots.factories import START, a_snapshot, a_spec, day

CONTENTS = {letter: [a_spec(letter)] for letter in "abc"}
DIGESTS = {letter: a_snapshot(specs).content.digest for letter, specs in CONTENTS.items()}
TAGS = ("develop", "v0.22.0")

Seen = tuple[str, int, str]
"""A tag, the day of its state, and the content."""

IMPORTS = st.lists(
    st.lists(
        st.tuples(st.sampled_from(TAGS), st.integers(0, 6), st.sampled_from("abc")), max_size=4
    ),
    max_size=6,
)


def imported(*imports: list[Seen]) -> list[RevisionInfo]:
    """Return the rows of a catalog after consecutive imports."""
    rows: list[RevisionInfo] = []
    for number, states in enumerate(imports):
        planner = PublicationPlanner(History(rows), START + timedelta(hours=number), None)
        for tag, taken, letter in states:
            planner.take(a_snapshot(CONTENTS[letter], tag, day(taken)))
        rows += planner.added
    return rows


def naive_state(seen: list[Seen], tag: str, moment: datetime) -> str | None:
    """Return the latest content up to a moment; of equal days, the last import."""
    until = [
        (taken, number, letter)
        for number, (of_tag, taken, letter) in enumerate(seen)
        if of_tag == tag and day(taken) <= moment
    ]
    return DIGESTS[max(until)[-1]] if until else None


@given(IMPORTS)
def test_state_at_each_date(imports: list[list[Seen]]) -> None:
    """It is the latest one until then, regardless of the order of imports."""
    history = History(imported(*imports))
    seen = [state for states in imports for state in states]
    for tag in TAGS:
        for number in range(-1, 8):
            revision = history.at(tag, day(number))
            assert (revision and revision.digest) == naive_state(seen, tag, day(number))


@given(IMPORTS, st.randoms())
def test_order_of_imports_does_not_matter(imports: list[list[Seen]], random: Random) -> None:
    """Days, contents and confirmations are equal if no day has two states."""
    states = {(tag, taken): letter for group in imports for tag, taken, letter in group}
    in_order = [(tag, taken, letter) for (tag, taken), letter in states.items()]
    other = sorted(in_order, key=lambda _: random.random())
    assert timeline(History(imported(*([state] for state in in_order)))) == timeline(
        History(imported(*([state] for state in other)))
    )


def timeline(history: History) -> list[tuple[str, str, datetime, datetime]]:
    """Return the tag, content, date and last confirmation of each revision, sorted."""
    return sorted(
        (revision.tag, revision.digest, revision.taken_at, history.confirmed_at(revision))
        for revision in history.revisions
    )


def test_stored_rows_are_not_appended() -> None:
    """The same state of the same moment, imported again, adds no row."""
    assert len(imported([("develop", 1, "a")], [("develop", 1, "a"), ("develop", 1, "a")])) == 1


ARGUMENT = datetime(2024, 5, 6, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("tag", "own", "argument", "expected"),
    [
        ("develop-2025-03-30", day(1), ARGUMENT, day(1)),
        ("develop-2025-03-30", None, ARGUMENT, ARGUMENT),
        ("develop-2025-03-30", None, None, datetime(2025, 3, 30, tzinfo=UTC)),
        ("develop", None, None, START),
        ("develop", None, ARGUMENT, ARGUMENT),
        ("develop", None, ARGUMENT.replace(tzinfo=None), ARGUMENT),
        ("develop", None, ARGUMENT.astimezone(timezone(timedelta(hours=2))), ARGUMENT),
    ],
)
def test_when_a_state_was_taken(
    tag: str, own: datetime | None, argument: datetime | None, expected: datetime
) -> None:
    """The moment is that of the source, or else of the caller, the date in the tag, or now."""
    planner = PublicationPlanner(History(), START, argument)
    planner.take(a_snapshot(CONTENTS["a"], tag, own))
    (row,) = planner.added
    assert row.taken_at == expected
    assert row.taken_at.utcoffset() == timedelta(0)


def test_too_many_stacks_are_refused() -> None:
    """A build cache has no separate stack for each spec; root is not counted."""
    specs = [
        a_spec(f"{number}", stacks=("root", *(f"s{number}-{stack}" for stack in range(500))))
        for number in range(21)
    ]
    planner = PublicationPlanner(History(), day(9), None)
    assert planner.take(a_snapshot(specs[:-1])).num_stacks == 10_000
    with pytest.raises(SourceError, match="develop has 10,500 stacks, more than 10,000"):
        planner.take(a_snapshot(specs))


def test_publications() -> None:
    """A confirmation returns the confirmed revision, which is not new."""
    first = imported([("develop", 1, "a")])
    planner = PublicationPlanner(History(first), day(9), None)
    states = [("develop", 2, "a"), ("develop", 3, "b"), ("develop", 4, "b")]
    for tag, taken, letter in states:
        planner.take(a_snapshot(CONTENTS[letter], tag, day(taken)))
    made = planner.publications(History([*first, *planner.added]))
    assert [
        (publication.is_new, (publication.revision.taken_at - day(0)).days) for publication in made
    ] == [(False, 1), (True, 3), (False, 3)]
