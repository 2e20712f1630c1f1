"""Build costs: fields for the time and cost of building specs."""

from collections.abc import Callable
from operator import attrgetter
from typing import Any

import strawberry

from schema.context import Info
from schema.fields import many, units
from schema.fields.cost import COST, Cost
from schema.fields.scalars import object_type
from snapshots.changes.costs import BuildCost

BUILD_COST = Cost(weight=20, once=units.LOADING)
"""Summing the build costs of some specs."""


@object_type
class CostBasis:
    """How `seconds` and `cost` were computed.

    - unit: The unit of `cost`, for example usd; null if costs are only known in seconds.
    - num_estimated: Number of specs without a known cost, for which the median of their package is
      used.
    - num_unknown: Number of specs without a known or estimated cost, which are not part of the sum.
    """

    build_cost: strawberry.Private[BuildCost]

    unit = many.attribute("build_cost.unit", str | None)
    num_estimated = many.attribute("build_cost.num_estimated", int)
    num_unknown = many.attribute("build_cost.num_unknown", int)


def cost_fields(build_cost: Callable[[Any, Info], BuildCost | None]) -> tuple[Any, Any, Any]:
    """Declare ``seconds``, ``cost`` and ``costBasis`` of a type that has a build cost."""

    def declared(graphql_type: Any, make: Callable[[BuildCost], Any], description: str) -> Any:
        def value(self: Any, info: Info) -> Any:
            cost = build_cost(self, info)
            return None if cost is None else make(cost)

        return strawberry.field(
            resolver=value,
            graphql_type=graphql_type | None,
            description=description,
            metadata={COST: BUILD_COST},
        )

    return (
        declared(
            float,
            attrgetter("seconds"),
            "The time to build its specs in seconds, summed over those whose cost is known or "
            "estimated; null if no costs were imported.",
        ),
        declared(
            float,
            attrgetter("cost"),
            "The cost of building its specs, in the unit of `costBasis`; null if it is not known.",
        ),
        declared(
            CostBasis,
            lambda cost: CostBasis(build_cost=cost),
            "How `seconds` and `cost` were computed; null if no costs were imported.",
        ),
    )
