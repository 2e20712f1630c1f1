"""The limits of variables: small rules, each of which looks at one thing, as those of documents.

All of them together take time in proportion to the text; what is too large is not looked into.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import orjson

from schema.documents.rules import Refusal, first_refusal, refuse
from schema.errors import BAD_USER_INPUT
from schema.limits import Limits


class Values(NamedTuple):
    """The variables of a request, and the largest of what they hold."""

    depth: int
    list_length: int
    text_length: int
    bits: int


def measured_values(variables: Mapping[str, Any], limits: Limits) -> Values:
    """Return what the variables hold, however deep it stands.

    What is too deep or too long is not looked into: it is refused for that.
    """
    deepest = longest_list = longest_text = bits = 0
    waiting = [(it, 0) for it in variables.values()]
    while waiting:
        value, level = waiting.pop()
        deepest = max(deepest, level)
        if isinstance(value, str):
            longest_text = max(longest_text, len(value))
        elif isinstance(value, int):
            bits = max(bits, value.bit_length())
        elif isinstance(value, list | dict):
            longest_list = max(longest_list, len(value))
            if len(value) <= limits.max_list_length and level <= limits.max_variable_depth:
                items = value if isinstance(value, list) else value.values()
                waiting += [(it, level + 1) for it in items]
    return Values(deepest, longest_list, longest_text, bits)


def variable_depth(values: Values, limits: Limits) -> Refusal:
    """Refuse lists and objects within each other too deeply."""
    return refuse(
        "Lists and objects within each other in a variable", values.depth, limits.max_variable_depth
    )


def variable_lists(values: Values, limits: Limits) -> Refusal:
    """Refuse lists of too many values, and objects of too many fields."""
    return refuse("Values in a list", values.list_length, limits.max_list_length)


def variable_texts(values: Values, limits: Limits) -> Refusal:
    """Refuse texts of too many characters."""
    return refuse("Characters of a text", values.text_length, limits.max_text_length)


def variable_numbers(values: Values, limits: Limits) -> Refusal:  # noqa: ARG001
    """Refuse whole numbers that no JSON number of other programs can be: over 64 bits."""
    return refuse("Bits of a number", values.bits, 64)


def variable_bytes(variables: Mapping[str, Any], limits: Limits) -> Refusal:
    """Refuse variables of too many bytes as JSON.

    Raises TypeError for what JSON does not have.
    """
    return refuse("Bytes of the variables", len(orjson.dumps(variables)), limits.max_variable_bytes)


_VARIABLE_RULES = (
    variable_depth,
    variable_lists,
    variable_texts,
    variable_numbers,
)


def refused_variables(variables: Mapping[str, Any], limits: Limits) -> Refusal:
    """Return what the rules refuse in the variables that an operation declares."""
    if not variables:
        return None
    half: Refusal = None
    try:
        # First, because it takes a hundredth of the time that looking at each value takes.
        if (refusal := variable_bytes(variables, limits)) is not None:
            return refusal
    except TypeError:
        message = "The variables have half a character in a text: a lone surrogate."
        half = {"message": message, "extensions": {"code": BAD_USER_INPUT}}
    return first_refusal(_VARIABLE_RULES, measured_values(variables, limits), limits) or half
