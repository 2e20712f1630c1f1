"""Additional scalars, enums of the domain, inputs, and optional fields."""

from collections.abc import Callable, Mapping
from datetime import datetime
from enum import Enum
from inspect import getdoc
from typing import Annotated, Any, NewType, TypeVar, dataclass_transform

import msgspec
import strawberry
from graphql import Undefined
from strawberry.extensions import FieldExtension
from strawberry.types.field import StrawberryField
from strawberry.types.scalar import ScalarDefinition
from strawberry.utils.str_converters import to_camel_case

from snapshots.errors import InvalidArgument
from snapshots.models import utc
from snapshots.refs import parse_moment
from snapshots.texts import described_parts, quoted, shortened

Kind = TypeVar("Kind", bound=type)
Input = TypeVar("Input")

SearchArgument = Annotated[
    str | None, strawberry.argument("Only names that contain this text; case-insensitive.")
]

ByteCount = NewType("ByteCount", int)
DateTime = NewType("DateTime", datetime)


def rfc3339(value: datetime | str) -> str:
    """Return a time in UTC in the format of RFC 3339: 2025-03-30T12:00:00Z.

    A fact of a spec is already a text in this format.
    """
    if isinstance(value, str):
        return value
    return utc(value).isoformat().replace("+00:00", "Z")


def moment(value: object) -> datetime:
    """Return the time that a client sent as text; raises InvalidArgument."""
    if not isinstance(value, str):
        raise InvalidArgument("time", "a date or time is a text, such as 2025-03-30T12:00:00Z")
    return parse_moment(value)


SCALARS: dict[object, ScalarDefinition] = {
    ByteCount: strawberry.scalar(
        name="ByteCount",
        description="A size in bytes: a JSON number, which can exceed 2^31.",
        specified_by_url="https://www.rfc-editor.org/rfc/rfc8259#section-6",
        serialize=int,
        parse_value=int,
    ),
    DateTime: strawberry.scalar(
        name="DateTime",
        description="A date and time in UTC, in the format of RFC 3339.",
        specified_by_url="https://www.rfc-editor.org/rfc/rfc3339#section-5.6",
        serialize=rfc3339,
        parse_value=moment,
    ),
}


class Omittable(FieldExtension):
    """An extension that makes arguments with a default of None optional, without a default in the
    schema.
    """

    def apply(self, field: StrawberryField) -> None:
        """Remove the default of None from each argument; the resolver still has it."""
        for argument in field.arguments:
            if argument.default is None:
                argument.default = strawberry.UNSET


def described(declared: object) -> str:
    """Return the description of a type or a function: its docstring, in one line."""
    return " ".join((getdoc(declared) or "").split())


@dataclass_transform(
    order_default=True, kw_only_default=True, field_specifiers=(strawberry.field, StrawberryField)
)
def object_type(kind: Kind) -> Kind:
    """Make a class a type of the API, named like the class without ``Type``, and described by its
    docstring.

    A list in the docstring describes the fields that have no separate description.
    """
    return _described(strawberry.type, kind, kind.__name__.removesuffix("Type"))


def input_type(name: str | None = None) -> Callable[[Kind], Kind]:
    """Make a class an input of the API, named like the class unless ``name`` is given, and
    described like an ``object_type``.
    """
    return lambda kind: _described(strawberry.input, kind, name)


def _described(declare: Callable[..., Kind], kind: Kind, name: str | None) -> Kind:
    about, parts = described_parts(kind)
    graphql_type = declare(kind, name=name, description=about)
    definition: Any = graphql_type.__strawberry_definition__  # type: ignore[attr-defined]
    fields = {field.python_name: field for field in definition.fields}
    for field_name, text in parts.items():
        fields[field_name].description = text
    return graphql_type


UNSET: Any = strawberry.UNSET
"""The default of optional fields of inputs."""


def created_directly(kind: Kind) -> Kind:
    """Create the objects of an input type from validated values at once: ten times as fast as per
    field.
    """
    definition: Any = kind.__strawberry_definition__  # type: ignore[attr-defined]
    names = _input_names(kind)

    def from_input(kind: type[Any], value: Mapping[str, Any], _: object) -> Any:
        return kind(**{names[name]: field_value for name, field_value in value.items()})

    definition.from_input = from_input
    return kind


def _input_names(kind: type[Any]) -> dict[str, str]:
    """Return the names of the fields of an input type in Python by their names in the API."""
    fields = kind.__strawberry_definition__.fields
    return {to_camel_case(field.python_name): field.python_name for field in fields}


def read_input(kind: type[Input], value: object) -> Input:
    """Return an object of an input type from JSON; raise ValueError if it is not of this type."""
    if not isinstance(value, dict):
        raise ValueError("is not an object")
    names = _input_names(kind)
    if unknown := value.keys() - names.keys():
        name = quoted(shortened(min(unknown), 40))
        raise ValueError(f"{name} is not one of {', '.join(names)}")
    fields = {names[name]: part for name, part in without_undefined(value).items()}
    return msgspec.convert(fields, kind)


def without_undefined(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object of a document without the keys whose values are variables not given."""
    return {name: part for name, part in value.items() if part is not Undefined}


def input_values(conditions: object) -> dict[str, Any]:
    """Return the given values of an input object by field name, with lists as tuples."""
    return {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in vars(conditions).items()
        if value is not strawberry.UNSET
    }


def describe_enum(
    enum: type[Enum], *, name: str | None = None, description: str | None = None, **members: str
) -> None:
    """Make an enum of the domain an enum of the API, under its own name or another.

    Its docstring describes it, and a list in the docstring describes its members, except those in
    ``members``. Raises KeyError if a member has no description.
    """
    about, parts = described_parts(enum)
    texts = parts | members
    strawberry.enum(enum, name=name, description=description or about)
    values: Any = enum.__strawberry_definition__.values  # type: ignore[attr-defined]
    for member, value in zip(enum, values, strict=True):
        value.description = texts[str(member.name)]
