"""Which tests count for coverage: the examples that a floor has of its own, and a few others.

To trace a test takes as long again as half of it. So where ``snapshots`` is measured, the tests in
``tests/snapshots`` are traced, and ``pytest --cov=server`` traces those in ``tests/server``. What
hypothesis draws does not count: it is other examples in every run, and would cover a line today
that no test asks for tomorrow. Nor do tests that take long where others execute the same.
"""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import PurePosixPath
from pkgutil import walk_packages

import pytest
from coverage import Coverage

ELSEWHERE = {
    "snapshots": (
        "tests/schema/comparisons/test_causes.py",
        "tests/schema/comparisons/test_gates.py",
        "tests/schema/comparisons/test_commits.py",
        "tests/schema/histories/test_incomplete_history.py",
        "tests/schema/revisions/test_questions.py",
        "tests/server/test_cli_gate.py",
        "tests/server/test_cli_import_gate.py",
        "tests/server/test_cli_log.py",
        "tests/server/test_cli_plan.py",
        "tests/server/webhooks/test_notifying.py",
    )
}
"""By floors, tests of those above that ask for what the floor's own examples do not."""

WIDE = (
    "tests/snapshots/catalog/tables/test_damage.py",
    "tests/snapshots/catalog/test_catalog.py",
    "tests/snapshots/catalog/test_laid_contents.py",
    "tests/snapshots/catalog/test_power_cuts.py",
    "tests/snapshots/changes/test_explanation.py",
    "tests/snapshots/changes/test_hostile_shapes.py",
    "tests/snapshots/changes/test_real_week.py",
    "tests/snapshots/demo/test_demo_causes.py",
    "tests/snapshots/demo/test_demo_changes.py",
    "tests/snapshots/frames/test_spack_answers.py",
    "tests/snapshots/notes/test_escaping.py",
    "tests/snapshots/sources/buildcache/test_ways_in.py",
    "tests/snapshots/sources/git/test_resuming.py",
)
"""Tests that take long, and execute nothing that narrower tests of the floor do not."""


@contextmanager
def only_imports_traced(config: pytest.Config) -> Iterator[None]:
    """Import the measured floors, and trace nothing else while tests are collected: it takes time.

    A process that only distributes tests among others is not traced from now on. Where something
    else than whole floors is measured, all is traced.
    """
    measured = Coverage.current()
    floors = set[str]() if measured is None else _floors(measured)
    if measured is None or not floors or not all(map(str.isidentifier, floors)):
        yield
    elif config.getoption("numprocesses", None):
        measured.stop()
        yield
    else:
        for floor in floors:
            for module in walk_packages([str(config.rootpath / floor)], f"{floor}."):
                import_module(module.name)
        with _untraced(measured):
            yield


@contextmanager
def traced_if_it_counts(item: pytest.Item) -> Iterator[None]:
    """Trace nothing of a test that does not count: no fixture that it is first to ask for."""
    measured = Coverage.current()
    if measured is None or _item_counts(item, measured):
        yield
    else:
        with _untraced(measured):
            yield


@contextmanager
def _untraced(measured: Coverage) -> Iterator[None]:
    measured.stop()
    try:
        yield
    finally:
        measured.start()


def _item_counts(item: pytest.Item, measured: Coverage) -> bool:
    # Not pytest-cov's own mark no_cover: what it resumes after the call would be started twice,
    # and never stopped again.
    if any(item.get_closest_marker(name) for name in ("hypothesis", "untraced")):
        return False
    return counts(PurePosixPath(item.path.relative_to(item.config.rootpath)), _floors(measured))


def _floors(measured: Coverage) -> set[str]:
    sources = measured.get_option("run:source")
    return set(sources) if isinstance(sources, list) else set[str]()


def counts(file: PurePosixPath, floors: Collection[str]) -> bool:
    """Tell whether the tests of a file count where floors are measured; all do, if none is named.

    ``file`` is its path from the repository on.
    """
    places = [place for floor in floors for place in (f"tests/{floor}", *ELSEWHERE.get(floor, ()))]
    return not floors or (str(file) not in WIDE and any(map(file.is_relative_to, places)))
