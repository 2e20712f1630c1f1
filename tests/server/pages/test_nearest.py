"""Links of error pages to the nearest names."""

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
def test_nearest_names_are_links(client: httpx.Client, address: str, near: str, link: str) -> None:
    """To the same view of these names; the search box contains the unknown name."""
    page = shown(client, address)
    assert (page.status, page.text("h1")) == (404, "Not found")
    assert page.response.headers["cache-control"] == "no-store"
    assert page.links(".nearest a")[near] == str(client.base_url.join(link))
    assert client.get(link).status_code == 200
    (box,) = page.dom.cssselect("header input[name=q]")
    assert box.get("value")


def test_unknown_spec_leads_to_its_hash(client: httpx.Client) -> None:
    """To the page of the hash's history."""
    page = shown(client, f"/r/develop/specs/{'a' * 32}")
    assert page.status == 404
    link = page.links()["Where and when this hash was"]
    assert link == str(client.base_url.join(f"/hash/{'a' * 32}"))


def test_prefix_leads_to_specs_of_the_same_revision(client: httpx.Client) -> None:
    """Although the catalog has other hashes with the prefix."""
    page = shown(client, "/r/v0.22.0/specs/a")
    assert page.status == 404
    assert page.text(".problem").startswith("'a' begins")
    assert all(link.rpartition("/")[2][0] == "a" for link in page.links(".candidates a").values())
    link = page.links()["Specs of this revision whose hash begins with it"]
    assert link == str(client.base_url.join("/search?q=%2Fa&in=v0.22.0"))
    assert client.get(link).status_code == 200


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("/r/develop?order=WEIGHT", "Order cannot be 'WEIGHT'."),
        ("/r/develop?after=x", "After/before: 'x' is not a cursor of this list"),
        ("/compare/develop~1...develop/causes/zlib", "The address does not say kind."),
    ],
)
def test_invalid_parameters(client: httpx.Client, address: str, message: str) -> None:
    """The error does not use terms of GraphQL; the page has links."""
    page = shown(client, address)
    assert page.status == 400
    assert page.text(".problem").startswith(message)
    links = {link.text: link.get("href") for link in page.dom.cssselect(".ways-on a")}
    if "?" in address:
        assert links["This page without filters"] == "?"


def test_no_nearest_name(client: httpx.Client) -> None:
    """The page states the name, and links to a search for it."""
    page = shown(client, "/r/develop/packages/%3Cqqqq%3E")
    assert page.status == 404
    assert page.texts(".nearest") == []
    assert "<qqqq>" in page.text()
    link = page.links()["Search this revision for it"]
    assert link.endswith("/search?q=%3Cqqqq%3E&in=develop")
