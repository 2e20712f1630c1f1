"""Fixtures of tests that read over the network, or histories."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from snapshots.sources import boundary
from snapshots.sources.pages import cache_page
from snapshots.sources.reports import Report
from tests.snapshots.sources.buildcache.misbehaving_servers import Server, serving
from tests.snapshots.sources.git.repositories import Repository


@pytest.fixture
def server() -> Iterator[Server]:
    """Return a server that replies 404 unless a path has another reply."""
    with serving() as running:
        yield running


@pytest.fixture
def as_if_public(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat the server's own address as public."""
    special = boundary.kind_of
    monkeypatch.setattr(
        boundary, "kind_of", lambda address: None if address == "127.0.0.1" else special(address)
    )


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
