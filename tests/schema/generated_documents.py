"""Generation of valid GraphQL documents of bounded size from a schema.

Arguments often have a meaning in a given catalog, and sometimes fail in execution. Response names
never conflict: at one position of the response, a name always refers to the same field with the
same arguments.
"""

import json
import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from graphql import (
    GraphQLArgument,
    GraphQLEnumType,
    GraphQLField,
    GraphQLInputField,
    GraphQLInputObjectType,
    GraphQLList,
    GraphQLNonNull,
    GraphQLSchema,
    Undefined,
    get_named_type,
    get_nullable_type,
    is_abstract_type,
    is_composite_type,
    is_required_argument,
    is_required_input_field,
)

Pools = Mapping[str, Sequence[str]]
"""Values that have a meaning in the catalog, by the name of an argument or input field."""

NUMBERS = (0, 1, 2, 3, 3, 5, 5, 5, 20, 1000, -1, 1001, 2**31 - 1)
MOMENTS = ("2025-01-19", "2025-01-19T12:00:00Z", "2025-03-01T00:00:00+02:00")
STRANGE = ("", "nope", "ü:~@ \"'\n", "zzzzzz")

MAX_FIELDS = 50
MAX_DEPTH = 9


class Question(NamedTuple):
    """A document with one operation, and values of its variables."""

    text: str
    variables: dict[str, Any]


@dataclass
class Scope:
    """The response names at a position, each with its field and the scope below it.

    With ``alone``, every field gets a name that is unique in the document, as in a fragment that
    can be spread anywhere.
    """

    alone: bool = False
    fields_by_name: dict[str, tuple[str, "Scope"]] = field(default_factory=dict)


class Writer:
    """Writes one query; all choices are drawn from ``draw``."""

    def __init__(self, schema: GraphQLSchema, pools: Pools, draw: random.Random) -> None:
        self._schema = schema
        self._pools = pools
        self._draw = draw
        self._num_left = MAX_FIELDS
        self._serial = 0
        self._declared: dict[str, str] = {}
        self._values: dict[str, Any] = {}
        self._fragments: list[str] = []
        self._finished: defaultdict[str, list[str]] = defaultdict(list)

    def question(self) -> Question:
        """Return a query."""
        body = self._selection(self._schema.query_type, Scope(), MAX_DEPTH)
        declared = ", ".join(f"${name}: {text}" for name, text in self._declared.items())
        head = f"query Generated({declared}) " if declared else ""
        return Question("\n".join([head + body, *self._fragments]), self._values)

    # -- selections

    def _selection(self, parent: Any, scope: Scope, depth: int) -> str:
        number = self._draw.choice((1, 1, 2, 2, 3, 5, 9))
        items = [self._item(parent, scope, depth) for _ in range(number)]
        return "{ " + " ".join(items) + " }"

    def _item(self, parent: Any, scope: Scope, depth: int) -> str:
        roll = self._draw.random()
        if roll < 0.06 or self._num_left <= 0:
            return f"__typename{self._directives()}"
        if roll < 0.14:
            return self._inline_fragment(parent, scope, depth)
        if roll < 0.2:
            return self._spread(parent, depth)
        if is_abstract_type(parent) and roll < 0.8:
            return self._inline_fragment(parent, scope, depth)
        return self._field(parent, scope, depth)

    def _field(self, parent: Any, scope: Scope, depth: int) -> str:
        self._num_left -= 1
        name, chosen = self._choose_field(parent, depth)
        call = name + self._arguments(chosen.args)
        key = self._response_name(name, f"{call}: {chosen.type}", scope)
        below = ""
        if is_composite_type(get_named_type(chosen.type)):
            inner = scope.fields_by_name[key][1]
            below = " " + self._selection(get_named_type(chosen.type), inner, depth - 1)
        alias = "" if key == name else f"{key}: "
        return f"{alias}{call}{self._directives()}{below}"

    def _choose_field(self, parent: Any, depth: int) -> tuple[str, GraphQLField]:
        fields: list[tuple[str, GraphQLField]] = list(parent.fields.items())
        deep = [pair for pair in fields if is_composite_type(get_named_type(pair[1].type))]
        flat = [pair for pair in fields if pair not in deep]
        if not flat or (deep and depth > 0 and self._draw.random() < 0.6):
            return self._draw.choice(deep)
        return self._draw.choice(flat)

    def _response_name(self, name: str, signature: str, scope: Scope) -> str:
        key = name
        conflicts = scope.fields_by_name.get(name, (signature, None))[0] != signature
        if scope.alone or conflicts or self._draw.random() < 0.15:
            self._serial += 1
            key = f"{name[0]}{self._serial}"
        scope.fields_by_name.setdefault(key, (signature, Scope()))
        return key

    def _inline_fragment(self, parent: Any, scope: Scope, depth: int) -> str:
        narrowed = self._narrowed(parent)
        condition = f" on {narrowed.name}"
        if narrowed is parent and self._draw.random() < 0.5:
            condition = ""
        body = self._selection(narrowed, scope, depth)
        return f"...{condition}{self._directives()} {body}"

    def _spread(self, parent: Any, depth: int) -> str:
        narrowed = self._narrowed(parent)
        fragments = self._finished[narrowed.name]
        if fragments and self._draw.random() < 0.3:
            return f"...{self._draw.choice(fragments)}{self._directives()}"
        self._serial += 1
        name = f"Part{self._serial}"
        body = self._selection(narrowed, Scope(alone=True), depth)
        self._fragments.append(f"fragment {name} on {narrowed.name} {body}")
        fragments.append(name)
        return f"...{name}{self._directives()}"

    def _narrowed(self, parent: Any) -> Any:
        """Return a type condition that is possible at this position."""
        if is_abstract_type(parent):
            return self._draw.choice([parent, *self._schema.get_possible_types(parent)])
        return self._draw.choice([parent, parent, *parent.interfaces])

    def _directives(self) -> str:
        roll = self._draw.random()
        if roll > 0.1:
            return ""
        name = "include" if roll < 0.07 else "skip"
        condition = self._draw.choice(("true", "false", ""))
        if not condition:
            condition = self._flag()
        return f" @{name}(if: {condition})"

    def _flag(self) -> str:
        kind, value = self._draw.choice(
            (
                ("Boolean!", True),
                ("Boolean!", False),
                ("Boolean! = true", Undefined),
                ("Boolean = false", True),
                ("Boolean = true", None),
            )
        )
        return self._declare(kind, value)

    # -- arguments

    def _arguments(self, arguments: Mapping[str, GraphQLArgument]) -> str:
        texts = [
            f"{name}: {self._text(name, argument)}"
            for name, argument in arguments.items()
            if is_required_argument(argument) or self._draw.random() < 0.25
        ]
        return f"({', '.join(texts)})" if texts else ""

    def _text(self, name: str, place: GraphQLArgument | GraphQLInputField) -> str:
        """Return a value for an argument or input field, as a document writes it."""
        if self._draw.random() < 0.15:
            return self._variable(name, place)
        inner: Any = get_nullable_type(place.type)
        if isinstance(inner, GraphQLInputObjectType) and self._draw.random() < 0.9:
            parts = [f"{key}: {self._text(key, part)}" for key, part in self._chosen(inner)]
            return "{" + ", ".join(parts) + "}"
        return _literal(self._value(name, place.type), inner)

    def _variable(self, name: str, place: GraphQLArgument | GraphQLInputField) -> str:
        kind, roll = str(place.type), self._draw.random()
        may_be_null = not isinstance(place.type, GraphQLNonNull)
        if roll < 0.3 and (may_be_null or place.default_value is not Undefined):
            kind = kind.removesuffix("!")
            return self._declare(kind, self._draw.choice((None, Undefined)))
        if roll < 0.5:
            inner = get_nullable_type(place.type)
            default = self._value(name, GraphQLNonNull(inner))
            return self._declare(f"{kind} = {_literal(default, inner)}", Undefined)
        if roll < 0.52:
            return self._declare(kind, {"of": "a wrong type"})
        return self._declare(kind, self._value(name, place.type))

    def _declare(self, kind: str, value: Any) -> str:
        name = f"v{len(self._declared)}"
        self._declared[name] = kind
        if value is not Undefined:
            self._values[name] = value
        return f"${name}"

    def _chosen(self, kind: GraphQLInputObjectType) -> list[tuple[str, GraphQLInputField]]:
        return [
            (name, part)
            for name, part in kind.fields.items()
            if is_required_input_field(part) or self._draw.random() < 0.25
        ]

    def _value(self, name: str, kind: Any) -> Any:
        """Return a value in its JSON form."""
        if isinstance(kind, GraphQLNonNull):
            kind = kind.of_type
        elif self._draw.random() < 0.05:
            return None
        if isinstance(kind, GraphQLList):
            number = self._draw.choice((0, 1, 1, 2, 3))
            return [self._value(name, kind.of_type) for _ in range(number)]
        if isinstance(kind, GraphQLInputObjectType):
            return {key: self._value(key, part.type) for key, part in self._chosen(kind)}
        if isinstance(kind, GraphQLEnumType):
            return self._draw.choice(list(kind.values))
        if kind.name == "Int":
            return self._draw.choice(NUMBERS)
        if kind.name == "Boolean":
            return self._draw.random() < 0.5
        pool = self._pools.get(name, ())
        if kind.name == "DateTime":
            return self._draw.choice(MOMENTS)  # validation refuses other values
        return self._draw.choice(pool if pool and self._draw.random() < 0.85 else STRANGE)


def _literal(value: Any, kind: Any) -> str:
    """Return a value as a GraphQL literal."""
    kind = get_nullable_type(kind)
    if value is None:
        return "null"
    if isinstance(kind, GraphQLList):
        return "[" + ", ".join(_literal(item, kind.of_type) for item in value) + "]"
    if isinstance(kind, GraphQLInputObjectType):
        parts = (f"{key}: {_literal(item, kind.fields[key].type)}" for key, item in value.items())
        return "{" + ", ".join(parts) + "}"
    return str(value) if isinstance(kind, GraphQLEnumType) else json.dumps(value)
