"""What a record says, fact by fact: declared beside each field, once, for all who handle facts.

The columns of the store and of a frame, what a comparison looks at, the digest of a content and the
fields of the API follow from these declarations.
"""

from collections.abc import Callable, Mapping
from enum import Enum
from types import NoneType
from typing import Any, get_args

import msgspec


class Kept(Enum):
    """How a frame keeps a fact of all its specs.

    ``CODES`` serve what few distinct values have, ``PLAIN`` values what nearly every spec has
    another one of. The ``KEY`` tells specs apart. ``EDGES`` are no column, but the dependency
    graph.
    """

    CODES = "codes"
    PLAIN = "plain"
    KEY = "key"
    EDGES = "edges"


class Unit(Enum):
    """What a number counts."""

    BYTES = "bytes"


class Fact(msgspec.Struct, frozen=True):
    """A fact of a record, as the annotation of its field declares it.

    ``description`` is what readers of the API and of the store are told. ``label`` is what people
    read before its value, where that is not its name. ``sort_key`` orders its distinct values, and
    ``check`` raises ValueError for a text that it, or one of its items, must not be. A fact that is
    not ``is_compared`` is no change where it differs. One that ``is_exceptional`` is said of few
    specs: of the others people read nothing about it.

    The rest follows from the field: ``value_type`` is its type without None, ``is_optional`` tells
    whether it may be None, and ``may_be_unknown`` whether None means that the source does not know
    it: so it is where that is the default.
    """

    description: str
    sort_key: Callable[[Any], Any] = str
    check: Callable[[str], str] | None = None
    kept: Kept = Kept.CODES
    unit: Unit | None = None
    is_compared: bool = True
    is_exceptional: bool = False
    label: str = ""
    name: str = ""
    value_type: Any = None
    is_optional: bool = False
    may_be_unknown: bool = False


def facts_of(record: type[msgspec.Struct]) -> Mapping[str, Fact]:
    """Return the facts of a kind of record, by name, in the order of its fields."""
    return {field.name: _fact(field) for field in msgspec.structs.fields(record)}


def _fact(field: msgspec.structs.FieldInfo) -> Fact:
    annotated, declared = get_args(field.type)
    alternatives = get_args(annotated)
    is_optional = NoneType in alternatives
    assert isinstance(declared, Fact)  # noqa: S101 - narrows what an annotation may be
    return msgspec.structs.replace(
        declared,
        name=field.name,
        value_type=alternatives[0] if is_optional else annotated,
        is_optional=is_optional,
        may_be_unknown=not field.required,
    )
