"""Comparisons narrowed to a stack, a package or a query, and those of stacks, on every tab."""

import httpx
import pytest

from server.pages import routes
from snapshots.spack.names import ROOT_STACK
from tests.server.pages.api_answers import data_of
from tests.server.pages.demo_comparison import BASE, HEAD, PAIR, TABS, comparison_data, links
from tests.server.pages.page_reader import shown

FORM = "form[aria-label='What the comparison is narrowed to']"


@pytest.fixture(scope="module")
def narrowed(client: httpx.Client) -> dict[str, str]:
    """Return a value for each argument that a rebuilt spec meets."""
    query = f"""{{ compare(base: "{BASE}", head: "{HEAD}") {{
      specs(reasons: [REBUILT], first: 1) {{ nodes {{ name after {{ stacks }} }} }} }} }}"""
    (spec,) = data_of(client, query)["compare"]["specs"]["nodes"]
    stack = next(stack for stack in spec["after"]["stacks"] if stack != ROOT_STACK)
    return {"stack": stack, "package": spec["name"], "matching": f"{spec['name']}@:"}


@pytest.mark.parametrize("tab", [*TABS, "/commits"])
def test_every_tab_is_narrowed(client: httpx.Client, narrowed: dict[str, str], tab: str) -> None:
    """The form and the links to other tabs have all arguments and filters, and each can go."""
    params = {"kinds": "ADDED", **narrowed} if tab == "/specs" else narrowed
    page = shown(client, str(httpx.URL(PAIR + tab, params=params)))
    assert page.status == 200
    fields = page.dom.cssselect(f"{FORM} input")
    assert {field.get("name"): field.get("value") for field in fields} == params
    (title,) = page.dom.cssselect("title")
    assert f", {', '.join(narrowed.values())} ·" in title.text_content()
    for link in links(page, ".tabs a"):
        assert dict(httpx.URL(link).params) == narrowed
    assert len(page.dom.cssselect(".comparison .chosen a")) >= len(narrowed)


def test_numbers_are_narrowed(client: httpx.Client, narrowed: dict[str, str]) -> None:
    """They are those of the API with the same arguments, which links to causes have, too."""
    summary = comparison_data(client, "compare", **narrowed)["summary"]
    page = shown(client, str(httpx.URL(PAIR, params=narrowed)))
    figures = page.text(".totals div")
    for count in ("numSpecsBefore", "numSpecsAfter"):
        assert f"{summary[count]:,}" in figures
    assert f"{summary['specsRebuilt']:,} rebuilt" in figures
    link = links(page, ".unfolded a")[0]
    assert narrowed.items() <= dict(httpx.URL(link).params).items()
    assert shown(client, link).texts("table.changes tbody tr")


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


def test_other_errors_are_beside_no_field(client: httpx.Client) -> None:
    """An unknown revision, an invalid cursor, and an invalid filter."""
    for address in (
        "/compare/no-such-tag...develop?stack=e4s",
        f"{PAIR}/specs?stack=e4s&after=nonsense",
        f"{PAIR}/specs?matching=hdf5&kinds=NONE",
    ):
        page = shown(client, address)
        assert page.status in (400, 404)
        assert not page.dom.cssselect("[aria-invalid]")
        assert page.texts(".problem")


_FACTS = """{
  revision(ref: "develop") { digest stacks { name } }
}"""


@pytest.mark.parametrize("tab", routes.TABS)
def test_tabs_of_stacks(client: httpx.Client, tab: str) -> None:
    """They name the stacks, and the permanent address has digests."""
    revision = data_of(client, _FACTS)["revision"]
    first, second = (stack["name"] for stack in revision["stacks"][:2])
    page = shown(client, f"/compare/develop:{first}...develop:{second}{tab}")
    assert page.status == 200
    if tab.endswith(".md"):
        assert page.response.text.startswith(
            f"# Spack build cache: `develop:{first}` → `develop:{second}`"
        )
        return
    assert page.text("h1") == f"develop:{first} →to develop:{second}"
    digest = revision["digest"]
    pinned = f"/compare/{digest}:{first}...{digest}:{second}{tab}"
    assert pinned in {httpx.URL(link).path for link in links(page, "footer a")}
    assert shown(client, pinned).status == 200
    for link in links(page, ".tabs a"):
        assert httpx.URL(link).path.startswith(f"/compare/develop:{first}...develop:{second}")


def test_unknown_stack_is_not_found(client: httpx.Client) -> None:
    """The page names the nearest."""
    name = data_of(client, _FACTS)["revision"]["stacks"][0]["name"]
    page = shown(client, f"/compare/develop:{name}x...develop")
    assert page.status == 404
    assert f"has no stack '{name}x'" in page.text()
    assert f":{name}" in page.text()


@pytest.mark.parametrize("path", ["%2Fetc%2Fpasswd", ".%2Fspack.lock", "spack.lock"])
def test_file_is_no_side(client: httpx.Client, path: str) -> None:
    """Files of the server cannot be compared; uploads are at /check."""
    page = shown(client, f"/compare/{path}...develop")
    assert page.status == 404
    assert "No revision" in page.text()
