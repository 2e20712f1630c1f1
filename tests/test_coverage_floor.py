"""What counts for coverage, and as too little of it."""

from itertools import chain
from pathlib import Path, PurePosixPath
from unittest import mock

import pytest
from coverage import Coverage

from tests.coverage_floor import FLOOR, low_files
from tests.traced import ELSEWHERE, WIDE, counts, traced_if_it_counts

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
def test_examples_of_a_floor_count_for_it(file: str, floors: list[str], expected: bool) -> None:
    """Tests of another floor do not; where no floor is named, all do."""
    assert counts(PurePosixPath(file), floors) is expected


@pytest.mark.parametrize(
    ("floors", "mark", "steps"),
    [
        (["snapshots"], "long", ["stop", "test", "start"]),
        ([], "long", ["test"]),
        ([], "untraced", ["stop", "test", "start"]),
        ([], "hypothesis", ["stop", "test", "start"]),
    ],
)
def test_what_does_not_count_is_not_traced(
    floors: list[str], mark: str, steps: list[str], request: pytest.FixtureRequest
) -> None:
    """Tracing stops for a test of no floor, as this one is, or so marked; then it goes on."""
    request.node.add_marker(mark)
    made: list[str] = []
    measured = mock.Mock(
        get_option=lambda _name: floors,
        stop=lambda: made.append("stop"),
        start=lambda: made.append("start"),
    )
    with (
        mock.patch.object(Coverage, "current", return_value=measured),
        traced_if_it_counts(request.node),
    ):
        made.append("test")
    assert made == steps


@pytest.mark.parametrize("place", [*chain(*ELSEWHERE.values(), WIDE)])
def test_what_is_named_is_there(place: str) -> None:
    """A file or folder that was renamed does not silently cease to count, or begin to."""
    assert (ROOT / place).exists()
