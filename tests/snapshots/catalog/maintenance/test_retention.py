"""Retention policies: their syntax, and the revisions that they keep."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from snapshots.catalog import retention
from snapshots.errors import InvalidArgument
from snapshots.history import History
from snapshots.models import RevisionInfo
from snapshots.refs import series
from tests.snapshots.factories import a_revision

START = datetime(2026, 1, 1, tzinfo=UTC)
PERIODS = {
    "hourly": "%Y-%m-%d %H",
    "daily": "%Y-%m-%d",
    "weekly": "%G-%V",
    "monthly": "%Y-%m",
    "yearly": "%Y",
}


def a_row(taken_at: datetime, tag: str = "develop") -> RevisionInfo:
    """Return a row with a distinct content."""
    row = a_revision(tag, 0, f"{tag} {taken_at}")
    return replace(row, taken_at=taken_at, published_at=taken_at)


def every_six_hours(number: int, tag: str = "develop") -> list[RevisionInfo]:
    """Return ``number`` rows of a tag, six hours apart."""
    return [a_row(START + timedelta(hours=6 * step), tag) for step in range(number)]


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        (" 30 daily, 52  weekly ,all releases", ["30 daily", "52 weekly", "all releases"]),
        ("All Yearly, 5 LAST", ["all yearly", "5 last"]),
        ("all", ["all"]),
        ("0 daily, 1 hourly", ["0 daily", "1 hourly"]),
    ],
)
def test_policies(text: str, rules: list[str]) -> None:
    """Rules are separated by commas; blanks and case are ignored."""
    assert [*map(str, retention.parse_policy(text))] == rules


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "''"),
        ("30", "did you mean '30 last'"),
        ("30 dayly", "'30 dayly' is not a rule: write a number"),
        ("30 daily, , 5 last", "'' in '30 daily, , 5 last'"),
        ("3 releases", "did you mean 'all releases'"),
        ("-1 daily", "is not a rule"),
        ("30 daily 52 weekly", "is not a rule"),
        ("1000000 daily", "is not a rule"),
        ("0 daily", "keeps nothing"),
        ("0 last, 0 yearly", "keeps nothing"),
    ],
)
def test_invalid_policies(text: str, part: str) -> None:
    """The error quotes the invalid rule and names the valid ones."""
    with pytest.raises(InvalidArgument) as caught:
        retention.parse_policy(text)
    assert caught.value.name == "keep"
    assert part in caught.value.reason


def test_rules_apply_to_each_series() -> None:
    """Releases are one series; each choice names the rules that keep it."""
    rows = [*every_six_hours(4), *every_six_hours(4, "main")]
    rows += [
        a_row(START - timedelta(days=900 + number), f"v0.{9 - number}.0") for number in range(3)
    ]
    choices = retention.choose(History(rows), retention.parse_policy("1 last, all releases"))
    assert {(choice.revision.tag, choice.kept_by) for choice in choices if choice.kept_by} == {
        ("develop", ("1 last",)),
        ("main", ("1 last",)),
        ("v0.9.0", ("1 last", "all releases")),
        ("v0.8.0", ("all releases",)),
        ("v0.7.0", ("all releases",)),
    }


def test_newest_revision_of_each_series_is_kept() -> None:
    """Of dated tags, only the newest is."""
    rows = [
        a_row(START + timedelta(days=number), f"nightly-2026-01-0{number + 1}")
        for number in range(4)
    ]
    policy = retention.parse_policy("all releases")
    history = History([*rows, *every_six_hours(3)])
    choices = {it.revision: it.kept_by for it in retention.choose(history, policy)}
    assert [choices[row] for row in rows] == [()] * 3 + [(retention.NEWEST_OF_SERIES,)]


def test_single_series() -> None:
    """Revisions of other series are kept, regardless of the policy."""
    history = History([*every_six_hours(3), *every_six_hours(3, "main")])
    choices = retention.choose(history, retention.parse_policy("1 daily"), only="main")
    reasons = {choice.revision: choice.kept_by for choice in choices}
    assert [reasons[row] for row in every_six_hours(3)] == [(retention.OTHER_SERIES,)] * 3
    assert [reasons[row] for row in every_six_hours(3, "main")] == [(), (), ("1 daily",)]


moments = st.integers(0, 24 * 800).map(lambda hours: START + timedelta(hours=hours))
tags = st.sampled_from(["develop", "v0.1.0", "v0.2.0", "nightly-2026-01-01", "nightly-2026-01-02"])
rules = st.builds(
    retention.RetentionRule,
    st.sampled_from(["last", *PERIODS]),
    st.one_of(st.none(), st.integers(0, 5)),
)


@given(
    rows=st.lists(st.builds(a_row, moments, tags), max_size=30),
    policy=st.lists(rules, min_size=1, max_size=3),
)
def test_choices_agree_with_a_naive_count(
    rows: list[RevisionInfo], policy: list[retention.RetentionRule]
) -> None:
    """Periods are counted by formatted dates."""
    history = History({row.ref: row for row in rows}.values())
    expected = set()
    for name in {series(row.tag) for row in history.revisions}:
        members = [row for row in history.revisions if series(row.tag) == name]
        expected.add(members[0])
        for rule in policy:
            newest: dict[str, RevisionInfo] = {}
            for number, row in enumerate(members):
                label = f"{row.taken_at:{PERIODS[rule.what]}}" if rule.what in PERIODS else number
                newest.setdefault(str(label), row)
            expected.update([*newest.values()][: rule.number])
    choices = retention.choose(history, policy)
    assert [choice.revision for choice in choices] == history.revisions
    assert {choice.revision for choice in choices if choice.kept_by} == expected
