"""GraphQL clients and audits against a real server."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from gql import Client, GraphQLRequest
from gql.transport.httpx import HTTPXTransport

from tests.server import npm
from tests.server.servers import Server

HERE = Path(__file__).with_name("clients")
REF = "develop-2025-01-26"
HASHES = f'{{ revision(ref: "{REF}") {{ specs(first: 1000) {{ nodes {{ hash }} }} }} }}'


@pytest.fixture(scope="module")
def hashes(demo_server: Server) -> list[str]:
    """Return the hashes of the specs of a revision, in the order of the API."""
    output = httpx.post(demo_server.graphql, json={"query": HASHES}).json()
    return [node["hash"] for node in output["data"]["revision"]["specs"]["nodes"]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a new folder with the clients."""
    return npm.installed(HERE, tmp_path)


def run_client(folder: Path, program: str, server: Server, *arguments: str) -> Any:
    """Run a program that prints JSON; return the parsed output."""
    return json.loads(npm.run(folder, program, server.graphql, REF, *arguments))


@pytest.mark.parametrize(("prefers_get", "method"), [("true", "GET"), ("false", "POST")])
def test_urql_pages_by_either_method(
    folder: Path, demo_server: Server, hashes: list[str], prefers_get: str, method: str
) -> None:
    """It pages through a list by either method, and gets the code of an error."""
    output = run_client(folder, "urql.mjs", demo_server, prefers_get)
    assert (output["hashes"], output["totalCount"]) == (hashes, len(hashes))
    assert set(output["methods"]) == {method}
    assert output["code"] == "REVISION_NOT_FOUND"


def test_urql_normalizes_objects(folder: Path, demo_server: Server, hashes: list[str]) -> None:
    """Its normalized cache has a key for each object, and joins the pages of a list."""
    output = run_client(folder, "graphcache.mjs", demo_server)
    assert output == {"hashes": hashes, "totalCount": len(hashes), "warnings": []}


def test_apollo_sends_documents_once(folder: Path, demo_server: Server, hashes: list[str]) -> None:
    """A document is sent once if its hash is unknown; then only the hash is sent, by GET."""
    first = run_client(folder, "apollo.mjs", demo_server, "false")
    assert (first["hashes"], first["totalCount"]) == (hashes, len(hashes))
    miss, document, *others = first["exchanges"]
    by_hash = {"method": "POST", "query": False, "status": 200, "errors": []}
    assert miss == by_hash | {"errors": ["PersistedQueryNotFound"]}
    assert document == by_hash | {"query": True}
    assert others == [by_hash] * (-(-len(hashes) // 150) - 1)

    second = run_client(folder, "apollo.mjs", demo_server, "true")
    assert second["hashes"] == hashes
    assert second["exchanges"] == [by_hash | {"method": "GET"}] * (len(others) + 1)


def test_relay_refetches_connections(folder: Path, demo_server: Server, hashes: list[str]) -> None:
    """Its compiler accepts the schema; its connection pages by refetching the revision."""
    relay = folder / "relay"
    schema = httpx.get(f"{demo_server.url}/schema.graphql").text
    (relay / "generated").mkdir()
    (relay / "schema.graphql").write_text(schema, "utf-8")
    npm.run(relay, "../node_modules/relay-compiler/cli.js")
    generated = sorted(path.name.partition(".")[0] for path in (relay / "generated").iterdir())
    assert generated == ["SpecsPaginationQuery", "SpecsQuery", "Specs_revision"]
    output = run_client(relay, "run.cjs", demo_server)
    assert (output["hashes"], output["totalCount"]) == (hashes, len(hashes))
    assert output["takenAt"] == "2025-01-26T00:00:00Z"


def test_codegen_types_match_responses(folder: Path, demo_server: Server) -> None:
    """The generated types are those of responses; TypeScript checks a program with them."""
    npm.run(folder, "codegen.mjs", demo_server.url)
    options = ("--noEmit", "--strict", "--skipLibCheck", "--target", "es2022")
    npm.run(folder, "node_modules/typescript/bin/tsc", *options, "uses.ts")


PAGE = """query Specs($ref: String!, $after: String) { revision(ref: $ref) {
  specs(first: 150, after: $after) { nodes { hash } pageInfo { hasNextPage endCursor } }
} }"""


def test_gql_validates_and_pages(demo_server: Server, hashes: list[str]) -> None:
    """It fetches the schema by introspection, validates the query, and pages."""
    transport = HTTPXTransport(url=demo_server.graphql)
    output: list[str] = []
    with Client(transport=transport, fetch_schema_from_transport=True) as session:
        page: dict[str, Any] = {"hasNextPage": True, "endCursor": None}
        while page["hasNextPage"]:
            variables = {"ref": REF, "after": page["endCursor"]}
            request = GraphQLRequest(PAGE, variable_values=variables)
            specs = session.execute(request)["revision"]["specs"]
            output += [node["hash"] for node in specs["nodes"]]
            page = specs["pageInfo"]
    assert output == hashes


NUM_AUDITS = 61


def test_all_audits_pass(demo_server: Server, tmp_path: Path) -> None:
    """All pass, including those of recommendations in the specification."""
    folder = npm.installed(Path(__file__).with_name("audit"), tmp_path)
    results: list[dict[str, Any]] = json.loads(npm.run(folder, "audit.mjs", demo_server.graphql))
    assert [result for result in results if result["status"] != "ok"] == []
    assert len(results) == NUM_AUDITS
