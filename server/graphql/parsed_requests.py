"""Requests as their bytes say them, and as they are once those are parsed."""

from typing import NamedTuple

from server.asgi.cache import CacheKey
from server.graphql.execution import Weight
from server.graphql.requests import GraphQLRequest

_MORE_THAN_REVISIONS = ("confirmedAt", "reason", "releaseNotes")
"""What a document names that follows from more than the revisions.

When they were last seen; and which hashes returned: of a long series whose changes are not all kept
that is told of the newest contents alone.
"""

BYTES_A_BYTE_OF_JSON = 35
"""How much memory a byte of JSON takes as Python's objects, in the worst case: ``{"a":0}``."""


class RequestBytes(NamedTuple):
    """The bytes of an HTTP request that decide its answer, before any of them is parsed."""

    is_post: bool
    content: bytes
    """The body of a POST, or else the query string."""

    content_type: bytes
    accept: bytes
    tell_cost: bool = False


class ParsedRequest:
    """What a request asks for, with the two keys that its response can be kept under.

    A response that stays true for ever is kept under ``permanent_key``, any other under
    ``key_at`` the catalog's state. ``num_bytes`` is what this and its bytes take, or less.
    ``weight`` and ``units`` say how much work it is, ``is_permanent`` under which of the keys the
    response was kept last. A subscription has no response that could be kept.
    Raises BadRequest where the variables nest too deeply.
    """

    __slots__ = (
        "_current_key",
        "_is_about_more",
        "is_permanent",
        "is_subscription",
        "num_bytes",
        "permanent_key",
        "request",
        "units",
        "weight",
    )

    def __init__(
        self,
        request: GraphQLRequest,
        media_type: str,
        num_bytes: int,
        weight: Weight = Weight.HEAVY,
        units: int = 0,
        *,
        is_subscription: bool = False,
    ) -> None:
        self.request = request
        self.is_subscription = is_subscription
        self.weight = weight
        self.units = units
        variables = request.variables_text()
        self.permanent_key = CacheKey(
            request.query, variables, request.operation_name, media_type, None, request.tell_cost
        )
        objects = BYTES_A_BYTE_OF_JSON * len(variables)
        self.num_bytes = 2 * self.permanent_key.num_bytes + objects + num_bytes
        self._current_key = self.permanent_key
        self._is_about_more = any(it in request.query for it in _MORE_THAN_REVISIONS)
        self.is_permanent = False

    def key_at(self, generation: int, state: int) -> CacheKey:
        """Return the key of an answer that holds in one generation of the catalog.

        Where it is about more than the revisions, it holds only in one state of a generation.
        """
        if self._is_about_more:
            generation = state
        if self._current_key.generation != generation:
            self._current_key = self.permanent_key._replace(generation=generation)
        return self._current_key
