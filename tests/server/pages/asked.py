"""What the API answers, to be compared with what pages show."""

from typing import Any

import httpx


def asked(client: httpx.Client, query: str, **variables: Any) -> Any:
    """Return the data of an answer without errors."""
    answer = client.post("/graphql", json={"query": query, "variables": variables}).json()
    assert "errors" not in answer, answer["errors"]
    return answer["data"]
