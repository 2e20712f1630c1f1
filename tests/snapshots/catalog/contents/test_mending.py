"""What mends a damaged content, by where it came from."""

from msgspec.structs import replace

from snapshots.catalog.specs_table import how_to_mend
from snapshots.history import History
from snapshots.models import RevisionInfo, Source
from tests.snapshots.factories import a_revision, digest_of

SAME = "import the same again to replace it"


def revision(number: int, label: str, kind: str) -> RevisionInfo:
    """Return a row of develop that was read from a kind of source."""
    source = Source(kind=kind, location="pages.git", version=f"{number}f" * 20, importer="x 1")
    return replace(a_revision("develop", number, label), source=source)


def test_what_was_imported_alone() -> None:
    """The same import finds it again."""
    history = History([revision(1, "a", "pages"), revision(2, "b", "index")])
    for digest in history.digests:
        assert how_to_mend(history, digest) == SAME
    assert how_to_mend(history, digest_of("of no revision")) == SAME


def test_what_was_imported_from_git() -> None:
    """An import with --git goes on behind it, so the last commit that had it is named."""
    rows = [revision(1, "a", "git"), revision(2, "a", "git"), revision(3, "b", "git")]
    advice = how_to_mend(History(rows), rows[0].digest)
    assert advice == (
        f"to replace it, check out the commit {'2f' * 20} of pages.git, and import its folder of "
        "pages with --tag develop --taken-at 2025-01-07T00:00:00Z"
    )


def test_what_was_imported_both_ways() -> None:
    """The simpler way is named."""
    rows = [revision(1, "a", "git"), revision(2, "a", "index")]
    assert how_to_mend(History(rows), rows[0].digest) == SAME
