"""GraphQL over HTTP, on real sockets: what is sent, what comes back, and how it may be kept."""

import json
from hashlib import sha256
from typing import Any
from urllib.parse import urlencode

import httpx
import orjson
import pytest

JSON = "application/json"
RESPONSE_JSON = "application/graphql-response+json"
TAGS = "{ tags { name } }"
NAMES = ["develop", "v0.22.0", "develop-2025-01-26", "develop-2025-01-12", "develop-2025-01-05"]
ANSWER = {"data": {"tags": [{"name": name} for name in NAMES]}}


def post(client: httpx.Client, body: Any, **headers: str) -> httpx.Response:
    """Send a request object; the names of headers have _ for -."""
    content = body if isinstance(body, bytes) else orjson.dumps(body)
    named = {"content-type": JSON, **{name.replace("_", "-"): it for name, it in headers.items()}}
    return client.post("/graphql", content=content, headers=named)


def get(client: httpx.Client, accept: str = "*/*", **parameters: str) -> httpx.Response:
    """Send a request in the address."""
    return client.get("/graphql", params=parameters, headers={"accept": accept})


def code_of(response: httpx.Response) -> str:
    """Return the code of the only error of a response."""
    (error,) = response.json()["errors"]
    code: str = error["extensions"]["code"]
    return code


# -- what is asked


def test_a_question_by_post(client: httpx.Client) -> None:
    """The document, its variables and the name of an operation come as JSON."""
    response = post(client, {"query": TAGS})
    assert (response.status_code, response.json()) == (200, ANSWER)
    several = "query A($t: String!) { tag(name: $t) { series } } query B { tags { name } }"
    asked = {"query": several, "operationName": "A", "variables": {"t": "v0.22.0"}}
    assert post(client, asked).json() == {"data": {"tag": {"series": "vX.Y.Z"}}}
    assert post(client, asked | {"operationName": "B"}).json() == ANSWER


def test_a_question_in_the_address(client: httpx.Client) -> None:
    """The same parts come as parameters, with variables as JSON."""
    assert get(client, query=TAGS).json() == ANSWER
    assert get(client, query=TAGS, variables="", operationName="", extensions="").json() == ANSWER
    several = "query A($t: String!) { tag(name: $t) { series } } query B { tags { name } }"
    asked = {"query": several, "operationName": "A", "variables": '{"t": "v0.22.0"}'}
    assert get(client, **asked).json() == {"data": {"tag": {"series": "vX.Y.Z"}}}
    assert get(client, **asked | {"operationName": "B"}).json() == ANSWER


def test_null_means_that_a_part_is_not_given(client: httpx.Client) -> None:
    """Clients send null for what they do not use."""
    asked = {"query": TAGS, "variables": None, "operationName": None, "extensions": None}
    assert post(client, asked).json() == ANSWER
    assert get(client, query=TAGS, variables="null", extensions="null").json() == ANSWER


def test_head_is_get_without_the_body(client: httpx.Client) -> None:
    """The headers are the same, the length too."""
    asked = client.get("/graphql", params={"query": TAGS})
    head = client.head("/graphql", params={"query": TAGS})
    assert head.status_code == 200
    assert head.content == b""
    names = ("content-length", "content-type", "etag", "cache-control", "vary")
    assert [head.headers[name] for name in names] == [asked.headers[name] for name in names]


def test_options_says_what_is_allowed(client: httpx.Client) -> None:
    """Without a body."""
    response = client.options("/graphql")
    assert (response.status_code, response.content) == (204, b"")
    assert response.headers["allow"] == "GET, HEAD, POST, OPTIONS"


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "TRACE"])
def test_other_methods_are_not_allowed(client: httpx.Client, method: str) -> None:
    """The answer says which are."""
    response = client.request(method, "/graphql")
    assert (response.status_code, code_of(response)) == (405, "METHOD_NOT_ALLOWED")
    assert response.headers["allow"] == "GET, HEAD, POST, OPTIONS"


@pytest.mark.parametrize("accept", [JSON, RESPONSE_JSON])
def test_a_mutation_is_refused(client: httpx.Client, accept: str) -> None:
    """In the address by its very method, in a body because the schema has none."""
    response = get(client, accept, query="mutation { __typename }")
    assert (response.status_code, code_of(response)) == (405, "METHOD_NOT_ALLOWED")
    assert response.headers["allow"] == "POST"
    response = post(client, {"query": "mutation { __typename }"}, accept=accept)
    assert response.status_code == (400 if accept == RESPONSE_JSON else 200)
    assert code_of(response) == "GRAPHQL_VALIDATION_FAILED"


# -- what cannot be read

BODIES: dict[str, bytes] = {
    "nothing": b"",
    "null": b"null",
    "a list": b'[{"query": "{ tags { name } }"}]',
    "no JSON": b"{query: 1}",
    "cut JSON": b'{"query": "{ ta',
    "no UTF-8": b'{"query": "{ tags { name } }\xff"}',
    "half a character": b'{"query": "\\ud800"}',
    "too deep": b'{"query": ' + b"[" * 100_000,
    "too deep and closed": b'{"query": "{ tags { name } }", "variables": {"a": '
    + b"[" * 5_000
    + b"]" * 5_000
    + b"}}",
    "too deep to be written": b'{"query": "query($a: Int) { tags { name } }", "variables": {"a": '
    + b"[" * 400
    + b"]" * 400
    + b"}}",
    "a number of 5,000 digits": b'{"query": "{ tags { name } }", "variables": {"a": '
    + b"1" * 5_000
    + b"}}",
    "no number": b'{"query": "{ tags { name } }", "variables": {"a": NaN}}',
    "a number that is infinite": b'{"query": "{ tags { name } }", "variables": {"a": -1e999}}',
    "half a character in a variable": b'{"query": "{ a }", "variables": {"a": "\\ud800"}}',
    "half a character in a name": b'{"query": "{ tags { name } }", "operationName": "\\udfff"}',
    "a document that is not a text": b'{"query": {}}',
    "an empty document": b'{"query": ""}',
    "variables that are a list": b'{"query": "{ tags { name } }", "variables": []}',
    "a name that is not a text": b'{"query": "{ tags { name } }", "operationName": 1}',
    "extensions that are not object": b'{"query": "{ tags { name } }", "extensions": 1}',
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
@pytest.mark.parametrize("accept", [JSON, RESPONSE_JSON])
def test_a_body_that_is_no_request_is_the_clients_fault(
    client: httpx.Client, body: bytes, accept: str
) -> None:
    """Whatever it is: 400, with an error as GraphQL has them, in the media type asked for."""
    response = post(client, body, accept=accept)
    assert (response.status_code, code_of(response)) == (400, "BAD_REQUEST")
    assert response.headers["content-type"].startswith(accept)
    assert response.headers["cache-control"] == "no-store"
    assert "data" not in response.json()


def test_of_a_name_that_is_given_twice_the_last_counts(client: httpx.Client) -> None:
    """As JSON's readers mostly have it."""
    body = b'{"query": "{ nope }", "variables": {"a": 1, "a": 2}, "query": "{ tags { name } }"}'
    assert post(client, body).json() == ANSWER


ADDRESSES = {
    "nothing": "",
    "no document": "operationName=A",
    "an empty document": "query=",
    "no UTF-8": "query=%ff",
    "variables that are no JSON": urlencode({"query": TAGS, "variables": "{"}),
    "variables that are a list": urlencode({"query": TAGS, "variables": "[]"}),
    "extensions that are no JSON": urlencode({"query": TAGS, "extensions": "x"}),
    "nothing that has a name": "=&&=;",
    "very many parameters": "a=&" * 4_000,
    "half a character": "query=%ed%a0%80",
    "variables that are too deep": urlencode({"query": TAGS, "variables": "[" * 2_000}),
}


@pytest.mark.parametrize("query_string", ADDRESSES.values(), ids=ADDRESSES)
def test_an_address_that_is_no_request_is_the_clients_fault(
    client: httpx.Client, query_string: str
) -> None:
    """The same for what comes in the address."""
    response = client.get(f"/graphql?{query_string}")
    assert (response.status_code, code_of(response)) == (400, "BAD_REQUEST")


@pytest.mark.parametrize(
    "content_type",
    [
        "",
        "text/plain",
        "application/graphql",
        "application/x-www-form-urlencoded",
        "application/jsonp",
        "application/json; charset=iso-8859-1",
    ],
)
def test_only_json_in_utf8_is_taken(client: httpx.Client, content_type: str) -> None:
    """What a form of a foreign page could send is never taken for a question."""
    response = post(client, {"query": TAGS}, content_type=content_type)
    assert (response.status_code, code_of(response)) == (415, "UNSUPPORTED_MEDIA_TYPE")


@pytest.mark.parametrize("start", ["text/", "application/json; charset="])
def test_little_of_a_header_is_repeated(client: httpx.Client, start: str) -> None:
    """Of a content type as of all other texts of a client, without invisible characters."""
    content_type = f"{start}x\xad".encode("latin-1") * 900
    headers = [(b"content-type", content_type)]
    response = client.post("/graphql", content=b"{}", headers=headers)
    assert response.status_code == 415
    message = response.json()["errors"][0]["message"]
    assert len(message) <= 200
    assert message.isprintable()


def test_a_body_that_is_too_large_is_refused(client: httpx.Client) -> None:
    """Neither a length that is stated nor pieces of unknown number get past the limit."""
    body = orjson.dumps({"query": TAGS, "extensions": {"x": "x" * (1 << 20)}})
    response = post(client, body)
    assert (response.status_code, code_of(response)) == (413, "PAYLOAD_TOO_LARGE")
    pieces = (body[start : start + 10_000] for start in range(0, len(body), 10_000))
    response = client.post("/graphql", content=pieces, headers={"content-type": JSON})
    assert (response.status_code, code_of(response)) == (413, "PAYLOAD_TOO_LARGE")
    assert post(client, {"query": TAGS}).json() == ANSWER


# -- what comes back


@pytest.mark.parametrize("media_type", [JSON, RESPONSE_JSON])
def test_the_answer_has_the_accepted_media_type(client: httpx.Client, media_type: str) -> None:
    """In UTF-8."""
    response = post(client, {"query": TAGS}, accept=media_type)
    assert response.headers["content-type"] == f"{media_type}; charset=utf-8"
    assert response.json() == ANSWER


@pytest.mark.parametrize("accept", ["text/plain", f"{JSON};q=0, {RESPONSE_JSON};q=0"])
def test_other_media_types_are_not_on_offer(client: httpx.Client, accept: str) -> None:
    """The refusal is JSON all the same."""
    for response in (
        post(client, {"query": TAGS}, accept=accept),
        get(client, accept, query=TAGS),
    ):
        assert (response.status_code, code_of(response)) == (406, "NOT_ACCEPTABLE")


@pytest.mark.parametrize(("accept", "status"), [(JSON, 200), (RESPONSE_JSON, 400)])
@pytest.mark.parametrize(
    ("query", "code"), [("{", "GRAPHQL_PARSE_FAILED"), ("{ nope }", "GRAPHQL_VALIDATION_FAILED")]
)
def test_the_status_of_what_was_not_executed(
    client: httpx.Client, accept: str, status: int, query: str, code: str
) -> None:
    """GraphQL's own media type has 400 for it; JSON keeps 200, as older clients expect."""
    for response in (
        post(client, {"query": query}, accept=accept),
        get(client, accept, query=query),
    ):
        assert (response.status_code, code_of(response)) == (status, code)


@pytest.mark.parametrize("accept", [JSON, RESPONSE_JSON])
def test_errors_of_fields_leave_status_200(client: httpx.Client, accept: str) -> None:
    """The question was executed: there is data beside the error."""
    response = post(client, {"query": '{ revision(ref: "nope") { tag } }'}, accept=accept)
    assert (response.status_code, code_of(response)) == (200, "REVISION_NOT_FOUND")
    assert response.json()["data"] == {"revision": None}


# -- persisted documents


def hashed(query: str, **more: Any) -> dict[str, Any]:
    """Return the extensions that name a document by its hash."""
    digest = sha256(query.encode()).hexdigest()
    return {"persistedQuery": {"version": 1, "sha256Hash": digest, **more}}


@pytest.mark.parametrize("method", ["POST", "GET"])
def test_a_document_is_sent_once_and_then_by_its_hash(client: httpx.Client, method: str) -> None:
    """As Apollo's clients do it: the hash alone, then both, then the hash alone."""
    query = f"query Persisted{method} {{ tags {{ name }} }}"

    def asked(**parts: Any) -> httpx.Response:
        if method == "POST":
            return post(client, parts)
        shown = {name: it if name == "query" else json.dumps(it) for name, it in parts.items()}
        return client.get("/graphql", params=shown)

    unknown = asked(extensions=hashed(query))
    assert (unknown.status_code, code_of(unknown)) == (200, "PERSISTED_QUERY_NOT_FOUND")
    assert unknown.json()["errors"][0]["message"] == "PersistedQueryNotFound"
    assert unknown.headers["cache-control"] == "no-store"
    assert asked(query=query, extensions=hashed(query)).json() == ANSWER
    for _ in range(2):
        assert asked(extensions=hashed(query)).json() == ANSWER


BAD_HASHES: dict[str, Any] = {
    "a wrong hash": hashed("another document"),
    "another version": hashed(TAGS, version=2),
    "no version": {"persistedQuery": {"sha256Hash": sha256(TAGS.encode()).hexdigest()}},
    "no hash": {"persistedQuery": {"version": 1}},
    "a hash that is not a text": hashed(TAGS, sha256Hash=1),
    "no object": {"persistedQuery": "x"},
}


@pytest.mark.parametrize("extensions", BAD_HASHES.values(), ids=BAD_HASHES)
def test_a_hash_that_does_not_fit_is_refused(
    client: httpx.Client, extensions: dict[str, Any]
) -> None:
    """Nobody can make the server keep a document under the hash of another one."""
    response = post(client, {"query": TAGS, "extensions": extensions})
    assert response.status_code == 400
    assert code_of(response) in ("BAD_REQUEST", "PERSISTED_QUERY_NOT_SUPPORTED")
