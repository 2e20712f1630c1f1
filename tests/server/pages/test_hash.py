"""The pages of hashes."""

import httpx
import pytest

from tests.server.pages.api_answers import data_of, page_data
from tests.server.pages.page_reader import shown


@pytest.fixture(scope="module")
def removed_hash(client: httpx.Client) -> str:
    """Return a hash that the newest revisions no longer contain."""
    query = "{ revisions(first: 20) { nodes { digest } } }"
    revisions = data_of(client, query)["revisions"]["nodes"]
    newest, oldest = revisions[0]["digest"], revisions[-1]["digest"]
    query = """query($base: String!, $head: String!) { compare(base: $base, head: $head) {
      specs(first: 1, kinds: [REMOVED]) { nodes { hash } } } }"""
    removed = data_of(client, query, base=oldest, head=newest)["compare"]["specs"]["nodes"]
    hash_: str = removed[0]["hash"]
    return hash_


def test_page_of_a_removed_hash(client: httpx.Client, removed_hash: str) -> None:
    """Each span of its history, with the comparison that removed it."""
    history = page_data(client, "hash", hash=removed_hash)["hash"]
    page = shown(client, f"/hash/{removed_hash}")
    assert page.text("h1") == f"{history['name']}@{history['version']}"
    rows = page.texts(".stays tbody tr")
    assert len(rows) == len(history["spans"]) > 0
    for row, span in zip(rows, history["spans"], strict=True):
        assert span["series"] in row
        assert span["first"]["tag"] in row
        if span["goneIn"] is not None:
            assert span["reasonGone"].lower().replace("_", " ") in row
            assert span["goneIn"]["tag"] in row
    comparisons = {
        name: link for name, link in page.links(".stays a").items() if "/compare/" in link
    }
    assert comparisons
    for link in comparisons.values():
        comparison = shown(client, link)
        assert comparison.status == 200
        assert removed_hash[:7] in comparison.text("main")


def test_prefix_of_one_hash(client: httpx.Client, removed_hash: str) -> None:
    """The page is that of the hash, and states it."""
    page = shown(client, f"/hash/{removed_hash[:12]}")
    assert removed_hash in page.text("main")
    assert page.dom.cssselect("link[rel=canonical]")[0].get("href").endswith(removed_hash)


def test_prefix_of_several_hashes(client: httpx.Client, removed_hash: str) -> None:
    """They are links, with their packages and versions."""
    page = shown(client, f"/hash/{removed_hash[0]}")
    assert page.status == 404
    assert page.dom.cssselect("main [name=hash]")[0].get("value") == removed_hash[0]
    assert {text[0] for text in page.links(".candidates a")} == {removed_hash[0]}


@pytest.mark.parametrize(("text", "status"), [("7" * 32, 404), ("777777", 404), ("ABC!", 400)])
def test_unknown_or_invalid_hash(client: httpx.Client, text: str, status: int) -> None:
    """The page says which of the two it is."""
    page = shown(client, f"/hash/{text}")
    assert page.status == status
    assert ("No revision of this catalog had" in page.text(".problem")) == (status == 404)
    assert page.dom.cssselect("main [name=hash]")[0].get("value") == text


def test_form_leads_to_the_page(client: httpx.Client, removed_hash: str) -> None:
    """A hash with a slash, as Spack prints it, is accepted; without one, the form is shown."""
    answer = client.get("/hash", params={"hash": f" /{removed_hash} "})
    assert answer.status_code == 303
    assert str(answer.url.join(answer.headers["location"])).endswith(f"/hash/{removed_hash}")
    assert shown(client, "/hash?hash=").status == 200
