"""What building specs takes: the fields that stand beside counts of specs."""

from collections.abc import Callable
from operator import attrgetter
from typing import Any

import strawberry

from schema.context import Info
from schema.fields.cost import COST, LOADING, Cost
from schema.fields.many import attribute
from schema.fields.scalars import object_type
from snapshots.changes.costs import BuildCost

BUILD_COST = Cost(weight=20, once=LOADING)
"""The cost of building some specs, summed over them."""


@object_type
class CostBasis:
    """What `seconds` and `cost` beside it are made of.

    - unit: The unit of `cost`, as usd; null where costs are in seconds alone.
    - num_estimated: Of how many specs no cost is known, and the median of their package stands for
      it.
    - num_unknown: Of how many specs nothing is known: they are not summed.
    """

    build_cost: strawberry.Private[BuildCost]

    unit = attribute("build_cost.unit", str | None)
    num_estimated = attribute("build_cost.num_estimated", int)
    num_unknown = attribute("build_cost.num_unknown", int)


def cost_fields(build_cost: Callable[[Any, Info], BuildCost | None]) -> tuple[Any, Any, Any]:
    """Declare ``seconds``, ``cost`` and ``costBasis`` of a type that has a cost of building."""

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
            "How many seconds building its specs takes, of those whose cost is known; null "
            "without costs.",
        ),
        declared(
            float,
            attrgetter("cost"),
            "What that costs, in the unit of `costBasis`; null where it is not known.",
        ),
        declared(
            CostBasis,
            lambda cost: CostBasis(build_cost=cost),
            "How far `seconds` and `cost` are known; null without costs.",
        ),
    )
