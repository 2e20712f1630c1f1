"""Advice for a damaged content, depending on its source."""

import pytest
from msgspec.structs import replace

from snapshots.catalog.specs_table import how_to_mend
from snapshots.history import History
from snapshots.models import RevisionInfo, Source
from tests.snapshots.factories import a_revision, digest_of

SAME = "import the same again to replace it"


def revision(number: int, label: str, kind: str) -> RevisionInfo:
    """Return a row of develop with a kind of source."""
    source = Source(kind=kind, location="pages.git", version=f"{number}f" * 20, importer="x 1")
    return replace(a_revision("develop", number, label), source=source)


@pytest.mark.parametrize(
    ("kinds", "advice"),
    [
        ([("a", "pages"), ("b", "index")], SAME),
        (
            [("a", "git"), ("a", "git"), ("b", "git")],
            f"to replace it, check out the commit {'2f' * 20} of pages.git, and import its folder "
            "of pages with --tag develop --taken-at 2025-01-07T00:00:00Z",
        ),
        ([("a", "git"), ("a", "index")], SAME),
    ],
    ids=["imported alone", "from git", "both ways"],
)
def test_what_mends_a_content(kinds: list[tuple[str, str]], advice: str) -> None:
    """The same import does; one with --git goes on behind it, so the last commit is named."""
    rows = [revision(number, label, kind) for number, (label, kind) in enumerate(kinds, 1)]
    assert how_to_mend(History(rows), rows[0].digest) == advice
    assert how_to_mend(History(rows), digest_of("of no revision")) == SAME
