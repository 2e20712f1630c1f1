"""The pages of hashes."""

import httpx
import pytest

from tests.server.pages.api_answers import answered, asked
from tests.server.pages.page_reader import shown


@pytest.fixture(scope="module")
def gone(client: httpx.Client) -> str:
    """Return a hash that the newest revisions have no longer."""
    query = "{ revisions(first: 20) { nodes { digest } } }"
    revisions = asked(client, query)["revisions"]["nodes"]
    newest, oldest = revisions[0]["digest"], revisions[-1]["digest"]
    query = """query($base: String!, $head: String!) { compare(base: $base, head: $head) {
      specs(first: 1, kinds: [REMOVED]) { nodes { hash } } } }"""
    removed = asked(client, query, base=oldest, head=newest)["compare"]["specs"]["nodes"]
    found: str = removed[0]["hash"]
    return found


def test_it_says_when_and_why_a_hash_went(client: httpx.Client, gone: str) -> None:
    """Each span of its history, with the comparison that took it away."""
    told = answered(client, "hash", hash=gone)["hash"]
    page = shown(client, f"/hash/{gone}")
    assert page.text("h1") == f"{told['name']}@{told['version']}"
    rows = page.texts(".stays tbody tr")
    assert len(rows) == len(told["spans"]) > 0
    for row, span in zip(rows, told["spans"], strict=True):
        assert span["series"] in row
        assert span["first"]["tag"] in row
        if span["goneIn"] is not None:
            assert span["reasonGone"].lower().replace("_", " ") in row
            assert span["goneIn"]["tag"] in row
    went = {name: link for name, link in page.links(".stays a").items() if "/compare/" in link}
    assert went
    for link in went.values():
        comparison = shown(client, link)
        assert comparison.status == 200
        assert gone[:7] in comparison.text("main")


def test_a_prefix_is_enough(client: httpx.Client, gone: str) -> None:
    """The page is that of the only hash that begins so, and says which."""
    page = shown(client, f"/hash/{gone[:12]}")
    assert gone in page.text("main")
    assert page.dom.cssselect("link[rel=canonical]")[0].get("href").endswith(gone)


def test_a_prefix_of_many_lists_some(client: httpx.Client, gone: str) -> None:
    """They are links, with what they are builds of."""
    page = shown(client, f"/hash/{gone[0]}")
    assert page.status == 404
    assert page.dom.cssselect("main [name=hash]")[0].get("value") == gone[0]
    assert {text[0] for text in page.links(".candidates a")} == {gone[0]}


@pytest.mark.parametrize(("text", "status"), [("7" * 32, 404), ("777777", 404), ("ABC!", 400)])
def test_what_no_revision_had_is_said(client: httpx.Client, text: str, status: int) -> None:
    """That it is not known is an answer, too; what cannot be a hash is another."""
    page = shown(client, f"/hash/{text}")
    assert page.status == status
    assert ("No revision of this catalog had" in page.text(".problem")) == (status == 404)
    assert page.dom.cssselect("main [name=hash]")[0].get("value") == text


def test_the_box_leads_to_the_address(client: httpx.Client, gone: str) -> None:
    """A hash as Spack writes it, with a slash before it, is found; an empty one is asked for."""
    answer = client.get("/hash", params={"hash": f" /{gone} "})
    assert answer.status_code == 303
    assert str(answer.url.join(answer.headers["location"])).endswith(f"/hash/{gone}")
    assert shown(client, "/hash?hash=").status == 200
