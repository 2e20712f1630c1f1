"""What counts as too little coverage."""

from tests.coverage_floor import FLOOR, low_files


def test_only_files_of_the_domain_are_held_to_the_floor() -> None:
    """A file of the domain below it is named; one of another floor, or one above, is not."""
    percents = {
        "snapshots/refs.py": FLOOR - 0.1,
        "snapshots/models.py": FLOOR,
        "server/app.py": 50.0,
    }
    report = {path: {"summary": {"percent_covered": it}} for path, it in percents.items()}
    assert low_files(report) == {"snapshots/refs.py": FLOOR - 0.1}
