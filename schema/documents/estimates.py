"""What an operation costs, as it is told, and the refusal of one that costs too much."""

from typing import Any, NamedTuple

from graphql import GraphQLFormattedError

from schema.documents.rules import refuse
from schema.errors import bounded
from schema.execution.budget import QUERY_TOO_LARGE
from schema.limits import Limits


class Estimate(NamedTuple):
    """What an operation costs: units, and bytes of its answer.

    ``path`` leads to the most expensive part of it, by the names in the response, and
    ``path_units`` is what that part costs with all below it. ``kept_units`` is the share of what
    takes no time where it is in memory: loading revisions and comparing them. ``filter_values``
    says how many values the longest filter has.
    """

    units: int
    num_bytes: int
    path: tuple[str, ...]
    path_units: int
    kept_units: int = 0
    filter_values: int = 0


NOTHING = Estimate(0, 0, (), 0)
"""The cost of what is not executed."""


def told_cost(told: Estimate, limits: Limits) -> dict[str, Any]:
    """Return a cost as ``extensions.cost`` of a response and of an error has it."""
    return {
        "cost": told.units,
        "allowed": limits.max_cost,
        "bytes": told.num_bytes,
        "allowedBytes": limits.max_answer_bytes,
        "mostExpensive": {"path": [*told.path], "cost": told.path_units},
    }


def too_expensive(told: Estimate, limits: Limits) -> GraphQLFormattedError | None:
    """Return the error of an operation that costs more than is allowed; None where it does not."""
    if told.filter_values > limits.max_filter_values:
        return refuse("Values in a filter", told.filter_values, limits.max_filter_values)
    if told.units <= limits.max_cost and told.num_bytes <= limits.max_answer_bytes:
        return None
    what, found, allowed = "costs", told.units, f"{limits.max_cost:,} units"
    if told.units <= limits.max_cost:
        what, found = "may have an answer of", told.num_bytes
        allowed = f"{limits.max_answer_bytes:,} bytes"
    message = (
        f"The query {what} {_rounded(found)}; {allowed} are allowed. Most of it is "
        f"{bounded('.'.join(told.path))}. Take smaller pages, or fewer of them within each other."
    )
    return {
        "message": message,
        "extensions": {"code": QUERY_TOO_LARGE, "cost": told_cost(told, limits)},
    }


def _rounded(number: int) -> str:
    return f"{number:,}" if number < 10**12 else "more than 10^12"
