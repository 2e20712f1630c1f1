"""The lists of a comparison: packages, specs, stacks, coverage, and the notes."""

import re
from pathlib import Path

import httpx
import pytest

from server.pages.renderer import MINUS
from tests.server.pages.api_answers import data_of
from tests.server.pages.catalogs import served
from tests.server.pages.demo_comparison import (
    BASE,
    HEAD,
    PAIR,
    comparison_data,
    in_words,
    links,
    numbers,
    rows,
)
from tests.server.pages.page_reader import shown
from tests.snapshots.factories import a_spec


def test_packages(client: httpx.Client) -> None:
    """Each with its changes; filters by kind state the counts of the summary."""
    page = shown(client, f"{PAIR}/packages")
    nodes = comparison_data(client, "compare_packages")["packages"]["nodes"]
    for row, node in zip(rows(page), nodes, strict=True):
        assert row[:2] == [node["name"], in_words(node["kind"])]
        counts = ("specsAdded", "specsRemoved", "specsChanged")
        assert numbers(row[3:6]) == [node[count] for count in counts]
        assert all(version in row[2] for version in node["versionsAdded"][:5])
    for text, link in page.links(".choices li a").items():
        if text != "all":
            kinds = [httpx.URL(link).params["kinds"]]
            narrowed = comparison_data(client, "compare_packages", kinds=kinds)
            assert numbers([text]) == [narrowed["packages"]["totalCount"]]
            assert len(rows(shown(client, link))) == min(50, numbers([text])[0])
    name = nodes[0]["name"]
    assert name in [row[0] for row in rows(shown(client, f"{PAIR}/packages?search={name.upper()}"))]
    assert "No changed package" in shown(client, f"{PAIR}/packages?search=no-such").text("#results")


def test_specs(client: httpx.Client) -> None:
    """A pair in one row with its reason, cause and path; filters are in the address."""
    page, data = shown(client, f"{PAIR}/specs"), comparison_data(client, "compare_specs")
    for row, node in zip(rows(page), data["specs"]["nodes"], strict=True):
        hashes = [node[side]["hash"] for side in ("before", "after") if node[side]]
        if node["counterpart"]:
            hashes.insert(0 if node["kind"] == "ADDED" else 1, node["counterpart"]["hash"])
        shown_hashes = re.findall(r"\b[a-z2-7]{7}\b", row[1].partition("compare")[0])
        assert shown_hashes == [*dict.fromkeys(text[:7] for text in hashes)]
        assert row[3] == in_words(node["reason"])
        path = " → ".join(step["name"] for step in node["path"])
        cause = node["cause"]["title"] if node["cause"] else "none"
        assert row[5].startswith(f"{cause} {path}" if len(node["path"]) > 1 else cause)
    reasons = [reason for reason in data["reasons"] if reason["reason"] != "REPLACED"]
    labels = [f"{in_words(reason['reason'])} {reason['numSpecs']:,}" for reason in reasons]
    assert [*page.links("#reasons li a")] == ["all", *labels]
    replaced = shown(client, f"{PAIR}/specs?kinds=REMOVED&reasons=REPLACED")
    assert {row[0][0] for row in rows(replaced)} == {"→"}
    assert {row[3] for row in rows(replaced)} == {"replaced"}
    assert len(replaced.texts(".chosen a")) == 3
    removed = shown(client, f"{PAIR}/specs?kinds=REMOVED&reasons=PACKAGE_GONE")
    assert {row[0][0] for row in rows(removed)} == {MINUS}
    name = data["specs"]["nodes"][0]["name"]
    of_name = shown(client, f"{PAIR}/specs?packages={name}")
    assert {row[0].split("@")[0][-len(name) :] for row in rows(of_name)} == {name}


def test_pair_is_one_row_and_two_lines_of_a_file(client: httpx.Client) -> None:
    """The page counts a replaced spec with its replacement; files list each hash."""
    query = f"""{{ compare(base: "{BASE}", head: "{HEAD}") {{
      specs {{ totalCount }} reasons {{ reason count }} }} }}"""
    data = data_of(client, query)["compare"]
    (replaced,) = [reason["count"] for reason in data["reasons"] if reason["reason"] == "REPLACED"]
    page = shown(client, f"{PAIR}/specs")
    assert numbers([page.text(".pager span")]) == [data["specs"]["totalCount"] - replaced]
    assert page.text(".pager span").endswith(" specs: 1 to 50")
    header, *lines = client.get(f"{PAIR}/specs?as=csv").text.splitlines()
    assert len(lines) == data["specs"]["totalCount"]
    assert "path.name" not in header


def test_ambiguous_counterparts(tmp_path: Path) -> None:
    """Equal specs state how many were rebuilt, and that it is unknown which."""
    zlib = [[a_spec(label, name="zlib") for label in labels] for labels in ("12", "3")]
    with served(tmp_path, *zlib) as client:
        page = shown(client, "/compare/develop~1...develop/specs")
        assert len(rows(page)) == 2
        assert all("1 of 2 was rebuilt; it is unknown which" in row[1] for row in rows(page))
        page = shown(client, "/compare/develop~1...develop/causes/zlib?kind=UNKNOWN")
        assert "1 of 2 was rebuilt; it is unknown which" in page.text("table")


def test_stacks(client: httpx.Client) -> None:
    """Each with its specs before and after, and those added and removed."""
    page, data = shown(client, f"{PAIR}/stacks"), comparison_data(client, "compare_stacks")
    for row, stack in zip(rows(page), data["stacks"], strict=True):
        counts = ("numSpecsBefore", "numSpecsAfter", "specsAdded", "specsRemoved")
        assert row[0] == stack["name"]
        assert numbers(row[2:6]) == [stack[count] for count in counts]


@pytest.mark.parametrize("by", [["STACK", "TARGET"], ["VERSION"]])
def test_coverage(client: httpx.Client, by: list[str]) -> None:
    """The matrix has each cell in its row and column; the list has all cells."""
    page = shown(client, str(httpx.URL(f"{PAIR}/coverage", params={"by": by})))
    data = comparison_data(client, "compare_coverage", by=by)
    columns = page.texts(".places thead th")[len(by) :]
    cells = {
        (row[0], columns[number], *row[1 : len(by)]): text
        for row in rows(page, ".places table")
        for number, text in enumerate(row[len(by) :])
        if text
    }
    signs = {"LOST": MINUS, "GAINED": "+"}
    expected = {
        (cell["package"], *cell["values"]): signs[cell["kind"]] + f"{cell['numSpecs']:,}"
        for cell in data["matrix"]["nodes"]
    }
    assert cells.items() <= expected.items()
    if len(cells) < data["matrix"]["totalCount"]:
        assert f"the first {len(cells)} of them" in page.text(".places caption")
    for row, cell in zip(rows(page), data["coverage"]["nodes"], strict=True):
        assert row[: len(by) + 1] == [cell["package"], *cell["values"]]
        assert signs[cell["kind"]] in row[len(by) + 1]
        assert not cell["nearest"] or cell["nearest"][0]["hash"][:7] in row[-1]


def test_notes(client: httpx.Client) -> None:
    """As they are published, also as a Markdown file."""
    page = shown(client, f"{PAIR}/notes")
    query = f'{{ compare(base: "{BASE}", head: "{HEAD}") {{ releaseNotes }} }}'
    markdown = data_of(client, query)["compare"]["releaseNotes"]
    (link,) = links(page, "a[download]")
    file = client.get(link)
    assert file.text == markdown
    assert file.headers["content-type"] == "text/markdown; charset=utf-8"
    assert file.headers["x-content-type-options"] == "nosniff"
    headings = re.findall(r"^#+ (.*?)(?: \(\d.*)?$", markdown, re.MULTILINE)
    headings_shown = page.texts(".notes h2, .notes h3")
    assert headings[0] == headings_shown[0]
    assert "What caused the rebuilds" in headings_shown
