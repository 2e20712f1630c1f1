"""The rows that imports append and the resulting history, compared with a naive model."""

from datetime import UTC, datetime, timedelta, timezone
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapshots.catalog.publication import Planner
from snapshots.errors import SourceError
from snapshots.history import History
from snapshots.models import RevisionInfo
from tests.snapshots.factories import START, a_snapshot, a_spec, day

CONTENTS = {letter: [a_spec(letter)] for letter in "abc"}
DIGESTS = {letter: a_snapshot(specs).content.digest for letter, specs in CONTENTS.items()}
TAGS = ("develop", "v0.22.0")

Seen = tuple[str, int, str]
"""A tag, the day that it was seen on, and its content."""

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
        planner = Planner(History(rows), START + timedelta(hours=number), None)
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
def test_the_state_at_each_date(imports: list[list[Seen]]) -> None:
    """It is the one seen latest until then, in whatever order the states were imported."""
    history = History(imported(*imports))
    seen = [state for states in imports for state in states]
    for tag in TAGS:
        for number in range(-1, 8):
            standing = history.at(tag, day(number))
            assert (standing and standing.digest) == naive_state(seen, tag, day(number))


@given(IMPORTS, st.randoms())
def test_the_order_of_imports_does_not_matter(imports: list[list[Seen]], random: Random) -> None:
    """Days, contents and confirmations are the same, where no day has two states."""
    states = {(tag, taken): letter for it in imports for tag, taken, letter in it}
    in_order = [(tag, taken, letter) for (tag, taken), letter in states.items()]
    other = sorted(in_order, key=lambda _: random.random())
    assert timeline(History(imported(*([it] for it in in_order)))) == timeline(
        History(imported(*([it] for it in other)))
    )


def timeline(history: History) -> list[tuple[str, str, datetime, datetime]]:
    """Return the tag, content, date and last confirmation of each revision, sorted."""
    return sorted(
        (it.tag, it.digest, it.taken_at, history.confirmed_at(it)) for it in history.revisions
    )


def test_what_is_known_is_not_appended() -> None:
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
    """What the source says counts, then what the caller says, the date in the tag, and now."""
    planner = Planner(History(), START, argument)
    planner.take(a_snapshot(CONTENTS["a"], tag, own))
    (row,) = planner.added
    assert row.taken_at == expected
    assert row.taken_at.utcoffset() == timedelta(0)


def test_too_many_stacks_are_refused() -> None:
    """A stack for each spec is not a state of a build cache; root is not counted."""
    specs = [
        a_spec(f"{number}", stacks=("root", *(f"s{number}-{it}" for it in range(500))))
        for number in range(21)
    ]
    planner = Planner(History(), day(9), None)
    assert planner.take(a_snapshot(specs[:-1])).num_stacks == 10_000
    with pytest.raises(SourceError, match="develop has 10,500 stacks, more than 10,000"):
        planner.take(a_snapshot(specs))


def test_what_became_of_each() -> None:
    """A confirmation is the revision that it confirms, and not new."""
    first = imported([("develop", 1, "a")])
    planner = Planner(History(first), day(9), None)
    states = [("develop", 2, "a"), ("develop", 3, "b"), ("develop", 4, "b")]
    for tag, taken, letter in states:
        planner.take(a_snapshot(CONTENTS[letter], tag, day(taken)))
    made = planner.publications(History([*first, *planner.added]))
    assert [(it.is_new, (it.revision.taken_at - day(0)).days) for it in made] == [
        (False, 1),
        (True, 3),
        (False, 3),
    ]
