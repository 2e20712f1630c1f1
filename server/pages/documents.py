"""The GraphQL documents of pages: their parameters, and how they are executed in process."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Self

import msgspec
import orjson
from graphql import OperationDefinitionNode, parse, print_ast

from server import documents
from server.asgi.lanes import Lanes
from server.graphql.execution import Executed, Execution
from server.graphql.requests import GraphQLRequest, Weight

Parameters = Mapping[str, Sequence[str]]
"""The parameters of a URL by name, with all their values as text."""

PAGE_LENGTH = 50
"""Number of rows of a table on one page."""

IS_PAGE = "isPage"
"""A variable of documents; if it is false, only the page's table is queried, for an export."""


_FEW_BYTES = 1 << 15
"""Answers up to this size are parsed in the event loop, others where they do not hold it up."""

_NOT_IN_URL = ("first", "last", IS_PAGE)
"""Variables that are not in the URL; ``first`` and ``last`` follow from the paging direction."""


class PageDocument:
    """A GraphQL document with one operation, whose variables are the parameters of a page.

    ``parameters`` are the types of the variables by name.
    """

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.text = text
        self.definitions = parse(text, no_location=True).definitions
        (self.operation,) = (
            node for node in self.definitions if isinstance(node, OperationDefinitionNode)
        )
        self.parameters = {
            declared.variable.name.value: print_ast(declared.type)
            for declared in self.operation.variable_definitions or ()
        }

    def known(self, address: Parameters) -> dict[str, list[str]]:
        """Return the parameters of a URL that the document declares.

        They are in the document's order, and empty ones, which submitted forms contain, are
        removed. The same view therefore has one URL and one key in the cache.
        """
        return {
            name: values
            for name in self.parameters
            if name not in _NOT_IN_URL
            and (values := [text for text in address.get(name, ()) if text])
        }

    def variables(self, parameters: Parameters) -> dict[str, Any]:
        """Return the variables for parameters returned by ``known``."""
        values = {name: _value(self.parameters[name], texts) for name, texts in parameters.items()}
        if "first" in self.parameters:
            values["last" if "before" in parameters else "first"] = PAGE_LENGTH
        return values

    def graphiql_parameters(self, variables: Mapping[str, Any]) -> dict[str, str]:
        """Return the URL parameters with which GraphiQL opens the document and its variables."""
        shown = orjson.dumps(variables, option=orjson.OPT_INDENT_2).decode()
        return {"query": self.text, "variables": shown}


@cache
def document(name: str) -> PageDocument:
    """Return the document ``queries/NAME.graphql``, with the fragments that it spreads."""
    return PageDocument(name, documents.document(f"queries/{name}", "server.pages"))


def _value(declared: str, texts: Sequence[str]) -> Any:
    """Return the values in a URL, converted to the declared type.

    A text that does not match the type is unchanged, so that GraphQL reports the error.
    """
    if declared.startswith("["):
        return texts
    text = texts[-1]
    if declared.startswith("Int") and text.isdecimal() and len(text) < 10:
        return int(text)
    if declared.startswith("Boolean") and text in ("true", "false"):
        return text == "true"
    return text


class DocumentAnswer(msgspec.Struct, frozen=True):
    """The answer to a document.

    ``is_good`` means that there are no errors, ``is_permanent`` that the answer can never change.
    """

    data: Mapping[str, Any]
    errors: list[dict[str, Any]]
    is_good: bool
    is_permanent: bool

    @classmethod
    def of(cls, executed: Executed) -> Self:
        """Return the answer in the bytes of an executed document."""
        answer = orjson.loads(executed.body)
        return cls(
            answer.get("data") or {},
            answer.get("errors") or [],
            executed.is_good,
            executed.is_permanent,
        )

    def error_of(self, subject: str) -> Mapping[str, Any] | None:
        """Return the error that explains why the subject (a dotted path) is missing, if any.

        Errors of other parts are ignored, unless the answer has no data at all.
        """
        root = subject.partition(".")[0]
        of_root = (
            error for error in self.errors if not self.data or root in error.get("path", ())[:1]
        )
        return next(of_root, None)


class PageRequest(msgspec.Struct, frozen=True):
    """A request to be executed, its weight, and its cost in units."""

    graphql: GraphQLRequest
    weight: Weight
    units: int


class DocumentRunner(msgspec.Struct, frozen=True):
    """Executes the documents of pages, within the same limits as requests to the API."""

    execution: Execution
    lanes: Lanes

    async def run(self, text: str, variables: Mapping[str, Any]) -> DocumentAnswer:
        """Return the answer to a document; raise BadRequest if the server is overloaded."""
        return await self.answered(await self.weighed(text, variables))

    async def is_affordable(self, text: str, variables: Mapping[str, Any]) -> bool:
        """Return whether the cost of a document is within the limit of a request."""
        request = await self.weighed(text, variables)
        return request.units <= self.execution.api.limits.max_cost

    async def weighed(self, text: str, variables: Mapping[str, Any]) -> PageRequest:
        """Return a request with its cost; raise BadRequest if the server is overloaded."""
        request = GraphQLRequest(text, dict(variables), None)
        if self.execution.is_weighed(request):
            return PageRequest(request, *self.execution.weigh(request))
        # The first request for a document has to parse it, which takes long.
        weight = await self.lanes.light.run(lambda: self.execution.weigh(request))
        return PageRequest(request, *weight)

    async def answered(self, request: PageRequest) -> DocumentAnswer:
        """Return the answer to a weighed request; raise BadRequest if the server is overloaded."""
        # A page shows what is known while a comparison is being explained.
        executed = await self.execution.execute(request.graphql, request.weight, patience=1)
        if len(executed.body) <= _FEW_BYTES:
            return DocumentAnswer.of(executed)
        return await self.lanes.light.run(lambda: DocumentAnswer.of(executed))
