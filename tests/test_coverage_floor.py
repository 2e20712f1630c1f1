"""What counts for coverage, and as too little of it."""

from itertools import chain
from pathlib import Path, PurePosixPath

import pytest

from tests.coverage_floor import FLOOR, low_files
from tests.traced import ELSEWHERE, WIDE, counts

ROOT = Path(__file__).parents[1]


def test_only_files_of_the_domain_are_held_to_the_floor() -> None:
    """A file of the domain below it is named; one of another floor, or one above, is not."""
    percents = {
        "snapshots/refs.py": FLOOR - 0.1,
        "snapshots/models.py": FLOOR,
        "server/app.py": 50.0,
    }
    report = {path: {"summary": {"percent_covered": it}} for path, it in percents.items()}
    assert low_files(report) == {"snapshots/refs.py": FLOOR - 0.1}


@pytest.mark.parametrize(
    ("file", "floors", "is_drawn", "expected"),
    [
        ("tests/snapshots/frames/test_frame.py", ["snapshots"], False, True),
        ("tests/snapshots/frames/test_frame.py", ["snapshots"], True, False),
        ("tests/snapshots/catalog/test_catalog.py", ["snapshots"], False, False),
        ("tests/snapshots/catalog/test_catalog.py", [], False, True),
        ("tests/server/test_cli.py", ["snapshots"], False, False),
        ("tests/server/test_cli_gate.py", ["snapshots"], False, True),
        ("tests/schema/comparisons/test_gates.py", ["snapshots"], False, True),
        ("tests/server/test_cli.py", ["schema", "server"], False, True),
        ("tests/test_readme.py", ["snapshots"], False, False),
        ("tests/test_readme.py", [], False, True),
        ("tests/test_readme.py", [], True, False),
    ],
)
def test_examples_of_a_floor_count_for_it(
    file: str, floors: list[str], is_drawn: bool, expected: bool
) -> None:
    """Tests of another floor do not, nor what hypothesis draws; where no floor is named, all do."""
    assert counts(PurePosixPath(file), floors, is_drawn=is_drawn) is expected


@pytest.mark.parametrize("place", [*chain(*ELSEWHERE.values(), WIDE)])
def test_what_is_named_is_there(place: str) -> None:
    """A file or folder that was renamed does not silently cease to count, or begin to."""
    assert (ROOT / place).exists()
