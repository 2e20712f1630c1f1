"""Badges: a package of a revision as a picture, and as JSON that shields.io shows."""

import httpx
import pytest
from lxml import etree

from server.pages.documents import document
from tests.server.pages.api_answers import asked

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def newest(client: httpx.Client) -> str:
    """Return the newest version of hdf5 in develop."""
    data = asked(client, document("badge").text, ref="develop", name="hdf5")
    version: str = data["revision"]["package"]["versions"][0]
    return version


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("hdf5", "{newest} in develop"),
        ("nope", "not in develop"),
        ('"><script>', "not in develop"),
    ],
)
def test_both_say_the_same(name: str, message: str, client: httpx.Client, newest: str) -> None:
    """The newest version, or that there is none."""
    message = message.format(newest=newest)
    shields = client.get(f"/badge/develop/{name}.json")
    assert shields.headers["content-type"] == "application/json"
    assert shields.json() | {"color": ""} == {
        "schemaVersion": 1,
        "label": name,
        "message": message,
        "color": "",
    }
    picture = client.get(f"/badge/develop/{name}.svg")
    assert picture.headers["content-type"] == "image/svg+xml"
    svg = etree.fromstring(picture.content)
    assert svg.get("aria-label") == f"{name}: {message}"
    assert [it.text for it in svg.iter(f"{SVG}text")] == [name, message]
    assert shields.json()["color"] in picture.text


def test_a_revision_that_is_not_there_has_none(client: httpx.Client) -> None:
    """The page of the error says which there are."""
    assert client.get("/badge/develp/hdf5.svg").status_code == 404
