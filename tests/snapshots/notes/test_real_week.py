"""Release notes of a real week in few words."""

from snapshots.notes.sentences import plain
from tests.model.real import records
from tests.snapshots.notes.stories import as_markdown, told

CAUSES = (
    "gettext's recipe changed, which rebuilt 198 specs and reached 202, "
    "most of which expat 2.8.1 → 2.8.2 reached, too; py-scipy 1.17.1 → 1.18.0 rebuilt 2 specs and "
    "reached 13; py-torch 2.12.0 → 2.12.1 rebuilt 1 spec and reached 7; "
    "py-torchvision 0.27.0 → 0.27.1 rebuilt 1 spec and reached 2."
)


def test_a_week_in_a_sentence() -> None:
    """The recipe at the bottom is named, and the numbers add up to all new hashes."""
    days = ("2026-06-20", "2026-06-27")
    (old, outside), (new, beside) = (records(day, ["ml-linux-aarch64-cpu"]) for day in days)
    log = told(old, new, {spec.hash: spec for spec in (*outside, *beside)}.values())
    assert CAUSES in [plain(sentence) for sentence in log.highlights]
    assert sum(cause.num_specs for cause in log.causes) == log.summary.specs_added
    assert "gettext" in as_markdown(log)
