"""The build hook that writes ``questions.py``: a class for each document, with its types.

``python build_questions.py SCHEMA DOCUMENTS FILE`` does the same by hand.
"""

import sys
from pathlib import Path
from typing import Any

import graphql
from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SCALARS = {
    "Boolean": "bool",
    "ByteCount": "int",
    "DateTime": "datetime",
    "Float": "float",
    "ID": "str",
    "Int": "int",
    "JSON": "Any",
    "String": "str",
}

OPTIONS = 'frozen=True, rename="camel"'

HEAD = '''"""Written by build_questions.py: the questions of this package, and what answers them."""

from datetime import datetime
from typing import Any, ClassVar, Literal

import msgspec
from msgspec import UNSET, UnsetType

from cachelog_client.client import Question
'''


class Questions:
    """The classes that documents need, in an order in which each stands behind what it names."""

    def __init__(self, schema: graphql.GraphQLSchema) -> None:
        self._schema = schema
        self._inputs: dict[str, str] = {}
        self._classes: list[str] = []

    def add(self, text: str) -> None:
        """Add the operation of a document; raises ValueError for what is not supported."""
        (operation,) = graphql.parse(text, no_location=True).definitions
        if not isinstance(operation, graphql.OperationDefinitionNode) or operation.name is None:
            raise ValueError("a document has one operation, which has a name, and no fragments")
        name, root = operation.name.value, self._schema.query_type
        answer = self._answer(f"{name}Answer", root, operation.selection_set)
        lines = [f"class {name}(Question[{answer}], {OPTIONS}, omit_defaults=True):"]
        lines += [f'    """The question {name}; its fields are the variables."""', ""]
        lines += [
            f"    TEXT: ClassVar[str] = {text!r}",
            f"    ANSWER: ClassVar[type] = {answer}",
            "",
        ]
        for variable in operation.variable_definitions or ():
            type_ = graphql.type_from_ast(self._schema, variable.type)  # type: ignore[call-overload]
            is_required = (
                isinstance(type_, graphql.GraphQLNonNull) and variable.default_value is None
            )
            lines.append(
                self._input_field(variable.variable.name.value, type_, is_required=is_required)
            )
        self._classes.append("\n".join(lines) + "\n")

    def module(self) -> str:
        """Return the text of the module."""
        return "\n\n".join([HEAD, *self._inputs.values(), *self._classes])

    def _answer(self, name: str, parent: Any, selections: graphql.SelectionSetNode) -> str:
        """Add the class of what is selected of an object; return its name."""
        lines = [f"class {name}(msgspec.Struct, {OPTIONS}, kw_only=True):"]
        lines.append(f'    """What is asked of a {parent.name}."""\n')
        for node in selections.selections:
            if not isinstance(node, graphql.FieldNode):
                raise ValueError(f"{name}: fragments are not supported")
            key = (node.alias or node.name).value
            field = parent.fields[node.name.value]
            inner = graphql.get_named_type(field.type).name
            if node.selection_set:
                below = name.removesuffix("Answer") + key[0].upper() + key[1:]
                inner = self._answer(below, graphql.get_named_type(field.type), node.selection_set)
            else:
                # An enum may get values in a later version of the server.
                inner = SCALARS.get(graphql.get_named_type(field.type).name, "str")
            lines.append(f"    {snake(key)}: {_wrapped(field.type, inner)}")
        self._classes.append("\n".join(lines) + "\n")
        return name

    def _leaf(self, type_: graphql.GraphQLNamedType) -> str:
        if isinstance(type_, graphql.GraphQLEnumType):
            return f"Literal[{', '.join(map(repr, type_.values))}]"
        return SCALARS[type_.name]

    def _input_field(self, name: str, type_: Any, *, is_required: bool) -> str:
        named = graphql.get_named_type(type_)
        if isinstance(named, graphql.GraphQLInputObjectType):
            self._add_input(named)
            inner = named.name
        else:
            inner = self._leaf(named)
        hint = _wrapped(type_, inner)
        return (
            f"    {snake(name)}: {hint}"
            if is_required
            else f"    {snake(name)}: {hint} | UnsetType = UNSET"
        )

    def _add_input(self, type_: graphql.GraphQLInputObjectType) -> None:
        if type_.name in self._inputs:
            return
        self._inputs[type_.name] = ""
        lines = [
            f"class {type_.name}(msgspec.Struct, {OPTIONS}, kw_only=True, omit_defaults=True):"
        ]
        lines.append(f'    """{(type_.description or type_.name).partition(chr(10))[0]}"""\n')
        for name, field in type_.fields.items():
            is_required = (
                isinstance(field.type, graphql.GraphQLNonNull)
                and field.ast_node.default_value is None
            )
            lines.append(self._input_field(name, field.type, is_required=is_required))
        text = self._inputs.pop(type_.name)
        self._inputs[type_.name] = text + "\n".join(lines) + "\n"


def _wrapped(type_: Any, inner: str) -> str:
    """Return the hint of a type whose innermost one is ``inner``."""
    if isinstance(type_, graphql.GraphQLNonNull):
        return _wrapped_whole(type_.of_type, inner)
    return f"{_wrapped_whole(type_, inner)} | None"


def _wrapped_whole(type_: Any, inner: str) -> str:
    return (
        f"list[{_wrapped(type_.of_type, inner)}]"
        if isinstance(type_, graphql.GraphQLList)
        else inner
    )


def snake(name: str) -> str:
    """Return a name of the API as Python has it: numSpecs, num_specs."""
    return "".join(f"_{it.lower()}" if it.isupper() else it for it in name)


def module_of(schema: Path, documents: Path) -> str:
    """Return the text of ``questions.py`` for a schema and a folder of documents."""
    questions = Questions(graphql.build_schema(schema.read_text("utf-8")))
    for file in sorted(documents.glob("*.graphql")):
        questions.add(file.read_text("utf-8"))
    return questions.module()


class QuestionsHook(BuildHookInterface[Any]):
    """Writes the module, from a checkout; what was built from it has it already."""

    PLUGIN_NAME = "custom"

    def initialize(self, _version: str, _build_data: dict[str, Any]) -> None:
        """Write the module."""
        root = Path(self.root)
        schema, documents = root.parents[1] / "schema/schema.graphql", root.parent / "documents"
        if schema.exists():
            text = module_of(schema, documents)
            (root / "cachelog_client" / "questions.py").write_text(text, "utf-8")


if __name__ == "__main__":
    _, schema_file, documents_folder, target = sys.argv
    Path(target).write_text(module_of(Path(schema_file), Path(documents_folder)), "utf-8")
