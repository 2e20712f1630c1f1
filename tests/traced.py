"""Which tests count for coverage: the examples that a floor has of its own, and a few others.

To trace a test takes as long again as half of it. So where ``snapshots`` is measured, the tests in
``tests/snapshots`` are traced, and ``pytest --cov=server`` traces those in ``tests/server``. What
hypothesis draws does not count: it is other examples in every run, and would cover a line today
that no test asks for tomorrow.
"""

from collections.abc import Collection
from pathlib import PurePosixPath

import pytest
from coverage import Coverage

ELSEWHERE = {
    "snapshots": (
        "tests/schema/comparisons",
        "tests/schema/histories",
        "tests/server/feeds",
        "tests/server/test_cli_gate.py",
        "tests/server/test_cli_import_gate.py",
        "tests/server/test_cli_log.py",
        "tests/server/webhooks",
    )
}
"""By floors, tests of those above that ask for what the floor's own examples do not."""


def leave_the_others_out(items: list[pytest.Item]) -> None:
    """Mark tests that do not count with ``no_cover``, if coverage is measured."""
    measured = Coverage.current()
    if measured is None:
        return
    sources = measured.get_option("run:source")
    floors = set(sources) if isinstance(sources, list) else set[str]()
    for item in items:
        file = PurePosixPath(item.path.relative_to(item.config.rootpath))
        if not counts(file, floors, is_drawn=item.get_closest_marker("hypothesis") is not None):
            item.add_marker(pytest.mark.no_cover)


def counts(file: PurePosixPath, floors: Collection[str], *, is_drawn: bool) -> bool:
    """Tell whether the tests of a file count where floors are measured; all do, if none is named.

    ``file`` is its path from the repository on.
    """
    places = [place for it in floors for place in (f"tests/{it}", *ELSEWHERE.get(it, ()))]
    return not is_drawn and (not floors or any(file.is_relative_to(it) for it in places))
