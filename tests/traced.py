"""The tests that count for coverage: the examples of each layer, and a few others.

Tracing makes a test half as slow again. If ``snapshots`` is measured, only the tests in
``tests/snapshots`` are traced; ``pytest --cov=server`` traces those in ``tests/server``. Examples
drawn by hypothesis do not count, as they differ in every run, nor do slow tests whose lines
other tests execute, too.
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
        "tests/server/test_cli_show.py",
        "tests/server/test_cli_plan.py",
        "tests/server/webhooks/test_notifications.py",
    )
}
"""By layer, tests of higher layers that cover lines which the layer's own examples do not."""

WIDE = (
    "tests/snapshots/catalog/tables/test_damaged_files.py",
    "tests/snapshots/catalog/test_catalog.py",
    "tests/snapshots/catalog/test_overlay_series.py",
    "tests/snapshots/catalog/test_power_cuts.py",
    "tests/snapshots/frames/test_spack_answers.py",
    "tests/snapshots/notes/test_escaping.py",
    "tests/snapshots/sources/buildcache/test_location_kinds.py",
)
"""Slow tests that cover no line which faster tests of the layer do not cover."""


@contextmanager
def only_imports_traced(config: pytest.Config) -> Iterator[None]:
    """Import the measured layers, and trace nothing else while tests are collected.

    A process that only distributes tests is not traced at all. If something other than layers is
    measured, everything is traced.
    """
    coverage = Coverage.current()
    floors = set[str]() if coverage is None else _floors(coverage)
    if coverage is None or not floors or not all(map(str.isidentifier, floors)):
        yield
    elif config.getoption("numprocesses", None):
        coverage.stop()
        yield
    else:
        for floor in floors:
            for module in walk_packages([str(config.rootpath / floor)], f"{floor}."):
                import_module(module.name)
        with _untraced(coverage):
            yield


@contextmanager
def traced_if_it_counts(item: pytest.Item) -> Iterator[None]:
    """Trace a test and the fixtures that it creates only if it counts."""
    coverage = Coverage.current()
    if coverage is None or _item_counts(item, coverage):
        yield
    else:
        with _untraced(coverage):
            yield


@contextmanager
def _untraced(coverage: Coverage) -> Iterator[None]:
    coverage.stop()
    # In a worker, pytest-cov starts two measurements, and reports only the last one. The first one
    # would continue while the last one is stopped.
    while superfluous := Coverage.current():
        superfluous.stop()
    try:
        yield
    finally:
        coverage.start()


def _item_counts(item: pytest.Item, coverage: Coverage) -> bool:
    # The mark no_cover of pytest-cov would start the tracer twice after the call and not stop it.
    if any(item.get_closest_marker(name) for name in ("hypothesis", "untraced")):
        return False
    return counts(PurePosixPath(item.path.relative_to(item.config.rootpath)), _floors(coverage))


def _floors(coverage: Coverage) -> set[str]:
    sources = coverage.get_option("run:source")
    return set(sources) if isinstance(sources, list) else set[str]()


def counts(file: PurePosixPath, floors: Collection[str]) -> bool:
    """Return whether the tests of a file count when layers are measured; all do if none is given.

    ``file`` is the path relative to the repository.
    """
    paths = [path for floor in floors for path in (f"tests/{floor}", *ELSEWHERE.get(floor, ()))]
    return not floors or (str(file) not in WIDE and any(map(file.is_relative_to, paths)))
