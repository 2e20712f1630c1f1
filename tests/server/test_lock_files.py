"""A whole lock file over HTTP, with the settings as they come."""

from pathlib import Path

import httpx
import orjson
import pytest

from snapshots.catalog.catalog import Catalog
from tests.server.servers import Server
from tests.snapshots.factories import hash_of

QUERY = """query($specs: [ConcreteSpecInput!]!) { revision { lookup(specs: $specs) {
  numWanted numFound found { hash }
  missing { hash lastSeen { tag } reason nearest { hash } differences { path before after } }
} } }"""


@pytest.mark.parametrize("events", [False, True])
def test_two_thousand_specs(demo_server: Server, demo_catalog: Path, events: bool) -> None:
    """With all their facts; a request for events may not be so large."""
    catalog = Catalog(str(demo_catalog))
    frame = catalog.load(catalog.require_history().revisions[0].digest)
    there = [frame.spec(row) for row in range(len(frame))]
    specs = [
        {
            "hash": there[number].hash if number < len(there) else hash_of(f"{number}"),
            "name": spec.name,
            "version": spec.version,
            "compiler": spec.compiler,
            "platform": spec.platform,
            "operatingSystem": spec.operating_system,
            "target": spec.target,
            "variants": spec.variants,
            "namespace": spec.namespace,
            "packageHash": spec.package_hash,
            "isRoot": number % 10 == 0,
        }
        for number, spec in enumerate((there * (2_000 // len(there) + 1))[:2_000])
    ]
    body = orjson.dumps({"query": QUERY, "variables": {"specs": specs}})
    assert len(body) > 500_000
    accept = "text/event-stream" if events else "application/json"
    headers = {"content-type": "application/json", "accept": accept}
    response = httpx.post(f"{demo_server.url}/graphql", content=body, headers=headers, timeout=60)
    if events:
        assert response.status_code == 413
        return
    lookup = response.json()["data"]["revision"]["lookup"]
    assert (lookup["numWanted"], lookup["numFound"]) == (2_000, len(there))
    assert {it["hash"] for it in lookup["found"]} == {it.hash for it in there}
    assert len(lookup["missing"]) == 2_000 - len(there)
    assert all(it["nearest"] and it["differences"] == [] for it in lookup["missing"])
