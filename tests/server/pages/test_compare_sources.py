"""Comparisons of what sources do not tell, and of what somebody wrote to do harm."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from msgspec.structs import replace

from server.pages.renderer import MINUS
from snapshots.models import Spec
from tests.model.builds import Build, Need, as_pages_tell, state_of
from tests.server.pages.catalogs import served
from tests.server.pages.comparing import TABS, links, rows
from tests.server.pages.reading import shown

PAIR = "/compare/develop~1...develop"
EVIL = "</script><script>alert(1)</script>'\"&<img src=x onerror=alert(2)>"
MADE_UP = "//script[not(@src)] | //*[@onerror] | //img[@src='x'] | //style | //*[@style]"
"""Elements that no page has, and that the text above makes where it is taken for markup."""

BEFORE = (
    Build("zlib", "1.3.1"),
    Build("hdf5", "1.14", needs=(Need(0),)),
    Build("old", "0.1"),
    Build("lone", "1.0", machine=("rhel9", "neoverse_v2")),
)
AFTER = (Build("zlib", "1.3.2"), BEFORE[1], Build("new", "3.0"))


def evil(builds: tuple[Build, ...]) -> Iterator[Spec]:
    """Yield builds of which every name that a source can make up is markup."""
    hostile = [
        build._replace(
            name=build.name + EVIL,
            version=build.version + EVIL,
            variants=(f"x={EVIL}",),
            machine=(EVIL, build.machine[1] + EVIL),
            stacks=(f"{EVIL} {build.name}", "root"),
        )
        for build in builds
    ]
    return iter(state_of(hostile).specs.values())


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """Return a client of a catalog of such builds."""
    with served(tmp_path_factory.mktemp("hostile"), evil(BEFORE), evil(AFTER)) as client:
        yield client


@pytest.mark.parametrize("tab", [*TABS, "/coverage?by=VERSION&by=TARGET", "/specs?kinds=ADDED"])
def test_names_are_texts(hostile: httpx.Client, tab: str) -> None:
    """Whatever a catalog says stands there as it is, and is no markup; its links lead on."""
    page = shown(hostile, PAIR + tab)
    assert page.status == 200
    assert not page.dom.xpath(MADE_UP)
    assert "alert(1)" in page.text("#tab")
    for link in links(page, "#tab a"):
        assert link.startswith(str(page.response.url.join("/")))


def test_one_that_replaces_another(hostile: httpx.Client) -> None:
    """One spec stands in the singular."""
    figures = shown(hostile, PAIR).text(".totals")
    assert "1 rebuilt, 1 replaces another" in figures
    assert "replace others" not in figures


def test_a_cause_of_any_name_has_a_page(hostile: httpx.Client) -> None:
    """Slashes, quotes and markup in its address lead to it, and in its packages to theirs."""
    (link, *_) = links(shown(hostile, PAIR), ".unfolded a")
    page = shown(hostile, link)
    assert page.status == 200
    assert EVIL in page.dom.cssselect("#tab h2")[0].text_content()
    assert [row[0].startswith("hdf5</script>") for row in rows(page)].count(True) == 1
    assert not page.dom.xpath(MADE_UP)


def test_what_a_source_does_not_tell_is_said(tmp_path: Path) -> None:
    """Sizes, dependencies, stacks: that they are not known, not that they are none."""
    states = [
        as_pages_tell(state_of([build._replace(stacks=()) for build in builds])).specs.values()
        for builds in (BEFORE, AFTER)
    ]
    with served(tmp_path, *states) as client:
        why = shown(client, PAIR)
        figures = {
            it[0].text_content(): it.text_content() for it in why.dom.cssselect(".totals div")
        }
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
    states = [state_of((Build("zlib", it),)).specs.values() for it in ("1", "2")]
    with served(tmp_path, *states) as client:
        page = shown(client, PAIR)
        figures = {
            it[0].text_content(): it[1].text_content() for it in page.dom.cssselect(".totals div")
        }
        assert figures["Specs"].split() == ["+1", f"{MINUS}1"]
        assert figures["Packages"] == "±0"
        assert figures["Stacks"] == "the same"


def test_stacks_that_one_source_does_not_tell(tmp_path: Path) -> None:
    """Where one source tells stacks and the other none, no stack is said to have come or gone."""
    told = list(state_of(BEFORE).specs.values())
    untold = [replace(spec, stacks=()) for spec in told]
    with served(tmp_path, told, untold) as client:
        why = shown(client, PAIR)
        assert "Nothing changed that counts as a change" in why.text(".verdict")
        figures = {
            it[0].text_content(): it.text_content() for it in why.dom.cssselect(".totals div")
        }
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
