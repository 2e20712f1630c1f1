"""Scalars beyond GraphQL's own, enums of the domain, optional and deprecated fields."""

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from enum import Enum
from inspect import getdoc
from typing import Annotated, Any, NewType, TypeVar, dataclass_transform

import strawberry
from strawberry.extensions import FieldExtension
from strawberry.types.field import StrawberryField
from strawberry.types.scalar import ScalarDefinition
from strawberry.utils.str_converters import to_camel_case

from snapshots.errors import InvalidArgument
from snapshots.models import utc
from snapshots.refs import parse_moment

Kind = TypeVar("Kind", bound=type)

SearchArgument = Annotated[
    str | None, strawberry.argument("Case-insensitive substring of the name.")
]

ByteCount = NewType("ByteCount", int)
DateTime = NewType("DateTime", datetime)


def rfc3339(value: datetime) -> str:
    """Return a moment in UTC as RFC 3339 has it: 2025-03-30T12:00:00Z."""
    return utc(value).isoformat().replace("+00:00", "Z")


def moment(value: object) -> datetime:
    """Return the moment that a client writes as text; raises InvalidArgument."""
    if not isinstance(value, str):
        raise InvalidArgument("time", "a date or time is a text, such as 2025-03-30T12:00:00Z")
    return parse_moment(value)


SCALARS: dict[object, ScalarDefinition] = {
    ByteCount: strawberry.scalar(
        name="ByteCount",
        description="A size in bytes; a JSON number (sizes pass 2^31).",
        specified_by_url="https://www.rfc-editor.org/rfc/rfc8259#section-6",
        serialize=int,
        parse_value=int,
    ),
    DateTime: strawberry.scalar(
        name="DateTime",
        description="RFC 3339 date and time, in UTC.",
        specified_by_url="https://www.rfc-editor.org/rfc/rfc3339#section-5.6",
        serialize=rfc3339,
        parse_value=moment,
    ),
}


class Omittable(FieldExtension):
    """Lets arguments whose default is None be left out: the schema states no default for them."""

    def apply(self, field: StrawberryField) -> None:
        """Take the default of None from each argument; its resolver still has it."""
        for argument in field.arguments:
            if argument.default is None:
                argument.default = strawberry.UNSET


def described(declared: object) -> str:
    """Return the docstring of a type or a function, in one line: its description."""
    return " ".join((getdoc(declared) or "").split())


def described_parts(declared: object) -> tuple[str, dict[str, str]]:
    """Return what a docstring says, and of each part in a list of lines as ``- NAME: text``."""
    about, *parts = re.split(r"^- (\w+): ", getdoc(declared) or "", flags=re.M)
    texts = [" ".join(part.split()) for part in parts]
    return " ".join(about.split()), dict(zip(texts[::2], texts[1::2], strict=True))


@dataclass_transform(
    order_default=True, kw_only_default=True, field_specifiers=(strawberry.field, StrawberryField)
)
def object_type(kind: Kind) -> Kind:
    """Make a class a type of the API: its name without ``Type``, and its docstring.

    In a list that describes fields without a description of their own.
    """
    about, parts = described_parts(kind)
    made = strawberry.type(kind, name=kind.__name__.removesuffix("Type"), description=about)
    definition: Any = made.__strawberry_definition__  # type: ignore[attr-defined]
    fields = {field.python_name: field for field in definition.fields}
    for name, text in parts.items():
        fields[name].description = text
    return made


def optional_field(description: str, *, deprecated: str | None = None) -> Any:
    """Declare a field of an input that may be left out; ``deprecated`` names its successor."""
    return strawberry.field(
        default=strawberry.UNSET, description=description, deprecation_reason=deprecated
    )


def deprecated(reason: str) -> Callable[[Any], Any]:
    """Return what marks a field as deprecated; the reason names its successor."""

    def mark(declared: StrawberryField) -> StrawberryField:
        declared.deprecation_reason = reason
        return declared

    return mark


def made_at_once(kind: Kind) -> Kind:
    """Have objects of an input made of what GraphQL has checked: ten times as fast as by field."""
    definition: Any = kind.__strawberry_definition__  # type: ignore[attr-defined]
    names = {to_camel_case(field.python_name): field.python_name for field in definition.fields}

    def from_input(kind: type[Any], value: Mapping[str, Any], _: object) -> Any:
        return kind(**{names[name]: field_value for name, field_value in value.items()})

    definition.from_input = from_input
    return kind


def given_values(conditions: object) -> dict[str, Any]:
    """Return what an input object was given, by the names of its fields; lists as tuples."""
    return {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in vars(conditions).items()
        if value is not strawberry.UNSET
    }


def describe_enum(
    enum: type[Enum], *, name: str | None = None, description: str | None = None, **members: str
) -> None:
    """Make an enum of the domain one of the API, under its own name or another.

    Its docstring describes it, and in a list each of its ``members`` that is not described here;
    raises KeyError where one is missing.
    """
    about, parts = described_parts(enum)
    texts = parts | members
    strawberry.enum(enum, name=name, description=description or about)
    values: Any = enum.__strawberry_definition__.values  # type: ignore[attr-defined]
    for member, value in zip(enum, values, strict=True):
        value.description = texts[str(member.name)]
