"""Damage that several revisions share is one finding."""

import pytest

from snapshots.catalog.verification import DamagedBase, Finding, with_damaged_bases
from snapshots.history import History
from snapshots.texts import short_digest
from tests.snapshots.factories import a_revision, digest_of

BASE = DamagedBase(digest_of("0"), "is missing")
OTHER = Finding(place="content of another", reason="is damaged", advice="import again")


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        (
            range(3),
            "3 revisions cannot be read without it: develop@2025-01-07, develop@2025-01-06,",
        ),
        (range(1, 3), "2 revisions cannot be read without it: develop@2025-01-07"),
        (range(14), ", develop@2025-01-09, 4 others"),
    ],
    ids=["the base is a revision", "it is none any more", "many"],
)
def test_a_damaged_base(numbers: range, text: str) -> None:
    """With those that need it, ten of them by name; what else was findings stays."""
    history = History([a_revision("develop", it, str(it)) for it in numbers])
    over = [digest_of(str(it)) for it in numbers if it]
    own = Finding(place=f"content {short_digest(BASE.digest)}", reason="is missing", advice="")
    findings = with_damaged_bases([OTHER, own], {BASE: over}, history)
    assert [it.place for it in findings] == [OTHER.place, own.place]
    assert text in findings[1].reason
    assert findings[1].reason.startswith("is missing; ")
    assert "import" in findings[1].advice
