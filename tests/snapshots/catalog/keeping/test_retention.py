"""Retention policies: their syntax, and the revisions that they keep."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapshots.catalog.retention import (
    NEWEST_OF_SERIES,
    NEWEST_OF_TAG,
    OTHER_SERIES,
    RetentionRule,
    choose,
    parse_policy,
)
from snapshots.errors import InvalidArgument
from snapshots.history import History
from snapshots.models import RevisionInfo
from snapshots.refs import series
from tests.snapshots.factories import SOURCE, digest_of

START = datetime(2026, 1, 1, tzinfo=UTC)
PERIODS = {
    "hourly": "%Y-%m-%d %H",
    "daily": "%Y-%m-%d",
    "weekly": "%G-%V",
    "monthly": "%Y-%m",
    "yearly": "%Y",
}


def a_row(taken_at: datetime, tag: str = "develop") -> RevisionInfo:
    """Return a row with a content that no other row has."""
    return RevisionInfo(
        tag=tag,
        digest=digest_of(f"{tag} {taken_at}"),
        taken_at=taken_at,
        published_at=taken_at,
        num_packages=1,
        num_specs=1,
        num_stacks=0,
        total_size=None,
        source=SOURCE,
    )


def every_six_hours(number: int, tag: str = "develop") -> list[RevisionInfo]:
    """Return ``number`` rows of a tag, six hours apart."""
    return [a_row(START + timedelta(hours=6 * it), tag) for it in range(number)]


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("30 daily", [RetentionRule("daily", 30)]),
        (
            " 30 daily, 52  weekly ,all releases",
            [RetentionRule("daily", 30), RetentionRule("weekly", 52), RetentionRule("releases")],
        ),
        ("All Yearly, 5 LAST", [RetentionRule("yearly"), RetentionRule("last", 5)]),
        ("all", [RetentionRule("")]),
        ("0 daily, 1 hourly", [RetentionRule("daily", 0), RetentionRule("hourly", 1)]),
    ],
)
def test_policies(text: str, rules: list[RetentionRule]) -> None:
    """Rules stand between commas; blanks and case do not matter."""
    assert list(parse_policy(text)) == rules


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
def test_no_policies(text: str, part: str) -> None:
    """What is wrong is quoted, and what is allowed is named."""
    with pytest.raises(InvalidArgument) as caught:
        parse_policy(text)
    assert caught.value.name == "keep"
    assert part in caught.value.reason


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("1 last", ["01-03 06"]),
        ("3 last", ["01-03 06", "01-03 00", "01-02 18"]),
        ("2 daily", ["01-03 06", "01-02 18"]),
        ("1 last, all daily", ["01-03 06", "01-02 18", "01-01 18"]),
        ("1 yearly", ["01-03 06"]),
        ("all hourly", [f"{it.taken_at:%m-%d %H}" for it in every_six_hours(10)[::-1]]),
    ],
)
def test_what_stays(policy: str, expected: list[str]) -> None:
    """Of each period the newest; the current one counts."""
    choices = choose(History(every_six_hours(10)), parse_policy(policy))
    assert [f"{it.revision.taken_at:%m-%d %H}" for it in choices if it.kept_by] == expected


def test_series_count_each_for_itself() -> None:
    """Rules hold for each, releases have one of their own; each choice names its rules."""
    rows = [*every_six_hours(4), *every_six_hours(4, "main")]
    rows += [a_row(START - timedelta(days=900 + it), f"v0.{9 - it}.0") for it in range(3)]
    choices = choose(History(rows), parse_policy("1 last, all releases"))
    kept = {(it.revision.tag, it.kept_by) for it in choices if it.kept_by}
    assert kept == {
        ("develop", ("1 last",)),
        ("main", ("1 last",)),
        ("v0.9.0", ("1 last", "all releases")),
        ("v0.8.0", ("all releases",)),
        ("v0.7.0", ("all releases",)),
    }


def test_tags_stay_unless_they_may_go() -> None:
    """The newest of each tag; with whole tags none but the newest of the series."""
    rows = [a_row(START + timedelta(days=it), f"nightly-2026-01-0{it + 1}") for it in range(4)]
    history = History([*rows, *every_six_hours(3)])
    policy = parse_policy("all releases")
    reasons = {it.revision: it.kept_by for it in choose(history, policy)}
    assert [reasons[row] for row in rows] == [(NEWEST_OF_TAG,)] * 3 + [(NEWEST_OF_SERIES,)]
    gone = {it.revision: it.kept_by for it in choose(history, policy, whole_tags=True)}
    assert [gone[row] for row in rows] == [()] * 3 + [(NEWEST_OF_SERIES,)]


def test_one_series_alone() -> None:
    """What belongs to others stays, whatever the policy says."""
    history = History([*every_six_hours(3), *every_six_hours(3, "main")])
    choices = choose(history, parse_policy("1 last"), only="main")
    reasons = {it.revision: it.kept_by for it in choices}
    assert [reasons[row] for row in every_six_hours(3)] == [(OTHER_SERIES,)] * 3
    assert [reasons[row] for row in every_six_hours(3, "main")] == [(), (), ("1 last",)]


moments = st.integers(0, 24 * 800).map(lambda hours: START + timedelta(hours=hours))
tags = st.sampled_from(["develop", "v0.1.0", "v0.2.0", "nightly-2026-01-01", "nightly-2026-01-02"])
rules = st.builds(
    RetentionRule, st.sampled_from(["last", *PERIODS]), st.one_of(st.none(), st.integers(0, 5))
)


@given(
    rows=st.lists(st.builds(a_row, moments, tags), max_size=30),
    policy=st.lists(rules, min_size=1, max_size=3),
    whole_tags=st.booleans(),
)
def test_as_plain_counting_has_it(
    rows: list[RevisionInfo], policy: list[RetentionRule], *, whole_tags: bool
) -> None:
    """Whatever the history: what stays is what a count of the days in words has."""
    history = History({row.key: row for row in rows}.values())
    expected = set()
    for name in {series(it.tag) for it in history.revisions}:
        members = [it for it in history.revisions if series(it.tag) == name]
        expected.add(members[0])
        for rule in policy:
            newest: dict[str, RevisionInfo] = {}
            for number, it in enumerate(members):
                label = f"{it.taken_at:{PERIODS[rule.what]}}" if rule.what in PERIODS else number
                newest.setdefault(str(label), it)
            expected.update([*newest.values()][: rule.number])
    if not whole_tags:
        expected.update(history.of_tag(tag)[0] for tag in history.tags)
    choices = choose(history, policy, whole_tags=whole_tags)
    assert [it.revision for it in choices] == history.revisions
    assert {it.revision for it in choices if it.kept_by} == expected
