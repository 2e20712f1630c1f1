"""The tests that count for coverage, and files below the floor."""

from itertools import chain
from pathlib import Path, PurePosixPath

import pytest

from tests.coverage_floor import FLOOR, low_files
from tests.traced import ELSEWHERE, WIDE, counts

ROOT = Path(__file__).parents[1]


def test_only_low_files_of_the_domain_are_returned() -> None:
    """Files of the domain below the floor; neither those of other layers, nor those above it."""
    percents = {
        "snapshots/refs.py": FLOOR - 0.1,
        "snapshots/models.py": FLOOR,
        "server/app.py": 50.0,
    }
    report = {path: {"summary": {"percent_covered": percent}} for path, percent in percents.items()}
    assert low_files(report) == {"snapshots/refs.py": FLOOR - 0.1}


@pytest.mark.parametrize(
    ("file", "floors", "expected"),
    [
        ("tests/snapshots/frames/test_frame.py", ["snapshots"], True),
        ("tests/snapshots/catalog/test_catalog.py", ["snapshots"], False),
        ("tests/snapshots/catalog/test_catalog.py", [], True),
        ("tests/server/test_cli.py", ["snapshots"], False),
        ("tests/server/test_cli_gate.py", ["snapshots"], True),
        ("tests/schema/comparisons/test_gates.py", ["snapshots"], True),
        ("tests/server/test_cli.py", ["schema", "server"], True),
        ("tests/test_readme.py", ["snapshots"], False),
        ("tests/test_readme.py", [], True),
    ],
)
def test_only_tests_of_a_layer_count_for_it(file: str, floors: list[str], expected: bool) -> None:
    """Tests of other layers do not count; without layers, all do."""
    assert counts(PurePosixPath(file), floors) is expected


@pytest.mark.parametrize("path", [*chain(*ELSEWHERE.values(), WIDE)])
def test_listed_files_exist(path: str) -> None:
    """Renaming one does not silently change whether it counts."""
    assert (ROOT / path).exists()
