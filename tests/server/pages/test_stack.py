"""The page of a stack: its packages and what they can be narrowed down by."""

import httpx

from tests.server.pages.api_answers import asked
from tests.server.pages.page_reader import shown

STACK = """{ revision(ref: "develop") { stack(name: "e4s") { numPackages numSpecs
  packages { nodes { name } } specs { facets { targets { value numSpecs } } } } } }"""


def test_a_stack_with_its_packages(client: httpx.Client) -> None:
    """Its numbers, packages and filters are the API's, and lead on within the stack."""
    page, told = shown(client, "/r/develop/stacks/e4s"), asked(client, STACK)["revision"]["stack"]
    figures = page.facts(".figures")
    assert figures["Packages"] == f"{told['numPackages']:,}"
    assert figures["Specs"] == f"{told['numSpecs']:,}"
    names = page.texts("table.packages tbody th")
    assert names == [it["name"] for it in told["packages"]["nodes"]]
    targets = told["specs"]["facets"]["targets"]
    assert page.texts(".facet[aria-labelledby=facet-targets] li") == [
        f"{it['value']} {it['numSpecs']:,}" for it in targets
    ]
    here = [int(it.replace(",", "")) for it in page.texts("table.packages td:nth-child(3)")]
    assert sum(here) == told["numSpecs"]
    package = shown(client, page.links("table.packages tbody th a")[names[0]])
    assert len(package.dom.cssselect("table.specs tbody tr")) == here[0]
