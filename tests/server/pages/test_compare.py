"""Comparisons: sides, totals, causes, tabs, restrictions, and data that sources lack."""

import re
from collections.abc import Collection, Sequence
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import httpx
import pytest
from msgspec.structs import replace

from server.pages.filters import MINUS
from snapshots.changes.package_changes import PackageChangeKind
from snapshots.changes.vocabulary import PACKAGE_KINDS
from snapshots.models import Spec
from snapshots.spack.names import ROOT_STACK
from tests.model.builds import Build, Need, as_pages_tell, state_of
from tests.server.pages.page_reader import Serve, Shown, data_of, numbers, page_data, shown

BASE, HEAD = "develop-2025-01-05", "develop"
PAIR = f"/compare/{BASE}...{HEAD}"
TABS = ("", "/packages", "/specs", "/stacks", "/coverage", "/notes")


def comparison_data(client: httpx.Client, name: str, **variables: Any) -> Any:
    """Return the comparison in the response to the document of a page."""
    usual = {"base": BASE, "head": HEAD, "first": 50}
    return page_data(client, name, **usual | variables)["compare"]


def in_words(name: str) -> str:
    """Return the label of a kind or reason on pages."""
    words = {"FACTS": "other facts", "CHANGED": "other facts", "VERSIONS_CHANGED": "other versions"}
    return words.get(name, name.lower().replace("_", " "))


def figures_of(page: Shown) -> dict[str, str]:
    """Return the totals of a comparison, by their names."""
    return dict(zip(page.texts(".totals dt"), page.texts(".totals div"), strict=True))


@pytest.mark.parametrize(
    "view",
    [
        f"{PAIR}?kinds=VERSION",
        f"{PAIR}/packages?kinds=REMOVED&search=a",
        "/r/develop?targets=x86_64_v3&order=NUM_SPECS&direction=DESC",
        "/r/develop/packages/hdf5?by=STACK&versions=1.14.5",
        "/search?q=hdf5&in=develop&targets=x86_64_v3",
    ],
)
def test_permanent_address_shows_the_same(client: httpx.Client, view: str) -> None:
    """With filters and orders, under refs; it is the canonical address."""
    page = shown(client, view)
    permanent = page.links("footer a")["Permanent link"]
    before, after = (
        [pair for pair in parse_qsl(urlsplit(address).query) if pair[0] != "in"]
        for address in (view, permanent)
    )
    assert after == before
    assert re.search(r"develop@[\dT-]+\.[0-9a-f]{8}", unquote(permanent))
    again = shown(client, permanent)
    assert again.status == 200
    assert again.texts("tbody tr") == page.texts("tbody tr")
    (canonical,) = page.values("link[rel=canonical]", "href")
    assert canonical in page.values("footer a", "href")


def test_bars_add_up(client: httpx.Client) -> None:
    """Causes, those on other pages and unexplained ones add up to all rebuilt specs."""
    for query in ("", "?kinds=VERSION", "?kinds=UNKNOWN&kinds=RECIPE"):
        page = shown(client, PAIR + query)
        summary = comparison_data(client, "compare")["summary"]
        num_rebuilt = summary["numSpecsRebuilt"] + summary["numSpecsReplaced"]
        *parts, whole = page.texts(".causes span.specs")
        assert sum(numbers(parts)) == num_rebuilt == numbers([whole])[0]
        shares = [text.removesuffix(" %") for text in page.texts(".causes span.share")]
        assert shares.pop() == "100"
        assert sum(round(10 * float(share)) for share in shares if share != "<0.1") == 1_000
        widths = [float(bar.get("width")) for bar in page.dom.cssselect(".causes rect")]
        assert sum(widths) == pytest.approx(100, abs=0.005 * len(widths))


def test_page_of_a_cause(client: httpx.Client) -> None:
    """It lists the specs and their paths, without scripts."""
    page, causes = shown(client, PAIR), comparison_data(client, "compare")["causes"]["nodes"]
    for text, cause in zip(page.texts(".causes summary .what"), causes, strict=True):
        others = f" together with {cause['numTogether']} others" if cause["numTogether"] else ""
        assert text == cause["title"] + others
    largest = causes[0]
    one = shown(client, page.targets(".unfolded a")[0])
    sides = {"from": largest["valueBefore"], "to": largest["valueAfter"]}
    names = {"cause": largest["packageName"], "kind": largest["kind"]}
    answer = comparison_data(client, "compare_cause", **names, **sides)
    assert one.text("#tab h2") == largest["title"]
    table = one.rows()
    specs = answer["cause"]["specs"]["nodes"]
    assert len(table) == len(specs) == min(50, largest["numSpecs"])
    for row, spec in zip(table, specs, strict=True):
        assert row[0] == f"{spec['name']}@{spec['after']['version']}"
        pair = f"{spec['counterpart']['hash'][:7]} → {spec['hash'][:7]}"
        assert row[1].startswith(pair)
        assert row[3].startswith("its own" if len(spec["path"]) == 1 else spec["path"][0]["name"])
        assert len(spec["path"]) == 1 or largest["packageName"] in row[3]
    missing = shown(client, f"{PAIR}/causes/none?kind=VERSION")
    assert missing.status == 404
    assert "no such cause in this comparison" in missing.text(".problem")
    assert missing.targets(".nearest a") == [str(page.response.url)]


def test_forms_lead_to_comparisons(client: httpx.Client) -> None:
    """The form redirects to the address; without one of the sides, the page asks for it."""
    answer = client.get("/compare", params={"base": BASE, "head": HEAD})
    assert answer.status_code == 303
    assert str(answer.url.join(answer.headers["location"])).endswith(PAIR)
    page = shown(client, "/compare?base=no-such-tag")
    assert "no-such-tag" in page.text("[role=alert]")
    assert page.values("input[name=base]") == ["no-such-tag"]
    assert {BASE, HEAD} <= {*page.values("datalist option")}
    (swapped,) = shown(client, f"{PAIR}/specs").targets(".pickers a")
    assert swapped.endswith(f"/compare/{HEAD}...{BASE}")
    assert shown(client, "/compare/no-such...develop").status == 404


def test_packages(client: httpx.Client) -> None:
    """Each with its changes; filters by kind state the counts of the summary."""
    page = shown(client, f"{PAIR}/packages")
    nodes = comparison_data(client, "compare_packages")["packages"]["nodes"]
    for row, node in zip(page.rows(), nodes, strict=True):
        assert row[:2] == [node["name"], PACKAGE_KINDS[PackageChangeKind[node["kind"]]]]
        counts = ("numSpecsAdded", "numSpecsRemoved", "numSpecsChanged")
        assert numbers(row[3:6]) == [node[count] for count in counts]
        assert all(version in row[2] for version in node["versionsAdded"][:5])
    for text, link in page.links(".choices li a").items():
        if text != "all":
            kinds = [httpx.URL(link).params["kinds"]]
            narrowed = comparison_data(client, "compare_packages", kinds=kinds)
            assert numbers([text]) == [narrowed["packages"]["totalCount"]]
            assert len(shown(client, link).rows()) == min(50, numbers([text])[0])
    name = nodes[0]["name"]
    assert name in [
        row[0] for row in shown(client, f"{PAIR}/packages?search={name.upper()}").rows()
    ]
    assert "No changed package" in shown(client, f"{PAIR}/packages?search=no-such").text("#results")


def test_specs(client: httpx.Client) -> None:
    """A pair in one row with its reason, cause and path; filters are in the address."""
    page, data = shown(client, f"{PAIR}/specs"), comparison_data(client, "compare_specs")
    for row, node in zip(page.rows(), data["specs"]["nodes"], strict=True):
        hashes = [node[side]["hash"] for side in ("before", "after") if node[side]]
        if node["counterpart"]:
            hashes.insert(0 if node["kind"] == "ADDED" else 1, node["counterpart"]["hash"])
        shown_hashes = re.findall(r"\b[a-z2-7]{7}\b", row[1].partition("compare")[0])
        assert shown_hashes == [*dict.fromkeys(text[:7] for text in hashes)]
        assert row[3] == in_words(node["reason"])
        path = " → ".join(step["name"] for step in node["path"])
        cause = node["mainCause"]["title"] if node["mainCause"] else "none"
        assert row[5].startswith(f"{cause} {path}" if len(node["path"]) > 1 else cause)
    reasons = [reason for reason in data["reasons"] if reason["reason"] != "REPLACED"]
    labels = [f"{in_words(reason['reason'])} {reason['numSpecs']:,}" for reason in reasons]
    assert [*page.links("#reasons li a")] == ["all", *labels]
    replaced = shown(client, f"{PAIR}/specs?kinds=REMOVED&reasons=REPLACED")
    assert {row[0][0] for row in replaced.rows()} == {"→"}
    assert {row[3] for row in replaced.rows()} == {"replaced"}
    assert len(replaced.texts(".chosen a")) == 3
    removed = shown(client, f"{PAIR}/specs?kinds=REMOVED&reasons=PACKAGE_GONE")
    assert {row[0][0] for row in removed.rows()} == {MINUS}
    name = data["specs"]["nodes"][0]["name"]
    of_name = shown(client, f"{PAIR}/specs?packages={name}")
    assert {row[0].split("@")[0][-len(name) :] for row in of_name.rows()} == {name}


def test_stacks(client: httpx.Client) -> None:
    """Each with its specs before and after, and those added and removed."""
    page, data = shown(client, f"{PAIR}/stacks"), comparison_data(client, "compare_stacks")
    for row, stack in zip(page.rows(), data["stacks"], strict=True):
        counts = ("numSpecsBefore", "numSpecsAfter", "numSpecsAdded", "numSpecsRemoved")
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
        for row in page.rows(".places table")
        for number, text in enumerate(row[len(by) :])
        if text
    }
    signs = {"LOST": MINUS, "GAINED": "+"}
    expected = {
        (cell["packageName"], *cell["values"]): signs[cell["kind"]] + f"{cell['numSpecs']:,}"
        for cell in data["matrix"]["nodes"]
    }
    assert cells.items() <= expected.items()
    if len(cells) < data["matrix"]["totalCount"]:
        assert f"the first {len(cells)} of them" in page.text(".places caption")
    for row, cell in zip(page.rows(), data["coverage"]["nodes"], strict=True):
        assert row[: len(by) + 1] == [cell["packageName"], *cell["values"]]
        assert signs[cell["kind"]] in row[len(by) + 1]
        assert not cell["nearestSpecs"] or cell["nearestSpecs"][0]["hash"][:7] in row[-1]


def test_notes(client: httpx.Client) -> None:
    """As they are published, also as a Markdown file."""
    page = shown(client, f"{PAIR}/notes")
    query = f'{{ compare(base: "{BASE}", head: "{HEAD}") {{ releaseNotes }} }}'
    markdown = data_of(client, query)["compare"]["releaseNotes"]
    (link,) = page.targets("a[download]")
    file = client.get(link)
    assert file.text == markdown
    assert file.headers["content-type"] == "text/markdown; charset=utf-8"
    assert file.headers["x-content-type-options"] == "nosniff"
    headings = re.findall(r"^#+ (.*?)(?: \(\d.*)?$", markdown, re.MULTILINE)
    headings_shown = page.texts(".notes h2, .notes h3")
    assert headings[0] == headings_shown[0]
    assert any(it.startswith("What caused the replacements") for it in headings_shown)


FORM = "form[aria-label='Filters of the comparison']"


@pytest.fixture(scope="module")
def narrowed(client: httpx.Client) -> dict[str, str]:
    """Return a value for each argument that a rebuilt spec meets."""
    query = f"""{{ compare(base: "{BASE}", head: "{HEAD}") {{
      specs(reasons: [REBUILT], first: 1) {{ nodes {{ name after {{ stackNames }} }} }} }} }}"""
    (spec,) = data_of(client, query)["compare"]["specs"]["nodes"]
    stack = next(stack for stack in spec["after"]["stackNames"] if stack != ROOT_STACK)
    return {"stack": stack, "package": spec["name"], "matching": f"{spec['name']}@:"}


@pytest.mark.parametrize("tab", [*TABS, "/commits"])
def test_every_tab_is_narrowed(client: httpx.Client, narrowed: dict[str, str], tab: str) -> None:
    """The form and the links to other tabs have all arguments and filters, and each can go.

    Each tab names the sides, and is marked among the tabs.
    """
    params = {"kinds": "ADDED", **narrowed} if tab == "/specs" else narrowed
    page = shown(client, str(httpx.URL(PAIR + tab, params=params)))
    assert page.status == 200
    fields = page.dom.cssselect(f"{FORM} input")
    assert {field.get("name"): field.get("value") for field in fields} == params
    (title,) = page.texts("h1")
    assert BASE in title
    assert page.texts(".tabs [aria-current=page]") == [tab[1:].capitalize() or "Why"]
    assert f"{BASE} → {HEAD}" in page.text("title")
    assert f", {', '.join(narrowed.values())} ·" in page.text("title")
    for link in page.targets(".tabs a"):
        assert dict(httpx.URL(link).params) == narrowed
    assert len(page.dom.cssselect(".comparison .chosen a")) >= len(narrowed)


@pytest.mark.parametrize("is_narrowed", [False, True])
def test_totals(client: httpx.Client, narrowed: dict[str, str], *, is_narrowed: bool) -> None:
    """They are those of the API with the same arguments, which links to causes have, too."""
    params = narrowed if is_narrowed else {}
    summary = comparison_data(client, "compare", **params)["summary"]
    page = shown(client, str(httpx.URL(PAIR, params=params)))
    figures = figures_of(page)
    for name, counts in {
        "Specs": (
            "numSpecsBefore",
            "numSpecsAfter",
            "numSpecsAdded",
            "numSpecsRemoved",
            "numSpecsRebuilt",
        ),
        "Packages": ("numPackagesAdded", "numPackagesRemoved", "numPackagesUpgraded"),
        "Coverage": ("numCellsGained", "numCellsLost"),
    }.items():
        expected = {f"{summary[count]:,}" for count in counts if summary[count]}
        assert expected <= {*re.findall(r"\d[\d,]*", figures[name])}
    link = page.targets(".unfolded a")[0]
    assert params.items() <= dict(httpx.URL(link).params).items()
    assert shown(client, link).texts("table.changes tbody tr")
    (description,) = page.values("meta[name=description]", "content")
    assert str(description).startswith("From ")


@pytest.mark.parametrize(
    ("tab", "name", "value", "message"),
    [
        ("", "stack", "no-such-stack", "Neither revision has"),
        ("/specs", "package", "hdf6", "Neither revision has"),
        ("/notes", "matching", "hdf5@@", "Unexpected '@' at character 6"),
        ("/causes/hdf5", "matching", "hdf6", "No package 'hdf6'"),
    ],
)
def test_error_is_beside_its_field(
    client: httpx.Client, tab: str, name: str, value: str, message: str
) -> None:
    """With the input, and the other fields unchanged."""
    params = {"kind": "VERSION", "package": "hdf5"} | {name: value}
    page = shown(client, str(httpx.URL(PAIR + tab, params=params)))
    assert page.status == 400
    (field,) = page.dom.cssselect(f"{FORM} input[aria-invalid]")
    assert (field.get("name"), field.get("value")) == (name, value)
    (problem,) = page.dom.cssselect(f"#{field.get('aria-describedby')}")
    assert problem.text_content().startswith(message)
    assert page.values(f"{FORM} input[name=package]") == [params["package"]]


def test_stacks_as_sides(client: httpx.Client) -> None:
    """The tabs name them, and the permanent address has refs."""
    query = '{ revision(ref: "develop") { ref stacks { name } } }'
    revision = data_of(client, query)["revision"]
    first, second, *_ = (stack["name"] for stack in revision["stacks"])
    pair, ref = f"/compare/develop:{first}...develop:{second}", revision["ref"]
    page = shown(client, f"{pair}/packages")
    assert page.text("h1") == f"develop:{first} →to develop:{second}"
    pinned = f"/compare/{ref}:{first}...{ref}:{second}/packages"
    assert pinned in {httpx.URL(link).path for link in page.targets("footer a")}
    for link in [pinned, *page.targets(".tabs a")]:
        assert pair in link or link == pinned
        assert shown(client, link).status == 200
    title = f"# Spack build cache: `develop:{first}` → `develop:{second}`"
    assert client.get(f"{pair}/notes.md").text.startswith(title)


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
def sources(serve: Serve) -> httpx.Client:
    """Return a client of a server of tags with two states each."""
    before, after = specs_of(BEFORE), specs_of(AFTER)
    unlisted = [
        as_pages_tell(state_of([build._replace(stacks=()) for build in builds])).specs.values()
        for builds in (BEFORE, AFTER)
    ]
    upgraded = [specs_of([Build("zlib", version)]) for version in ("1", "2")]
    stackless = [before, [replace(spec, stacks=()) for spec in before]]
    return serve(
        replaced=[before, after], unlisted=unlisted, upgraded=upgraded, stackless=stackless
    )


def test_data_that_a_source_lacks_is_unknown(sources: httpx.Client) -> None:
    """Sizes, dependencies and stacks are unknown rather than zero."""
    pair = "/compare/unlisted~1...unlisted"
    why = shown(sources, pair)
    figures = figures_of(why)
    assert "Size" not in figures
    assert "unknown" in figures["Stacks"]
    assert "dependencies" in why.text(".notice")
    assert "not explained" in why.text(".causes")
    unknown = shown(sources, why.targets(".causes .sum a")[-1])
    assert "for an unknown reason" in unknown.text(".causes")
    assert "do not list stacks" in shown(sources, f"{pair}/stacks").text("#tab")
    coverage = shown(sources, f"{pair}/coverage")
    assert "do not list stacks" in coverage.text("#results")
    by_target = shown(sources, coverage.targets("#results a")[0])
    assert {"lone", "old"} <= {row[0] for row in by_target.rows()}
    specs = shown(sources, f"{pair}/specs")
    assert "unknown" in {row[2].split()[-1] for row in specs.rows()}
