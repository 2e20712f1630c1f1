"""GraphQL over HTTP on real sockets: requests, responses, caching, and persisted documents."""

import gzip
import json
from collections.abc import Callable
from hashlib import sha256
from typing import Any
from urllib.parse import urlencode

import httpx
import orjson
import pytest
import zstandard

from snapshots.catalog.catalog import Catalog

JSON = "application/json"
RESPONSE_JSON = "application/graphql-response+json"
TAGS = "{ tags { name } }"
NAMES = ["develop", "v0.22.0", "develop-2025-01-26", "develop-2025-01-12", "develop-2025-01-05"]
ANSWER = {"data": {"tags": [{"name": name} for name in NAMES]}}


EVERY_METHOD = pytest.mark.parametrize("method", ["GET", "POST"])


def post(client: httpx.Client, body: Any, **headers: str) -> httpx.Response:
    """Send a request object; header names have _ instead of -."""
    content = body if isinstance(body, bytes) else orjson.dumps(body)
    named = {"content-type": JSON, **{name.replace("_", "-"): headers[name] for name in headers}}
    return client.post("/graphql", content=content, headers=named)


def send(
    client: httpx.Client, method: str, parts: dict[str, Any], accept: str = "*/*"
) -> httpx.Response:
    """Send the parts of a request in a body, or in the query string with objects as JSON."""
    if method == "POST":
        return post(client, parts, accept=accept)
    texts = {
        name: part if isinstance(part, str) else json.dumps(part) for name, part in parts.items()
    }
    return client.get("/graphql", params=texts, headers={"accept": accept})


def code_of(response: httpx.Response) -> str:
    """Return the code of the only error of a response."""
    (error,) = response.json()["errors"]
    code: str = error["extensions"]["code"]
    return code


# -- requests


@EVERY_METHOD
def test_parts_of_a_request(client: httpx.Client, method: str) -> None:
    """The document, its variables and the operation name, in a body or in the query string."""
    response = send(client, method, {"query": TAGS})
    assert (response.status_code, response.json()) == (200, ANSWER)
    several = "query A($t: String!) { tag(name: $t) { series { name } } } query B { tags { name } }"
    request = {"query": several, "operationName": "A", "variables": {"t": "v0.22.0"}}
    assert send(client, method, request).json() == {"data": {"tag": {"series": {"name": "vX.Y.Z"}}}}
    assert send(client, method, request | {"operationName": "B"}).json() == ANSWER
    nulls = {"variables": None, "extensions": None}
    name = {"operationName": None if method == "POST" else ""}
    assert send(client, method, {"query": TAGS, **nulls, **name}).json() == ANSWER


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "TRACE", "OPTIONS"])
def test_other_methods_are_not_allowed(client: httpx.Client, method: str) -> None:
    """The Allow header lists the allowed ones, also without an error if a client asks for it."""
    response = client.request(method, "/graphql")
    assert response.headers["allow"] == "GET, HEAD, POST, OPTIONS"
    if method == "OPTIONS":
        assert (response.status_code, response.content) == (204, b"")
    else:
        assert (response.status_code, code_of(response)) == (405, "METHOD_NOT_ALLOWED")


@pytest.mark.parametrize(
    ("method", "query", "code", "statuses"),
    [
        ("GET", "mutation { __typename }", "METHOD_NOT_ALLOWED", (405, 405)),
        ("POST", "mutation { __typename }", "GRAPHQL_VALIDATION_FAILED", (200, 400)),
        ("GET", "{", "GRAPHQL_PARSE_FAILED", (200, 400)),
        ("POST", '{ revision(ref: "nope") { tagName } }', "REVISION_NOT_FOUND", (200, 200)),
    ],
)
def test_status_of_errors(
    client: httpx.Client, method: str, query: str, code: str, statuses: tuple[int, int]
) -> None:
    """200 for JSON, as older clients expect; also for GraphQL's own type if there is data."""
    for accept, status in zip((JSON, RESPONSE_JSON), statuses, strict=True):
        response = send(client, method, {"query": query}, accept)
        assert (response.status_code, code_of(response)) == (status, code)
        assert response.headers["content-type"] == f"{accept}; charset=utf-8"
        assert response.headers.get("allow") == ("POST" if status == 405 else None)


# -- invalid requests

BODIES: dict[str, bytes] = {
    "invalid UTF-8": b'{"query": "{ tags { name } }\xff"}',
    "a surrogate": b'{"query": "\\ud800"}',
    "too deep": b'{"query": ' + b"[" * 100_000,
    "too deep to serialize": b'{"query": "query($a: Int) { tags { name } }", "variables": {"a": '
    + b"[" * 400
    + b"]" * 400
    + b"}}",
    "a number of 5,000 digits": b'{"query": "{ tags { name } }", "variables": {"a": '
    + b"1" * 5_000
    + b"}}",
    "an empty document": b'{"query": ""}',
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
@pytest.mark.parametrize("accept", [JSON, RESPONSE_JSON])
def test_invalid_body_is_refused(client: httpx.Client, body: bytes, accept: str) -> None:
    """With 400 and a GraphQL error in the accepted media type."""
    response = post(client, body, accept=accept)
    assert (response.status_code, code_of(response)) == (400, "BAD_REQUEST")
    assert response.headers["content-type"].startswith(accept)
    assert response.headers["cache-control"] == "no-store"
    assert "data" not in response.json()


QUERY_STRINGS = {
    "no document": "operationName=A",
    "an empty document": "query=",
    "invalid UTF-8": "query=%ff",
    "variables that are invalid JSON": urlencode({"query": TAGS, "variables": "{"}),
    "parameters without a name": "=&&=;",
    "very many parameters": "a=&" * 4_000,
}


@pytest.mark.parametrize("query_string", QUERY_STRINGS.values(), ids=QUERY_STRINGS)
def test_invalid_query_string_is_refused(client: httpx.Client, query_string: str) -> None:
    """With 400."""
    response = client.get(f"/graphql?{query_string}")
    assert (response.status_code, code_of(response)) == (400, "BAD_REQUEST")


@pytest.mark.parametrize(
    "content_type", ["", "text/plain", "application/jsonp", f"{JSON}; charset=iso-8859-1"]
)
def test_only_json_in_utf8_is_accepted(client: httpx.Client, content_type: str) -> None:
    """A content type that an HTML form of another site can send is refused."""
    response = post(client, {"query": TAGS}, content_type=content_type)
    assert (response.status_code, code_of(response)) == (415, "UNSUPPORTED_MEDIA_TYPE")


def test_large_body_is_refused(client: httpx.Client) -> None:
    """Both with a Content-Length and in chunks."""
    body = orjson.dumps({"query": TAGS, "extensions": {"x": "x" * (1 << 20)}})
    response = post(client, body)
    assert (response.status_code, code_of(response)) == (413, "PAYLOAD_TOO_LARGE")
    pieces = (body[start : start + 10_000] for start in range(0, len(body), 10_000))
    response = client.post("/graphql", content=pieces, headers={"content-type": JSON})
    assert (response.status_code, code_of(response)) == (413, "PAYLOAD_TOO_LARGE")
    assert post(client, {"query": TAGS}).json() == ANSWER


@EVERY_METHOD
@pytest.mark.parametrize("accept", ["text/plain", f"{JSON};q=0, {RESPONSE_JSON};q=0"])
def test_other_media_types_are_not_acceptable(
    client: httpx.Client, accept: str, method: str
) -> None:
    """The refusal is JSON nevertheless."""
    response = send(client, method, {"query": TAGS}, accept)
    assert (response.status_code, code_of(response)) == (406, "NOT_ACCEPTABLE")


# -- caching and compression

LONG = "{ revision { specs(first: 200) { nodes { hash name version variants stackNames } } } }"
DECODERS: dict[str, Callable[[bytes], bytes]] = {
    "identity": lambda body: body,
    "gzip": gzip.decompress,
    "zstd": lambda body: zstandard.ZstdDecompressor().decompress(body, 1 << 24),
}


@pytest.mark.parametrize("coding", DECODERS)
def test_response_is_compressed_and_revalidated(client: httpx.Client, coding: str) -> None:
    """By an ETag for each coding; 304 has the headers that a client needs to store the response."""

    def get(coding: str, etag: str = "") -> tuple[httpx.Response, bytes]:
        headers = {"accept-encoding": coding, "if-none-match": etag}
        with client.stream("GET", "/graphql", params={"query": LONG}, headers=headers) as response:
            return response, b"".join(response.iter_raw())

    (plain, content), (first, body) = get("identity"), get(coding)
    assert first.headers.get("content-encoding", "identity") == coding
    assert int(first.headers["content-length"]) == len(body)
    assert DECODERS[coding](body) == content
    is_plain = coding == "identity"
    assert (len(body) < len(content) / 2) != is_plain
    etag = first.headers["etag"]
    assert (etag == plain.headers["etag"]) == is_plain
    for shown in (etag, f"W/{etag}", f'"x", {etag}', f'"x" ,W/{etag},"y"', "*"):
        again, nothing = get(coding, shown)
        assert (again.status_code, nothing) == (304, b"")
        for name in ("etag", "cache-control", "vary"):
            assert again.headers[name] == first.headers[name]
    assert first.headers["vary"] == plain.headers["vary"] == "accept, accept-encoding"
    for shown in ('"x"', etag.strip('"'), f"{etag}x", ""):
        assert get(coding, shown)[0].status_code == 200
    head = client.head("/graphql", params={"query": LONG}, headers={"accept-encoding": coding})
    assert (head.status_code, head.content) == (200, b"")
    assert {**head.headers, "date": "", "x-request-id": ""}.items() <= {
        **first.headers,
        "date": "",
        "x-request-id": "",
    }.items()


PERMANENT = (
    '{ revision(ref: "%(head)s") { tagName numSpecs packages { nodes { name versions } } } }',
    '{ compare(base: "%(base)s", head: "%(head)s") { summary { numSpecsAdded } } }',
    '{ compare(base: "%(base)s", head: "%(head)s") { causes { nodes { title } } } }',
    '{ a: revision(ref: "%(base)s") { digest } b: revision(ref: "%(head)s") { digest } }',
)
CHANGING = (
    TAGS,
    "{ revision { digest } }",
    '{ revision(ref: "%(digest)s") { ref } }',
    '{ revision(ref: "%(short)s") { digest } }',
    '{ revision(ref: "%(head)s~1") { digest } }',
    '{ revision(ref: "%(head)s") { next { digest } } }',
    '{ revision(ref: "%(head)s") { previous { digest } } }',
    '{ compare(base: "develop-2025-01-05", head: "%(head)s") { id } }',
    '{ compare(base: "%(base)s", head: "develop") { id } }',
    '{ compare(base: "%(base)s", head: "%(head)s") { releaseNotes } }',  # RETURNED can change
    '{ revision(ref: "%(head)s") { digest } __schema { types { name } } }',
    "{ revisions { totalCount } }",
    '{ series(name: "develop") { growth { numSpecs } } }',
    '{ revision(ref: "%(head)s") { specs(first: 1) { nodes { history { hash } } } } }',
    '{ revision(ref: "%(head)s") { packages(first: 1) { nodes { seriesPackage { name } } } } }',
    '{ tag(name: "nope") { name } }',
    '{ revision(ref: "%(head)s") { tagName } other: revision(ref: "nope") { tagName } }',
    "{ nope }",
)


IMMUTABLE = "public, max-age=31536000, immutable"
LIFETIMES = dict.fromkeys(PERMANENT, IMMUTABLE) | dict.fromkeys(CHANGING, "no-cache")


@pytest.fixture(scope="module")
def names(demo_catalog: object) -> dict[str, str]:
    """Return refs of the two newest revisions, by their names in queries."""
    catalog = Catalog(str(demo_catalog))
    catalog.refresh()
    head, base = catalog.history.revisions[:2]
    digest = head.digest
    return {"base": base.ref, "head": head.ref, "digest": digest, "short": digest[:12]}


@pytest.mark.parametrize(("query", "lifetime"), LIFETIMES.items())
def test_lifetime_of_responses(
    client: httpx.Client, names: dict[str, str], query: str, lifetime: str
) -> None:
    """Permanent if the query names single revisions; a tag can move, a content come again."""
    for _ in range(2):
        response = client.get("/graphql", params={"query": query % names})
        assert (response.status_code, response.headers["cache-control"]) == (200, lifetime)


# -- persisted documents


def persisted(query: str, **more: Any) -> dict[str, Any]:
    """Return the extensions that name a document by its hash."""
    digest = sha256(query.encode()).hexdigest()
    return {"persistedQuery": {"version": 1, "sha256Hash": digest, **more}}


BAD_HASHES: dict[str, Any] = {
    "a wrong hash": persisted("another document"),
    "another version": persisted(TAGS, version=2),
    "no version": {"persistedQuery": {"sha256Hash": sha256(TAGS.encode()).hexdigest()}},
    "no hash": {"persistedQuery": {"version": 1}},
    "a hash that is not a string": persisted(TAGS, sha256Hash=1),
    "not an object": {"persistedQuery": "x"},
}


@pytest.mark.parametrize("extensions", BAD_HASHES.values(), ids=BAD_HASHES)
def test_wrong_hash_is_refused(client: httpx.Client, extensions: dict[str, Any]) -> None:
    """No document can be registered under the hash of another."""
    response = post(client, {"query": TAGS, "extensions": extensions})
    assert response.status_code == 400
    assert code_of(response) in ("BAD_REQUEST", "PERSISTED_QUERY_NOT_SUPPORTED")
