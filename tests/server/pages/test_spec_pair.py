"""``/specs/HASH...HASH``: two specs beside each other, as the API tells of them."""

import httpx
import pytest

from snapshots.texts import short_hash
from tests.server.pages.api_answers import answered, asked
from tests.server.pages.page_reader import shown

REBUILT = """{ compare(base: "develop~1", head: "develop") {
  specs(first: 1, kinds: [ADDED], reasons: [REBUILT, REPLACES]) {
    nodes { hash counterpart { hash } cause { title } }
  }
} }"""


@pytest.fixture(scope="module")
def rebuilt(history_client: httpx.Client) -> tuple[str, str, str]:
    """Return a spec, what it replaced, and its main cause."""
    (node,) = asked(history_client, REBUILT)["compare"]["specs"]["nodes"]
    return node["counterpart"]["hash"], node["hash"], node["cause"]["title"]


def test_two_specs(history_client: httpx.Client, rebuilt: tuple[str, str, str]) -> None:
    """Each part of the answer has its place, and links lead to both specs."""
    base, head, cause = rebuilt
    page = shown(history_client, f"/specs/{base}...{head}")
    known = answered(history_client, "spec_pair", base=base, head=head)["compareSpecs"]
    causes = [cell.text_content() for cell in page.dom.cssselect("#why ~ .table tbody th")]
    assert causes == [way["cause"]["title"] for way in known["paths"]]
    assert cause in causes
    names = [cell.text_content() for cell in page.dom.cssselect("#dependencies ~ .table tbody th")]
    assert names == [edge["name"] for edge in known["dependencies"]]
    figures = [int(it.text_content()) for it in page.dom.cssselect("#below ~ .figures dd")]
    assert figures == [
        known[name]
        for name in ("numSharedBelow", "numDifferingBelow", "numOnlyBelowBase", "numOnlyBelowHead")
    ]
    links = {link.get("href", "") for link in page.dom.cssselect("h1 ~ .facts a")}
    assert all(any(link.endswith(digest) for link in links) for digest in (base, head))


def test_a_form_leads_there(history_client: httpx.Client, rebuilt: tuple[str, str, str]) -> None:
    """Two hashes, written as Spack shows them, from the form and from the page of a hash."""
    base, head, _ = rebuilt
    answer = history_client.get(
        "/specs", params={"base": f"/{short_hash(base)}", "head": f" /{head}"}
    )
    assert answer.status_code == 303
    assert answer.headers["location"].endswith(f"specs/{short_hash(base)}...{head}")
    form = shown(history_client, "/specs").dom.cssselect("form.pickers input")
    assert [field.get("name") for field in form] == ["base", "head"]
    for path in (f"/hash/{head}", f"/r/develop/specs/{head}"):
        (field,) = shown(history_client, path).dom.cssselect("form.pickers input[name=base]")
        assert field.get("value") == f"/{head}"


def test_comparisons_lead_there(
    history_client: httpx.Client, rebuilt: tuple[str, str, str]
) -> None:
    """Each spec that replaced another links to the two beside each other."""
    base, head, _ = rebuilt
    page = shown(history_client, f"/compare/develop~1...develop/specs?hashPrefix={head}")
    links = [link.get("href", "") for link in page.dom.cssselect("td a")]
    assert any(link.endswith(f"specs/{base}...{head}") for link in links)


def test_one_spec_and_none(history_client: httpx.Client, rebuilt: tuple[str, str, str]) -> None:
    """A spec beside itself is one; a hash that is nowhere leads to a page that says so."""
    _, head, _ = rebuilt
    assert "Both are one spec" in shown(history_client, f"/specs/{head}...{head}").text("main")
    assert history_client.get(f"/specs/{'z' * 32}...{head}").status_code == 404
