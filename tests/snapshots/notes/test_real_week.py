"""Release notes of a real week: what a reader wants of it, in few words."""

import pytest

from snapshots.notes import templates
from snapshots.notes.sentences import plain
from tests.model.real import records
from tests.snapshots.notes.stories import told

BEFORE, AFTER = "2026-06-20", "2026-06-27"

CAUSES = {
    "e4s": "gettext's recipe changed, which rebuilt 111 specs, most of them also by "
    "expat 2.8.1 → 2.8.2; five more changes rebuilt themselves.",
    "developer-tools": "gettext's recipe changed, which rebuilt 72 specs, most of them also by "
    "expat 2.8.1 → 2.8.2; three more changes rebuilt themselves.",
    "ml-linux-aarch64-cpu": "gettext's recipe changed, which rebuilt 201 specs, most of them also "
    "by expat 2.8.1 → 2.8.2; three more changes rebuilt themselves.",
}


@pytest.mark.parametrize("stack", CAUSES)
def test_a_week_in_a_sentence(stack: str) -> None:
    """The recipe at the bottom is named, and the numbers add up to all new hashes."""
    (old, outside), (new, beside) = (records(day, [stack]) for day in (BEFORE, AFTER))
    log = told(old, new, {spec.hash: spec for spec in (*outside, *beside)}.values())
    assert CAUSES[stack] in [plain(sentence) for sentence in log.highlights]
    assert sum(cause.num_specs for cause in log.causes) == log.summary.specs_added
    assert CAUSES[stack].partition("'")[0] in templates.markdown(log)
