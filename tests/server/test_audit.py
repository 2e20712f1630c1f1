"""Conformance with GraphQL over HTTP, as the audits of graphql-http judge it.

https://github.com/graphql/graphql-http#audits
"""

import json
from pathlib import Path
from typing import Any

from tests.server import npm
from tests.server.servers import Server

NUM_AUDITS = 61


def test_every_audit_is_passed(demo_server: Server, tmp_path: Path) -> None:
    """Not only what the specification demands, but what it recommends as well."""
    folder = npm.installed(Path(__file__).with_name("audit"), tmp_path)
    results: list[dict[str, Any]] = json.loads(npm.run(folder, "audit.mjs", demo_server.graphql))
    assert [result for result in results if result["status"] != "ok"] == []
    assert len(results) == NUM_AUDITS
