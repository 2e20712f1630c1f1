"""Release notes of a real week: what a reader wants of it, in few words."""

import pytest

from snapshots.notes import templates
from snapshots.notes.sentences import plain
from tests.model.real import records
from tests.snapshots.notes.stories import told

BEFORE, AFTER = "2026-06-20", "2026-06-27"

CAUSES = {
    "e4s": "gettext's recipe changed, which rebuilt 109 specs and reached 112, most of which "
    "expat 2.8.1 → 2.8.2 reached, too; intel-tbb 2023.0.0 → 2022.3.0 rebuilt 1 spec and "
    "reached 2; four more changes reached only their own packages.",
    "developer-tools": "gettext's recipe changed, which rebuilt 71 specs and reached 73, most "
    "of which expat 2.8.1 → 2.8.2 reached, too; the recipe of go-bootstrap rebuilt 1 spec and "
    "reached 6; two more changes reached only their own packages.",
    "ml-linux-aarch64-cpu": "gettext's recipe changed, which rebuilt 198 specs and reached 202, "
    "most of which expat 2.8.1 → 2.8.2 reached, too; py-scipy 1.17.1 → 1.18.0 rebuilt 2 specs and "
    "reached 13; py-torch 2.12.0 → 2.12.1 rebuilt 1 spec and reached 7; "
    "py-torchvision 0.27.0 → 0.27.1 rebuilt 1 spec and reached 2.",
}


@pytest.mark.parametrize("stack", CAUSES)
def test_a_week_in_a_sentence(stack: str) -> None:
    """The recipe at the bottom is named, and the numbers add up to all new hashes."""
    (old, outside), (new, beside) = (records(day, [stack]) for day in (BEFORE, AFTER))
    log = told(old, new, {spec.hash: spec for spec in (*outside, *beside)}.values())
    assert CAUSES[stack] in [plain(sentence) for sentence in log.highlights]
    assert sum(cause.num_specs for cause in log.causes) == log.summary.specs_added
    assert CAUSES[stack].partition("'")[0] in templates.markdown(log)
