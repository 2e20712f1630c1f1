"""Comparisons of what sources do not tell."""

from collections.abc import Collection, Sequence
from pathlib import Path

from msgspec.structs import replace

from server.pages.renderer import MINUS
from snapshots.models import Spec
from tests.model.builds import Build, Need, as_pages_tell, state_of
from tests.server.pages.catalogs import served
from tests.server.pages.demo_comparison import figures_of, links, rows
from tests.server.pages.page_reader import shown

PAIR = "/compare/develop~1...develop"
BEFORE = (
    Build("zlib", "1.3.1"),
    Build("hdf5", "1.14", needs=(Need(0),)),
    Build("old", "0.1"),
    Build("lone", "1.0", machine=("rhel9", "neoverse_v2")),
)
AFTER = (Build("zlib", "1.3.2"), BEFORE[1], Build("new", "3.0"))


def specs_of(builds: Sequence[Build]) -> Collection[Spec]:
    """Return the specs that builds result in."""
    return state_of(builds).specs.values()


def test_one_that_replaces_another(tmp_path: Path) -> None:
    """One spec stands in the singular."""
    with served(tmp_path, specs_of(BEFORE), specs_of(AFTER)) as client:
        figures = shown(client, PAIR).text(".totals")
    assert "1 rebuilt, 1 replaces another" in figures
    assert "replace others" not in figures


def test_what_a_source_does_not_tell_is_said(tmp_path: Path) -> None:
    """Sizes, dependencies, stacks: that they are not known, not that they are none."""
    states = [
        as_pages_tell(state_of([build._replace(stacks=()) for build in builds])).specs.values()
        for builds in (BEFORE, AFTER)
    ]
    with served(tmp_path, *states) as client:
        why = shown(client, PAIR)
        figures = figures_of(why)
        assert "unknown" in figures["Size"]
        assert "unknown" in figures["Stacks"]
        assert "dependencies" in why.text(".notice")
        assert "not explained" in why.text(".causes")
        unknown = shown(client, links(why, ".causes .sum a")[-1])
        assert "it is not known why" in unknown.text(".causes")
        assert "tell no stacks" in shown(client, f"{PAIR}/stacks").text("#tab")
        coverage = shown(client, f"{PAIR}/coverage")
        assert "tell no stacks" in coverage.text("#results")
        by_target = shown(client, links(coverage, "#results a")[0])
        assert {"lone", "old"} <= {row[0] for row in rows(by_target)}
        specs = shown(client, f"{PAIR}/specs")
        assert "unknown" in {row[2].split()[-1] for row in rows(specs)}


def test_what_only_changed_is_not_the_same(tmp_path: Path) -> None:
    """A package that went up was neither added nor removed, and is told of all the same."""
    states = [specs_of([Build("zlib", version)]) for version in ("1", "2")]
    with served(tmp_path, *states) as client:
        figures = figures_of(shown(client, PAIR))
    assert figures["Specs"].startswith(f"Specs +1 {MINUS}1 ")
    assert figures["Packages"].startswith("Packages ±0 ")
    assert figures["Stacks"].startswith("Stacks the same")


def test_stacks_that_one_source_does_not_tell(tmp_path: Path) -> None:
    """Where one source tells stacks and the other none, no stack is said to have come or gone."""
    without_stacks = [replace(spec, stacks=()) for spec in specs_of(BEFORE)]
    with served(tmp_path, specs_of(BEFORE), without_stacks) as client:
        why = shown(client, PAIR)
        assert "Nothing changed that counts as a change" in why.text(".verdict")
        figures = figures_of(why)
        assert "unknown" in figures["Stacks"]
        assert "The source of one of the revisions tells no stacks." in figures["Stacks"]
        assert "in a stack" not in figures["Coverage"]
        for tab in ("stacks", "coverage"):
            assert "tells no stacks" in shown(client, f"{PAIR}/{tab}").text("#tab")
        notes = shown(client, f"{PAIR}/notes")
        assert "No spec was added, removed or rebuilt." in notes.text()
        assert "Stacks" not in [it.text_content() for it in notes.dom.cssselect(".notes th")]


def test_a_catalog_with_nothing_to_compare(tmp_path: Path) -> None:
    """The page that asks for two revisions says so."""
    with served(tmp_path) as client:
        assert "nothing to compare" in shown(client, "/compare").text()
