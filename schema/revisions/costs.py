"""What building specs takes: the fields that stand beside counts of specs."""

from collections.abc import Callable
from typing import Any

import strawberry

from schema.context import Info
from schema.fields.cost import COST, LOADING, Cost, resolver
from schema.fields.many import attribute
from schema.fields.scalars import object_type
from snapshots.changes.costs import BuildCost

BUILD_COST = Cost(weight=20, once=LOADING)
"""The cost of building some specs, summed over them."""


@object_type
class CostBasis:
    """What `seconds` and `cost` beside it are made of."""

    build_cost: strawberry.Private[BuildCost]

    @resolver()
    def unit(self) -> str | None:
        """The unit of `cost`, as usd; null where costs are in seconds alone."""
        return self.build_cost.unit

    @resolver()
    def num_estimated(self) -> int:
        """Of how many specs no cost is known, and the median of their package stands for it."""
        return self.build_cost.num_estimated

    num_unknown = attribute(
        "build_cost.num_unknown", "Of how many specs nothing is known: they are not summed.", int
    )


def cost_fields(build_cost: Callable[[Any, Info], BuildCost | None]) -> tuple[Any, Any, Any]:
    """Declare ``seconds``, ``cost`` and ``costBasis`` of a type that has a cost of building."""

    def seconds(root: Any, info: Info) -> float | None:
        cost = build_cost(root, info)
        return None if cost is None else cost.seconds

    def amount(root: Any, info: Info) -> float | None:
        cost = build_cost(root, info)
        return None if cost is None else cost.cost

    def basis(root: Any, info: Info) -> CostBasis | None:
        cost = build_cost(root, info)
        return None if cost is None else CostBasis(build_cost=cost)

    return (
        _field(
            seconds,
            "How many seconds building its specs takes, of those whose cost is known; null "
            "without costs.",
        ),
        _field(amount, "What that costs, in the unit of `costBasis`; null where it is not known."),
        _field(basis, "How far `seconds` and `cost` are known; null without costs."),
    )


def _field(resolver: Callable[..., Any], description: str) -> Any:
    return strawberry.field(resolver=resolver, description=description, metadata={COST: BUILD_COST})
