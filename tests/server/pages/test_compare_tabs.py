"""The lists of a comparison: packages, specs, stacks, coverage, and the notes."""

import re
from pathlib import Path

import httpx
import pytest

from server.pages.renderer import MINUS
from tests.server.pages.api_answers import asked
from tests.server.pages.catalogs import served
from tests.server.pages.demo_comparison import (
    BASE,
    HEAD,
    PAIR,
    in_words,
    links,
    numbers,
    rows,
    told,
)
from tests.server.pages.page_reader import shown
from tests.snapshots.factories import a_spec


def test_packages(client: httpx.Client) -> None:
    """Each with what happened to it; kinds narrow them down, with the counts of the summary."""
    page, known = shown(client, f"{PAIR}/packages"), told(client, "compare_packages")
    nodes = known["packages"]["nodes"]
    for row, it in zip(rows(page), nodes, strict=True):
        assert row[:2] == [it["name"], in_words(it["kind"])]
        assert numbers(row[3:6]) == [it["specsAdded"], it["specsRemoved"], it["specsChanged"]]
        assert all(version in row[2] for version in it["versionsAdded"][:5])
    for text, link in page.links(".choices li a").items():
        if text != "all":
            narrowed = told(client, "compare_packages", kinds=[httpx.URL(link).params["kinds"]])
            assert numbers([text]) == [narrowed["packages"]["totalCount"]]
            assert len(rows(shown(client, link))) == min(50, numbers([text])[0])
    name = nodes[0]["name"]
    assert name in [row[0] for row in rows(shown(client, f"{PAIR}/packages?search={name.upper()}"))]
    assert "No package" in shown(client, f"{PAIR}/packages?search=no-such").text("#results")


def test_specs(client: httpx.Client) -> None:
    """A pair in one row with its reason, its cause and the way; filters are the address's."""
    page, known = shown(client, f"{PAIR}/specs"), told(client, "compare_specs")
    for row, it in zip(rows(page), known["specs"]["nodes"], strict=True):
        hashes = [it[side]["hash"] for side in ("before", "after") if it[side]]
        if it["counterpart"]:
            hashes.insert(0 if it["kind"] == "ADDED" else 1, it["counterpart"]["hash"])
        shown_hashes = re.findall(r"\b[a-z2-7]{7}\b", row[1].partition("compare")[0])
        assert shown_hashes == [*dict.fromkeys(text[:7] for text in hashes)]
        assert row[3] == in_words(it["reason"])
        way = " → ".join(step["name"] for step in it["path"])
        cause = it["cause"]["title"] if it["cause"] else "none"
        assert row[5].startswith(f"{cause} {way}" if len(it["path"]) > 1 else cause)
    chosen = page.links("#reasons li a")
    reasons = {
        in_words(it["reason"]): it["numSpecs"]
        for it in known["reasons"]
        if it["reason"] != "REPLACED"
    }
    assert dict.fromkeys(chosen) == dict.fromkeys(
        ["all", *(f"{k} {v:,}" for k, v in reasons.items())]
    )
    gone = shown(client, f"{PAIR}/specs?kinds=REMOVED&reasons=REPLACED")
    assert {row[0][0] for row in rows(gone)} == {"→"}
    alone = shown(client, f"{PAIR}/specs?kinds=REMOVED&reasons=PACKAGE_GONE")
    assert {row[0][0] for row in rows(alone)} == {MINUS}
    assert {row[3] for row in rows(gone)} == {"replaced"}
    assert len(gone.texts(".chosen a")) == 3
    name = known["specs"]["nodes"][0]["name"]
    of_name = shown(client, f"{PAIR}/specs?packages={name}")
    assert {row[0].split("@")[0][-len(name) :] for row in rows(of_name)} == {name}


def test_each_pair_is_one_row_and_two_lines_of_its_file(client: httpx.Client) -> None:
    """The page counts a replaced spec with what replaced it; files have each hash."""
    query = f"""{{ compare(base: "{BASE}", head: "{HEAD}") {{
      specs {{ totalCount }} reasons {{ reason count }} }} }}"""
    known = asked(client, query)["compare"]
    (replaced,) = [it["count"] for it in known["reasons"] if it["reason"] == "REPLACED"]
    page = shown(client, f"{PAIR}/specs")
    assert numbers([page.text(".pager span")]) == [known["specs"]["totalCount"] - replaced]
    assert page.text(".pager span").endswith(" specs: 1 to 50")
    header, *lines = client.get(f"{PAIR}/specs?as=csv").text.splitlines()
    assert len(lines) == known["specs"]["totalCount"]
    assert "path.name" not in header


def test_what_is_ambiguous(tmp_path: Path) -> None:
    """Specs that nothing tells apart say how many were rebuilt, and that it is not known which."""
    zlib = [[a_spec(label, name="zlib") for label in labels] for labels in ("12", "3")]
    with served(tmp_path, *zlib) as client:
        page = shown(client, "/compare/develop~1...develop/specs")
        assert ["1 of 2 was rebuilt; which is not known" in row[1] for row in rows(page)] == [
            True
        ] * 2
        page = shown(client, "/compare/develop~1...develop/causes/zlib?kind=UNKNOWN")
        assert "1 of 2 was rebuilt; which is not known" in page.text("table")


def test_stacks(client: httpx.Client) -> None:
    """Each with its specs before and after, and the packages that came and went."""
    page, known = shown(client, f"{PAIR}/stacks"), told(client, "compare_stacks")
    for row, it in zip(rows(page), known["stacks"], strict=True):
        counts = ("numSpecsBefore", "numSpecsAfter", "specsAdded", "specsRemoved")
        assert row[0] == it["name"]
        assert numbers(row[2:6]) == [it[count] for count in counts]


@pytest.mark.parametrize("by", [["STACK", "TARGET"], ["VERSION"]])
def test_coverage(client: httpx.Client, by: list[str]) -> None:
    """The matrix has each place that it shows in its row and column; the list has all of them."""
    page = shown(client, f"{PAIR}/coverage?{'&'.join(f'by={it}' for it in by)}")
    known = told(client, "compare_coverage", by=by)
    columns = page.texts(".places thead th")[len(by) :]
    cells = {
        (row[0], columns[place], *row[1 : len(by)]): text
        for row in rows(page, ".places table")
        for place, text in enumerate(row[len(by) :])
        if text
    }
    places = known["matrix"]["nodes"]
    signs = {"LOST": MINUS, "GAINED": "+"}
    expected = {
        (it["package"], *it["values"]): signs[it["kind"]] + f"{it['numSpecs']:,}" for it in places
    }
    assert cells.items() <= expected.items()
    if len(cells) < known["matrix"]["totalCount"]:
        assert f"the first {len(cells)} of them" in page.text(".places caption")
    for row, it in zip(rows(page), known["coverage"]["nodes"], strict=True):
        assert row[: len(by) + 1] == [it["package"], *it["values"]]
        assert signs[it["kind"]] in row[len(by) + 1]
        assert not it["nearest"] or it["nearest"][0]["hash"][:7] in row[-1]


def test_notes(client: httpx.Client) -> None:
    """They stand there as they are published, and can be had as Markdown."""
    page = shown(client, f"{PAIR}/notes")
    query = f'{{ compare(base: "{BASE}", head: "{HEAD}") {{ releaseNotes }} }}'
    markdown = asked(client, query)["compare"]["releaseNotes"]
    (link,) = links(page, "a[download]")
    file = client.get(link)
    assert file.text == markdown
    assert file.headers["content-type"] == "text/markdown; charset=utf-8"
    assert file.headers["x-content-type-options"] == "nosniff"
    headings = re.findall(r"^#+ (.*?)(?: \(\d.*)?$", markdown, re.MULTILINE)
    told_here = page.texts(".notes h2, .notes h3")
    assert headings[0] == told_here[0]
    assert "What caused the rebuilds" in told_here
