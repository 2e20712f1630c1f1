"""Fixtures of tests that read histories."""

from pathlib import Path

import pytest

from snapshots.sources.git import page_history as git_pages
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

    def parse_page(data: bytes, location: str, report: Report) -> cache_page.CachePage:
        locations.append(location)
        return cache_page.parse_page(data, location, report)

    monkeypatch.setattr(git_pages, "parse_page", parse_page)
    return locations
