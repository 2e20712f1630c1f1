"""Histories over a real socket: a question each, and an older catalog that is filled by it."""

import shutil
from pathlib import Path
from typing import Any

import httpx
import pytest

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.past import missing_pairs
from tests.server.servers import serving

HASH = "hash name spans { series first { tag } last { tag } isCurrent reasonCame reasonGone }"
ENTRIES = "entries { nodes { revision { tag } kind reasons { reason count } } }"
QUESTIONS = {
    "allSeries": "{ allSeries { name latest { tag } } }",
    "growth": '{ series(name: "develop-DATE") { growth { revision { tag } specsAdded } } }',
    "package": f'{{ series(name: "develop-DATE") {{ package(name: "%s") {{ {ENTRIES} }} }} }}',
    "hash": f'{{ hash(hash: "%s") {{ {HASH} spec {{ version }} }} }}',
    "revisionsHolding": '{ revisionsHolding(hashes: ["%s"]) { totalCount nodes { tag } } }',
}


def ask(url: str, text: str, **headers: str) -> httpx.Response:
    """Ask a question in the address."""
    named = {name.replace("_", "-"): it for name, it in headers.items()}
    return httpx.get(f"{url}/graphql", params={"query": text}, headers=named)


def written(name: str, catalog: Path) -> str:
    """Return a question about something that the newest revision has."""
    opened = Catalog(str(catalog))
    opened.refresh()
    frame = opened.load(opened.history.of_series("develop-DATE")[0].digest)
    text = QUESTIONS[name]
    if "%s" in text:
        text %= frame.packages[0] if name == "package" else frame.hashes.at(0)
    return text


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_history_is_asked_over_http(client: httpx.Client, demo_catalog: Path, name: str) -> None:
    """It is answered, may not be kept without asking again, and is not sent twice."""
    text = written(name, demo_catalog)
    response = ask(str(client.base_url), text)
    assert response.status_code == 200
    body: dict[str, Any] = response.json()
    assert "errors" not in body
    assert all(body["data"].values())
    assert "immutable" not in response.headers["cache-control"]
    again = ask(str(client.base_url), text, if_none_match=response.headers["etag"])
    assert again.status_code == 304


def test_an_older_catalog_is_filled_by_the_first_question(
    demo_catalog: Path, tmp_path: Path
) -> None:
    """The answer is that of a catalog whose history was whole all along."""
    older = shutil.copytree(demo_catalog, tmp_path / "older")
    for table in ("comparisons", "changes", "hashes"):
        shutil.rmtree(older / table)
    with serving(older, tmp_path / "serve.log") as server:
        filled = ask(server.url, written("hash", older)).json()
    with serving(demo_catalog, tmp_path / "other.log") as server:
        assert filled == ask(server.url, written("hash", demo_catalog)).json()
    assert "errors" not in filled
    catalog = Catalog(str(older))
    catalog.refresh()
    assert missing_pairs(catalog, catalog.history) == []
