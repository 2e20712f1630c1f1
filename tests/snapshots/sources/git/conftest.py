"""Fixtures of tests that read histories."""

from pathlib import Path

import pytest

from snapshots.sources.pages import cache_page
from snapshots.sources.reports import Report
from tests.snapshots.sources.git.repositories import Repository


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """Return an empty repository."""
    return Repository(tmp_path / "repository")


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list of the locations of all parsed pages."""
    locations: list[str] = []

    parse_page = cache_page.parse_page

    def parsed_page(data: bytes, location: str, report: Report) -> cache_page.CachePage:
        locations.append(location)
        return parse_page(data, location, report)

    monkeypatch.setattr(cache_page, "parse_page", parsed_page)
    return locations
