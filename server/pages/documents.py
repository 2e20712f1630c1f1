"""The documents that pages ask, and how the parts of an address become their variables."""

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

import orjson
from graphql import (
    FragmentDefinitionNode,
    ListTypeNode,
    NamedTypeNode,
    NonNullTypeNode,
    OperationDefinitionNode,
    TypeNode,
    parse,
)

from server.pages.used_names import UsedNames

Parameters = Mapping[str, Sequence[str]]
"""What an address says, name by name, each value as it stands there."""

PAGE_LENGTH = 50
"""How many rows of a table a page shows."""

_SIZES = ("first", "last")
"""Which follow from the direction that somebody goes in, and are not in the address."""


class Parameter(NamedTuple):
    """A variable that a document declares: the name of its type, and whether it is a list."""

    type: str
    is_list: bool

    def value(self, given: Sequence[str]) -> Any:
        """Return what an address gives, as the type has it.

        A text that does not fit its type stays a text, and GraphQL says what is wrong with it.
        """
        values = [self._scalar(text) for text in given]
        return values if self.is_list else values[-1]

    def _scalar(self, text: str) -> Any:
        if self.type == "Int" and text.isdecimal() and len(text) < 10:
            return int(text)
        if self.type == "Boolean" and text in ("true", "false"):
            return text == "true"
        return text


class Document:
    """A GraphQL document with one operation, whose variables are the parameters of a page."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.text = text
        operations = [
            it for it in parse(text).definitions if isinstance(it, OperationDefinitionNode)
        ]
        self.parameters = {
            it.variable.name.value: _parameter(it.type)
            for it in operations[0].variable_definitions or ()
        }

    def known(self, given: Parameters) -> dict[str, list[str]]:
        """Return the part of an address that the document has parameters for.

        They stand in the document's order, without those that say nothing: a form that is sent
        names all of its fields. So the same view has one address, and one key in memory.
        """
        return {
            name: values
            for name in self.parameters
            if name not in _SIZES and (values := [text for text in given.get(name, ()) if text])
        }

    def variables(self, known: Parameters) -> dict[str, Any]:
        """Return the variables for what ``known`` gave."""
        values = {name: self.parameters[name].value(given) for name, given in known.items()}
        if "first" in self.parameters:
            values["last" if "before" in known else "first"] = PAGE_LENGTH
        return values

    def question(self, variables: Mapping[str, Any]) -> dict[str, str]:
        """Return the parameters with which GraphiQL shows the document, filled in."""
        shown = orjson.dumps(variables, option=orjson.OPT_INDENT_2).decode()
        return {"query": self.text, "variables": shown}


@cache
def document(name: str) -> Document:
    """Return the document that is kept as ``queries/NAME.graphql``.

    Fragments that it spreads and does not have follow: they are ``fragments/NAME.graphql``.
    """
    return Document(name, _with_fragments(_text(f"queries/{name}.graphql")))


def _with_fragments(text: str) -> str:
    """Return a document with the fragments that it lacks, and with those that they lack."""
    tree = parse(text, no_location=True)
    had = {it.name.value for it in tree.definitions if isinstance(it, FragmentDefinitionNode)}
    lacking = sorted(UsedNames(tree).fragments - had)
    if not lacking:
        return text
    return _with_fragments("\n".join([text, *(_text(f"fragments/{it}.graphql") for it in lacking)]))


def _text(file: str) -> str:
    return (files("server.pages") / file).read_text("utf-8")


def _parameter(declared: TypeNode) -> Parameter:
    is_list = False
    while not isinstance(declared, NamedTypeNode):
        is_list = is_list or isinstance(declared, ListTypeNode)
        assert isinstance(declared, ListTypeNode | NonNullTypeNode)  # noqa: S101
        declared = declared.type
    return Parameter(declared.name.value, is_list)
