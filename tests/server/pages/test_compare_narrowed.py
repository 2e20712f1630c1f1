"""Comparisons that are narrowed to a stack, a package or a query: on every tab, and told so."""

import httpx
import pytest

from snapshots.spack.names import ROOT_STACK
from tests.server.pages.api_answers import asked
from tests.server.pages.demo_comparison import BASE, HEAD, PAIR, TABS, links, told
from tests.server.pages.page_reader import shown

FORM = "form[aria-label='What the comparison is narrowed to']"
NAMES = ("stack", "package", "matching")


@pytest.fixture(scope="module")
def narrowed(client: httpx.Client) -> dict[str, str]:
    """Return a value for each of the names that a rebuilt spec meets."""
    query = f"""{{ compare(base: "{BASE}", head: "{HEAD}") {{
      specs(reasons: [REBUILT], first: 1) {{ nodes {{ name after {{ stacks }} }} }} }} }}"""
    (spec,) = asked(client, query)["compare"]["specs"]["nodes"]
    stack = next(stack for stack in spec["after"]["stacks"] if stack != ROOT_STACK)
    return {"stack": stack, "package": spec["name"], "matching": f"{spec['name']}@:"}


@pytest.mark.parametrize("tab", [*TABS, "/commits"])
@pytest.mark.parametrize("name", NAMES)
def test_every_tab_is_narrowed(
    client: httpx.Client, narrowed: dict[str, str], tab: str, name: str
) -> None:
    """What it is narrowed to is kept from tab to tab, and can be taken away."""
    value = narrowed[name]
    page = shown(client, str(httpx.URL(PAIR + tab, params={name: value})))
    assert page.status == 200
    (field,) = page.dom.cssselect(f"{FORM} input[name={name}]")
    assert field.get("value") == value
    (title,) = page.dom.cssselect("title")
    assert f", {value} ·" in title.text_content()
    for link in links(page, ".tabs a"):
        assert httpx.URL(link).params[name] == value
    (without,) = page.dom.cssselect(".comparison .chosen a")
    assert without.get("href") == "?"


@pytest.mark.parametrize("name", NAMES)
def test_numbers_are_of_what_it_is_narrowed_to(
    client: httpx.Client, narrowed: dict[str, str], name: str
) -> None:
    """They are those that the API has for the same arguments; links lead to the narrowed specs."""
    summary = told(client, "compare", **{name: narrowed[name]})["summary"]
    page = shown(client, str(httpx.URL(PAIR, params={name: narrowed[name]})))
    figures = page.text(".totals div")
    for count in ("numSpecsBefore", "numSpecsAfter"):
        assert f"{summary[count]:,}" in figures
    assert f"{summary['specsRebuilt']:,} rebuilt" in figures
    causes = links(page, ".unfolded a")
    assert httpx.URL(causes[0]).params[name] == narrowed[name]
    assert shown(client, causes[0]).texts("table.changes tbody tr")


def test_all_of_them_hold_together(client: httpx.Client, narrowed: dict[str, str]) -> None:
    """The form keeps what else the address says, and sends all three."""
    given = {"kinds": "ADDED", **narrowed}
    page = shown(client, str(httpx.URL(f"{PAIR}/specs", params=given)))
    fields = {it.get("name"): it.get("value") for it in page.dom.cssselect(f"{FORM} input")}
    assert fields == given
    arguments = ", ".join(f'{name}: "{value}"' for name, value in narrowed.items())
    query = f"""{{ compare(base: "{BASE}", head: "{HEAD}", {arguments}) {{
      specs(kinds: [ADDED]) {{ totalCount }} }} }}"""
    count = asked(client, query)["compare"]["specs"]["totalCount"]
    assert page.text(".pager span").split()[0] == str(count)


@pytest.mark.parametrize("tab", ["", "/specs", "/notes", "/causes/hdf5"])
@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("stack", "no-such-stack", "Neither revision has"),
        ("package", "hdf6", "Neither revision has"),
        ("matching", "hdf5@@", "Unexpected '@' at character 6"),
        ("matching", "hdf6", "No package 'hdf6'"),
    ],
)
def test_what_is_wrong_stands_by_its_field(
    client: httpx.Client, tab: str, name: str, value: str, told: str
) -> None:
    """With what was written, and the other fields as they were."""
    given = {"kind": "VERSION", "package": "hdf5"} | {name: value}
    page = shown(client, str(httpx.URL(PAIR + tab, params=given)))
    assert page.status == 400
    (field,) = page.dom.cssselect(f"{FORM} input[aria-invalid]")
    assert (field.get("name"), field.get("value")) == (name, value)
    (problem,) = page.dom.cssselect(f"#{field.get('aria-describedby')}")
    assert problem.text_content().startswith(told)
    fields = {it.get("name"): it.get("value") for it in page.dom.cssselect(f"{FORM} input")}
    assert fields["package"] == given["package"]


def test_other_errors_are_not_those_of_a_field(client: httpx.Client) -> None:
    """A revision that is not there, and a place in a list that there is not."""
    for address in (
        "/compare/no-such-tag...develop?stack=e4s",
        f"{PAIR}/specs?stack=e4s&after=nonsense",
        f"{PAIR}/specs?matching=hdf5&kinds=NONE",
    ):
        page = shown(client, address)
        assert page.status in (400, 404)
        assert not page.dom.cssselect("[aria-invalid]")
        assert page.texts(".problem")
