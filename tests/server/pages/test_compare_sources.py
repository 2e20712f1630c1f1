"""Comparisons of revisions whose sources lack data."""

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import httpx
import pytest
from msgspec.structs import replace

from server.pages.renderer import MINUS
from snapshots.models import Spec
from tests.model.builds import Build, Need, as_pages_tell, state_of
from tests.server.pages.catalogs import served
from tests.server.pages.demo_comparison import figures_of, links, rows
from tests.server.pages.page_reader import shown

BEFORE = (
    Build("zlib", "1.3.1"),
    Build("hdf5", "1.14", needs=(Need(0),)),
    Build("old", "0.1"),
    Build("lone", "1.0", machine=("rhel9", "neoverse_v2")),
)
AFTER = (Build("zlib", "1.3.2"), BEFORE[1], Build("new", "3.0"))


def specs_of(builds: Sequence[Build]) -> Collection[Spec]:
    """Return the specs of builds."""
    return state_of(builds).specs.values()


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """Return a client of a server of tags with two states each."""
    before, after = specs_of(BEFORE), specs_of(AFTER)
    unlisted = [
        as_pages_tell(state_of([build._replace(stacks=()) for build in builds])).specs.values()
        for builds in (BEFORE, AFTER)
    ]
    upgraded = [specs_of([Build("zlib", version)]) for version in ("1", "2")]
    stackless = [before, [replace(spec, stacks=()) for spec in before]]
    with served(
        tmp_path_factory.mktemp("sources"),
        replaced=[before, after],
        unlisted=unlisted,
        upgraded=upgraded,
        stackless=stackless,
    ) as client:
        yield client


def test_single_replacement(client: httpx.Client) -> None:
    """A single spec is in the singular."""
    figures = shown(client, "/compare/replaced~1...replaced").text(".totals")
    assert "1 rebuilt, 1 replaces another" in figures
    assert "replace others" not in figures


def test_data_that_a_source_lacks_is_unknown(client: httpx.Client) -> None:
    """Sizes, dependencies and stacks are unknown rather than zero."""
    pair = "/compare/unlisted~1...unlisted"
    why = shown(client, pair)
    figures = figures_of(why)
    assert "unknown" in figures["Size"]
    assert "unknown" in figures["Stacks"]
    assert "dependencies" in why.text(".notice")
    assert "not explained" in why.text(".causes")
    unknown = shown(client, links(why, ".causes .sum a")[-1])
    assert "for an unknown reason" in unknown.text(".causes")
    assert "do not list stacks" in shown(client, f"{pair}/stacks").text("#tab")
    coverage = shown(client, f"{pair}/coverage")
    assert "do not list stacks" in coverage.text("#results")
    by_target = shown(client, links(coverage, "#results a")[0])
    assert {"lone", "old"} <= {row[0] for row in rows(by_target)}
    specs = shown(client, f"{pair}/specs")
    assert "unknown" in {row[2].split()[-1] for row in rows(specs)}


def test_upgrade_is_not_no_change(client: httpx.Client) -> None:
    """An upgraded package is neither added nor removed, but is reported."""
    figures = figures_of(shown(client, "/compare/upgraded~1...upgraded"))
    assert figures["Specs"].startswith(f"Specs +1 {MINUS}1 ")
    assert figures["Packages"].startswith("Packages ±0 ")
    assert figures["Stacks"].startswith("Stacks the same")


def test_stacks_that_one_source_lacks(client: httpx.Client) -> None:
    """If only one source lists stacks, none is added or removed."""
    pair = "/compare/stackless~1...stackless"
    why = shown(client, pair)
    assert "Nothing changed that counts as a change" in why.text(".verdict")
    figures = figures_of(why)
    assert "unknown" in figures["Stacks"]
    assert "The source of one of the revisions does not list stacks." in figures["Stacks"]
    assert "in a stack" not in figures["Coverage"]
    for tab in ("stacks", "coverage"):
        assert "does not list stacks" in shown(client, f"{pair}/{tab}").text("#tab")
    notes = shown(client, f"{pair}/notes")
    assert "No spec was added, removed or rebuilt." in notes.text()
    assert "Stacks" not in notes.texts(".notes th")


def test_empty_catalog_has_nothing_to_compare(tmp_path: Path) -> None:
    """The page for selecting two revisions says so."""
    with served(tmp_path) as client:
        assert "nothing to compare" in shown(client, "/compare").text()
