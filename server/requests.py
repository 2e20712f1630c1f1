"""GraphQL requests as HTTP carries them: https://graphql.github.io/graphql-over-http/draft/."""

from collections.abc import Mapping
from hashlib import sha256
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

import orjson
from cachetools import LRUCache

RESPONSE_JSON = "application/graphql-response+json"
JSON = "application/json"

MAX_PERSISTED_BYTES = 16 << 20


class BadRequest(Exception):
    """A request that cannot be answered; ``status`` and ``code`` say why to programs."""

    def __init__(
        self,
        message: str,
        *,
        status: int = 400,
        code: str = "BAD_REQUEST",
        headers: tuple[tuple[bytes, bytes], ...] = (),
    ) -> None:
        self.message = message
        self.status = status
        self.code = code
        self.headers = headers
        super().__init__(message)


class GraphQLRequest(NamedTuple):
    """What is asked; ``variables`` are as the client wrote them."""

    query: str
    variables: dict[str, Any] | None
    operation_name: str | None

    def cost_arguments(self) -> tuple[str, str | None, dict[str, Any] | None]:
        """Return what decides how much is asked."""
        return self.query, self.operation_name, self.variables

    def variables_text(self) -> bytes:
        """Return the variables as JSON, the same for every order of their names."""
        return orjson.dumps(self.variables, option=orjson.OPT_SORT_KEYS)


class PersistedDocuments:
    """Documents by the sha256 of their text, as Apollo's clients send them (APQ).

    A client sends the hash alone; if it is not known here it sends both, once.
    """

    def __init__(self) -> None:
        self._known: LRUCache[str, str] = LRUCache(MAX_PERSISTED_BYTES, len)

    def query_of(self, query: str | None, extensions: Mapping[str, Any] | None) -> str | None:
        """Return the document of a request; raises BadRequest where its hash is not known."""
        persisted = (extensions or {}).get("persistedQuery")
        if persisted is None:
            return query
        if not isinstance(persisted, dict) or persisted.get("version") != 1:
            raise BadRequest(
                "extensions.persistedQuery must have version 1",
                code="PERSISTED_QUERY_NOT_SUPPORTED",
            )
        digest = persisted.get("sha256Hash")
        if not isinstance(digest, str):
            raise BadRequest("extensions.persistedQuery.sha256Hash must be a string")
        if query is None:
            known: str | None = self._known.get(digest)
            if known is None:
                # Apollo's clients look for this very message, in a response with status 200.
                raise BadRequest(
                    "PersistedQueryNotFound", status=200, code="PERSISTED_QUERY_NOT_FOUND"
                )
            return known
        if sha256(query.encode()).hexdigest() != digest:
            raise BadRequest("sha256Hash is not the hash of query")
        if len(query) <= MAX_PERSISTED_BYTES:
            self._known[digest] = query
        return query


def from_body(body: bytes, content_type: str, documents: PersistedDocuments) -> GraphQLRequest:
    """Read a POST request; raises BadRequest."""
    media_type, *parameters = (part.strip() for part in content_type.lower().split(";"))
    if media_type != JSON:
        raise BadRequest(
            f"Content-Type must be {JSON}, not {content_type or 'missing'}",
            status=415,
            code="UNSUPPORTED_MEDIA_TYPE",
        )
    for parameter in parameters:
        name, _, charset = parameter.partition("=")
        if name == "charset" and charset.strip('"') not in ("utf-8", "utf8"):
            raise BadRequest(
                f"the charset must be utf-8, not {charset}",
                status=415,
                code="UNSUPPORTED_MEDIA_TYPE",
            )
    return _request(_json("the body", body), documents)


def from_query_string(query_string: bytes, documents: PersistedDocuments) -> GraphQLRequest:
    """Read a GET request; raises BadRequest."""
    try:
        pairs = parse_qsl(query_string.decode(), keep_blank_values=True, errors="strict")
    except (UnicodeDecodeError, ValueError):
        raise BadRequest("the query string is not UTF-8") from None
    parameters: dict[str, Any] = dict(pairs)
    for name in ("variables", "extensions"):
        if parameters.get(name):
            parameters[name] = _json(name, parameters[name])
        else:
            parameters.pop(name, None)
    if not parameters.get("operationName"):
        parameters.pop("operationName", None)
    return _request(parameters, documents)


def _json(what: str, text: bytes | str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise BadRequest(f"{what} is not JSON: {error}") from None


def _request(asked: Any, documents: PersistedDocuments) -> GraphQLRequest:
    if isinstance(asked, list):
        raise BadRequest("batches are not supported: send one request object, not a list")
    if not isinstance(asked, dict):
        raise BadRequest('the body must be a JSON object such as {"query": "{ tags { name } }"}')
    query = _typed(asked, "query", str)
    variables = _typed(asked, "variables", dict)
    operation_name = _typed(asked, "operationName", str)
    query = documents.query_of(query, _typed(asked, "extensions", dict))
    if not query:
        raise BadRequest("query is missing")
    return GraphQLRequest(query, variables, operation_name)


def _typed(asked: dict[str, Any], name: str, kind: type) -> Any:
    value = asked.get(name)
    if value is not None and type(value) is not kind:
        expected = "a string" if kind is str else "an object"
        raise BadRequest(f"{name} must be {expected}")
    return value


# -- what the client takes


def accepted_media_type(accept: str) -> str | None:
    """Return the media type to answer with; None where the client takes none on offer."""
    weights = _weights(accept)
    if not weights:
        return JSON
    offers = [(_weight(weights, RESPONSE_JSON), RESPONSE_JSON), (_weight(weights, JSON), JSON)]
    if RESPONSE_JSON not in weights:
        offers.reverse()
    weight, best = max(offers, key=lambda offer: offer[0])
    return best if weight > 0 else None


def prefers_html(accept: str) -> bool:
    """Tell whether a browser asks for a page rather than a program for data."""
    weights = _weights(accept)
    html = weights.get("text/html", 0.0)
    return html > 0 and html >= max(weights.get(RESPONSE_JSON, 0.0), weights.get(JSON, 0.0))


def accepted_encoding(accept_encoding: str, offers: tuple[str, ...]) -> str:
    """Return the content coding to answer with, the best on offer among those that weigh most."""
    weights = _weights(accept_encoding)
    best, best_weight = "identity", 0.0
    for offer in offers:
        weight = weights.get(offer, weights.get("*", 0.0))
        if weight > best_weight:
            best, best_weight = offer, weight
    return best if best_weight >= weights.get("identity", 0.0) else "identity"


def _weights(header: str) -> dict[str, float]:
    """Parse a header of alternatives with q values (RFC 9110, 12.4.2)."""
    weights = {}
    for part in header.lower().split(","):
        name, *parameters = (piece.strip() for piece in part.split(";"))
        if not name:
            continue
        weight = 1.0
        for parameter in parameters:
            if parameter.startswith("q="):
                try:
                    weight = float(parameter[2:])
                except ValueError:
                    weight = 0.0
        weights[name] = weight
    return weights


def _weight(weights: dict[str, float], media_type: str) -> float:
    family = media_type.partition("/")[0] + "/*"
    return weights.get(media_type, weights.get(family, weights.get("*/*", 0.0)))
