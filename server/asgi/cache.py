"""The responses that were asked for last, bounded in bytes."""

from sys import getsizeof
from typing import NamedTuple

from cachetools import LRUCache

from server.asgi.responses import Response

_KEY_OVERHEAD = 500


class CacheKey(NamedTuple):
    """What decides a response.

    ``generation`` is the catalog's, or its state, or None where the response is the same in all of
    them. With ``tells_cost`` the response says what it cost.
    """

    query: str
    variables: bytes
    operation_name: str | None
    media_type: str
    generation: int | None
    tells_cost: bool = False

    @property
    def num_bytes(self) -> int:
        """About how many bytes the key takes."""
        texts = getsizeof(self.query) + getsizeof(self.operation_name)
        return texts + len(self.variables) + _KEY_OVERHEAD


class _Kept(NamedTuple):
    response: Response
    num_bytes: int


class ResponseCache:
    """Keeps responses within ``max_bytes``, keys included; 0 keeps none."""

    def __init__(self, max_bytes: int) -> None:
        self.num_hits = 0
        """How often a response was not made anew; counted by those who take it."""

        self._kept: LRUCache[CacheKey, _Kept] = LRUCache(max_bytes, lambda kept: kept.num_bytes)

    @property
    def num_bytes(self) -> int:
        """How many bytes are kept."""
        return int(self._kept.currsize)

    def get(self, key: CacheKey) -> Response | None:
        """Return what is kept under a key."""
        try:
            kept = self._kept[key]
        except KeyError:
            return None
        return kept.response

    def put(self, key: CacheKey, response: Response) -> None:
        """Keep a response, in place of those that nobody has asked for longest.

        Put a response again after it was encoded in another coding: it takes more bytes then.
        """
        self._kept.pop(key, None)
        kept = _Kept(response, key.num_bytes + response.num_bytes)
        if kept.num_bytes <= self._kept.maxsize:
            self._kept[key] = kept
