"""GraphQL requests as HTTP carries them: https://graphql.github.io/graphql-over-http/draft/."""

from typing import Any, NamedTuple
from urllib.parse import parse_qsl

import orjson

from server.asgi.errors import BadRequest
from server.asgi.negotiation import JSON
from server.graphql.persisted_documents import DocumentSource
from snapshots.models import RevisionInfo

_DOCUMENT_IDS = ("documentId", "doc_id", "id")

_MAX_PARAMETERS = 3_000
"""How many parameters of a query string are read; known are fewer than ten."""


class GraphQLRequest(NamedTuple):
    """What is asked; ``variables`` are as the client wrote them.

    With ``tell_cost`` the answer is to say what it cost. A subscription is executed for one
    ``event`` of its own.
    """

    query: str
    variables: dict[str, Any] | None
    operation_name: str | None
    tell_cost: bool = False
    event: RevisionInfo | None = None

    def cost_arguments(self) -> tuple[str, str | None, dict[str, Any] | None]:
        """Return what decides how much is asked."""
        return self.query, self.operation_name, self.variables

    def variables_text(self) -> bytes:
        """Return the variables as JSON, the same for every order of their names.

        Raises BadRequest where they nest more deeply than JSON can be written.
        """
        try:
            return orjson.dumps(self.variables, option=orjson.OPT_SORT_KEYS)
        except orjson.JSONEncodeError:
            raise BadRequest("variables nest too deeply") from None


def from_body(body: bytes, content_type: str, documents: DocumentSource) -> GraphQLRequest:
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


def from_query_string(query_string: bytes, documents: DocumentSource) -> GraphQLRequest:
    """Read a GET request; raises BadRequest."""
    try:
        pairs = parse_qsl(
            query_string.decode(), True, errors="strict", max_num_fields=_MAX_PARAMETERS
        )
    except UnicodeDecodeError:
        raise BadRequest("the query string is not UTF-8") from None
    except ValueError:
        raise BadRequest(f"the query string has more than {_MAX_PARAMETERS} parameters") from None
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


def _request(asked: Any, documents: DocumentSource) -> GraphQLRequest:
    if isinstance(asked, list):
        raise BadRequest("batches are not supported: send one request object, not a list")
    if not isinstance(asked, dict):
        raise BadRequest('the body must be a JSON object such as {"query": "{ tags { name } }"}')
    query = _typed(asked, "query", str)
    variables = _typed(asked, "variables", dict)
    operation_name = _typed(asked, "operationName", str)
    query = documents.query_of(query, _typed(asked, "extensions", dict), _document_id(asked))
    if not query:
        raise BadRequest("query is missing")
    return GraphQLRequest(query, variables, operation_name)


def _document_id(asked: dict[str, Any]) -> str | None:
    """Return the id of a document, under one of the names that clients have for it."""
    ids = (_typed(asked, name, str) for name in _DOCUMENT_IDS)
    return next((it for it in ids if it is not None), None)


def _typed(asked: dict[str, Any], name: str, kind: type) -> Any:
    value = asked.get(name)
    if value is not None and type(value) is not kind:
        expected = "a string" if kind is str else "an object"
        raise BadRequest(f"{name} must be {expected}")
    return value
