"""Which way lists are ordered."""

from enum import Enum
from typing import Any

import strawberry


@strawberry.enum(description="From low to high, or from high to low.")
class OrderDirection(Enum):
    """A direction."""

    ASC = strawberry.enum_value("asc", description="Low to high.")
    DESC = strawberry.enum_value("desc", description="High to low: ASC read backwards.")


def direction_field() -> Any:
    """Declare the direction of an order: low to high unless given."""
    return strawberry.field(default=OrderDirection.ASC, description="Which way.")
