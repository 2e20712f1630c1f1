"""Responses of the API, to compare with pages."""

from typing import Any

import httpx

from server.pages.documents import document

_DIGEST = "0123456789abcdef" * 4
LARGE = {
    "tag": "develop",
    "digest": _DIGEST,
    "takenAt": "2025-11-06T18:00:00Z",
    "numPackages": 1_234,
    "numSpecs": 58_000,
    "numKnownStacks": 30,
    "totalSize": str(5 << 40),
    "source": {"synthetic": False},
    "previous": {"digest": _DIGEST, "totalSize": str(5 << 40)},
    "growth": {
        "specsAdded": 12_345,
        "specsRemoved": 12_345,
        "specsRebuilt": 10_000,
        "packagesAdded": 100,
        "packagesRemoved": 100,
    },
}
"""A revision as the API returns it, with numbers of the greatest length."""


def data_of(client: httpx.Client, query: str, **variables: Any) -> Any:
    """Return the data of a response without errors."""
    answer = client.post("/graphql", json={"query": query, "variables": variables}).json()
    assert "errors" not in answer, answer["errors"]
    return answer["data"]


def page_data(client: httpx.Client, page: str, **variables: Any) -> Any:
    """Return the data of the document of a page, by the document's name.

    Variables that it does not declare are left out.
    """
    query = document(page)
    declared = {name: value for name, value in variables.items() if name in query.parameters}
    return data_of(client, query.text, **declared)
