"""The tutorials and docs/sources.md: their examples run as they stand."""

from pathlib import Path

import pytest

from tests.consoles import examples, shell
from tests.test_docs import DOCUMENTS


@pytest.mark.long
@pytest.mark.parametrize(
    ("document", "number"),
    [("tour.md", 11), ("sources.md", 2), ("nightly.md", 11), ("release.md", 14)],
)
def test_examples(document: str, number: int, tmp_path: Path) -> None:
    """Each command prints what is shown, typed one after the other into one shell."""
    commands = [*examples(DOCUMENTS[document])]
    assert len(commands) == number
    with shell(tmp_path, is_quick=True) as typed:
        for command, shown in commands:
            typed.assert_prints(command, shown)
