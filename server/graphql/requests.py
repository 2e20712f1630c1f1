"""GraphQL requests over HTTP: https://graphql.github.io/graphql-over-http/draft/."""

from collections import Counter
from enum import Enum, auto
from typing import Any, Self
from urllib.parse import parse_qsl

import msgspec
import orjson

from schema.api import graphql_schema
from schema.documents.estimates import Estimate
from schema.fields.cost import fields_of_state
from server.asgi.errors import BadRequest
from server.asgi.responses import JSON, CacheKey
from server.graphql.persisted_documents import PersistedDocuments
from snapshots.texts import quoted

_MAX_PARAMETERS = 3_000
"""Maximum number of parameters in a query string; fewer than ten are used."""


class Weight(Enum):
    """The amount of work of a request, which determines where it runs."""

    QUICK = auto()
    """Some tenths of a millisecond: executed in the event loop as soon as it is read."""

    SMALL = auto()
    """A few milliseconds at most: executed in the event loop, in turns."""

    LIGHT = auto()
    HEAVY = auto()


class GraphQLRequest(msgspec.Struct, frozen=True):
    """A parsed request; ``variables`` are those that the client sent.

    With ``include_cost``, the response includes the cost.
    """

    query: str
    variables: dict[str, Any] | None
    operation_name: str | None
    include_cost: bool = False
    cost: Estimate | None = None
    """The estimated cost, if it is available and within the limits."""

    def cost_arguments(self) -> tuple[str, str | None, dict[str, Any] | None]:
        """Return the arguments of the cost estimate: document, operation and variables."""
        return self.query, self.operation_name, self.variables

    def variables_text(self) -> bytes:
        """Return the variables as JSON with sorted names.

        Raises BadRequest if they are nested too deeply to be serialized.
        """
        try:
            return orjson.dumps(self.variables, option=orjson.OPT_SORT_KEYS)
        except orjson.JSONEncodeError:
            raise BadRequest("variables nest too deeply") from None


def from_body(body: bytes, content_type: str, documents: PersistedDocuments) -> GraphQLRequest:
    """Return the request in the body of a POST; raise BadRequest if it is invalid."""
    media_type, *parameters = (part.strip() for part in content_type.lower().split(";"))
    if media_type != JSON:
        raise BadRequest(
            f"Content-Type must be {JSON}, not {content_type or 'missing'}", status=415
        )
    for parameter in parameters:
        name, _, charset = parameter.partition("=")
        if name == "charset" and charset.strip('"') not in ("utf-8", "utf8"):
            raise BadRequest(f"the charset must be utf-8, not {charset}", status=415)
    return _request(_json("the body", body), documents)


def from_query_string(query_string: bytes, documents: PersistedDocuments) -> GraphQLRequest:
    """Return the request in the query string of a GET; raise BadRequest if it is invalid."""
    try:
        pairs = parse_qsl(
            query_string.decode(), True, errors="strict", max_num_fields=_MAX_PARAMETERS
        )
    except UnicodeDecodeError:
        raise BadRequest("the query string is not UTF-8") from None
    except ValueError:
        raise BadRequest(f"the query string has more than {_MAX_PARAMETERS} parameters") from None
    parameters: dict[str, Any] = dict(pairs)
    if len(parameters) < len(pairs):
        ((twice, _),) = Counter(name for name, _ in pairs).most_common(1)
        raise BadRequest(f"the query string has {quoted(twice)} more than once")
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


def _request(body: Any, documents: PersistedDocuments) -> GraphQLRequest:
    if isinstance(body, list):
        raise BadRequest("batches are not supported: send one request object, not a list")
    if not isinstance(body, dict):
        raise BadRequest('the body must be a JSON object such as {"query": "{ tags { name } }"}')
    query = _typed(body, "query", str)
    variables = _typed(body, "variables", dict)
    operation_name = _typed(body, "operationName", str)
    query = documents.query_of(query, _typed(body, "extensions", dict))
    if not query:
        raise BadRequest("query is missing")
    return GraphQLRequest(query, variables, operation_name)


def _typed(body: dict[str, Any], name: str, kind: type) -> Any:
    value = body.get(name)
    if value is not None and type(value) is not kind:
        expected = "a string" if kind is str else "an object"
        raise BadRequest(f"{name} must be {expected}")
    return value


_FIELDS_OF_STATE = fields_of_state(graphql_schema)

BYTES_A_BYTE_OF_JSON = 35
"""Memory of a byte of JSON as Python objects, in bytes, in the worst case: ``{"a":0}``."""


class RequestBytes(msgspec.Struct, frozen=True):
    """The unparsed bytes of an HTTP request that determine its response."""

    is_post: bool
    content: bytes
    """The body of a POST, or the query string of a GET."""

    content_type: bytes
    accept: bytes
    include_cost: bool = False


class ParsedRequest(msgspec.Struct, eq=False):
    """A parsed request, with the two keys under which its response can be cached.

    A permanent response is cached under ``permanent_key``, any other under ``key_at``.
    ``num_bytes`` is an upper bound of the memory of this object and of the request's bytes.
    ``weight`` is the amount of work; ``is_permanent`` is whether the last response was permanent.
    """

    request: GraphQLRequest
    permanent_key: CacheKey
    current_key: CacheKey
    num_bytes: int
    weight: Weight
    depends_on_state: bool
    """Whether the response depends on the state of the catalog, not only on its revisions."""

    is_permanent: bool = False

    @classmethod
    def of(
        cls,
        request: GraphQLRequest,
        media_type: str,
        num_bytes: int,
        weight: Weight = Weight.HEAVY,
    ) -> Self:
        """Return the parsed request; ``num_bytes`` is the memory of its bytes.

        Raises BadRequest if the variables are nested too deeply.
        """
        variables = request.variables_text()
        key = CacheKey(
            request.query, variables, request.operation_name, media_type, None, request.include_cost
        )
        num_bytes += 2 * key.num_bytes + BYTES_A_BYTE_OF_JSON * len(variables)
        depends_on_state = any(name in request.query for name in _FIELDS_OF_STATE)
        return cls(request, key, key, num_bytes, weight, depends_on_state)

    def key_at(self, generation: int, state: int) -> CacheKey:
        """Return the key of a response that is valid in one generation of the catalog.

        A response that depends on the state is valid only in that state.
        """
        if self.depends_on_state:
            generation = state
        if self.current_key.generation != generation:
            self.current_key = self.permanent_key.at(generation)
        return self.current_key
