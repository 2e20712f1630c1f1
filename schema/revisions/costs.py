"""Build costs: fields for the time and cost of building specs."""

from collections.abc import Callable
from typing import Any

import strawberry

from schema.context import Info
from schema.fields import gql, many, units
from schema.fields.cost import Cost, resolver
from snapshots.changes.costs import BuildCost

BUILD_COST = Cost(weight=20, once=units.LOADING)
"""Summing the build costs of some specs."""


@gql.object_type
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

    @resolver(BUILD_COST)
    def seconds(self: Any, info: Info) -> float | None:
        """The time to build its specs in seconds, summed over those whose cost is known or
        estimated; null if no costs were imported.
        """
        total = build_cost(self, info)
        return None if total is None else total.seconds

    @resolver(BUILD_COST)
    def cost(self: Any, info: Info) -> float | None:
        """The cost of building its specs, in the unit of `costBasis`; null if it is not known."""
        total = build_cost(self, info)
        return None if total is None else total.cost

    @resolver(BUILD_COST)
    def cost_basis(self: Any, info: Info) -> CostBasis | None:
        """How `seconds` and `cost` were computed; null if no costs were imported."""
        total = build_cost(self, info)
        return None if total is None else CostBasis(build_cost=total)

    return seconds, cost, cost_basis
