"""How numbers, days and revisions are put into words."""

from datetime import UTC, datetime

import pytest

from snapshots.models import RevisionInfo
from snapshots.wording import counted, day, short_pair, short_version, single_value, title
from tests.snapshots.factories import SOURCE, digest_of

MOMENT = datetime(2025, 1, 20, 23, 59, tzinfo=UTC)


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 specs"), (1, "1 spec"), (2, "2 specs"), (58_000, "58,000 specs")]
)
def test_numbers_with_their_noun(count: int, text: str) -> None:
    """One is singular; thousands are parted."""
    assert counted(count, "spec") == text


@pytest.mark.parametrize(
    ("fact", "text"), [(True, "yes"), (False, "no"), (1, "1"), (None, "None"), ("a", "a")]
)
def test_single_values(fact: object, text: str) -> None:
    """What is so or not is yes or no."""
    assert single_value(fact) == text


def test_a_revision_has_a_title() -> None:
    """Its tag, its day in UTC and as much of its digest as tells it from others."""
    digest = digest_of("a")
    revision = RevisionInfo(
        tag="develop",
        digest=digest,
        taken_at=MOMENT,
        published_at=MOMENT,
        num_packages=1,
        num_specs=1,
        num_stacks=1,
        total_size=None,
        source=SOURCE,
    )
    assert day(MOMENT) == "2025-01-20"
    assert title(revision) == f"develop of 2025-01-20 ({digest[:12]})"
    assert short_pair(digest, digest[::-1]) == f"{digest[:12]}..{digest[:-13:-1]}"


@pytest.mark.parametrize(
    ("whole", "short"),
    [
        ("1.14.3", "1.14.3"),
        ("git.develop=1.14", "git.develop=1.14"),
        (f"git.{'2b4cfcd' + 'a' * 33}=1.14.3", "git.2b4cfcd…=1.14.3"),
        (f"git.{'2b4cfcd' + 'a' * 33}", "git.2b4cfcd…"),
    ],
)
def test_a_commit_in_a_version_is_shortened(whole: str, short: str) -> None:
    """To as much as tells it from others; what is no commit stands as it is."""
    assert short_version(whole) == short
