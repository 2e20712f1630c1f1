"""What pages of errors lead on to: the nearest there is to what was looked for."""

import httpx
import pytest

from tests.server.pages.page_reader import shown


@pytest.mark.parametrize(
    ("address", "near", "link"),
    [
        ("/r/develo?search=a", "develop", "/r/develop?search=a"),
        ("/r/develop/packages/hdf55?by=STACK", "hdf5", "/r/develop/packages/hdf5?by=STACK"),
        ("/r/develop/packages/df5", "hdf5", "/r/develop/packages/hdf5"),
        ("/r/develop/stacks/e4z", "e4s", "/r/develop/stacks/e4s"),
        ("/r/develp/packages/hdf5", "develop", "/r/develop/packages/hdf5"),
        ("/compare/v0.22.0...develo/specs", "develop", "/compare/v0.22.0...develop/specs"),
        ("/search?q=hdf5&in=develo", "develop", "/search?q=hdf5&in=develop"),
    ],
)
def test_the_nearest_names_lead_on(
    client: httpx.Client, address: str, near: str, link: str
) -> None:
    """By links that hold, to the same view of theirs; the box to search in has what was meant."""
    page = shown(client, address)
    assert (page.status, page.text("h1")) == (404, "Not found")
    assert page.response.headers["cache-control"] == "no-store"
    assert page.links(".nearest a")[near] == str(client.base_url.join(link))
    assert client.get(link).status_code == 200
    (box,) = page.dom.cssselect("header input[name=q]")
    assert box.get("value")


def test_a_spec_that_is_gone_leads_to_its_past(client: httpx.Client) -> None:
    """Where and when its hash was."""
    page = shown(client, f"/r/develop/specs/{'a' * 32}")
    assert page.status == 404
    link = page.links()["Where and when this hash was"]
    assert link == str(client.base_url.join(f"/hash/{'a' * 32}"))


def test_how_a_hash_begins_leads_to_specs_of_the_same_revision(client: httpx.Client) -> None:
    """Though it begins several in the catalog, the page is about one revision, and stays there."""
    page = shown(client, "/r/v0.22.0/specs/a")
    assert page.status == 404
    assert page.text(".problem").startswith("'a' begins")
    assert all(link.rpartition("/")[2][0] == "a" for link in page.links(".candidates a").values())
    link = page.links()["Specs of this revision whose hash begins with it"]
    assert link == str(client.base_url.join("/search?q=%2Fa&in=v0.22.0"))
    assert client.get(link).status_code == 200


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("/r/develop?order=WEIGHT", "Order cannot be 'WEIGHT'."),
        ("/r/develop?after=x", "After/before: 'x' is not a cursor of this list"),
        ("/compare/develop~1...develop/causes/zlib", "The address does not say kind."),
    ],
)
def test_what_an_address_cannot_ask_is_said_plainly(
    client: httpx.Client, address: str, said: str
) -> None:
    """Without the words of the language that pages are asked in; the page leads on."""
    page = shown(client, address)
    assert page.status == 400
    assert page.text(".problem").startswith(said)
    ways_on = {it.text: it.get("href") for it in page.dom.cssselect(".ways-on a")}
    if "?" in address:
        assert ways_on["This page without filters"] == "?"


def test_nothing_near_is_no_list(client: httpx.Client) -> None:
    """The page says what was looked for, and leads to a search for it."""
    page = shown(client, "/r/develop/packages/%3Cqqqq%3E")
    assert page.status == 404
    assert page.texts(".nearest") == []
    assert "<qqqq>" in page.text()
    link = page.links()["Search this revision for it"]
    assert link.endswith("/search?q=%3Cqqqq%3E&in=develop")
