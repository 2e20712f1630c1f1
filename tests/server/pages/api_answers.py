"""What the API answers, to be compared with what pages show."""

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
"""A revision as the API tells it, whose numbers take as much room as any."""


def asked(client: httpx.Client, query: str, **variables: Any) -> Any:
    """Return the data of an answer without errors."""
    answer = client.post("/graphql", json={"query": query, "variables": variables}).json()
    assert "errors" not in answer, answer["errors"]
    return answer["data"]


def answered(client: httpx.Client, page: str, **variables: Any) -> Any:
    """Return the data that the document of a page is answered with, by the document's name.

    Variables that it does not declare are left out.
    """
    asking = document(page)
    given = {name: value for name, value in variables.items() if name in asking.parameters}
    return asked(client, asking.text, **given)
