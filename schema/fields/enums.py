"""Enums of the domain as enums of the API."""

from collections.abc import Mapping
from enum import Enum
from typing import Any

import strawberry


def describe_enum(
    enum: type[Enum], description: str, members: Mapping[Any, str], *, name: str | None = None
) -> None:
    """Make an enum of the domain one of the API, under its own name or another.

    ``members`` has the description of every member; raises KeyError where one is missing.
    """
    strawberry.enum(enum, name=name, description=description)
    values: Any = enum.__strawberry_definition__.values  # type: ignore[attr-defined]
    for member, value in zip(enum, values, strict=True):
        value.description = members[member]
