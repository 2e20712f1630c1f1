"""The GraphQL documents of pages: their parameters, and how they are executed in process."""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec
import orjson
from graphql import OperationDefinitionNode, TypeNode, parse, print_ast

from server.asgi.allowances import Allowances
from server.asgi.lanes import Lanes
from server.graphql.execution import Execution
from server.graphql.requests import GraphQLRequest, Weight

Parameters = Mapping[str, Sequence[str]]
"""What an address says, name by name, each value as it stands there."""

PAGE_LENGTH = 50
"""How many rows of a table a page shows."""

_SPREAD = re.compile(r"\.\.\.(\w+)")
_FRAGMENT = re.compile(r"^fragment (\w+)", re.MULTILINE)

IS_PAGE = "isPage"
"""The variable that leaves a page's table alone in its document where it is false: an export."""

HAS_COSTS = "hasCosts"
"""The variable that adds what building takes. Costs can change, so that no answer with them is
permanent: without any they are not asked for."""

_NOT_ADDRESSED = ("first", "last", IS_PAGE, HAS_COSTS)
"""Variables that are not in the address: the sizes follow from the direction that a reader goes."""


class Parameter(msgspec.Struct, frozen=True):
    """A variable that a document declares: the name of its type, and whether it is a list."""

    type: str
    is_list: bool

    def value(self, texts: Sequence[str]) -> Any:
        """Return what an address gives, as the type has it.

        A text that does not fit its type stays a text, and GraphQL says what is wrong with it.
        """
        values = [self._scalar(text) for text in texts]
        return values if self.is_list else values[-1]

    def _scalar(self, text: str) -> Any:
        if self.type == "Int" and text.isdecimal() and len(text) < 10:
            return int(text)
        if self.type == "Boolean" and text in ("true", "false"):
            return text == "true"
        return text


class PageDocument:
    """A GraphQL document with one operation, whose variables are the parameters of a page."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.text = text
        operations = [
            node for node in parse(text).definitions if isinstance(node, OperationDefinitionNode)
        ]
        self.parameters = {
            declared.variable.name.value: _parameter(declared.type)
            for declared in operations[0].variable_definitions or ()
        }

    def known(self, address: Parameters) -> dict[str, list[str]]:
        """Return the part of an address that the document has parameters for.

        They stand in the document's order, without those that say nothing: a form that is sent
        names all of its fields. So the same view has one address, and one key in memory.
        """
        return {
            name: values
            for name in self.parameters
            if name not in _NOT_ADDRESSED
            and (values := [text for text in address.get(name, ()) if text])
        }

    def variables(self, parameters: Parameters) -> dict[str, Any]:
        """Return the variables for what ``known`` gave."""
        values = {name: self.parameters[name].value(texts) for name, texts in parameters.items()}
        if "first" in self.parameters:
            values["last" if "before" in parameters else "first"] = PAGE_LENGTH
        return values

    def question(self, variables: Mapping[str, Any]) -> dict[str, str]:
        """Return the parameters with which GraphiQL shows the document, filled in."""
        shown = orjson.dumps(variables, option=orjson.OPT_INDENT_2).decode()
        return {"query": self.text, "variables": shown}


@cache
def document(name: str) -> PageDocument:
    """Return the document that is kept as ``queries/NAME.graphql``.

    Fragments that it spreads and does not have follow: they are ``fragments/NAME.graphql``.
    """
    return PageDocument(name, _with_fragments(_text(f"queries/{name}.graphql")))


def _with_fragments(text: str) -> str:
    """Return a document with the fragments that it lacks, and with those that they lack."""
    lacking = sorted({*_SPREAD.findall(text)} - {*_FRAGMENT.findall(text)})
    if not lacking:
        return text
    fragments = (_text(f"fragments/{name}.graphql") for name in lacking)
    return _with_fragments("\n".join([text, *fragments]))


def _text(file: str) -> str:
    return (files("server.pages") / file).read_text("utf-8")


def _parameter(declared: TypeNode) -> Parameter:
    text = print_ast(declared)
    return Parameter(text.strip("[]!"), text.startswith("["))


class Answered(msgspec.Struct, frozen=True):
    """What a document was answered with.

    ``is_good`` tells that there are no errors, ``is_permanent`` that the answer stays true.
    """

    data: Mapping[str, Any]
    errors: list[dict[str, Any]]
    is_good: bool
    is_permanent: bool

    def error_of(self, subject: str) -> Mapping[str, Any] | None:
        """Return why an answer lacks its subject, named with dots; None where no error says it.

        Other parts may have failed too. Where all of the answer is gone, the first error says why.
        """
        root = subject.partition(".")[0]
        of_root = (
            error for error in self.errors if not self.data or root in error.get("path", ())[:1]
        )
        return next(of_root, None)


class PageQuestion(msgspec.Struct, frozen=True):
    """What is going to be asked, and how much work it is."""

    request: GraphQLRequest
    weight: Weight


class Asker(msgspec.Struct, frozen=True):
    """Asks the catalog what pages show, within the limits that the API's requests have."""

    execution: Execution
    lanes: Lanes
    allowances: Allowances

    async def ask(
        self, document: PageDocument, variables: Mapping[str, Any], scope: Any
    ) -> Answered:
        """Return what a document is answered with; raises as ``weighed`` does."""
        return await self.answered(await self.weighed(document.text, variables, scope))

    async def weighed(self, text: str, variables: Mapping[str, Any], scope: Any) -> PageQuestion:
        """Return a question that is charged to the client whose request has this ``scope``.

        Raises BadRequest where there is no room, or the client may not ask for so much.
        """
        request = GraphQLRequest(text, dict(variables), None)
        weight, units = await self._weigh(request)
        self.allowances.charge(scope, units)
        return PageQuestion(request, weight)

    async def is_affordable(self, text: str, variables: Mapping[str, Any]) -> bool:
        """Tell whether a document costs no more than one request may."""
        _, units = await self._weigh(GraphQLRequest(text, dict(variables), None))
        return units <= self.execution.api.limits.max_cost

    async def _weigh(self, request: GraphQLRequest) -> tuple[Weight, int]:
        if self.execution.api.is_weighed(*request.cost_arguments()):
            return self.execution.weigh(request)
        # Parsing takes long, for the first who asks.
        return await self.lanes.reading.run(lambda: self.execution.weigh(request))

    async def answered(self, question: PageQuestion) -> Answered:
        """Return what a question is answered with; raises BadRequest where there is no room."""
        executed = await self.execution.execute(question.request, question.weight)
        answer = orjson.loads(executed.body)
        return Answered(
            answer.get("data") or {},
            answer.get("errors") or [],
            executed.is_good,
            executed.is_permanent,
        )
