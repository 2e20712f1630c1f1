"""What an event loop can do on the way, without holding up others."""

from collections.abc import Mapping
from typing import Any

LIGHT_UNITS, LIGHT_BYTES = 6_000, 1_000_000
"""Of a request that takes a few milliseconds."""

LIGHT_DOCUMENT, LIGHT_VALUES = 2_000, 50
"""Characters of a text that is read on the way, and values in all lists and objects together."""


def is_small(variables: Mapping[str, Any]) -> bool:
    """Tell whether variables are few and short, however deep they stand, looking at few alone."""
    waiting: list[Any] = [variables]
    left = LIGHT_VALUES
    while waiting:
        value = waiting.pop()
        if isinstance(value, list | dict):
            left -= len(value)
            if left < 0:
                return False
            waiting += value  # an object's keys
            if isinstance(value, dict):
                waiting += value.values()
        elif isinstance(value, str) and len(value) > LIGHT_DOCUMENT:
            return False
    return True
