"""What a request may have to wait for: values that requests share, and how they are missing."""

from collections.abc import Hashable
from typing import Any, NamedTuple, Protocol, TypeVar

from snapshots.errors import CachelogError

KeyIn = TypeVar("KeyIn", contravariant=True)
ValueOut = TypeVar("ValueOut", covariant=True)


class Cache(Protocol[KeyIn, ValueOut]):
    """Values that several requests share, made when first asked for."""

    def kept(self, key: KeyIn) -> ValueOut | None:
        """Return the value if it is in memory."""
        ...

    def get(self, key: KeyIn) -> ValueOut:
        """Return the value, made now if it is not in memory."""
        ...


class Failed(NamedTuple):
    """What stands in the place of something that could not be loaded."""

    error: CachelogError


class NotLoaded(BaseException):
    """Something has to be read first, or takes long, and this request may not wait for it.

    ``cache`` and ``key`` say what is missing; there is none where the work itself takes long.
    No Exception, so that it leaves the executor at once instead of becoming a field's error.
    """

    def __init__(self, cache: Cache[Any, Any] | None = None, key: Hashable = None) -> None:
        self.cache = cache
        self.key = key
        super().__init__()

    def load(self) -> Any:
        """Bring what is missing into memory and return it; raises what its cache raises."""
        return None if self.cache is None else self.cache.get(self.key)
