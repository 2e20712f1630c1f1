"""Scalars beyond GraphQL's own, and short ways to say "not given"."""

from datetime import datetime
from typing import Any, NewType

import strawberry
from strawberry.types.scalar import ScalarDefinition

from snapshots.models import utc
from snapshots.refs import parse_moment

ByteCount = NewType("ByteCount", int)
DateTime = NewType("DateTime", datetime)


def rfc3339(moment: datetime) -> str:
    """Return a moment in UTC as RFC 3339 has it: 2025-03-30T12:00:00Z."""
    return utc(moment).isoformat().replace("+00:00", "Z")


SCALARS: dict[object, ScalarDefinition] = {
    ByteCount: strawberry.scalar(
        name="ByteCount",
        description="A size in bytes; a JSON number (sizes pass 2^31).",
        serialize=int,
        parse_value=int,
    ),
    DateTime: strawberry.scalar(
        name="DateTime",
        description="RFC 3339 date and time, in UTC.",
        serialize=rfc3339,
        parse_value=parse_moment,
    ),
}


def given(value: Any) -> Any:
    """Return the value of an optional argument; None where it was left out."""
    return None if value is strawberry.UNSET else value


def given_texts(value: list[str] | None) -> tuple[str, ...] | None:
    """Return a list argument as a tuple; None where it was left out."""
    texts = given(value)
    return None if texts is None else tuple(texts)
